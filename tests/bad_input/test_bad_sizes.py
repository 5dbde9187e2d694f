"""Sizes, steps and counts that 64 bits cannot hold, and such that no memory can: an error, and no work before it."""

import io
from collections import OrderedDict

import numpy
import pytest
from refusing import assert_refused, cases

HUGE, LARGEST, SMALLEST = 2**62, 2**63 - 1, -(2**63)


def line(torch, size=HUGE):
    """A vector that repeats one element."""
    return torch.ones(1).expand(size)


def column(torch, size):
    return torch.ones(1, 1).expand(size, 1)


SIZES = {
    "as_strided": ("reach", lambda torch, t: torch.ones(4).as_strided((2**61 + 1,), (8,))),
    "as_strided, product of sizes": ("many", lambda torch, t: torch.ones(4).as_strided((2**32, 2**32), (0, 0))),
    "as_strided, stride": ("as_strided", lambda torch, t: torch.ones(4).as_strided((2,), (LARGEST,))),
    "as_strided, sum of extents": ("reach", lambda torch, t: torch.ones(4).as_strided((2, 2), (HUGE, HUGE))),
    "as_strided, offset": ("as_strided", lambda torch, t: torch.ones(4).as_strided((2,), (1,), LARGEST)),
    "as_strided, negative offset": ("as_strided", lambda torch, t: torch.ones(4).as_strided((0,), (1,), -1)),
    "as_strided, offset in bytes": ("as_strided", lambda torch, t: torch.ones(4).as_strided((2,), (1,), HUGE)),
    "empty_strided": ("many", lambda torch, t: torch.empty_strided((2**32, 2**32), (1, 1))),
    "empty_strided, extents": ("reach", lambda torch, t: torch.empty_strided((2, 2), (HUGE, HUGE))),
    "empty_strided, one stride": ("size", lambda torch, t: torch.empty_strided((2, 2), (LARGEST, 1))),
    "reshape": ("many", lambda torch, t: torch.ones(0).reshape(2**32, 2**32)),
    "reshape and an unknown": ("many", lambda torch, t: torch.ones(2).reshape(LARGEST, 2, -1)),
    "view": ("many", lambda torch, t: torch.ones(0).view(2**32, 2**32)),
    "unflatten": ("many", lambda torch, t: torch.ones(0).unflatten(0, (2**32, 2**32))),
    "empty": ("size", lambda torch, t: torch.empty(2**60, dtype=torch.float64)),
    "empty, product": ("many", lambda torch, t: torch.empty(2**32, 2**32)),
    "empty, strides": ("many", lambda torch, t: torch.empty(0, 2**40, 2**40)),
    "zeros_like": ("size", lambda torch, t: torch.zeros_like(line(torch))),
    "full": ("size", lambda torch, t: torch.full((HUGE,), 1)),
    "rand": ("size", lambda torch, t: torch.rand(HUGE)),
    "eye": ("many", lambda torch, t: torch.eye(2**32)),
    "arange": ("size", lambda torch, t: torch.arange(LARGEST)),
    "arange in small steps": ("arange", lambda torch, t: torch.arange(0, 1, 1e-300)),
    "linspace": ("size", lambda torch, t: torch.linspace(0, 1, HUGE)),
    "logspace": ("size", lambda torch, t: torch.logspace(0, 1, HUGE)),
    "expand": ("many", lambda torch, t: torch.ones(1).expand(2**32, 2**32)),
    "meshgrid": ("many", lambda torch, t: torch.meshgrid(line(torch), line(torch), indexing="ij")),
    "cartesian_prod": ("many", lambda torch, t: torch.cartesian_prod(line(torch), line(torch))),
    "clone": ("size", lambda torch, t: line(torch).clone()),
    "contiguous": ("size", lambda torch, t: line(torch).contiguous()),
    "to another dtype": ("size", lambda torch, t: line(torch).to(torch.float64)),
    "add": ("size", lambda torch, t: line(torch) + 1),
    "exp": ("size", lambda torch, t: line(torch).exp()),
    "where": ("size", lambda torch, t: torch.where(line(torch) > 0, 1, 2)),
    "broadcast": ("many", lambda torch, t: column(torch, 2**40) + torch.ones(1, 1).expand(1, 2**40)),
    "outer": ("many", lambda torch, t: torch.outer(line(torch), line(torch))),
    "einsum": ("many", lambda torch, t: torch.einsum("i,j->ij", line(torch), line(torch))),
    "tensordot": ("many", lambda torch, t: torch.tensordot(line(torch), line(torch), 0)),
    "mm": ("many", lambda torch, t: column(torch, 2**40) @ column(torch, 2**40).t()),
    "linear": ("many", lambda torch, t: torch.nn.functional.linear(column(torch, 2**40), column(torch, 2**40))),
    "cat": ("size", lambda torch, t: torch.cat([line(torch)] * 3)),
    "stack": ("many", lambda torch, t: torch.stack([line(torch)] * 3)),
    "repeat": ("many", lambda torch, t: torch.ones(3).repeat(HUGE)),
    "repeat, two axes": ("many", lambda torch, t: torch.ones(1).repeat(2**32, 2**32)),
    "tile": ("many", lambda torch, t: torch.ones(3).tile((HUGE, HUGE))),
    "repeat_interleave": ("repeat_interleave", lambda torch, t: torch.ones(3).repeat_interleave(HUGE)),
    "repeat_interleave by a tensor": (
        "repeat_interleave",
        lambda torch, t: torch.ones(3).repeat_interleave(torch.tensor([HUGE] * 3)),
    ),
    "repeat_interleave of counts": (
        "repeat_interleave",
        lambda torch, t: torch.repeat_interleave(torch.tensor([HUGE] * 3)),
    ),
    "repeat_interleave, negative": (
        "repeat_interleave",
        lambda torch, t: torch.repeat_interleave(torch.tensor([-1, 2])),
    ),
    "triu_indices": ("count", lambda torch, t: torch.triu_indices(HUGE, HUGE)),
    "diag": ("many", lambda torch, t: torch.diag(torch.ones(4), LARGEST)),
    "diag_embed": ("many", lambda torch, t: torch.diag_embed(torch.ones(4), SMALLEST)),
    "one_hot": ("size", lambda torch, t: torch.nn.functional.one_hot(torch.tensor([1]), HUGE)),
    "one_hot of a large class": ("size", lambda torch, t: torch.nn.functional.one_hot(torch.tensor([HUGE]))),
    "pad": ("overflowed", lambda torch, t: torch.nn.functional.pad(torch.ones(3), (LARGEST, LARGEST))),
    "pad, taking more than there is": (
        "pad",
        lambda torch, t: torch.nn.functional.pad(torch.ones(3), (-HUGE, HUGE + 1)),
    ),
    "narrow": ("narrow", lambda torch, t: torch.ones(4).narrow(0, 1, LARGEST)),
    "narrow, start": ("narrow", lambda torch, t: torch.ones(4).narrow(0, SMALLEST, 1)),
    "select": ("select", lambda torch, t: torch.ones(4).select(0, SMALLEST)),
    "unfold": ("unfold", lambda torch, t: torch.ones(4).unfold(0, LARGEST, 1)),
    "multinomial": ("size", lambda torch, t: torch.multinomial(torch.ones(4), HUGE, replacement=True)),
    "split": ("split", lambda torch, t: torch.ones(4).split([LARGEST, LARGEST]), RuntimeError),
    "conv1d": ("size", lambda torch, t: conv1d(torch, line(torch).expand(1, 1, -1), 1)),
    "conv1d, padding": ("conv1d", lambda torch, t: conv1d(torch, torch.ones(1, 1, 4), 1, padding=HUGE)),
    "conv1d, dilation": ("conv1d", lambda torch, t: conv1d(torch, torch.ones(1, 1, 4), 2, dilation=HUGE)),
    "conv1d, groups": ("conv1d", lambda torch, t: conv1d(torch, torch.ones(1, 1, 4), 2, groups=HUGE)),
    "conv_transpose1d": (
        "conv_transpose1d",
        lambda torch, t: torch.nn.functional.conv_transpose1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), stride=HUGE),
    ),
    "adaptive_avg_pool1d": (
        "adaptive_avg_pool1d",
        lambda torch, t: torch.nn.functional.adaptive_avg_pool1d(torch.ones(1, 1, 4), HUGE),
    ),
    "adaptive_avg_pool2d": (
        "adaptive_avg_pool2d",
        lambda torch, t: torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), (2**32, 2**32)),
    ),
    "adaptive_max_pool1d": (
        "adaptive_max_pool1d",
        lambda torch, t: torch.nn.functional.adaptive_max_pool1d(torch.ones(1, 1, 4), HUGE),
    ),
    "checkpoint_sequential": (
        "segments",
        lambda torch, t: torch.utils.checkpoint.checkpoint_sequential(
            [torch.exp] * 3, 2**40, t.leaf, use_reentrant=False
        ),
    ),
}


def conv1d(torch, input, taps, **options):
    return torch.nn.functional.conv1d(input, torch.ones(1, 1, taps), **options)


@pytest.mark.parametrize(("call", "words", "error"), cases(SIZES))
def test_what_cannot_be_counted_is_refused(torch, oracle, on_oracle, words, call, error):
    if on_oracle and error:
        pytest.skip("PyTorch's sum wraps around")
    assert_refused(torch, oracle, on_oracle, call, words, error)


class Told:
    """In a file: a tensor of four elements' memory with the geometry that it is told to have."""

    def __init__(self, oracle, *geometry):
        self.parts = (oracle._utils._rebuild_tensor_v2, (oracle.ones(4).storage(), *geometry, False, OrderedDict()))

    def __reduce__(self):
        return self.parts


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize(
    ("offset", "sizes", "strides"),
    [
        (0, (2**61 + 1,), (8,)),
        (0, (2**32, 2**32), (0, 0)),
        (0, (5,), (1,)),
        (HUGE, (2,), (1,)),
        (3, (2,), (1,)),
        (-1, (2,), (1,)),
        (0, (2,), (LARGEST,)),
        (1, (2,), (-1,)),
        (0, (-1,), (1,)),
    ],
)
def test_a_file_with_such_sizes_is_refused(torch, oracle, on_oracle, offset, sizes, strides):
    if on_oracle:
        pytest.skip("PyTorch makes the storage larger")
    file = io.BytesIO()
    oracle.save(Told(oracle, 1, (3,), (1,)), file)
    file.seek(0)
    assert torch.load(file, weights_only=True).tolist() == [1.0, 1.0, 1.0]
    file = io.BytesIO()
    oracle.save(Told(oracle, offset, sizes, strides), file)
    file.seek(0)
    with pytest.raises(torch.serialization.LoadError, match=r"inside its storage|not negative"):
        torch.load(file, weights_only=True)


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (lambda torch: torch.ones(4)[1::LARGEST], [1.0]),
        (lambda torch: torch.arange(4.0)[SMALLEST:LARGEST], [0.0, 1.0, 2.0, 3.0]),
        (lambda torch: torch.arange(4.0).unfold(0, 2, LARGEST), [[0.0, 1.0]]),
        (lambda torch: torch.ones(2, 2).diagonal(SMALLEST), []),
        (lambda torch: torch.ones(2, 2).tril(LARGEST), [[1.0, 1.0], [1.0, 1.0]]),
        (lambda torch: torch.ones(2, 2).tril(SMALLEST), [[0.0, 0.0], [0.0, 0.0]]),
        (lambda torch: torch.ones(2, 2).triu(LARGEST), [[0.0, 0.0], [0.0, 0.0]]),
        (lambda torch: torch.tril_indices(2, 2, LARGEST), [[0, 0, 1, 1], [0, 1, 0, 1]]),
        (lambda torch: torch.tril_indices(2**20, 2**20, 2 - 2**20), [[2**20 - 2, 2**20 - 1, 2**20 - 1], [0, 0, 1]]),
        (lambda torch: torch.triu_indices(2, 3, SMALLEST), [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]),
        (lambda torch: torch.arange(3).roll((LARGEST, LARGEST), (0, 0)), [1, 2, 0]),  # 2**63 - 1 is 1 more than 3 * k
        (lambda torch: torch.arange(SMALLEST, LARGEST, HUGE), [SMALLEST, -HUGE, 0, HUGE]),
        (lambda torch: [len(x) for x in torch.ones(4).chunk(LARGEST)], [1, 1, 1, 1]),
        (lambda torch: torch.diff(torch.ones(3), n=2**60), []),
        (lambda torch: conv1d(torch, torch.ones(1, 1, 4), 2, stride=LARGEST), [[[2.0]]]),
        (
            lambda torch: conv1d(torch, torch.ones(1, 1, 4), 2, padding=2**33, stride=2**32),
            [[[0.0, 0.0, 2.0, 0.0, 0.0]]],
        ),
    ],
)
def test_what_reaches_past_the_end_stops_there(torch, on_oracle, what, expected):
    if on_oracle:
        pytest.skip("PyTorch's arithmetic wraps around in some of these")
    found = what(torch)
    assert (found if isinstance(found, list) else found.tolist()) == expected


def test_a_huge_view_is_no_buffer(torch, on_oracle):
    if on_oracle:
        pytest.skip("PyTorch has no buffers")
    with pytest.raises(BufferError, match="more often than a buffer can count"):
        memoryview(line(torch))
    assert line(torch, 2**60).nbytes == 2**62


@pytest.mark.parametrize("shape", [(HUGE,), (2**31, 2**31), (2, HUGE // 2), (2**40, 3)])
def test_the_text_of_a_huge_view(torch, oracle, shape):
    def of(library):
        return repr(library.arange(float(shape[-1])).expand(shape) if shape[-1] == 3 else library.ones(1).expand(shape))

    assert of(torch) == of(oracle)


def test_a_view_may_have_as_many_elements_as_can_be_counted(torch):
    x = line(torch)
    assert x.numel() == HUGE
    assert x[2**61 : 2**61 + 3].tolist() == [1.0] * 3
    assert x.view(2**31, 2**31).shape == (2**31, 2**31)


class Odd(numpy.ndarray):
    """An array whose base is itself, or a new one each time."""

    @property
    def base(self):
        return self if self.shape[0] == 2 else self.view(Odd)


@pytest.mark.parametrize("size", [2, 3])
def test_the_chain_of_bases_has_an_end(torch, size):
    array = numpy.ones(size).view(Odd)
    x = torch.from_numpy(array)
    array[0] = 5
    assert x.tolist() == array.tolist()
    assert torch.tensor(array).tolist() == array.tolist()
