"""Reductions, broadcast and barrier, compared with NumPy over the data of all ranks."""

import functools

import numpy
from common import DTYPES, SHAPES, array, clew, dist, raises, rank, run, same, size, strided, tensor

ops = dist.ReduceOp
NUMPYS = {
    ops.SUM: numpy.add, ops.PRODUCT: numpy.multiply, ops.MIN: numpy.minimum, ops.MAX: numpy.maximum,
    ops.BAND: numpy.bitwise_and, ops.BOR: numpy.bitwise_or, ops.BXOR: numpy.bitwise_xor,
}  # fmt: skip


def is_defined(op, name):
    floating, complex_ = "float" in name, "complex" in name
    if op in (ops.MIN, ops.MAX):
        return not complex_
    return not (floating or complex_) if op in (ops.BAND, ops.BOR, ops.BXOR) else True


def check_all_reduce():
    for name in DTYPES:
        for shape in SHAPES:
            all_data = [array(one, shape, name) for one in range(size)]
            for op in NUMPYS if shape == (2, 3) else (ops.SUM,):
                if not is_defined(op, name):
                    one = tensor(array(0, (1,), name), name)
                    raises(TypeError, "is not defined for", functools.partial(dist.all_reduce, one, op))
                    continue
                expected = functools.reduce(NUMPYS[op], all_data)
                mine = tensor(all_data[rank], name)
                memory, version = mine.data_ptr(), mine._version
                dist.all_reduce(mine, op)
                assert same(mine, expected), (name, shape, op, mine, expected)
                assert mine.data_ptr() == memory
                assert mine._version == version + 1
                view, wide = strided(all_data[rank], name)
                dist.all_reduce(view, op)
                assert same(view, expected), (name, shape, op)
                assert bool((wide[..., 1] == wide.new_full((), 7)).all())  # what lies between is left alone


def check_a_mean():
    x = clew.full((3,), float(rank))
    dist.all_reduce(x, ops.AVG)
    assert same(x, numpy.full(3, numpy.mean(range(size))))
    raises(
        TypeError,
        "AVG is not defined for clew.int64",
        lambda: dist.all_reduce(clew.ones(1, dtype=clew.int64), ops.AVG),
    )


def check_halves_are_rounded_once():
    parts = [numpy.random.default_rng(one).standard_normal(1000).astype("float16") for one in range(size)]
    expected = functools.reduce(numpy.add, [one.astype("float64") for one in parts])
    x = clew.from_numpy(parts[rank].copy())
    dist.all_reduce(x)
    spacing = numpy.spacing(numpy.abs(expected).astype("float16")).astype("float64")
    assert numpy.all(numpy.abs(x.numpy().astype("float64") - expected) <= 0.5001 * spacing)


def check_reduce():
    for name in ("float32", "bfloat16", "int64", "complex64"):
        for root in range(size):
            for make in (tensor, lambda values, name: strided(values, name)[0]):
                mine = make(array(rank, (2, 3), name), name)
                dist.reduce(mine, root)
                total = sum(array(one, (2, 3), name) for one in range(size))
                assert same(mine, total if rank == root else array(rank, (2, 3), name))


def check_broadcast():
    for name in DTYPES:
        for shape in SHAPES:
            root = len(shape) % size
            for make in (tensor, lambda values, name: strided(values, name)[0]):
                mine = make(array(rank, shape, name), name)
                dist.broadcast(mine, root)
                assert same(mine, array(root, shape, name)), (name, shape)


def check_reduce_scatter():
    for name in ("float32", "float16", "int32", "bool"):
        parts = [[array(one, (2, 3), name, seed) for seed in range(size)] for one in range(size)]
        expected = functools.reduce(numpy.add, [one[rank] for one in parts])
        for make in (tensor, lambda values, name: strided(values, name)[0]):
            out = make(numpy.zeros((2, 3)), name)
            dist.reduce_scatter(out, [make(one, name) for one in parts[rank]])
            assert same(out, expected)
            for join in (numpy.concatenate, numpy.stack):
                out = make(numpy.zeros((2, 3)), name)
                dist.reduce_scatter_tensor(out, make(join(parts[rank]), name))
                assert same(out, expected)


def check_a_backward_notices():
    x = clew.ones(3, requires_grad=True)
    y = x.exp()  # whose derivative needs y
    dist.all_reduce(y.detach())
    raises(RuntimeError, "exp", y.sum().backward)


def check_different_calls_are_errors():
    different = dist.DistError
    raises(
        different,
        "all_reduce of float32 (3,) with SUM on rank 1",
        lambda: dist.all_reduce(clew.ones(3 if rank == 1 else 2)),
    )
    raises(
        different,
        "of float64 (2,)",
        lambda: dist.all_reduce(clew.ones(2, dtype=clew.float64 if rank else clew.float32)),
    )
    raises(different, "with MAX", lambda: dist.all_reduce(clew.ones(2), ops.MAX if rank else ops.SUM))
    raises(different, "from or to rank 0", lambda: dist.broadcast(clew.ones(2), min(rank, 1)))
    raises(different, "barrier on rank 0", lambda: dist.all_reduce(clew.ones(2)) if rank else dist.barrier())
    dist.barrier()  # and the group goes on


def check_async():
    xs = [clew.full((1000,), float(rank + one)) for one in range(5)]
    works = [dist.all_reduce(one, async_op=True) for one in xs]
    assert works[-1].wait()
    assert all(work.is_completed() and work.is_success() for work in works)
    for shift, x in enumerate(xs):
        assert same(x, numpy.full(1000, sum(range(size)) + shift * size))
    failing = dist.broadcast(clew.ones(2 + (rank == 1)), 0, async_op=True)
    raises(dist.DistError, "broadcast", failing.wait)
    assert isinstance(failing.exception(), dist.DistError)


run(globals())
