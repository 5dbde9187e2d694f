"""gradcheck passes what is right and says what is wrong."""

from importlib import import_module

import pytest


def at(torch, values=(0.3, 0.7), **options):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True, **options)


def made(torch, backward, forward=lambda ctx, x: x * x):
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (torch.autograd.Function,), methods).apply


def error_of(torch):
    return import_module(torch.__name__ + ".autograd.gradcheck").GradcheckError


def test_right_gradients_pass(torch):
    for function in (
        lambda x: x.exp() * x,
        lambda x: x.sum(),
        lambda x: (x.sin(), x.cos(), x * 1),
        lambda x: x[:1] ** 2,
    ):
        for fast in (False, True):
            assert torch.autograd.gradcheck(function, at(torch), fast_mode=fast)
            assert torch.autograd.gradgradcheck(function, at(torch), fast_mode=fast)


def test_the_message_shows_both_jacobians(torch):
    wrong = made(torch, lambda ctx, grad: grad * 3 * torch.tensor([0.3, 0.7], dtype=torch.float64))
    with pytest.raises(error_of(torch), match="Jacobian mismatch for output 0 with respect to input 0") as caught:
        torch.autograd.gradcheck(wrong, at(torch))
    for told in ("numerical:tensor([[0.6000, 0.0000]", "analytical:tensor([[0.9000, 0.0000]"):
        assert told in str(caught.value)
    with pytest.raises(error_of(torch), match="Jacobian mismatch"):
        torch.autograd.gradcheck(wrong, at(torch), fast_mode=True)
    assert torch.autograd.gradcheck(wrong, at(torch), raise_exception=False) is False


def test_a_missing_gradient_is_found(torch):
    with pytest.raises(error_of(torch), match="Jacobian mismatch"):
        torch.autograd.gradcheck(made(torch, lambda ctx, grad: None), at(torch))
    with pytest.raises(error_of(torch), match="expected to be zero"):
        torch.autograd.gradcheck(lambda x: x.detach() * 2, at(torch))


def test_a_wrong_second_derivative_is_found(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    right_once = made(torch, lambda ctx, grad: grad * 2 * ctx.saved_tensors[0].detach(), forward)
    assert torch.autograd.gradcheck(right_once, at(torch))
    with pytest.raises(error_of(torch)):
        torch.autograd.gradgradcheck(right_once, at(torch))


def test_only_inputs_that_require_gradients_are_checked(torch):
    w = torch.tensor([2.0, 3.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x, w, n: x * w * n, (at(torch), w, 3))
    with pytest.raises(ValueError, match="require"):
        torch.autograd.gradcheck(lambda x: x * 2, w)


def test_inputs_are_put_back(torch):
    x = at(torch)
    torch.autograd.gradcheck(lambda x: x.exp(), x)
    assert x.tolist() == [0.3, 0.7]
    with pytest.raises(KeyError):
        torch.autograd.gradcheck(lambda x: {}["missing"], x)
    assert x.tolist() == [0.3, 0.7]
    assert x.grad is None


def test_memory_in_another_order(torch):
    x = torch.tensor([[0.3, 0.7], [1.1, -0.2]], dtype=torch.float64).t().requires_grad_()
    assert not x.is_contiguous()
    assert torch.autograd.gradcheck(lambda x: x.exp().sum(0), x)
    assert torch.autograd.gradgradcheck(lambda x: x**3, x, gen_non_contig_grad_outputs=True)


@pytest.mark.parametrize("gaps", [False, True])
def test_gradients_to_check_at_are_drawn_as_pytorch_draws_them(torch, oracle, gaps):
    """So is what a program draws afterwards."""
    told = []
    for library in (torch, oracle):
        drawn = []
        x = library.ones(2, 3, dtype=library.float64, requires_grad=True)

        def function(x, drawn=drawn):
            y = x**3
            y.register_hook(lambda g: drawn.append(g.tolist()))
            return y

        library.manual_seed(3)
        assert library.autograd.gradgradcheck(function, x, gen_non_contig_grad_outputs=gaps)
        told.append((drawn[0], library.rand(3).tolist()))
    assert told[0] == told[1]


def test_overlapping_memory_is_refused(torch):
    x = torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="stride 0"):
        torch.autograd.gradcheck(lambda x: x * 2, x)


def test_other_gradients_the_second_time_are_found(torch):
    calls = []

    def backward(ctx, grad):
        calls.append(1)
        return grad * (2 + 1e-3 * (len(calls) % 5))

    unsteady = made(torch, backward, lambda ctx, x: x * 2)
    with pytest.raises(error_of(torch), match="not reentrant"):
        torch.autograd.gradcheck(unsteady, at(torch), atol=0.1)
    assert torch.autograd.gradcheck(unsteady, at(torch), atol=0.1, nondet_tol=0.1)


def test_a_backward_that_is_not_linear_is_found(torch):
    def backward(ctx, grad):
        return grad * 2 + 1e-3

    with pytest.raises(error_of(torch), match="not multiplied by grad_output"):
        torch.autograd.gradcheck(made(torch, backward, lambda ctx, x: x * 2), at(torch), atol=0.1)


def test_gradients_that_are_none(torch):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    careless = made(torch, lambda ctx, a, b: a * 2 + b * 3, forward)
    with pytest.raises((error_of(torch), TypeError)):
        torch.autograd.gradcheck(careless, at(torch))

    def careful(ctx, a, b):
        parts = [grad * factor for grad, factor in ((a, 2), (b, 3)) if grad is not None]
        return sum(parts) if parts else None

    assert torch.autograd.gradcheck(made(torch, careful, forward), at(torch))


def test_single_precision_warns(torch):
    x = torch.tensor([0.3], requires_grad=True)
    with pytest.warns(UserWarning, match="not a double precision"):
        assert torch.autograd.gradcheck(lambda x: x * 2, x, atol=0.1, rtol=0.1)


@pytest.mark.beyond
@pytest.mark.parametrize("option", ["check_batched_grad", "check_batched_forward_grad"])
def test_what_is_not_there_yet_is_refused(torch, option):
    with pytest.raises(NotImplementedError, match=option):
        torch.autograd.gradcheck(lambda x: x, at(torch), **{option: True})
