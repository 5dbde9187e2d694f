"""What activations as modules share."""

from __future__ import annotations

from typing import Any, ClassVar, dataclass_transform

from .module import Module


def options_of(cls: type, options: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The options of a class by name, as a call gives them by place and by name; the others have their defaults."""
    given = dict(zip(options, args, strict=False))
    unknown = kwargs.keys() - options.keys() | kwargs.keys() & given.keys()
    if unknown or len(args) > len(options):
        raise TypeError(
            f"{cls.__name__}: expected at most ({', '.join(options)}), each once, "
            f"got {len(args)} positional arguments and {sorted(kwargs)}"
        )
    return options | given | kwargs


@dataclass_transform()
class Activation(Module):
    """Base of the activations: annotated class attributes are the constructor's arguments, in order.

    Example:
        >>> torch.nn.LeakyReLU(0.1), torch.nn.LeakyReLU(inplace=True)
        (LeakyReLU(negative_slope=0.1), LeakyReLU(negative_slope=0.01, inplace=True))
    """

    _options: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._options = {name: getattr(cls, name) for name in cls.__annotations__} or cls._options

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.__dict__.update(options_of(type(self), self._options, args, kwargs))

    def extra_repr(self) -> str:
        """The options; `inplace` only if set."""
        options = {name: self.__dict__[name] for name in self._options}
        return ", ".join(f"{name}={value!r}" for name, value in options.items() if name != "inplace" or value)
