"""Samples of an operation's arguments, from what its definition says of it: signature and domain.

A domain (`OpText::domain` in core/ops/opdef.h, `@domain` on a function that is written in Python) is a text of the
arguments of calls, in Python's notation:

    "real"                                            every tensor has any values, and two axes
    "positive, dim=1"                                 the same with positive values; dim is 1
    "self=real(a, b), mat2=real(b, c)"                tensors of given shapes; a, b, c are sizes
    "real, dim=0; real, dim=1, keepdim=True"          two samples
    "unsampled, 'why'"                                none, for this reason

Tensors are what `Sampler` makes: real, positive, unit ... with a shape. Letters from a to e are sizes, which whoever
draws may choose. What is not named: tensors have the first word's values and the shape (a, b), a list of tensors is two
of them, and an argument that may be missing is. `*tensors` is a list by its name.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy

# Flags of core/ops/registry.h.
METHOD, FUNCTION, IN_PLACE, OUT, VIEW, NON_DIFFERENTIABLE, HIDDEN, PROPERTY = (1 << i for i in range(8))
WRITES_INPUT, MANY_VIEWS, COMPOSITE, ELEMENTWISE, NAMESPACE = (1 << i for i in range(8, 13))
# Modules that are loaded when they are first asked for, with operations and functions of their own.
NAMESPACES = ("fft", "linalg", "special")

FIELDS = ("name", "schema", "node", "differentiable", "flags", "domain", "derivative", "draws", "outputs")
SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 1}
TENSORS = {"Tensor", "Operand", "Tensor[]"}


class Constant(numpy.ndarray):
    """An array of floats that is no input to differentiate (a running mean)."""


class Symmetric(numpy.ndarray):
    """Symmetric matrices, of which an operation may read one triangle: it gets the mean of a leaf and its transpose."""


@dataclass(frozen=True)
class DType:
    """A dtype by name, as modules have their own."""

    name: str


class Sampler:
    """Makes arrays. The same seed gives the same ones."""

    def __init__(self, seed: int = 0, dtype: str = "float64", integer: str = "int64") -> None:
        self.generator = numpy.random.default_rng(seed)
        self.dtype, self.integer_dtype = dtype, integer

    def _float(self, values: Any) -> numpy.ndarray:
        return numpy.asarray(values, dtype=self.dtype)

    def real(self, *shape: int) -> numpy.ndarray:
        """Any values of moderate size."""
        return self._float(self.generator.standard_normal(shape) * 1.5)

    def complex(self, *shape: int) -> numpy.ndarray:
        values = self.generator.standard_normal((*shape, 2))
        return (values @ [1, 1j]).astype(numpy.result_type(self.dtype, numpy.complex64))

    def positive(self, *shape: int) -> numpy.ndarray:
        return self._float(self.generator.uniform(0.2, 3.0, shape))

    def unit(self, *shape: int) -> numpy.ndarray:
        """Between -1 and 1."""
        return self._float(self.generator.uniform(-0.9, 0.9, shape))

    def fraction(self, *shape: int) -> numpy.ndarray:
        """Between 0 and 1: probabilities, weights."""
        return self._float(self.generator.uniform(0.1, 0.9, shape))

    def nonzero(self, *shape: int) -> numpy.ndarray:
        """At least 0.3 away from 0 and from whole numbers' halves up to 2: kinks and steps lie elsewhere."""
        whole = self.generator.integers(0, 3, shape)
        return self._float((whole + self.generator.uniform(0.3, 0.45, shape)) * self._signs(shape))

    def distinct(self, *shape: int) -> numpy.ndarray:
        """No two are equal or close."""
        count = int(numpy.prod(shape))
        return self._float(self.generator.permutation(numpy.linspace(-2.0, 2.1, count)).reshape(shape))

    def ascending(self, *shape: int) -> numpy.ndarray:
        """Sorted along the last axis."""
        return numpy.sort(self.distinct(*shape), axis=-1)

    def integer(self, *shape: int) -> numpy.ndarray:
        """From -5 to 5 without 0, int64 unless another is asked for."""
        return numpy.asarray(self.generator.integers(1, 6, shape) * self._signs(shape, int), self.integer_dtype)

    def index(self, below: int, *shape: int) -> numpy.ndarray:
        """int64 from 0 up to, not including, `below`."""
        return numpy.asarray(self.generator.integers(0, below, shape))

    def order(self, below: int, count: int) -> numpy.ndarray:
        """`count` indices below `below`, no two of them equal."""
        return self.generator.permutation(below)[:count]

    def mask(self, *shape: int) -> numpy.ndarray:
        """Booleans, some of them True."""
        values = numpy.asarray(self.generator.integers(0, 2, shape).astype(bool))
        values.flat[:1] = True
        return values

    def dominant(self, *shape: int) -> numpy.ndarray:
        """Matrices far from singular, for the diagonal outweighs the rest. So are their triangles."""
        return self._float(self.unit(*shape) + numpy.eye(shape[-1]) * self.generator.uniform(2, 4, shape[-1]))

    def symmetric(self, *shape: int) -> numpy.ndarray:
        values = self.real(*shape)
        return (values + values.swapaxes(-1, -2)).view(Symmetric)

    def definite(self, *shape: int) -> numpy.ndarray:
        """Symmetric with positive eigenvalues."""
        values = self.real(*shape)
        return self._float(values @ values.swapaxes(-1, -2) + numpy.eye(shape[-1])).view(Symmetric)

    @staticmethod
    def constant(array: numpy.ndarray) -> numpy.ndarray:
        return numpy.asarray(array).view(Constant)

    def _signs(self, shape: tuple[int, ...], kind: type = float) -> numpy.ndarray:
        return self.generator.choice(numpy.array([-1, 1], kind), shape)

    def names(self) -> dict[str, Any]:
        made = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        kinds = {kind: DType(kind) for kind in ("float32", "float64", "int64", "int32", "bool")}
        return {**made, **kinds}


@dataclass(frozen=True)
class Overload:
    """One entry of the registry."""

    operation: str  # "add"
    name: str  # with the overload's own name, where it has one
    schema: str
    arguments: list[dict[str, Any]] = field(repr=False)
    node: str
    differentiable: bool
    flags: int
    domain: str
    derivative: str  # what kind of function it is: Note [Derivative classes] in core/ops/derivative_class.h
    draws: bool  # random numbers
    outputs: int  # 0: the arguments decide

    def __str__(self) -> str:
        return self.schema

    def has(self, flag: int) -> bool:
        return bool(self.flags & flag)

    @property
    def unsampled(self) -> str:
        """Why it has no samples; empty if it has."""
        if not self.domain.startswith("unsampled"):
            return ""
        return eval(f"(lambda _, reason: reason)({self.domain})", {"unsampled": None})

    @property
    def is_public(self) -> bool:
        return not self.has(HIDDEN)


@functools.cache
def overloads() -> tuple[Overload, ...]:
    """All overloads of all operations, in the order of their names; in-place forms that are derived are no others."""
    for name in NAMESPACES:
        importlib.import_module(f"clew.{name}")
    found = {}
    for operation in vars(importlib.import_module("clew")._core.ops).values():
        for said in operation.overloads:
            key = said["schema"]
            found[key] = Overload(
                operation=key.split("(")[0].split(".")[0],
                **{kind: said[kind] for kind in FIELDS},
                arguments=said["arguments"],
            )
    return tuple(found[key] for key in sorted(found))


@dataclass(frozen=True)
class Composition(Overload):
    """A public function that is written in Python."""

    path: str  # where programs find it, below the module: "nn.functional.glu", "Tensor.new_zeros"


def names_in(place: str, owner: Any) -> list[str]:
    """Those that clew's module, or its Tensor, has at `place`, whatever somebody has asked for before."""
    names = dir(owner) if place in ("", "Tensor") else vars(owner)  # some are loaded when they are asked for
    placeholders = importlib.import_module("clew._placeholders").table()  # there once somebody has asked for them
    return sorted(set(names) - set(placeholders.get(place, ())))


@functools.cache
def compositions() -> tuple[Composition, ...]:
    """The functions of clew.ops, clew.nn.functional and the like and Tensor's methods, each once, by their places."""
    module = importlib.import_module("clew")
    found: dict[Any, Composition] = {}
    spaces = [(f"{name}.", getattr(module, name)) for name in NAMESPACES]
    places = (("", module), ("nn.functional.", module.nn.functional), ("Tensor.", module.Tensor), *spaces)
    beside = ("clew._tensor", "clew._typed", "clew._numeric")  # what has to do with tensors, but is no operation
    ours = ("clew.ops.", "clew.nn.functional.", *(f"clew.{name}." for name in NAMESPACES), *beside)
    for place, owner in places:
        for name in names_in(place.rstrip("."), owner):
            function = getattr(owner, name, None)
            function = getattr(function, "__wrapped__", function)  # of one that asks __torch_function__ first
            if name.startswith("_") or not isinstance(function, types.FunctionType) or function in found:
                continue
            if function.__module__.startswith(ours):
                found[function] = _composition(place + name, function)
    return tuple(found.values())


def _composition(path: str, function: Any) -> Composition:
    signature = inspect.signature(function)
    name = path.rpartition(".")[2]
    return Composition(
        operation=name,
        name=name,
        schema=path + str(signature).partition(" ->")[0],
        arguments=[_argument(one) for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD],
        node="",
        differentiable=True,
        flags=FUNCTION,
        domain=getattr(function, "domain", ""),
        derivative="",
        draws=function.__module__ == "clew.ops.random",
        outputs=0,
        path=path,
    )


def _argument(parameter: inspect.Parameter) -> dict[str, Any]:
    """A Python parameter as the registry describes one."""
    said = str(parameter.annotation)
    starred = parameter.kind is parameter.VAR_POSITIONAL
    has_default = starred or parameter.default is not parameter.empty
    return {
        "name": parameter.name,
        "type": {"Sequence[Tensor]": "Tensor[]"}.get(said, said.removesuffix(" | None")),
        "optional": said.endswith(" | None"),
        "default": str(parameter.default) if has_default else None,
        "keyword_only": parameter.kind is parameter.KEYWORD_ONLY,
        "starred": starred,
    }


@dataclass
class Sample:
    """The arguments of one call: NumPy arrays for tensors, lists of them, and values."""

    overload: Overload
    arguments: dict[str, Any]

    def positional(self) -> tuple[list[Any], dict[str, Any]]:
        """Arguments by place up to the first that is missing or has only a name, the rest by name."""
        places, named = [], {}
        by_name = False
        for argument in self.overload.arguments:
            if argument["name"] not in self.arguments:
                by_name = True
            elif by_name or argument["keyword_only"]:
                named[argument["name"]] = self.arguments[argument["name"]]
            elif argument.get("starred"):
                places += self.arguments[argument["name"]]
            else:
                places.append(self.arguments[argument["name"]])
        return places, named


def samples(
    overload: Overload, sizes: dict[str, int] = SIZES, seed: int = 0, dtype: str = "float64", integer: str = "int64"
) -> list[Sample]:
    """The samples that the domain describes.

    Raises:
        ValueError: it has no domain, or its domain leaves out an argument that a call needs.
    """
    if overload.unsampled:
        return []
    if not overload.domain:
        raise ValueError(f"{overload}: no domain; say in its struct, or by @domain, what arguments may be")
    sampler = Sampler(seed, dtype, integer)
    made = []
    for call in overload.domain.split(";"):
        scope = {**sampler.names(), **sizes, "call": lambda *words, **named: (words, named)}
        words, named = eval(f"call({call})", scope)
        own = {argument["name"] for argument in overload.arguments}
        given = {name if name in own else name.removesuffix("_"): value for name, value in named.items()}
        values = words[0] if words else sampler.real
        made.append(Sample(overload, _complete(overload, given, values, sizes)))
    return made


def _complete(overload: Overload, given: dict[str, Any], values: Any, sizes: dict[str, int]) -> dict[str, Any]:
    unknown = given.keys() - {argument["name"] for argument in overload.arguments}
    if unknown:
        raise ValueError(f"{overload}: its domain names {sorted(unknown)}, which are no arguments of it")
    shape = (sizes["a"], sizes["b"])
    complete = {}
    for argument in overload.arguments:
        name, kind = argument["name"], argument["type"]
        if name in given:
            complete[name] = given[name]
        elif argument["default"] is not None:
            continue
        elif argument["optional"]:
            complete[name] = None
        elif kind in TENSORS:
            complete[name] = [values(*shape), values(*shape)] if kind == "Tensor[]" else values(*shape)
        else:
            raise ValueError(f"{overload}: its domain does not say what {name} is")
    return complete


# --------------------------------------------------------------------------------------------------------------- calls
def to_module(
    module: Any, value: Any, *, grad: bool = True, leaves: list[Any] | None = None, floating: str | None = None
) -> Any:
    """Arrays as tensors of `module`, floating ones as leaves that require a gradient and are added to `leaves`; these
    in the dtype `floating`, if it is given."""
    if isinstance(value, numpy.ndarray):
        if isinstance(value, Symmetric):
            tensor = to_module(module, numpy.asarray(value), grad=grad, leaves=leaves, floating=floating)
            return (tensor + tensor.mT) / 2
        tensor = module.from_numpy(numpy.array(value))
        if floating and value.dtype.kind == "f":
            tensor = tensor.to(getattr(module, floating))
        if grad and value.dtype.kind == "f" and not isinstance(value, Constant):
            tensor.requires_grad_()
            if leaves is not None:
                leaves.append(tensor)
        return tensor
    if isinstance(value, DType):
        return getattr(module, value.name)
    if isinstance(value, list | tuple):
        return type(value)(to_module(module, one, grad=grad, leaves=leaves, floating=floating) for one in value)
    if isinstance(value, dict):
        return {
            name: to_module(module, one, grad=grad, leaves=leaves, floating=floating) for name, one in value.items()
        }
    return value


def tensors_in(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to the arrays of a call."""
    if isinstance(tree, numpy.ndarray):
        yield path
    elif isinstance(tree, dict | list | tuple):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from tensors_in(value, (*path, key))


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    """What lies there."""
    return at(tree[path[0]], path[1:]) if path else tree


def call_of(overload: Overload, module: Any) -> Any:
    """The callable by which `module` (clew or PyTorch) does the operation; None where it has none."""
    return next(iter(calls_of(overload, module)), None)


def calls_of(overload: Overload, module: Any) -> list[Any]:
    """The callables of this name, the likeliest first. Those of PyTorch may have other arguments."""
    name = overload.operation
    if isinstance(overload, Composition):
        *owner, _ = overload.path.split(".")
        owners = [functools.reduce(getattr, owner, module)]
    elif module.__name__ == "clew":
        owners = [module._core.ops]
    elif overload.has(HIDDEN):
        return []
    elif overload.has(NAMESPACE):
        space = name.partition("_")[0]
        owners = [getattr(module._C, f"_{space}")]
    elif overload.has(PROPERTY):
        return [operator.attrgetter(name)]
    elif overload.has(FUNCTION):
        owners = [module, module.nn.functional, module._C._nn, module.Tensor]
    else:
        owners = [module.Tensor]
    return [getattr(owner, name) for owner in owners if hasattr(owner, name)]
