"""Several tensors made one."""

import numpy
import pytest
from oracle import check, check_error, check_out, module, sample, strided


def parts(*shapes, dtype="float64"):
    return [sample(shape, dtype=dtype, seed=number) for number, shape in enumerate(shapes)]


CAT = [
    ([(2, 3), (4, 3)], 0),
    ([(2, 3), (2, 1), (2, 2)], 1),
    ([(2, 3), (2, 1)], -1),
    ([(3,)], 0),
    ([(2, 3), (0,)], 0),
    ([(0,), (2, 3), (0,), (2, 2)], 1),
    ([(0,), (0,)], 0),
    ([(2, 0), (2, 3)], 1),
    ([(2, 0, 3), (1, 0, 3)], 0),
]


@pytest.mark.parametrize(("shapes", "dim"), CAT)
def test_cat(shapes, dim):
    check("cat", parts(*shapes), dim)
    check("cat", [strided(part) for part in parts(*shapes)], dim)
    check("cat", parts(*shapes, dtype="int32"), dim)
    check("concat", tuple(parts(*shapes)), kwargs={"dim": dim})
    check("concatenate", parts(*shapes), kwargs={"axis": dim})


STACK = [([(2, 3), (2, 3)], 0), ([(2, 3), (2, 3), (2, 3)], 1), ([(2, 3)], -1), ([(), ()], 0), ([(0, 2), (0, 2)], 2)]


@pytest.mark.parametrize(("shapes", "dim"), STACK)
def test_stack(shapes, dim):
    check("stack", parts(*shapes), dim)
    check("stack", [strided(part) for part in parts(*shapes)], dim)
    check("stack", parts(*shapes, dtype="bool"), dim)


KINDS = ["bool", "uint8", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_dtypes_are_promoted(first, second):
    inputs = [sample((2, 3), dtype=first), sample((2, 3), dtype=second)]
    check("cat", inputs, 1)
    check("stack", inputs)
    check("cat", [sample((0,), dtype=first), sample((2, 3), dtype=second)])


def test_out():
    check_out("cat", parts((2, 3), (1, 3)))
    check_out("stack", parts((2, 3), (2, 3)), 1)


def tensors(*shapes, needs):
    made = [module.from_numpy(part) for part in parts(*shapes)]
    for number in needs:
        made[number].requires_grad_()
    return made


@pytest.mark.parametrize("needs", [(0,), (1,), (3,), (0, 3), (1, 3), (0, 1, 2, 3, 4)])
def test_cat_of_parts_that_need_no_gradient(needs):
    inputs = tensors((1, 2), (2, 2), (0,), (3, 2), (4, 2), needs=needs)
    weight = module.from_numpy(sample((10, 2), seed=9))
    result = module.cat(inputs)
    assert len(result.grad_fn.next_functions) == 5
    (result * weight).sum().backward()
    start = 0
    for number, part in enumerate(inputs):
        size = part.shape[0]
        if number in needs:
            assert part.grad.tolist() == (weight[start : start + size].tolist() if part.numel() else [])
        else:
            assert part.grad is None
        start += size


def test_cat_with_many_runs_of_constants():
    count = 300
    inputs = [module.from_numpy(numpy.full(1 + number % 3, float(number))) for number in range(count)]
    for part in inputs[1::2]:
        part.requires_grad_()
    result = module.cat(inputs)
    expected = numpy.concatenate([part.detach().numpy() for part in inputs])
    assert numpy.array_equal(result.detach().numpy(), expected)
    (result * result).sum().backward()
    for part in inputs[1::2]:
        assert numpy.array_equal(part.grad.numpy(), 2 * part.detach().numpy())


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_thousands_of_inputs(name):
    leaf = module.from_numpy(sample((3,))).requires_grad_()
    result = getattr(module, name)([leaf * number for number in range(5000)])
    assert result.numel() == 15000
    result.sum().backward()
    assert numpy.allclose(leaf.grad.numpy(), 5000 * 4999 / 2)


@pytest.mark.parametrize("name", ["cat", "stack"])
def test_joining_saves_nothing(name):
    leaf = module.from_numpy(sample((3,))).requires_grad_()
    total = getattr(module, name)([leaf, leaf]).sum()
    total.backward()
    total.backward()
    assert leaf.grad.tolist() == [4.0] * 3


BAD = [
    ("cat", [], (), ValueError, "expected a non-empty list of Tensors"),
    ("cat", [(2, 3), (3,)], (), RuntimeError, "Tensors must have same number of dimensions: got 2 and 1"),
    (
        "cat",
        [(2, 3), (3, 2)],
        (),
        RuntimeError,
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 2 for tensor number 1",
    ),
    ("cat", [(2, 3)], (2,), IndexError, "Dimension out of range"),
    ("cat", [(), ()], (), RuntimeError, "zero-dimensional tensor (at position 0) cannot be concatenated"),
    ("stack", [], (), RuntimeError, "stack expects a non-empty TensorList"),
    ("stack", [(2, 3), (3,)], (), RuntimeError, "got [2, 3] at entry 0 and [3] at entry 1"),
    ("stack", [(2, 3)], (3,), IndexError, "Dimension out of range"),
]


@pytest.mark.parametrize(("name", "shapes", "arguments", "error", "words"), BAD)
def test_bad_arguments(name, shapes, arguments, error, words):
    check_error(name, parts(*shapes), *arguments, error=error, match=words)


def test_what_is_no_tensor():
    x = module.from_numpy(sample((2,)))
    for wrong in (x, [x, 1], None):
        with pytest.raises(TypeError, match="cat"):
            module.cat(wrong)
