"""The base of all distributions.

A distribution of this package writes its formulas and nothing else. `_set_parameters` broadcasts and checks what it is
made from; `expand`, `repr`, checks of values and of samples' shapes follow from `arg_constraints`; `_formulas` become
properties and methods (see `utils.Formulas`):

    class Exponential(ExponentialFamily):
        arg_constraints = {"rate": constraints.positive}
        support = constraints.nonnegative
        _formulas = {
            "mean": lambda rate: rate.reciprocal(),
            # `log_prob` checks the value first
            "_log_prob": lambda value, rate: rate.log() - rate * value,
            # reparameterised draws; `_sample` for those without gradient
            "_rsample": lambda shape, rate: clew.empty(shape).exponential_() / rate,
        }

        def __init__(self, rate, validate_args=None):
            self._set_parameters(validate_args, rate=rate)
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import clew
from clew import Size, Tensor

from . import _checks, constraints
from .utils import Formulas, broadcast_all, lazy_property

__all__ = ["Distribution"]

_PACKAGE = __name__.rpartition(".")[0] + "."


class Distribution(Formulas):
    """A probability distribution, or a batch of independent ones.

    A tensor of draws has shape `sample_shape + batch_shape + event_shape`; `log_prob` of it has shape
    `sample_shape + batch_shape`. `sample` gives draws without history, `rsample` draws that are differentiable
    functions of the parameters (where `has_rsample`).

    Args:
        batch_shape, event_shape: the shape of the batch, and of a draw from one member of it.
        validate_args: whether parameters and values are checked; by default as `set_default_validate_args` says.

    Raises:
        ValueError: a parameter lies outside its constraint.

    Members that a distribution has not (a mean, a `cdf`) raise NotImplementedError.

    Example:
        >>> batch = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
        >>> batch.sample((3,)).shape, batch.log_prob(torch.zeros(3, 2)).shape
        (torch.Size([3, 2]), torch.Size([3, 2]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    arg_constraints: ClassVar[Any]
    support: Any
    _values: Any = None  # all values, along the first axis
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check parameters and values unless they are told otherwise; they do, by default."""
        if value not in [True, False]:
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            _checks.check_parameters(self)
        super().__init__()

    def _set_parameters(self, validate_args: bool | None, event_shape: Any = (), **parameters: Any) -> None:
        """Keep parameters, of one shape by broadcasting, as attributes; their shape is that of the batch."""
        for name, value in zip(parameters, broadcast_all(*parameters.values()), strict=True):
            setattr(self, name, value)
        Distribution.__init__(self, value.shape, event_shape, validate_args=validate_args)

    # ---------------------------------------------------------------------------------------------------- shapes
    @property
    def batch_shape(self) -> Size:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw from one member of the batch."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(tuple(sample_shape)) + self._batch_shape + self._event_shape

    def _outer(self, shape: Size) -> Size:
        """The sample shape that an extended shape was made from."""
        return shape[: len(shape) - len(self._batch_shape) - len(self._event_shape)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """A distribution whose parameters are views of these, expanded to a larger batch.

        Args:
            batch_shape: the shape that `self.batch_shape` is broadcast to.

        Raises:
            NotImplementedError: the class has a constructor of its own and no `expand`.

        Example:
            >>> import torch.distributions as D
            >>> D.Normal(0.0, 1.0).expand((2, 3))
            Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3]))
        """
        new = self._get_checked_instance(self._own_class(), _instance)
        self._expand_into(new, Size(tuple(batch_shape)))
        return new

    def _own_class(self) -> Any:
        """The class of this package that `expand` knows how to expand."""
        own: Any = next(one for one in type(self).__mro__ if one.__module__.startswith(_PACKAGE))
        if own.__init__ is Distribution.__init__:
            raise NotImplementedError(f"{type(self).__name__}.expand is not implemented")
        return own

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _event_dims(self) -> dict[str, int]:
        """How many axes on the right of each parameter do not belong to the batch."""
        dims = {}
        for cls in (*reversed(type(self).__mro__), self):
            given = cls.__dict__.get("arg_constraints") if isinstance(cls, type) else self.arg_constraints
            if isinstance(given, dict):
                dims.update({name: one.event_dim for name, one in given.items() if not constraints.is_dependent(one)})
        return dims

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        """Give `new` this distribution's attributes: parameters and distributions expanded, others as they are."""
        dims = self._event_dims()
        for name, value in self.__dict__.items():
            if name in new.__dict__:
                continue
            if isinstance(value, Distribution):
                value = value.expand(batch_shape + value.batch_shape[len(self._batch_shape) :])
            elif name in dims:
                value = value.expand(batch_shape + value.shape[value.dim() - dims[name] :])
            elif isinstance(getattr(type(self), name, None), lazy_property):
                continue  # computed again when it is asked for
            setattr(new, name, value)
        new._batch_shape = batch_shape
        new._validate_args = self._validate_args

    # ---------------------------------------------------------------------------------------------------- what it says
    @property
    def mean(self) -> Tensor:
        """The mean, of shape `batch_shape + event_shape`."""
        raise self._has_no("mean")

    @property
    def mode(self) -> Tensor:
        """Where the density is largest, of shape `batch_shape + event_shape`."""
        raise self._has_no("mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element of a draw."""
        raise self._has_no("variance")

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability of a discrete value.

        Raises:
            ValueError: the value has a wrong shape or lies outside the support (unless `validate_args=False`).

        Example:
            >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor(1.0)).exp()
            tensor(0.2500)
        """
        if self._validate_args:
            self._validate_sample(value)
        return self._log_prob(value)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`.

        Example:
            >>> torch.distributions.Uniform(0.0, 2.0).cdf(torch.tensor(0.5))
            tensor(0.2500)
        """
        if self._validate_args:
            self._validate_sample(value)
        return self._cdf(value)

    def _log_prob(self, value: Tensor) -> Tensor:
        raise self._has_no("log_prob")

    def _cdf(self, value: Tensor) -> Tensor:
        raise self._has_no("cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`: the quantile of each probability.

        Example:
            >>> torch.distributions.Uniform(0.0, 2.0).icdf(torch.tensor(0.25))
            tensor(0.5000)
        """
        raise self._has_no("icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first axis; with `expand` for each member of the batch.

        Example:
            >>> torch.distributions.Bernoulli(0.5).enumerate_support()
            tensor([0., 1.])
        """
        if self._values is None:
            raise self._has_no("enumerate_support")
        return self._enumerated(self._values, expand)

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values along the first axis, with the batch's axes after it."""
        events = values.shape[1:]
        values = values.view(values.shape[:1] + (1,) * len(self._batch_shape) + events)
        return values.expand((-1, *self._batch_shape, *events)) if expand else values

    def entropy(self) -> Tensor:
        """The entropy in nats, of shape `batch_shape`.

        Example:
            >>> torch.distributions.Bernoulli(0.5).entropy()
            tensor(0.6931)
        """
        raise self._has_no("entropy")

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return self.entropy().exp()

    def _has_no(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{self.__class__} does not implement {name}")

    # ---------------------------------------------------------------------------------------------------- draws
    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws without history, of shape `sample_shape + batch_shape + event_shape`.

        Example:
            >>> torch.distributions.Normal(torch.zeros(2), 1.0).sample((3,)).shape
            torch.Size([3, 2])
        """
        with clew.no_grad():
            return self._sample(self._extended_shape(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws that are differentiable functions of the parameters.

        Example:
            >>> loc = torch.zeros(1, requires_grad=True)
            >>> torch.distributions.Normal(loc, 1.0).rsample().backward()
            >>> loc.grad
            tensor([1.])
        """
        return self._rsample(self._extended_shape(sample_shape))

    def _sample(self, shape: Size) -> Tensor:
        return self.rsample(self._outer(shape))

    def _rsample(self, shape: Size) -> Tensor:
        raise self._has_no("rsample")

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`, by its old name."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample((n,))

    def _validate_sample(self, value: Any) -> None:
        _checks.check_value(self, value)

    def __repr__(self) -> str:
        known = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        args = ", ".join(f"{name}: {v if v.numel() == 1 else v.shape}" for name, v in known.items())
        return f"{type(self).__name__}({args})"
