"""Backward of what cannot be run, and gradients that do not fit."""

import pytest
from refusing import assert_refused, cases


def freed(torch, t):
    y = (t.matrix**2).sum()
    torch.autograd.grad(y, t.matrix)
    return y


def modified(torch, t):
    h = t.matrix * 1
    y = (h**2).sum()
    h.add_(1)
    return y


BACKWARD = {
    "many without gradient": ("scalar", lambda torch, t: t.result.backward()),
    "grad of many without gradient": ("scalar", lambda torch, t: torch.autograd.grad(t.result, t.matrix)),
    "empty without gradient": ("scalar", lambda torch, t: t.matrix[:0].sum(1).backward()),
    "a freed graph": ("second time", lambda torch, t: freed(torch, t).backward()),
    "grad of a freed graph": ("second time", lambda torch, t: torch.autograd.grad(freed(torch, t), t.matrix)),
    "a modified tensor": ("modified by an inplace operation", lambda torch, t: modified(torch, t).backward()),
    "gradient of another shape": ("shape", lambda torch, t: t.result.backward(torch.ones(3, 2))),
    "gradient of more dimensions": ("shape", lambda torch, t: t.result.backward(torch.ones(1, 2, 3))),
    "gradient of a broadcast shape": ("shape", lambda torch, t: t.result.backward(torch.ones(3))),
    "gradient that is a list": ("gradient", lambda torch, t: t.result.backward([1.0]), (TypeError, RuntimeError)),
    "gradient that is a number": ("gradient", lambda torch, t: t.result.sum().backward(2.0), (TypeError, RuntimeError)),
    "gradient that is text": ("gradient", lambda torch, t: t.result.sum().backward("a"), (TypeError, RuntimeError)),
    "too few gradients": ("", lambda torch, t: torch.autograd.grad([t.result, t.result], t.matrix, [t.plain])),
    "no history": ("does not require grad", lambda torch, t: t.plain.sum().backward()),
    "no history of integers": ("does not require grad", lambda torch, t: t.integers.sum().backward()),
    "detached": ("does not require grad", lambda torch, t: t.result.detach().sum().backward()),
    "backward of none": ("", lambda torch, t: torch.autograd.backward(None), (TypeError, AttributeError)),
    "backward of a number": ("", lambda torch, t: torch.autograd.backward(1.0), (TypeError, AttributeError)),
    "grad for what is not in the graph": (
        "not have been used in the graph",
        lambda torch, t: torch.autograd.grad(t.result.sum(), t.leaf),
    ),
    "grad for what needs none": ("require", lambda torch, t: torch.autograd.grad(t.result.sum(), t.plain)),
    "grad for nothing": ("", lambda torch, t: torch.autograd.grad(t.result.sum(), []), (ValueError, RuntimeError)),
    "grad for a number": ("", lambda torch, t: torch.autograd.grad(t.result.sum(), 1.0), (TypeError, AttributeError)),
    "inputs that are empty": ("inputs", lambda torch, t: t.result.sum().backward(inputs=[])),
    "inputs that need none": ("", lambda torch, t: t.result.sum().backward(inputs=[t.plain])),
    "gradient of another shape assigned": ("size", lambda torch, t: setattr(t.leaf, "grad", torch.ones(2))),
    "gradient of another dtype assigned": (
        "float64", lambda torch, t: setattr(t.leaf, "grad", torch.ones(3, dtype=torch.float64))
    ),
    "gradient of text assigned": ("grad", lambda torch, t: setattr(t.leaf, "grad", "a"), (TypeError, RuntimeError)),
    "its own gradient": ("grad", lambda torch, t: setattr(t.leaf, "grad", t.leaf)),
    "retain_grad without gradient": ("retain_grad", lambda torch, t: t.plain.retain_grad()),
    "a hook without gradient": ("hook", lambda torch, t: t.plain.register_hook(lambda grad: None)),
    "switching off a result": ("leaf", lambda torch, t: t.result.requires_grad_(False)),
    "a saved name that is not": ("_saved_bananas", lambda torch, t: t.result.grad_fn._saved_bananas),
    "a node of one's own": ("", lambda torch, t: type(t.result.grad_fn)(), TypeError),
}  # fmt: skip


@pytest.mark.parametrize(("call", "words", "error"), cases(BACKWARD))
def test_backward_that_cannot_be(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


def test_a_gradient_of_integers(torch):
    """PyTorch takes it and converts; what matters is that no gradient becomes an integer."""
    x = torch.ones(2, requires_grad=True)
    y = x * 2.5
    try:
        y.backward(torch.ones(2, dtype=torch.int64))
    except RuntimeError as error:
        assert "dtype" in str(error) or "type" in str(error)  # noqa: PT017
        assert x.grad is None
    else:
        assert x.grad.dtype == torch.float32
        assert x.grad.tolist() == [2.5, 2.5]


def test_hooks_that_are_not_callable(torch):
    x = torch.ones(2, requires_grad=True)

    def attempt():
        x.register_hook(5)
        (x * 2).sum().backward()

    with pytest.raises(TypeError):
        attempt()
    assert x.grad is None


@pytest.mark.beyond
def test_everything_goes_on_after_many_errors(torch, oracle, on_oracle):
    """Refused calls of all kinds, then a step of training whose numbers are right."""
    for row in list(BACKWARD.values()) * 3:
        assert_refused(torch, oracle, on_oracle, row[1], row[0], Exception)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x**3).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
