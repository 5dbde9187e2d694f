"""A program as an ONNX model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy

from .arrays import run
from .errors import Unsupported, missing_package
from .functions import FUNCTIONS
from .kernels import Kernel, Origin
from .lower import Lowered, Named, lower
from .scalar import Expr

if TYPE_CHECKING:
    from ..program import Program

OPSET = 18
# Of dtypes that ONNX's operators take, and for which onnxruntime (1.32) has no kernel on CPUs.
WITHOUT_KERNEL = {
    "float64": {"Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf"},
    "int16": {"Where"},
}


def to_onnx(program: Program, path: str | os.PathLike[str]) -> None:
    try:
        import onnx
    except ImportError:
        raise missing_package("to_onnx", "onnx") from None
    lowered = lower(program, "to_onnx")
    model = _Model(lowered).made()
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.fspath(path))


class _Model:
    def __init__(self, lowered: Lowered) -> None:
        import onnx

        self.onnx = onnx
        self.lowered = lowered
        self.target = _Onnx(onnx, {one.name for one in lowered.named})

    def made(self) -> Any:
        helper, target, named = self.onnx.helper, self.target, self.lowered.named
        inputs = [one for one in named if one.is_input]
        defaults = [
            self.onnx.numpy_helper.from_array(one.memory.values.reshape(one.shape), one.name)
            for one in inputs
            if one.is_parameter
        ]
        begin = {one.memory: target.reshape(one.name, (one.memory.size,)) for one in inputs}
        try:
            state = run(self.lowered, target, begin)
        except Unsupported as why:
            raise NotImplementedError(f"to_onnx: can't express {target.origin.fails(str(why))}") from None
        results = [one for one in named if one.is_result]
        if not results:
            raise ValueError("to_onnx: expected a named result, got none; name results with program.name()")
        names = [self._result_name(one) for one in results]
        for one, name in zip(results, names, strict=True):
            target.reshape(state[one.memory], one.shape, name)
        graph = helper.make_graph(
            target.nodes,
            "program",
            [self._typed(one, one.name) for one in inputs],
            [self._typed(one, name) for one, name in zip(results, names, strict=True)],
            initializer=[*defaults, *target.initializers.values()],
        )
        return helper.make_model(
            graph, producer_name="clew", ir_version=8, opset_imports=[helper.make_opsetid("", OPSET)]
        )

    def _result_name(self, one: Named) -> str:
        """An input that the program writes has its new value as a result of another name."""
        name = f"{one.name}_next" if one.is_input else one.name
        if one.is_input and any(other.name == name for other in self.lowered.named):
            raise ValueError(f"to_onnx: {name!r} is the new value of {one.name!r}; take another name than {name!r}")
        return name

    def _typed(self, one: Named, name: str) -> Any:
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(one.memory.dtype))
        return self.onnx.helper.make_tensor_value_info(name, kind, one.shape)


class _Onnx:
    """Of arrays.Target: arrays are names of values."""

    def __init__(self, onnx: Any, taken: set[str]) -> None:
        self.onnx = onnx
        self.taken = taken
        self.nodes: list[Any] = []
        self.initializers: dict[Any, Any] = {}
        self.origin = Origin("", "", "forward")

    def begin(self, kernel: Kernel) -> None:
        self.origin = kernel.origin

    def node(self, operator: str, inputs: tuple[str, ...], output: str = "", **attributes: Any) -> str:
        name = self._new(self.origin.op or operator)
        made = self.onnx.helper.make_node(
            operator, list(inputs), [output or name], name=name, doc_string=str(self.origin), **attributes
        )
        self.nodes.append(made)
        return output or name

    def _new(self, prefix: str) -> str:
        number = len(self.nodes) + len(self.initializers)
        while (name := f"{prefix}_{number}") in self.taken:
            number += 1
        self.taken.add(name)
        return name

    def constant(self, values: numpy.ndarray[Any, Any]) -> str:
        key = (str(values.dtype), values.shape, values.tobytes())
        if key not in self.initializers:
            made = self.onnx.numpy_helper.from_array(
                numpy.ascontiguousarray(values).reshape(values.shape), self._new("constant")
            )
            self.initializers[key] = made
        return str(self.initializers[key].name)

    def shape(self, shape: tuple[int, ...]) -> str:
        return self.constant(numpy.array(shape, numpy.int64))

    def function(self, name: str, args: tuple[str, ...], dtype: str) -> str:
        operator = FUNCTIONS[name].onnx
        if operator is None:
            raise Unsupported(f"(ONNX has no {name})")
        if callable(operator):
            arguments = [Expr("given", (), dtype, arg) for arg in args]
            return self._composed(operator(*arguments), {})
        options: dict[str, Any] = {"fmod": 1} if operator == "Mod" else {}
        if operator != "Where":
            self._check_type(operator, dtype)
        if operator in WITHOUT_KERNEL.get(dtype, ()):
            raise Unsupported(f"of {dtype}, for which onnxruntime has no {operator}")
        return self.node(operator, args, **options)

    def _check_type(self, operator: str, dtype: str) -> None:
        kind = self.onnx.TensorProto.DataType.Name(self.onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)))
        if f"tensor({kind.lower()})" not in self.onnx.defs.get_schema(operator, OPSET).inputs[0].types:
            raise Unsupported(f"of {dtype}, which ONNX's {operator} does not take")

    def _composed(self, expr: Expr, known: dict[int, str]) -> str:
        """Of what ONNX has, for functions that it lacks."""
        if id(expr) not in known:
            if expr.op == "given":
                known[id(expr)] = expr.value
            elif expr.op == "constant":
                known[id(expr)] = self.constant(numpy.array(expr.value, expr.dtype))
            else:
                args = tuple(self._composed(arg, known) for arg in expr.args)
                known[id(expr)] = self.function(expr.op, args, expr.args[-1].dtype)
        return known[id(expr)]

    def cast(self, x: str, dtype: str) -> str:
        return self.node("Cast", (x,), to=self.onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)))

    def reshape(self, x: str, shape: tuple[int, ...], output: str = "") -> str:
        return self.node("Reshape", (x, self.shape(shape)), output, allowzero=1)

    def transpose(self, x: str, order: tuple[int, ...]) -> str:
        return self.node("Transpose", (x,), perm=list(order))

    def slice(self, x: str, parts: list[tuple[int, int, int]]) -> str:
        columns = [self.shape(tuple(column)) for column in zip(*parts, strict=True)]
        axes = self.shape(tuple(range(len(parts))))
        return self.node("Slice", (x, columns[0], columns[1], axes, columns[2]))

    def expand(self, x: str, shape: tuple[int, ...]) -> str:
        return self.node("Expand", (x, self.shape(shape)))

    def reduce(self, x: str, combine: str, axes: tuple[int, ...], dtype: str) -> str:
        if dtype == "bool":
            return self.cast(self.reduce(self.cast(x, "int32"), combine, axes, "int32"), "bool")
        self._check_type(f"Reduce{combine.title()}", dtype)
        return self.node(f"Reduce{combine.title()}", (x, self.shape(axes)), keepdims=1)

    def einsum(self, equation: str, x: str, y: str) -> str:
        return self.node("Einsum", (x, y), equation=equation)

    def take(self, flat: str, addresses: str) -> str:
        return self.node("Gather", (flat, addresses), axis=0)

    def put(self, flat: str, addresses: str, values: str, adds: bool) -> str:
        return self.node("ScatterElements", (flat, addresses, values), axis=0, reduction="add" if adds else "none")
