"""What `help` tells of operations: their texts and examples, and what the registry knows besides.

Nothing of it is kept: `__doc__` of an operation asks for it here, each time.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import _core
from ._core import Operation
from ._operation import (
    AXES_IN_PLACE,
    COMPOSITE,
    ELEMENT_BY_ELEMENT,
    ELEMENTWISE,
    FUNCTION,
    IN_PLACE,
    MANY_VIEWS,
    METHOD,
    NAMESPACE,
    NON_DIFFERENTIABLE,
    OUT,
    OUT_ALIKE,
    OUT_ANY,
    OUT_SETS_DTYPE,
    OUT_TRUTH,
    PROPERTY,
    SIZED_BY_VALUES,
    VIEW,
    WRITES,
)
from ._operation_dtypes import dtypes_of

__all__ = ["doc_of", "parts_of"]

Overload = dict[str, Any]


def doc_of(operation: Operation) -> str:
    """The docstring: signatures, what it computes, shapes, dtypes, gradients, forms, errors, deviations, an example."""
    overloads = operation.overloads
    in_place = operation.__name__.endswith("_") and not _base(overloads[0]).endswith("_")
    blocks: list[str] = []
    signatures: list[str] = []
    for place, overload in enumerate(overloads):
        text = parts_of(overload)[0]
        signatures.append(_signature(overload, operation.__name__, in_place))
        if place + 1 == len(overloads) or text != parts_of(overloads[place + 1])[0]:
            blocks += ["\n".join(signatures), text]
            signatures = []
    if in_place:
        blocks.append("In place: the result is written into self, which is returned.")
    facts = {
        "Shape": _of_each(overloads, _shape),
        "Dtype": dtypes_of(operation),
        "Gradient": _of_each(overloads, _gradient),
        "Forms": _forms(overloads),
        "Raises": " ".join(_errors(overloads, in_place)),
        "Deviations": _deviations(overloads),
    }
    lines = [f"{head}: {text}" for head, text in facts.items() if text]
    blocks = [block if "\n" in block else textwrap.fill(block, 110) for block in blocks]
    blocks.append("\n".join(textwrap.fill(line, 110, subsequent_indent="    ") for line in lines))
    if examples := list(dict.fromkeys(filter(None, (parts_of(overload)[1] for overload in overloads)))):
        blocks.append("Example:\n" + textwrap.indent("\n".join(examples), "    "))
    return "\n\n".join(filter(None, blocks)) + "\n"


def parts_of(overload: Overload) -> tuple[str, str]:
    """What it computes, and the example; the docstring of an operation written in Python has both."""
    text, _, example = inspect.cleandoc(overload["doc"]).partition("Example:\n")
    return text.strip(), overload["example"] or textwrap.dedent(example).strip()


def _base(overload: Overload) -> str:
    return str(overload["name"]).partition(".")[0]


def _signature(overload: Overload, name: str, in_place: bool) -> str:
    text = name + str(overload["schema"]).removeprefix(_base(overload))
    if not overload["flags"] & OUT or in_place:
        return text
    return text[:-1] + (", out=None)" if "*, " in text else ", *, out=None)")


def _tensors(overload: Overload) -> list[str]:
    return [one["name"] for one in overload["arguments"] if one["type"] in ("Tensor", "Operand", "Tensor[]")]


def _is_elementwise(overload: Overload) -> bool:
    """Its class says it; of what has none because it has no derivative (comparisons, bits), its operands."""
    flags = overload["flags"]
    if flags & (ELEMENTWISE | ELEMENT_BY_ELEMENT) or overload["derivative"] == "elementwise":
        return not flags & SIZED_BY_VALUES
    kinds = [one["type"] for one in overload["arguments"]]
    logical = kinds == ["Tensor", "Tensor"] and flags & NON_DIFFERENTIABLE and flags & IN_PLACE
    return bool(logical) or kinds[:2] == ["Operand", "Operand"]


def keeps_shape(overload: Overload) -> bool:
    """Whether the result of one tensor has its shape, with all else by default: asked of inference."""
    needed = [one["type"] for one in overload["arguments"] if one["default"] is None and not one["optional"]]
    values = {"float": 0.5, "Scalar": 1, "bool": True}
    views = overload["flags"] & (VIEW | MANY_VIEWS | WRITES | AXES_IN_PLACE)
    if views or needed[:1] != ["Tensor"] or not {*needed[1:]} <= {*values, "int", "int[]"}:
        return False
    operation = vars(_core.ops)[_base(overload)]
    others = [values.get(kind, place if kind == "int" else (place,)) for place, kind in enumerate(needed[1:])]
    for kind in ("float32", "int64"):
        with contextlib.suppress(Exception):
            tensor = _core.ops._empty((3, 2), _core.dtypes[kind])
            results = _core.infer(operation, tensor, *others)
            return all(one is not None and tuple(one[0]) == (3, 2) for one in results)
    return False


def _of_each(overloads: list[Overload], tell: Callable[[Overload], str]) -> str:
    """What it tells of the overloads; where that differs, behind the names of their arguments."""
    names = [f"({', '.join(one['name'] for one in overload['arguments'])})" for overload in overloads]
    if len(set(names)) < len(names):  # the types tell them apart
        names = [str(overload["schema"]).removeprefix(_base(overload)) for overload in overloads]
    told: dict[str, list[str]] = {}
    for overload, name in zip(overloads, names, strict=True):
        if text := tell(overload):
            told.setdefault(text, []).append(name)
    if len(told) < 2:
        return "".join(told)
    return " ".join(f"{', '.join(calls)}: {text}" for text, calls in told.items())


def _shape(overload: Overload) -> str:
    flags, tensors = overload["flags"], _tensors(overload)
    names = {one["name"] for one in overload["arguments"]}
    if flags & AXES_IN_PLACE:
        return "sizes and strides of self itself change; its memory stays."
    if flags & WRITES:
        return "that of self, which is written and returned."
    if flags & MANY_VIEWS:
        return "a tuple of views of self's memory: a write to one is seen in self."
    if flags & VIEW:
        return "a view of self's memory, of which nothing is copied: a write to one is seen in the other."
    if flags & SIZED_BY_VALUES:
        return "depends on the values of the tensors."
    if _is_elementwise(overload):
        if len(tensors) == 1:
            return f"that of {tensors[0]}."
        return f"{', '.join(tensors[:-1])} and {tensors[-1]} are broadcast to one shape, the result's."
    if "reduction" in names:
        return "reduction=0 keeps the shape, 1 (the mean) and 2 (the sum) give a tensor without axes."
    if "keepdim" in names:
        return "the axes in dim are removed, or kept with size 1 if keepdim."
    return f"that of {tensors[0]}." if keeps_shape(overload) else ""


def _gradient(overload: Overload) -> str:
    if overload["flags"] & (COMPOSITE | AXES_IN_PLACE):
        return "composed of other operations, which record nodes of their own."
    if not overload["differentiable"]:
        return "none."
    if "NotImplemented" in overload["node"]:
        return "not defined: backward raises."
    saved: dict[str, list[str]] = {}
    for one in filter(None, overload["saves"].split("; ")):
        name, _, what = one.partition(":")
        if what.strip():
            saved.setdefault(what.strip(), []).append(name)
    texts = [f"{what} for the gradient of {' and '.join(names)}" for what, names in saved.items()]
    text = f"{overload['node']} saves {', '.join(texts) or 'no tensor'}"
    terms = overload["derivative"].partition(";")[0]
    return f"{text}; {_linear(terms)}." if terms and terms != "elementwise" else f"{text}."


def _linear(terms: str) -> str:
    if "*" not in terms:
        return f"linear in {terms.replace(' + ', ' and ')}"
    factors = [term.split(" * ") for term in terms.split(" + ")]
    return "linear in each of " + " and ".join(", ".join(one) for one in factors)


def _forms(overloads: list[Overload]) -> str:
    flags = 0
    for overload in overloads:
        flags |= overload["flags"]
    name = _base(overloads[0])
    plain = name.removesuffix("_")
    forms = []
    if flags & NAMESPACE:
        space, _, rest = name.partition("_")
        forms.append(f"torch.{space}.{rest}")
    if flags & FUNCTION:
        forms.append(f"function {name}")
    if flags & METHOD or flags & WRITES:
        forms.append(f"method x.{name}")
    if flags & PROPERTY:
        forms.append(f"property x.{name}")
    if flags & IN_PLACE:
        forms.append(f"x.{plain}_ in place")
    if flags & OUT:
        forms.append(f"out= of {_out_dtype(flags)}")
    if operators := sorted({one for overload in overloads for one in overload["operators"].split()}):
        forms.append(f"operators {', '.join(operators)}")
    return ", ".join(forms) + "." if forms else ""


def _out_dtype(flags: int) -> str:
    if flags & OUT_TRUTH:
        return "dtype bool or uint8"
    if flags & OUT_ANY:
        return "any dtype"
    if flags & OUT_SETS_DTYPE:
        return "the dtype to compute in"
    return "the result's dtype" if flags & OUT_ALIKE else "a dtype that the result can be cast to"


# Arguments that name axes.
AXES = {"dim", "dims", "dim0", "dim1", "axis0", "axis1", "start_dim", "end_dim", "dimension", "source", "destination"}


def axes_of(overload: Overload) -> list[str]:
    """The arguments that name axes; IndexError if there is no such axis."""
    if _base(overload) == "tile":  # whose dims are how often
        return []
    return [one["name"] for one in overload["arguments"] if one["name"] in AXES and one["type"] in ("int", "int[]")]


def index_error(overload: Overload) -> str:
    """What an index out of range raises; empty where there is no index. As PyTorch has it."""
    if not any(one["name"] in ("index", "indices") and one["type"] != "int[]" for one in overload["arguments"]):
        return ""
    return "RuntimeError" if _base(overload).startswith(("gather", "scatter", "take_along_dim")) else "IndexError"


def _errors(overloads: list[Overload], in_place: bool) -> Iterator[str]:
    if any(_is_elementwise(one) and len(_tensors(one)) > 1 for one in overloads):
        yield "RuntimeError where the shapes do not broadcast."
    if any(map(axes_of, overloads)):
        yield "IndexError for an axis that there is not."
    if error := next(filter(None, map(index_error, overloads)), ""):
        yield f"{error} for an index out of range."
    if (in_place or overloads[0]["flags"] & WRITES) and not overloads[0]["flags"] & AXES_IN_PLACE:
        yield "RuntimeError for a leaf that requires a gradient, or where self cannot hold the result."


def _deviations(overloads: list[Overload]) -> str:
    """The headings of docs/deviations.md that name it."""
    table = json.loads(Path(__file__).with_name("deviations.json").read_text())
    name = _base(overloads[0]).removesuffix("_")
    plain = re.sub(r"^(linalg|special)_", r"\1.", name)
    found = dict.fromkeys(one for key in (name, plain, f"nn.functional.{name}") for one in table.get(key, ()))
    return "see docs/deviations.md: " + "; ".join(found) + "." if found else ""
