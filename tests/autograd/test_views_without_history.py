"""4.4 Views that require grad and have no history, and views that may not be read: each program as PyTorch runs it.

A view made under no_grad, or before its base had a history, requires grad because its base does; gradients do not flow
through it. A view that may not be written (made under no_grad, one of several) may not be read once its base was.
"""

import warnings

import pytest

pytestmark = pytest.mark.unsanitized("hundreds of uses of one view")

BASES = {
    "leaf": lambda torch: [torch.arange(12.0).reshape(3, 4).clone().requires_grad_()] * 2,
    "result": lambda torch: (lambda a: (a, a * 2))(torch.arange(12.0).reshape(3, 4).clone().requires_grad_()),
}
VIEWS = {
    "view": lambda x: x.view(4, 3),
    "index": lambda x: x[0],
    "slice": lambda x: x[1:],
    "t": lambda x: x.t(),
    "split": lambda x: x.split(1)[0],
    "unbind": lambda x: x.unbind()[1],
    "iteration": lambda x: next(iter(x)),
    "chunk": lambda x: x.chunk(2)[0],
    "expand_as": lambda x: x.expand_as(x),
    "view of a view": lambda x: x.split(1)[0][0],
}


class Product:
    """x * y as a Function of either library, which tells what it was asked for."""

    def __new__(cls, torch, told):
        class Multiply(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx, gradient):
                x, y = ctx.saved_tensors
                told.append(list(ctx.needs_input_grad))
                return gradient * y, gradient * x

        return Multiply


def apply_function(torch, a, y, v):
    told = []
    Product(torch, told).apply(v, y.sum()).sum().backward()
    return told


USES = {
    "requires_grad": lambda torch, a, y, v: v.requires_grad,
    "is_leaf": lambda torch, a, y, v: v.is_leaf,
    "grad_fn": lambda torch, a, y, v: v.grad_fn is None,
    "gradient of itself": lambda torch, a, y, v: torch.autograd.grad(v.sum(), [v]),
    "gradient of another": lambda torch, a, y, v: torch.autograd.grad((y * 2).sum(), v),
    "allow_unused": lambda torch, a, y, v: torch.autograd.grad((y * 2).sum(), v, allow_unused=True),
    "materialize_grads": lambda torch, a, y, v: torch.autograd.grad((y * 2).sum(), v, materialize_grads=True),
    "inputs": lambda torch, a, y, v: (v * y.sum()).sum().backward(inputs=[v]) or v.grad,
    "two inputs": lambda torch, a, y, v: (v * y.sum()).sum().backward(inputs=[v, a]) or v.grad,
    "hook": lambda torch, a, y, v: v.register_hook(lambda g: g * 5) and (v * y.sum()).sum().backward(),
    "hook on a leaf": lambda torch, a, y, v: v.register_post_accumulate_grad_hook(lambda t: None) is None,
    "retain_grad": lambda torch, a, y, v: v.retain_grad() or v.retains_grad,
    "root with a gradient": lambda torch, a, y, v: torch.autograd.backward([v], [torch.ones_like(v)]),
    "root of grad": lambda torch, a, y, v: torch.autograd.grad([v], [a], [torch.ones_like(v)]),
    "backward": lambda torch, a, y, v: v.sum().backward(),
    "product": lambda torch, a, y, v: (v.sum() * y.sum()).backward(),
    "matrix product": lambda torch, a, y, v: (torch.matmul(v, torch.ones(v.shape[-1])).sum() + y.sum()).backward(),
    "cat": lambda torch, a, y, v: (
        torch.cat([v, v, y.view(-1)[:4].view(-1) * v.sum()][:2]).sum() * y.mean()
    ).backward(),
    "cat with the graph": lambda torch, a, y, v: (
        (torch.cat([v.reshape(-1), y.view(-1), v.reshape(-1)]) ** 2).sum().backward()
    ),
    "create_graph": lambda torch, a, y, v: torch.autograd.grad((v * y.sum() ** 2).sum(), a, create_graph=True),
    "what is saved": lambda torch, a, y, v: (v * y.sum()).grad_fn._saved_other is None,
    "next_functions": lambda torch, a, y, v: [node is None for node, _ in (v * y.sum()).grad_fn.next_functions],
    "gradient edge": lambda torch, a, y, v: torch.autograd.graph.get_gradient_edge(v) is None,
    "Function": apply_function,
    "written": lambda torch, a, y, v: v.mul_(2),
    "detach_": lambda torch, a, y, v: v.detach_() is v,
    "requires_grad_": lambda torch, a, y, v: (v.requires_grad_() is v and v.sum().backward()) or v.grad,
    "base detached": lambda torch, a, y, v: y.detach_() is y and (v.requires_grad, (v * 2).sum().backward()),
    "base asks no more": lambda torch, a, y, v: y.requires_grad_(False) is y and (v * 2).sum().backward(),
}


def plain(torch, value):
    if isinstance(value, torch.Tensor):
        return [round(number, 3) for number in value.detach().reshape(-1).tolist()]
    return [plain(torch, one) for one in value] if isinstance(value, list | tuple) else value


def outcome(torch, program, *arguments):
    """What it gives, or the kind of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(torch, program(torch, *arguments))
        except (RuntimeError, AssertionError) as error:
            return "RuntimeError" if isinstance(error, RuntimeError) else "AssertionError"


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("with_grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("base", [*BASES, "asked later"])
def test_uses_of_a_view(torch, oracle, base, with_grad, use):
    def run(library, view):
        later = base == "asked later"
        a, y = [library.arange(12.0).reshape(3, 4).clone()] * 2 if later else BASES[base](library)
        with library.set_grad_enabled(with_grad):
            v = view(y)
        if later:
            y.requires_grad_()
        return [outcome(library, USES[use], a, y, v), plain(library, a.grad)]

    for name, view in VIEWS.items():
        assert run(torch, view) == run(oracle, view), name


def test_the_view_that_leads_nowhere_says_why(torch):
    a = torch.arange(3.0, requires_grad=True)
    y = a * 2
    with torch.no_grad():
        v = y.view(3, 1)
    with pytest.raises(RuntimeError, match=r"appears to not have been used in the graph"):
        torch.autograd.grad((v * a.sum()).sum(), [v])
    with pytest.raises(RuntimeError, match=r"(?s)element 0 of tensors does not require grad.*lost by 'no_grad'"):
        torch.autograd.backward([v], [torch.ones(3, 1)])


# ------------------------------------------------------------------------------------------------- the base was written
WRITES = {
    "mul_": lambda torch, a, b, v: b.mul_(2),
    "index": lambda torch, a, b, v: b.__setitem__(0, 1.0),
    "detach": lambda torch, a, b, v: b.detach().mul_(2),
    "data": lambda torch, a, b, v: b.data.mul_(2),
    "lt_": lambda torch, a, b, v: b.lt_(2),
    "add_ with history": lambda torch, a, b, v: b.add_(a.sum()),
    "the view": lambda torch, a, b, v: v.mul_(2),
    "another view": lambda torch, a, b, v: b.view(-1)[0].fill_(7),
    "one of several": lambda torch, a, b, v: b.unbind()[0].mul_(2),
}
READS = {
    "requires_grad": lambda torch, a, v: v.requires_grad,
    "is_leaf": lambda torch, a, v: v.is_leaf,
    "grad_fn": lambda torch, a, v: v.grad_fn is None,
    "version": lambda torch, a, v: v._version,
    "tolist": lambda torch, a, v: v.tolist(),
    "detach": lambda torch, a, v: v.detach().sum(),
    "operation": lambda torch, a, v: (v * 2).sum().backward(),
    "comparison": lambda torch, a, v: (v > 0).sum(),
    "view": lambda torch, a, v: v.view(-1).requires_grad,
    "retain_grad": lambda torch, a, v: v.retain_grad(),
    "requires_grad_": lambda torch, a, v: v.requires_grad_(False) is v,
    # PyTorch takes a view for a leaf until its history was asked for.
    "written": lambda torch, a, v: (v.is_leaf, v.mul_(1) is v),
    "repr": lambda torch, a, v: "<Invalid>" in repr(v),
}


@pytest.mark.parametrize("writes_with_grad", [False, True], ids=["written under no_grad", "written"])
@pytest.mark.parametrize("write", WRITES)
def test_reading_views_whose_base_was_written(torch, oracle, write, writes_with_grad):
    def run(library, base, made_with_grad, view, read):
        a = library.arange(12.0).reshape(3, 4).clone().requires_grad_()
        b = a * 2 if base == "result" else library.arange(12.0).reshape(3, 4).clone()
        with library.set_grad_enabled(made_with_grad):
            v = view(b)
        with library.set_grad_enabled(writes_with_grad):
            written = outcome(library, lambda *_: bool(WRITES[write](library, a, b, v) is None))
        return [written, outcome(library, READS[read], a, v), plain(library, a.grad)]

    for base in ("result", "data"):
        for made_with_grad in (False, True):
            for name, view in VIEWS.items():
                for read in READS:
                    case = (base, made_with_grad, view, read)
                    assert run(torch, *case) == run(oracle, *case), (base, made_with_grad, name, read)


def test_looking_at_all_tensors_meets_views_that_may_not_be_read(torch):
    a = torch.arange(4.0, requires_grad=True)
    y = a * 1
    parts = y.split(2)
    with torch.no_grad():
        v = y[1:]
    y.mul_(2)
    for view in (v, *parts):
        with pytest.raises(RuntimeError, match=r"its base or another view of its base has been modified inplace"):
            _ = view.grad_fn
    # Those that look at every living tensor look at these, too.
    with torch.graph.watch():
        for _ in range(3):
            (a * 2).sum().backward()
    loss = y.pow(2).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


# ------------------------------------------------------------------------------------------------ a leaf that is a view
LEAVES = {
    "slice": lambda torch: torch.zeros(4)[:2],
    "view": lambda torch: torch.zeros(4).view(2, 2),
    "split": lambda torch: torch.zeros(4).split(2)[0],
    "of a detached one": lambda torch: torch.zeros(4).detach()[:2],
    "detached": lambda torch: torch.zeros(4).detach(),
    "parameter": lambda torch: torch.nn.Parameter(torch.zeros(4)[:2]),
}
LEAF_WRITES = {
    "index": lambda torch, v: v.__setitem__(0, 1.0),
    "slice": lambda torch, v: v.__setitem__(slice(None), 1.0),
    "dots": lambda torch, v: v.__setitem__(Ellipsis, 1.0),
    "indices": lambda torch, v: v.__setitem__(torch.tensor([0]), 1.0),
    "mask": lambda torch, v: v.__setitem__(v == 0, 1.0),
    "view": lambda torch, v: v.view(-1).fill_(1.0),
    "one of several": lambda torch, v: v.unbind()[0].mul_(2),
    "mul_": lambda torch, v: v.mul_(2),
    "copy_": lambda torch, v: v.copy_(torch.ones(v.shape)),
    "comparison": lambda torch, v: v.lt_(1),
    "detach": lambda torch, v: v.detach().fill_(1.0),
}


@pytest.mark.parametrize("with_grad", [False, True], ids=["no_grad", "grad"])
@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_that_is_a_view_stays_a_leaf(torch, oracle, leaf, with_grad):
    def run(library, write):
        v = LEAVES[leaf](library).requires_grad_()
        with library.set_grad_enabled(with_grad):
            written = outcome(library, lambda *_: bool(write(library, v) is None))
        (v * v).sum().backward()
        return [written, v.is_leaf, v.requires_grad, plain(library, v), plain(library, v.grad)]

    for name, write in LEAF_WRITES.items():
        ours = run(torch, write)
        assert ours == run(oracle, write), name
        assert ours[1], name


def test_a_leaf_that_asks_no_more_gets_no_gradient(torch, oracle):
    def run(library):
        a = library.ones(2, requires_grad=True)
        y = (a * 3).sum()
        a.requires_grad_(False)
        y.backward(retain_graph=True)
        first = plain(library, a.grad)
        a.requires_grad_()
        y.backward()
        return first, plain(library, a.grad)

    assert run(torch) == run(oracle) == (None, [3.0, 3.0])


def test_a_leaf_as_an_object_of_a_subclass_under_no_grad(torch):
    class Special(torch.Tensor):
        pass

    a = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        special = a.as_subclass(Special)
    assert type(special) is Special
    assert special.requires_grad
    assert special.grad_fn is None
