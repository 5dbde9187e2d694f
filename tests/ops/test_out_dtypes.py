"""Which dtypes `out=` may have: PyTorch's rules, operation by operation."""

import numpy
import pytest
import sampling
import torch as reference

import clew

DTYPES = ("float32", "float64", "int64", "int32", "uint8", "bool")
# PyTorch has no such kernel or no such argument, or draws integers as they come.
OTHERWISE = {"bernoulli", "fill", "fill.Tensor"}


def converted(module, value, dtype):
    if isinstance(value, numpy.ndarray):
        kind = dtype if value.dtype.kind == "f" else str(value.dtype)
        return module.tensor((abs(value) if dtype == "uint8" else value).tolist()).to(getattr(module, kind))
    if isinstance(value, sampling.DType):
        return getattr(module, value.name)
    if isinstance(value, list) and value and isinstance(value[0], numpy.ndarray):
        return [converted(module, one, dtype) for one in value]
    return value


def takes(module, sample, dtype, out_dtype):
    """Whether `out=` of this dtype is taken; None if the operation itself refuses the arguments or the dtype."""
    given, named = sample.positional()
    given = [converted(module, value, dtype) for value in given]
    named = {name: converted(module, value, dtype) for name, value in named.items()}
    function = getattr(module, sample.overload.operation)
    try:
        plain = function(*given, **named)
    except (TypeError, RuntimeError):
        return None
    if isinstance(plain, tuple):
        values, *others = plain
        out = (
            module.zeros(values.shape, dtype=getattr(module, out_dtype)),
            *(module.zeros(x.shape, dtype=x.dtype) for x in others),
        )
    else:
        out = module.zeros(plain.shape, dtype=getattr(module, out_dtype))
    module.default_generator.manual_seed(0)
    try:
        function(*given, **named, out=out)
    except NotImplementedError:
        return None
    except (TypeError, RuntimeError):
        return False
    if module is clew and not isinstance(plain, tuple):
        empty = clew.empty(0, dtype=out.dtype)
        clew.manual_seed(0)
        assert function(*given, **named, out=empty) is empty
        assert empty.equal(out) or not (empty == empty).all()
    return True


WITH_OUT = [
    overload
    for overload in sampling.overloads()
    if overload.has(sampling.OUT)
    and overload.has(sampling.FUNCTION)
    and not overload.unsampled
    and overload.name not in OTHERWISE
    and hasattr(reference, overload.operation)  # as a function
]


@pytest.mark.parametrize("overload", WITH_OUT, ids=str)
def test_out_may_have_the_dtypes_that_pytorch_allows(overload, oracle):
    sample = sampling.samples(overload)[0]
    for dtype in DTYPES:
        for out_dtype in DTYPES:
            theirs = takes(oracle, sample, dtype, out_dtype)
            ours = takes(clew, sample, dtype, out_dtype)
            if ours is not None and theirs is not None:
                assert ours == theirs, f"{dtype} into {out_dtype}"


def test_out_says_in_which_dtype_sums_are_made():
    x = clew.tensor([1.5, 1.5])
    assert clew.sum(x, 0, out=clew.zeros((), dtype=clew.int64)).item() == 2
    assert clew.cumsum(x, 0, out=clew.zeros(2, dtype=clew.int64)).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="expected out of dtype float64"):
        clew.sum(x, 0, dtype=clew.float64, out=clew.zeros(()))


def test_a_history_is_not_dropped_for_an_integer():
    x = clew.ones(2, requires_grad=True)
    for sums in (clew.sum, clew.prod, lambda x, **given: clew.cumsum(x, 0, **given)):
        with pytest.raises(RuntimeError, match="autograd does not support dtype int64"):
            sums(x, dtype=clew.int64)
        assert not sums(x.detach(), dtype=clew.int64).requires_grad


def test_draws_keep_the_node_that_pytorch_gives_them(oracle):
    for module in (clew, oracle):
        x = module.full((3,), 0.5, requires_grad=True)
        for drawn, node in (
            (module.normal(x, 1.0), "NormalBackward1"),
            (module.normal(0.0, x), "NormalBackward2"),
            (module.normal(x, x), "NormalBackward3"),
        ):
            assert drawn.grad_fn.name() == node
            assert module.autograd.grad(drawn.sum(), x)[0].tolist() == [0, 0, 0]
        with pytest.raises(RuntimeError, match="derivative for aten::bernoulli is not implemented"):
            module.bernoulli(x, 0.5).sum().backward()
