"""The thread about what "freeing of the graph" means: references to saved tensors go, the graph remains."""

import weakref

import pytest


def test_the_graph_remains_after_backward(torch, capsys):
    m = torch.tensor([0.0], requires_grad=True)
    for _ in range(1):
        x = torch.tensor([3.0], requires_grad=True)
        k = x * 2
        k.backward()
        m = k
    print(m.requires_grad)
    print(m)
    assert capsys.readouterr().out == "True\ntensor([6.], grad_fn=<MulBackward0>)\n"


def test_detach_leaves_it_behind(torch, capsys):
    m = torch.tensor([0.0], requires_grad=True)
    for _ in range(1):
        x = torch.tensor([3.0], requires_grad=True)
        k = x * 2
        k.backward()
        m = k.detach()
    print(m.requires_grad)
    print(m)
    assert capsys.readouterr().out == "False\ntensor([6.])\n"


def test_the_graph_of_k_goes_with_k_when_m_is_detached(torch):
    class Token:
        def __call__(self, *arguments):
            return None

    def run(keep):
        x = torch.tensor([3.0], requires_grad=True)
        k = x * 2
        token = Token()
        k.grad_fn.register_hook(token)
        ended.append(weakref.ref(token))
        k.backward()
        return keep(k)

    ended = []
    held, detached = run(lambda k: k), run(lambda k: k.detach())
    assert [reference() is not None for reference in ended] == [True, False]
    assert held.requires_grad
    assert not detached.requires_grad


@pytest.mark.beyond
def test_the_saved_tensors_are_gone_and_the_nodes_are_not(torch):
    x = torch.tensor([3.0], requires_grad=True)
    k = x * x
    assert [slot.state for slot in k.grad_fn.saved] == ["held", "held"]
    k.backward()
    assert [slot.state for slot in k.grad_fn.saved] == ["freed", "freed"]
    assert k.grad_fn.next_functions[0][0].variable is x
