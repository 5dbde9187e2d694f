"""Operations of the registry that are written in Python: one definition holds the forward and the rules.

A function over NumPy arrays (or tensors, of which nothing is recorded) becomes an operation by the decorator. The
parameters of a rule say what it needs, and thereby what a node keeps:

    @operation(
        "scaled(Tensor self, Tensor other, *, float by=1.0)",
        rules=(lambda g, other, by: g * other * by, lambda g, self, by: g * self * by),
        domain="real",
    )
    def scaled(self, other, by):
        \"\"\"self * other * by.\"\"\"
        return self * other * by

Rules are made of operations on tensors, so that they have derivatives themselves. See `operation`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from . import _core
from ._core import Operation, Tensor
from ._device import placed
from ._size import broadcast_shapes

Rule = Callable[..., Any]

# Flags of core/ops/registry.h.
METHOD, FUNCTION, IN_PLACE, OUT, VIEW, NON_DIFFERENTIABLE, HIDDEN, PROPERTY = (1 << bit for bit in range(8))
WRITES, MANY_VIEWS, COMPOSITE, ELEMENTWISE, NAMESPACE, OUT_ALIKE, OUT_TRUTH = (1 << bit for bit in range(8, 15))
LEADING_AXES = 1 << 27
OUT_SETS_DTYPE, AXES_IN_PLACE, ELEMENT_BY_ELEMENT, OUT_ANY, SIZED_BY_VALUES = (1 << bit for bit in range(15, 20))


def operation(
    schema: str,
    *,
    rules: Sequence[Rule | None] = (),
    outputs: str = "result",
    node: str | None = None,
    in_place_node: str = "",
    flags: int = HIDDEN,
    arrays: bool = True,
    derivative: str = "",
    infer: Rule | None = None,
    domain: str,
) -> Callable[[Callable[..., Any]], Operation]:
    """Register the operation of which the decorated function computes the values.

    Args:
        schema: name (`namespace::name` for those of users) and arguments as in core/ops/schema.h. The forward gets them
            in this order, tensors as arrays. It returns an array (or tensor), or a tuple of as many as there are
            outputs.
        rules: for each tensor of the schema a function from gradients of the outputs to the gradient of that input, or
            None if there is no derivative. Its parameters are `g`, the gradient of the only output, or `g_<output>`
            (None if nobody used that output); the names of inputs and outputs, which are saved for it; those of
            attributes; and `grad_<input>`, what the rule of that input gives.
        outputs: their names. Those without a `g_<output>` in any rule have no derivative.
        node: what its nodes are called; the default is made from the name, `QrBackward0`.
        in_place_node: those of the form in place, if that is another name.
        flags: of core/ops/registry.h.
        arrays: False for a forward that gets tensors as they are, whose dtypes tell numbers from arrays.
        derivative: what kind of function it is: Note [Derivative classes] in core/ops/derivative_class.h.
        infer: gives, from what forward gets (always tensors), empty tensors of the sizes and dtypes of its results,
            without a look at values. `from_forward` where forward itself does so while kernels are skipped: it calls
            nothing but operations. Those with ELEMENT_BY_ELEMENT need none.
        domain: arguments that tests may call it with: Note [Domains] in core/ops/opdef.h.
    """
    name = schema.partition("(")[0].partition(".")[0]
    words = name.rpartition("::")[2].split("_")
    text = node or "".join(word.capitalize() for word in words) + "Backward0"

    def define(forward: Callable[..., Any]) -> Operation:
        plan = _Rules(name, schema, rules, outputs.split())

        def run(*arguments: Any) -> tuple[Tensor, ...]:
            if arrays:
                arguments = tuple(one.detach().numpy() if isinstance(one, Tensor) else one for one in arguments)
            with numpy.errstate(all="ignore"):  # infinities and NaN are results like others
                return tuple(map(_tensor, _tuple(forward(*arguments))))

        if flags & ELEMENT_BY_ELEMENT:
            inferring: Rule | None = functools.partial(_infer_elementwise, run)
        elif infer is from_forward:
            inferring = run
        else:
            inferring = infer and (lambda *arguments: _tuple(infer(*arguments)))
        given: tuple[Any, ...] = (derivative, inspect.getdoc(forward) or "", run, inferring)
        given += (plan.gradients, plan.saves)
        kind = flags if plan.saves else flags | NON_DIFFERENTIABLE
        masks = plan.constants, plan.differentiable_outputs
        return _core.define_operation(schema, text, in_place_node, outputs, kind, domain, *given, *masks)

    return define


_DEFINED_IN = (
    "fft._operations",
    "linalg._determinants",
    "linalg._lu",
    "linalg._matrix_functions",
    "linalg._pseudoinverse",
    "linalg._qr",
    "linalg._spectral",
    "linalg._systems",
    "linalg._triangular",
    "nn.functional.padding",
    "nn.functional.resampling",
    "sparse._products",
    "special._operations",
)  # and in what `import clew` imports


def define_all() -> None:
    """All operations of the package: a file may name some whose modules nobody has imported."""
    for module in _DEFINED_IN:
        importlib.import_module(f"clew.{module}")


def from_forward(*_: Any) -> Any:
    """For `infer`: forward says it."""
    raise AssertionError("only a mark")


def _infer_elementwise(run: Rule, *arguments: Any) -> tuple[Tensor, ...]:
    """The dtypes are those of results for one element."""
    tensors = [one for one in arguments if isinstance(one, Tensor)]
    shape = broadcast_shapes(*(one.shape for one in tensors))
    with placed("cpu"):
        one_each = [_core.ops._full((1,) * x.ndim, 1, x.dtype) if isinstance(x, Tensor) else x for x in arguments]
        return tuple(_core.ops.expand(result, shape) for result in run(*one_each))


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _tensor(result: Any) -> Tensor:
    """The result in memory of the core's."""
    return result if isinstance(result, Tensor) else _core.tensor(numpy.asarray(result))


class _Rules:
    """The rules of one operation: what each of them keeps, and how to call it."""

    def __init__(self, name: str, schema: str, rules: Sequence[Rule | None], outputs: list[str]) -> None:
        arguments = [one.strip() for one in schema[schema.index("(") + 1 : schema.rindex(")")].split(",")]
        names = [(one.partition(" ")[0], one.rpartition(" ")[2].partition("=")[0]) for one in arguments]
        if rules and any(kind == "Tensor[]" for kind, _ in names):
            raise NotImplementedError(f"{name}: lists of tensors are not supported where there are rules")
        self.inputs = [argument for kind, argument in names if kind in ("Tensor", "Tensor?", "Operand")]
        self.rules = dict(zip(self.inputs, rules, strict=False))
        self.parameters = {one: list(inspect.signature(rule).parameters) for one, rule in self.rules.items() if rule}
        asked = [parameter for parameters in self.parameters.values() for parameter in parameters]
        known = {"g": 0} | {f"g_{output}": place for place, output in enumerate(outputs)}
        self.outputs = {name: known[name] for name in asked if name in known}
        for parameter in asked:
            saved = {*self.inputs, *outputs, *known, *(f"grad_{one}" for one in self.parameters)}
            if parameter not in saved and parameter not in {argument for _, argument in names}:
                raise ValueError(f"{name}: a rule asks for '{parameter}', which is no argument, output or gradient")
        self.differentiable_outputs = sum(1 << place for place in set(self.outputs.values()))
        self.constants = sum(1 << place for place, one in enumerate(self.inputs) if self.rules.get(one) is None)
        self.saves = [self._kept(one, outputs) for one in self.inputs] if self.parameters else []

    def _kept(self, name: str, outputs: list[str]) -> tuple[int, int]:
        """What the rule of an input keeps: a bit for each input, a bit for each output."""
        inputs, results = 0, 0
        for parameter in self.parameters.get(name, ()):
            if parameter in self.inputs:
                inputs |= 1 << self.inputs.index(parameter)
            elif parameter in outputs:
                results |= 1 << outputs.index(parameter)
            elif parameter.startswith("grad_"):
                more = self._kept(parameter.removeprefix("grad_"), outputs)
                inputs, results = inputs | more[0], results | more[1]
        return inputs, results

    def gradients(self, node: Any, incoming: tuple[Any, ...], needs: tuple[bool, ...]) -> tuple[Any, ...]:
        """The gradients of the inputs that need one."""
        known = {f"g_{place}": one for place, one in enumerate(incoming)}
        needed = zip(self.inputs, needs, strict=True)
        return tuple(
            self._gradient(name, node, known) if need and name in self.parameters else None for name, need in needed
        )

    def _gradient(self, name: str, node: Any, known: dict[str, Any]) -> Any:
        if f"grad_{name}" not in known:
            values = [self._value(parameter, node, known) for parameter in self.parameters[name]]
            known[f"grad_{name}"] = self.rules[name](*values)  # type: ignore[misc]
        return known[f"grad_{name}"]

    def _value(self, parameter: str, node: Any, known: dict[str, Any]) -> Any:
        """What a rule asks for. What was saved is unpacked once for all of them: a hook may give it only once."""
        if parameter in self.outputs:
            return known[f"g_{self.outputs[parameter]}"]
        if parameter.startswith("grad_"):
            return self._gradient(parameter.removeprefix("grad_"), node, known)
        if parameter not in known:
            known[parameter] = getattr(node, f"_saved_{parameter}")
        return known[parameter]
