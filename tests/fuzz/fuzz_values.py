"""Values, shapes and arguments, as text."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy
import sampling

DTYPES = ["float32"] * 9 + ["float64"] * 6 + ["int64"] * 2 + ["int32", "uint8", "bool"]
FLOATS = ("float32", "float64")
SHAPES = [
    *[(3,), (4,), (2, 3), (3, 2), (3, 3), (2, 3)] * 3,
    *[(), (1,), (1, 3), (3, 1), (2, 3, 4), (2, 1, 3), (5, 7), (2, 2, 3, 3), (1, 2, 3, 4)],
    *[(0,), (2, 0), (17,), (1, 1), (33,)],
]
SPECIAL = ["0.0", "-0.0", "float('inf')", "-float('inf')", "float('nan')", "1.0", "-1.0", "2.0", "3.0", "6.0", "1e30"]


class Values:
    """Draws texts. `special` programs have zeros, infinities and ties among their values."""

    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.special = source.random() < 0.15

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def choice(self, options: Any) -> Any:
        return self.random.choice(options)

    # ------------------------------------------------------------------------------------------------------- tensors
    def shape(self) -> tuple[int, ...]:
        return self.choice(SHAPES)

    def number(self, dtype: str) -> str:
        if dtype == "bool":
            return self.choice(["True", "False"])
        if dtype == "uint8":
            return str(self.random.randint(0, 6))
        if dtype in ("int64", "int32"):
            return str(self.random.randint(-5, 5))
        if self.special and self.chance(0.3):
            return self.choice(SPECIAL)
        return str(round(self.random.gauss(0, 1.5), 3))

    def literal(self, shape: tuple[int, ...], dtype: str) -> str:
        if not shape:
            return self.number(dtype)
        inner = [self.literal(shape[1:], dtype) for _ in range(shape[0])]
        return f"[{', '.join(inner)}]"

    def tensor(self, literal: str, shape: tuple[int, ...], dtype: str, grad: float = 0.6) -> str:
        """A constructor: sometimes with its axes in another order, a part of a larger one, or repeated."""
        wants = dtype in FLOATS and self.chance(grad)
        if 0 in shape:
            return f"torch.zeros({shape}, dtype=torch.{dtype}{', requires_grad=True' if wants else ''})"
        needs_dtype = dtype == "float64" or dtype in ("int32", "uint8") or not shape or 0 in shape
        given = f", dtype=torch.{dtype}" if needs_dtype or self.special else ""
        text = f"torch.tensor({literal}{given}"
        way = self.random.random()
        if len(shape) >= 2 and way < 0.12:
            text = f"{text}).transpose(-1, -2).contiguous().transpose(-1, -2)"
        elif shape and shape[-1] and way < 0.2:
            text = f"{text}).repeat({', '.join(['1'] * len(shape))[:-1]}2)[..., ::2]"
        else:
            return f"{text}{', requires_grad=True' if wants else ''})"
        return text + (".detach().requires_grad_()" if wants else ".detach()" if self.chance(0.5) else "")

    def of_array(self, array: numpy.ndarray, grad: float = 0.7) -> str:
        """A constructor of a sample, whose values are rounded."""
        dtype = array.dtype.name
        if array.dtype.kind == "f":
            array = numpy.asarray(array, dtype=numpy.float64).round(3)
            if self.special and array.size and self.chance(0.5):
                return self.tensor(self.literal(array.shape, dtype), array.shape, dtype, grad)
        return self.tensor(nested(array.tolist()), array.shape, dtype, grad)

    # ----------------------------------------------------------------------------------------------------- arguments
    def dim(self, rank: int) -> str:
        if self.chance(0.04):
            return str(self.choice([rank, -rank - 1, 7]))
        return str(self.random.randrange(-max(rank, 1), max(rank, 1)))

    def dims(self, rank: int) -> str:
        count = self.random.randint(0 if self.chance(0.1) else 1, max(rank, 1))
        places = self.random.sample(range(max(rank, 1)), min(count, max(rank, 1)))
        return tuple_of(place - (rank if self.chance(0.3) else 0) for place in places)

    def factored(self, count: int) -> tuple[int, ...]:
        """Sizes whose product is the count."""
        if count == 0:
            return self.choice([(0,), (0, 2), (3, 0)])
        sizes = []
        while count > 1 and len(sizes) < 3 and not self.chance(0.2):
            divisor = self.choice([d for d in range(1, count + 1) if count % d == 0])
            sizes.append(divisor)
            count //= divisor
        sizes.append(count)
        self.random.shuffle(sizes)
        return tuple(sizes)

    def scalar(self, dtype: str | None = None) -> str:
        if self.special and self.chance(0.2):
            return self.choice(["float('inf')", "float('nan')", "0.0", "-0.0", "0", "2**40", "300", "True"])
        if dtype is not None and dtype not in FLOATS:
            return str(self.random.randint(-3, 4)) if self.chance(0.85) else str(round(self.random.gauss(0, 2), 2))
        return self.choice(
            ["0", "1", "2", "-1", "3", "0.5", "-0.5", "2.0", "1.5", str(round(self.random.gauss(0, 2), 2))]
        )

    def argument(self, kind: str, name: str, tensor: Any) -> str:
        """An argument that is no tensor, for a call whose first tensor is this one (PyTorch's)."""
        shape = tuple(tensor.shape) if tensor is not None else ()
        rank = len(shape)
        dtype = str(tensor.dtype).rpartition(".")[2] if tensor is not None else None
        if kind == "bool":
            return self.choice(["True", "False"])
        if kind == "dtype":
            return f"torch.{self.choice(DTYPES)}"
        if kind == "str":
            words = {
                "reduction": ["mean", "sum", "none"],
                "rounding_mode": ["trunc", "floor"],
                "approximate": ["none", "tanh"],
                "mode": ["constant", "reflect", "replicate", "circular"],
                "reduce": ["add", "multiply"],
                "side": ["left", "right"],
                "padding": ["same", "valid"],
                "p": ["fro"],
                "indexing": ["ij", "xy"],
            }
            return repr(self.choice(words.get(name, ["none", "mean"])))
        if kind == "int":
            if name in ("dim", "dim0", "dim1", "dim2", "axis", "axis0", "axis1", "start_dim", "end_dim", "dimension"):
                return self.dim(rank)
            if name == "reduction":
                return str(self.random.randint(0, 2))
            if name in ("k", "n", "diagonal", "offset", "start", "index"):
                return str(self.random.randint(-2, 3))
            return str(self.random.randint(0 if self.chance(0.1) else 1, 4))
        if kind == "ints":
            return self.ints(name, shape)
        if kind == "float":
            if name == "p":
                return self.choice(["0.0", "0.5", "1.0", "2.0", "0.3"])
            if name in ("eps", "rtol", "atol"):
                return self.choice(["1e-5", "1e-3", "0.1"])
            return str(round(abs(self.random.gauss(0, 1)) + (0.1 if self.chance(0.9) else -1), 2))
        return self.scalar(dtype)

    def ints(self, name: str, shape: tuple[int, ...]) -> str:
        rank = len(shape)
        if name in ("dim", "dims", "axis", "source", "destination"):
            return self.dim(rank) if self.chance(0.4) else self.dims(rank)
        if name in ("size", "shape", "sizes"):
            if self.chance(0.3) and rank:
                sizes = [-1 if self.chance(0.2) else self.choice([size, 2 if size == 1 else size]) for size in shape]
                return tuple_of(sizes)
            sizes = list(self.factored(math.prod(shape)))
            if self.chance(0.3):
                sizes[self.random.randrange(len(sizes))] = -1
            return tuple_of(sizes)
        if name in ("repeats", "dims") or name == "reps":
            return tuple_of(self.random.randint(0 if self.chance(0.1) else 1, 3) for _ in range(max(rank, 1)))
        if name == "stride" and rank:
            return tuple_of(self.random.randint(0, 3) for _ in range(rank))
        if name == "pad":
            return tuple_of(self.random.randint(-1, 2) for _ in range(2 * self.random.randint(1, max(rank, 1))))
        if self.chance(0.5):
            return str(self.random.randint(1, 3))
        return tuple_of(self.random.randint(0 if self.chance(0.1) else 1, 3) for _ in range(self.random.randint(1, 3)))

    def index(self, shape: tuple[int, ...]) -> str:
        """A key between brackets."""
        parts = []
        for size in shape[: self.random.randint(1, max(len(shape), 1))]:
            way = self.random.random()
            if way < 0.3 and size:
                parts.append(str(self.random.randrange(-size, size)))
            elif way < 0.65:
                start, stop = sorted((self.random.randint(0, size), self.random.randint(0, size)))
                parts.append(
                    self.choice([f"{start}:{stop}", ":", f"{start}:", f":{stop}", "::2", f"{start}:{stop}:2", "-2:"])
                )
            elif way < 0.72:
                parts.append("None")
            elif way < 0.78:
                parts.append("...")
            elif way < 0.92 and size:
                count = self.random.randint(1, 3)
                places = [self.random.randrange(-size, size) for _ in range(count)]
                parts.append(self.choice([f"torch.tensor({places})", str(places)]))
            else:
                parts.append(f"torch.tensor({[self.chance(0.6) for _ in range(size)]}, dtype=torch.bool)")
        while parts.count("...") > 1:
            parts.remove("...")
        return ", ".join(parts) or "..."


def nested(value: Any) -> str:
    """A list of numbers as a program says it."""
    return repr(value).replace("nan", "float('nan')").replace("inf", "float('inf')")


def tuple_of(values: Any) -> str:
    return repr(tuple(values))


def plain(value: Any) -> str:
    """An argument of a sample that is no tensor."""
    if isinstance(value, sampling.DType):
        return f"torch.{value.name}"
    if isinstance(value, float):
        return nested(value)
    return repr(value)
