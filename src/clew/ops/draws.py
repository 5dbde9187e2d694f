"""Draws from distributions whose parameters are given, new or in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor
from .._domains import domain
from ..random import Generator, drawing_from
from ._options import check_options, checked_size, made

__all__ = ["bernoulli", "binomial", "multinomial", "normal", "poisson"]
METHODS = [
    "bernoulli",
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "log_normal_",
    "multinomial",
    "normal_",
    "random_",
    "uniform_",
]

_ops: Any = _core.ops


@domain("mean=0.0, std=2.0, size=(2, 3); mean=constant(real(a, b)), std=constant(positive(b))")
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Draws from normal distributions.

    Args:
        mean, std: numbers, or tensors that are broadcast together: one distribution for each element. Their gradients
            are zeros, as PyTorch's: what was drawn is taken for constant.
        size: the sizes, where both are numbers.

    Raises:
        TypeError: a size beside a tensor.
        RuntimeError: a negative `std`.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> torch.normal(torch.tensor([0.0, 100.0]), 1.0)
        tensor([ 1.5410, 99.7066])
    """
    dtype, requires_grad = options.pop("dtype", None), options.pop("requires_grad", False)
    device = options.pop("device", None)
    check_options("normal", options.pop("layout", None), device, options.pop("pin_memory", False))
    if options:
        raise TypeError(f"normal() got an unexpected keyword argument '{next(iter(options))}'")
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        sizes = checked_size("normal", (), size)
        with drawing_from(generator):
            return made(
                "normal",
                lambda kind: _ops._empty(sizes, kind).normal_(mean, std),
                out,
                dtype,
                requires_grad,
                device=device,
            )
    if size is not None:
        raise TypeError("normal(): expected no size where mean or std is a tensor; expand the tensor instead")
    with drawing_from(generator):
        drawn: Tensor = _ops._normal(mean, std)
    return drawn if out is None else made("normal", lambda kind: drawn, out, None, False, drawn.dtype)


def _drawn_by(name: str, arguments: str, doc: str, example: str) -> Callable[..., Tensor]:
    native = getattr(_ops, name)

    @domain(arguments)
    def draw(input: Tensor, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Tensor:
        if generator is None:
            result: Tensor = native(input, *args, **kwargs)
            return result
        with drawing_from(generator):
            result = native(input, *args, **kwargs)
            return result

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = f"""{doc}

    Args:
        generator: draws the numbers; by default the one that `clew.manual_seed` seeds.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> {example}
    """
    return draw


uniform_ = _drawn_by(
    "uniform_",
    "real; real, args=(-1.0, 2.0)",
    "uniform_(from=0, to=1): fill the tensor from the uniform distribution on [from, to).",
    "torch.empty(2).uniform_(-1, 1)\n        tensor([-0.0075,  0.5364])",
)
normal_ = _drawn_by(
    "normal_",
    "real; real, args=(1.0, 2.0)",
    "normal_(mean=0, std=1): fill the tensor from a normal distribution.",
    "torch.empty(2).normal_()\n        tensor([ 1.5410, -0.2934])",
)
log_normal_ = _drawn_by(
    "log_normal_",
    "real; real, args=(0.0, 0.5)",
    "log_normal_(mean=1, std=2): fill the tensor with exp of draws from N(mean, std**2).",
    "torch.empty(2).log_normal_()\n        tensor([59.2634,  1.5116])",
)
exponential_ = _drawn_by(
    "exponential_",
    "real; real, args=(2.0,)",
    "exponential_(lambd=1): fill the tensor from the exponential distribution of rate `lambd`.",
    "torch.empty(2).exponential_()\n        tensor([3.5083, 1.2304])",
)
cauchy_ = _drawn_by(
    "cauchy_",
    "real; real, args=(1.0, 2.0)",
    "cauchy_(median=0, sigma=1): fill the tensor from a Cauchy distribution.",
    "torch.empty(2).cauchy_()\n        tensor([10.5977,  0.7648])",
)
random_ = _drawn_by(
    "random_",
    "real, args=(2, 5); real, args=(7,)",
    "random_(), random_(to), random_(from, to): fill the tensor with integers from [from, to).",
    "torch.empty(4).random_(10)\n        tensor([4., 9., 3., 0.])",
)
bernoulli_ = _drawn_by(
    "bernoulli_",
    "real; real, args=(0.3,)",
    "bernoulli_(p=0.5): fill the tensor with 1 with probability p, a number or a tensor, and 0 otherwise.",
    "torch.empty(4).bernoulli_(0.5)\n        tensor([0., 0., 1., 0.])",
)
bernoulli = _drawn_by(
    "bernoulli",
    "fraction; real, args=(0.5,)",
    "bernoulli(input, p=None): 1 with the probability in `input`, or `p` for all, and 0 otherwise.",
    "torch.bernoulli(torch.tensor([0.0, 1.0]))\n        tensor([0., 1.])",
)
multinomial = _drawn_by(
    "multinomial",
    "fraction, args=(2,); input=fraction(b), args=(5, True)",
    "multinomial(input, num_samples, replacement=False): indices drawn by the weights in each row.",
    "torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 1)\n        tensor([1])",
)
poisson = _drawn_by(
    "poisson",
    "positive",
    "poisson(input): draws from the Poisson distributions whose rates are in `input`.",
    "torch.poisson(torch.tensor([3.0, 100.0]))\n        tensor([ 6., 96.])",
)


@domain("count=constant(positive(a, b)), prob=constant(fraction(a, b))")
def binomial(count: Tensor, prob: Tensor, *, generator: Generator | None = None) -> Tensor:
    """The number of successes of `count` trials with probability `prob` each, drawn for each element.

    Args:
        count, prob: floating tensors of one dtype that are broadcast together.
        generator: draws the numbers; by default the one that `clew.manual_seed` seeds.

    Example:
        >>> torch.binomial(torch.tensor([3.0, 5.0]), torch.tensor([0.0, 1.0]))
        tensor([0., 5.])
    """
    with drawing_from(generator):
        drawn: Tensor = _ops.binomial(count, prob)
        return drawn
