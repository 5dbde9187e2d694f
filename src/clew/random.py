"""Random generators: seeding, state, drawing from a separate one.

The same seed gives the numbers that PyTorch's CPU generator gives on x86 with AVX2, to the bit.
"""

from __future__ import annotations

import os as _os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from . import _core
from ._core import Tensor
from ._device import CPU, check_device, device
from ._unsupported import missing_from as _missing_from

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


_WORDS = 624  # of MT19937
# The state as the core gives it, and as PyTorch's CPU generator does.
_OURS = numpy.dtype(
    [
        ("name", "S16"),
        ("seed", "u8"),
        ("normal", "f8"),
        ("next", "i4"),
        ("has_normal", "i4"),
        ("words", "u4", _WORDS),
    ]
)
_TORCHS = numpy.dtype(
    [
        ("seed", "u8"),
        ("left", "i4"),
        ("seeded", "i4"),
        ("next", "u8"),
        ("words", "u8", _WORDS),
        ("normal_x", "f8"),
        ("normal_y", "f8"),
        ("normal_rho", "f8"),
        ("normal_is_valid", "i4"),
        ("next_float_normal", "f4"),
        ("has_next_float_normal", "?"),
    ],
    align=True,
)


class Generator:
    """A random number generator with a state of its own, the Mersenne Twister (MT19937) with PyTorch's numbers.

    Example:
        >>> own = torch.Generator().manual_seed(3)
        >>> first = torch.rand(2, generator=own)
        >>> torch.equal(first, torch.rand(2, generator=own.manual_seed(3)))
        True
    """

    __slots__ = ("__weakref__", "_stream")
    _stream: Any

    def __init__(self, device: Any = "cpu") -> None:
        if check_device(device, "Generator") is not CPU:
            raise RuntimeError("Generator: expected device 'cpu', got 'meta', where nothing is drawn")
        self._stream = _core.RandomStream()

    @property
    def device(self) -> device:
        """Where it draws: the CPU."""
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to this seed, and return the generator.

        Raises:
            ValueError: the seed does not fit 64 bits, with a sign or without.
        """
        number = int(seed)
        if not -(2**63) <= number < 2**64:
            raise ValueError(
                f"manual_seed: expected a seed from -2**63 to 2**64 - 1, got {number}; Overflow when unpacking long"
            )
        self._stream.seed(number % 2**64)
        return self

    def seed(self) -> int:
        """Seed the generator from the system's entropy, and return the seed."""
        number = int.from_bytes(_os.urandom(8), "little") >> 1
        self._stream.seed(number)
        return number

    def initial_seed(self) -> int:
        """The seed that the stream belongs to."""
        return int(self._stream.initial_seed())

    def get_state(self) -> Tensor:
        """Where in the stream it stands, as bytes in a uint8 tensor: PyTorch's, which can read them."""
        head = numpy.frombuffer(self._stream.get_state(), _OURS, 1)[0]
        state = numpy.zeros((), _TORCHS)
        # A stream that has just been seeded has used none of its words, but makes new ones first.
        fresh = head["next"] == _WORDS and head["words"][0] == head["seed"] & 0xFFFFFFFF
        state["seed"], state["words"] = head["seed"], head["words"]
        state["left"], state["seeded"] = _WORDS + 1 - head["next"], 1
        state["next"] = 0 if fresh else head["next"]
        if head["has_normal"]:
            state["normal_y"], state["normal_is_valid"] = head["normal"], 1
        result: Tensor = _core.from_numpy(numpy.frombuffer(bytearray(state.tobytes()), dtype=numpy.uint8)).clone()
        return result

    def set_state(self, new_state: Tensor) -> None:
        """Go back to a state that `get_state` gave, here or in PyTorch.

        Raises:
            TypeError: no uint8 tensor.
            ValueError: bytes that `get_state` did not give.
        """
        if not isinstance(new_state, Tensor) or new_state.dtype is not _core.dtypes["uint8"]:
            raise TypeError(
                "set_state: expected a uint8 tensor (RNG state must be a torch.ByteTensor); give what get_state gave"
            )
        data = new_state.numpy().tobytes()
        if len(data) != _TORCHS.itemsize:
            raise ValueError(
                f"set_state: expected the {_TORCHS.itemsize} bytes that get_state gives, got {len(data)}; pass its "
                "result unchanged"
            )
        state = numpy.frombuffer(data, _TORCHS, 1)[0]
        left, place = int(state["left"]), int(state["next"])
        if not (state["seeded"] == 1 and 1 <= left <= _WORDS and (left == 1 or place == _WORDS + 1 - left)):
            raise ValueError("set_state: expected bytes that get_state gave, got others")
        head = numpy.zeros((), _OURS)
        head["name"], head["seed"], head["words"] = b"clew mt19937 v1", state["seed"], state["words"]
        head["next"] = _WORDS if left == 1 else place
        if state["normal_is_valid"]:
            head["normal"], head["has_normal"] = state["normal_y"], 1
        self._stream.set_state(head.tobytes())

    def clone_state(self) -> Generator:
        """Another generator, which stands where this one does."""
        other = Generator()
        other._stream.set_state(self._stream.get_state())
        return other

    def __repr__(self) -> str:
        return f"<clew.Generator seeded with {self.initial_seed()}>"


default_generator = Generator.__new__(Generator)
default_generator._stream = _core.default_stream()


class drawing_from:
    """A context in which random functions of this thread draw from this generator; None is the default one."""

    __slots__ = ("_before", "_generator")

    def __init__(self, generator: Generator | None) -> None:
        if generator is not None and not isinstance(generator, Generator):
            raise TypeError(f"generator: expected a Generator or None, got {type(generator).__name__}")
        self._generator = generator

    def __enter__(self) -> None:
        self._before = _core.choose_stream(None if self._generator is None else self._generator._stream)

    def __exit__(self, *exc_info: object) -> None:
        _core.choose_stream(self._before)


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, from which all functions draw that are given no other, and return it.

    Args:
        seed: an integer of 64 bits; a negative one stands for the unsigned number with the same bits.

    Raises:
        ValueError: a seed of more bits.

    Example:
        >>> torch.manual_seed(0).initial_seed()
        0
        >>> torch.rand(2)
        tensor([0.4963, 0.7682])
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the system's entropy, and return the seed.

    Example:
        >>> torch.seed() == torch.initial_seed()
        True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator was last given.

    Example:
        >>> _ = torch.manual_seed(3)
        >>> torch.initial_seed()
        3
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as bytes in a uint8 tensor.

    Example:
        >>> state = torch.get_rng_state()
        >>> first = torch.rand(3)
        >>> torch.set_rng_state(state)
        >>> torch.equal(first, torch.rand(3))
        True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Return the default generator to a state that `get_rng_state` gave.

    Raises:
        TypeError, ValueError: it is not what `get_rng_state` gives.

    Example:
        >>> state = torch.get_rng_state()
        >>> first = torch.rand(3)
        >>> torch.set_rng_state(state)
        >>> torch.equal(first, torch.rand(3))
        True
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cpu", **names: Any) -> Iterator[None]:
    """A context after which the default generator is in the state that it had before.

    Args:
        enabled: False makes it do nothing.
        devices, device_type: accepted; there is one device.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> with torch.random.fork_rng():
        ...     first = torch.rand(2)
        >>> torch.equal(first, torch.rand(2))
        True
    """
    del devices, device_type, names
    if not enabled:
        yield
        return
    before = default_generator._stream.get_state()
    try:
        yield
    finally:
        default_generator._stream.set_state(before)


__getattr__ = _missing_from(__name__)
