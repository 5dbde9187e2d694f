"""What the programs share: the data of each rank, which every rank can make with NumPy, and comparisons."""

import sys
from datetime import timedelta

import numpy

import clew
import clew.distributed as dist

dist.init_process_group(timeout=timedelta(seconds=20))
rank, size = dist.get_rank(), dist.get_world_size()

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128")  # fmt: skip
SHAPES = ((), (3,), (2, 3), (0,), (2, 0, 3), (4, 1, 2, 1, 3))


def array(of, shape, name, seed=0):
    """Small whole numbers, of which sums and products are exact in each dtype; those of bfloat16 as float32."""
    values = numpy.random.default_rng((of, seed)).integers(0, 3, shape)
    if name == "bool":
        return values > 0
    if name.startswith("complex"):
        return (values + 1j * numpy.random.default_rng((of, seed, 1)).integers(0, 3, shape)).astype(name)
    return numpy.asarray(values, dtype="float32" if name == "bfloat16" else name)


def tensor(values, name):
    """A contiguous tensor of these values."""
    return clew.tensor(values.tolist(), dtype=getattr(clew, name)).reshape(values.shape)


def strided(values, name):
    """The same, looking at every second column of a larger tensor, transposed; and that tensor."""
    wide = clew.full((*values.shape[::-1], 2), 7).to(getattr(clew, name))
    view = wide[..., 0].permute(tuple(range(values.ndim))[::-1])
    view.copy_(tensor(values, name))
    return view, wide


def same(found, expected):
    """Whether a tensor has these values."""
    if tuple(found.shape) != expected.shape:
        return False
    return bool(numpy.all(numpy.asarray(found.tolist()).reshape(expected.shape) == expected))


def raises(kind, text, call):
    """Assert that the call raises such an error, with such a text in it."""
    found = None
    try:
        call()
    except kind as error:
        found = error
    assert text in str(found), f"expected {kind.__name__} with {text!r}, got {found!r}"


def run(checks):
    """Run the functions whose names begin with `check_`, and end."""
    for name, check in list(checks.items()):
        if name.startswith("check_"):
            check()
    dist.destroy_process_group()
    print(f"rank {rank}: all is as expected")
    sys.stdout.flush()
