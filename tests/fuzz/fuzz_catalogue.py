"""What the fuzzer may call: the registry's operations and Python's functions, with the kinds of their arguments.

Names are taken from the modules themselves, so an operation is drawn from the day on which it is added.
"""

from __future__ import annotations

import functools
import inspect
import types
from dataclasses import dataclass
from typing import Any

import sampling

import clew

# No part of a comparison: memory that nobody wrote, things of the process, of files and of devices, and what steps of
# their own draw (hooks, backward, factories).
LEFT_OUT = {
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"),
    *("data_ptr", "numpy", "storage", "untyped_storage", "as_subclass", "pin_memory", "share_memory_"),
    *("cuda", "cpu", "half", "bfloat16", "char", "short", "get_device", "from_numpy", "from_dlpack", "asarray"),
    *("save", "load", "seed", "initial_seed", "manual_seed", "get_rng_state", "set_rng_state", "set_default_dtype"),
    *("set_num_threads", "get_num_threads", "set_printoptions", "use_deterministic_algorithms", "set_grad_enabled"),
    *("set_float32_matmul_precision", "get_float32_matmul_precision", "typename", "is_tensor", "apply_", "map_"),
    *("register_hook", "register_post_accumulate_grad_hook", "backward", "requires_grad_", "retain_grad", "detach_"),
    *("compile", "tensor", "new_tensor", "as_tensor", "is_shared", "is_pinned", "align_to", "type"),
    # They make sparse tensors, which few operations take: those have tests of their own, in tests/sparse.
    *("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "sparse_mask"),
    *("resize_", "resize_as_"),  # elements that they add have any value
    *("spmm", "dsmm", "hsmm"),  # names of mm for these; PyTorch has some for some devices only
    *("pca_lowrank", "svd_lowrank"),  # they begin with random matrices; the vectors of equal values are any
}

KINDS = {
    "Tensor": "tensor",
    "Tensor[]": "tensors",
    "Sequence[Tensor]": "tensors",
    "Operand": "operand",
    "Scalar": "scalar",
    "float": "float",
    "int": "int",
    "bool": "bool",
    "str": "str",
    "dtype": "dtype",
    "int[]": "ints",
    "Sequence[int]": "ints",
    "Numbers": "ints",
    "Sizes": "ints",
    "str | Numbers": "ints",
    "int | Sequence[int]": "ints",
    "int | Tensor": "int",
    "Any": "any",
}


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str
    optional: bool  # None is an argument
    has_default: bool
    keyword_only: bool


@dataclass(frozen=True)
class Call:
    """One way to call an operation: the text of the callable up to its parenthesis, with `{}` for a method's tensor."""

    name: str  # "nn.functional.gelu", "add_"
    text: str  # "torch.nn.functional.gelu", "{}.add_"
    parameters: tuple[Parameter, ...]  # of a method, without its tensor
    overload: sampling.Overload | None = None
    in_place: bool = False
    starred: bool = False  # torch.block_diag(*tensors)
    takes_out: bool = False


def from_registry(said: dict[str, Any]) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(a["name"], KINDS[a["type"]], bool(a["optional"]), a["default"] is not None, bool(a["keyword_only"]))
        for a in said["arguments"]
        if a["type"] in KINDS or not (a["optional"] or a["default"] is not None)  # memory_format is left out
    )


def from_signature(function: Any) -> tuple[tuple[Parameter, ...], bool] | None:
    """The parameters of a Python function, and whether it takes tensors as they come; None where they are not told."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    found, starred = [], False
    for one in signature.parameters.values():
        if one.name.startswith("_") or one.kind is one.VAR_KEYWORD or one.name in ("generator", "out"):
            continue
        if one.kind is one.VAR_POSITIONAL:
            if one.name != "tensors":
                return None
            found.append(Parameter("tensors", "tensors", False, False, False))
            starred = True
            continue
        said = str(one.annotation)
        optional = said.endswith(" | None")
        has_default = one.default is not one.empty
        kind = KINDS.get(said.removesuffix(" | None"))
        if kind is None or kind == "any":
            if has_default:
                continue
            return None
        found.append(Parameter(one.name, kind, optional, has_default, one.kind is one.KEYWORD_ONLY))
    return tuple(found), starred


def overload_of(said: dict[str, Any]) -> sampling.Overload | None:
    return next((one for one in sampling.overloads() if one.schema == said["schema"]), None)


def calls_of(name: str, function: Any, text: str, *, method: bool) -> list[Call]:
    if isinstance(function, clew._core.Operation):
        found = []
        for said in function.overloads:
            flags = said["flags"]
            if flags & sampling.HIDDEN and not hasattr(clew.nn.functional, name.rpartition(".")[2]):
                continue
            parameters = from_registry(said)
            if method and (not parameters or parameters[0].kind == "tensors"):
                continue
            if flags & sampling.PROPERTY:
                continue
            in_place = name.endswith("_")
            found.append(
                Call(
                    name,
                    text,
                    parameters[1:] if method else parameters,
                    overload_of(said),
                    in_place,
                    takes_out=not method and not in_place and bool(flags & sampling.OUT),
                )
            )
        return found
    described = from_signature(function)
    if described is None:
        return []
    parameters, starred = described
    if method:
        if not parameters:
            return []
        parameters = parameters[1:]
    elif not any(one.kind in ("tensor", "tensors", "operand") for one in parameters):
        return []
    return [Call(name, text, parameters, in_place=name.endswith("_"), starred=starred)]


@functools.cache
def catalogue() -> tuple[tuple[Call, ...], ...]:
    """Each operation's calls, function by function and method by method."""
    import torch

    found: list[tuple[Call, ...]] = []
    for prefix in ("", "nn.functional."):
        ours, theirs = (clew, torch) if not prefix else (clew.nn.functional, torch.nn.functional)
        for name in sampling.names_in(prefix.rstrip("."), ours):
            function = getattr(ours, name)
            if name.startswith("_") or name in LEFT_OUT or isinstance(function, type | types.ModuleType):
                continue
            if not callable(function) or not hasattr(theirs, name):
                continue
            found.append(tuple(calls_of(prefix + name, function, f"torch.{prefix}{name}", method=False)))
    for name in sampling.names_in("Tensor", clew.Tensor):
        if name.startswith("_") or name in LEFT_OUT or not hasattr(torch.Tensor, name):
            continue
        function = getattr(clew.Tensor, name)
        if isinstance(function, clew._core.Operation | types.FunctionType):
            found.append(tuple(calls_of(name, function, "{}." + name, method=True)))
    return tuple(calls for calls in found if calls)


@functools.cache
def properties() -> tuple[str, ...]:
    """x.T, x.mT ..."""
    return tuple(sorted({one.operation for one in sampling.overloads() if one.has(sampling.PROPERTY)}))


@functools.cache
def operators() -> tuple[str, ...]:
    """Python's operators, from the registry: __add__, __radd__ ..."""
    found = set()
    for operation in vars(clew._core.ops).values():
        for said in operation.overloads:
            found.update(said["operators"].split())
    return tuple(sorted(found))
