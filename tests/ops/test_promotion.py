"""The dtypes of results: every pair of dtypes, as tensors with axes, without, and as Python's numbers."""

import itertools

import numpy
import pytest

import clew

NAMES = [str(dtype).removeprefix("torch.") for dtype in dict.fromkeys(clew._core.dtypes.values())]
OPERATIONS = [
    *("add", "sub", "mul", "true_divide", "pow", "maximum", "fmod", "remainder", "floor_divide", "eq", "lt"),
    *("bitwise_and", "atan2", "copysign", "hypot", "logical_and", "bitwise_left_shift"),
]

FUNCTIONS = ("pow", "atan2", "hypot", "logaddexp")  # which may differ by a last bit


def operand(module, name, kind):
    number = 3 + 2j if name.startswith("complex") else 2.7 if "float" in name else True if name == "bool" else 3
    if kind == "number":
        return number
    return module.tensor([number, 1] if kind == "axis" else number, dtype=getattr(module, name))


def dtype_in_pytorch(dtype):
    return str(dtype).replace("complex32", "complex64")


@pytest.mark.parametrize("first", NAMES)
def test_promote_types_and_can_cast(first, oracle):
    for other in NAMES:
        ours, theirs = ((getattr(module, first), getattr(module, other)) for module in (clew, oracle))
        assert str(clew.promote_types(*ours)) == str(oracle.promote_types(*theirs))
        assert clew.can_cast(*ours) == oracle.can_cast(*theirs)


def calls(module, a, b):
    yield "result_type", lambda: module.result_type(a, b)
    for name in OPERATIONS:
        yield name, lambda name=name: getattr(module, name)(a, b)
    yield "where", lambda: module.where(module.tensor([True, False]), a, b)
    yield "+=", lambda: a.clone().add_(b)
    yield "*=", lambda: a.clone().mul_(b)
    yield "out", lambda: module.add(operand(module, "int8", "axis"), b, out=module.empty(2, dtype=a.dtype))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pairs_of_operands(name, oracle):
    kinds = (("axis", "axis"), ("axis", "one"), ("one", "axis"), ("one", "one"), ("axis", "number"), ("one", "number"))
    for other, (left, right) in itertools.product(NAMES, kinds):
        pairs = zip(*(calls(m, operand(m, name, left), operand(m, other, right)) for m in (clew, oracle)), strict=True)
        for (operation, ours), (_, theirs) in pairs:
            try:
                expected = theirs()
            except (RuntimeError, TypeError) as error:
                if "not implemented for" not in str(error):  # we may have more kernels
                    with pytest.raises((RuntimeError, TypeError)):
                        ours()
                continue
            if operation == "pow" and name == other == "bool":
                continue  # by True PyTorch has a shortcut
            result = ours()
            where = f"{operation}, {left} {name}, {right} {other}"
            if operation == "result_type":
                assert str(result) == dtype_in_pytorch(expected), where
                continue
            assert str(result.dtype) == dtype_in_pytorch(expected.dtype), where
            if expected.dtype is oracle.complex32:
                continue
            halves = result.is_floating_point() and result.dtype.itemsize == 2
            eps = clew.finfo(result.dtype).eps if halves else 1e-6
            tolerance = 0 if halves and operation not in FUNCTIONS else eps
            numpy.testing.assert_allclose(
                result.tolist(), expected.tolist(), rtol=tolerance, atol=tolerance / 100, err_msg=where
            )


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float64"])
def test_the_default_dtype_decides_for_numbers(default, oracle):
    found = []
    for module in (clew, oracle):
        before = module.get_default_dtype()
        module.set_default_dtype(getattr(module, default))
        try:
            whole = module.tensor([1, 2])
            results = [module.tensor(1.5), module.ones(2), whole * 1.5, whole / 2, whole.exp(), whole**0.5, 2.5 - whole]
            results += [
                whole.clamp(min=0.5),
                module.where(whole > 1, 1.5, 2),
                module.rand(2),
                module.tensor(True) + 0.5,
            ]
            found.append([str(one.dtype) for one in results])
        finally:
            module.set_default_dtype(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("operation", [*OPERATIONS[:9], "eq", "lt", "atan2", "hypot", "ge", "logaddexp"])
def test_a_number_beside_halves_is_rounded_where_pytorch_rounds_it(operation, name, oracle):
    """To the bit."""
    values = (numpy.random.default_rng(0).random(200) * 4 + 0.3).tolist()
    for number, as_tensor, first in itertools.product((1.2345678, 0.7654321, 3.1415927), (True, False), (True, False)):
        found = []
        for module in (clew, oracle):
            pair = [module.tensor(values, dtype=getattr(module, name)), module.tensor(number) if as_tensor else number]
            try:
                found.append(getattr(module, operation)(*pair[:: -1 if first else 1]))
            except TypeError:
                found.append(None)  # a function that takes tensors only
        if found[1] is None:
            continue
        eps = clew.finfo(getattr(clew, name)).eps
        tolerance = eps if operation in FUNCTIONS else 0
        numpy.testing.assert_allclose(found[0].tolist(), found[1].tolist(), rtol=tolerance, atol=0)
