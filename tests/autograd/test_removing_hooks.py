"""3.5 Hooks can be removed, and are let go."""

import gc
import weakref

from graph_support import Token


def test_handles_remove_and_are_context_managers(torch):
    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    seen = []
    handles = [
        y.register_hook(lambda grad: seen.append("tensor")),
        y.grad_fn.register_prehook(lambda *_: seen.append("before")),
        y.grad_fn.register_hook(lambda *_: seen.append("after")),
        x.register_hook(lambda grad: seen.append("leaf")),
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append("post")),
    ]
    y.backward(retain_graph=True)
    assert seen == ["tensor", "before", "after", "leaf", "post"]
    seen.clear()
    handles[1].remove()
    handles[3].remove()
    handles[3].remove()
    y.backward(retain_graph=True)
    assert seen == ["tensor", "after", "post"]
    for handle in handles:
        handle.remove()
    seen.clear()
    y.backward(retain_graph=True)
    assert seen == []
    with y.register_hook(lambda grad: seen.append("inside")):
        y.backward(retain_graph=True)
    y.backward()
    assert seen == ["inside"]


def test_a_removed_hook_is_let_go(torch):
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    for register in (
        x.register_hook, x.register_post_accumulate_grad_hook, y.register_hook, y.grad_fn.register_hook,
        y.grad_fn.register_prehook,
    ):  # fmt: skip
        token = Token()
        ended = weakref.ref(token)
        handle = register(token)
        del token
        assert ended() is not None
        handle.remove()
        del handle
        gc.collect()
        assert ended() is None
