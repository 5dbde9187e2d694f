"""Tensors print as in PyTorch, to the character: generated values, and every option."""

import itertools

import numpy
import pytest

SHAPES = [
    (),
    (1,),
    (3,),
    (7,),
    (30,),
    (2, 3),
    (4, 1),
    (1, 12),
    (2, 2, 2),
    (3, 1, 5),
    (1, 1, 1, 2),
    (0,),
    (0, 3),
    (2, 0, 1),
]
LARGE = [(1001,), (40, 30), (7, 8, 20), (2, 1000), (1000, 2), (11, 1, 100)]
DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool"]
SCALES = {
    "units": lambda values: values,
    "whole": numpy.round,
    "tens of thousands": lambda values: numpy.round(values * 3e4),
    "millions": lambda values: values * 1e6,
    "hundreds of millions": lambda values: numpy.round(values * 1e9),
    "tiny": lambda values: values * 1e-6,
    "wide": lambda values: numpy.exp(values * 12),
    "hundredths": lambda values: values / 100,
    "with zeros": lambda values: numpy.where(values > 0, values, 0),
    "not finite": lambda values: numpy.where(values > 0.5, numpy.inf, numpy.where(values < -0.5, numpy.nan, values)),
    "whole and infinite": lambda values: numpy.where(values > 0.3, -numpy.inf, numpy.round(values * 5)),
    "nothing finite": lambda values: numpy.where(values > 0, numpy.nan, numpy.inf),
    "negative zeros": lambda values: values * -0.0,
}


def array(shape, dtype="float32", scale="units", seed=0):
    values = SCALES[scale](numpy.random.default_rng([seed, *shape]).standard_normal(shape))
    if dtype == "bool":
        return numpy.asarray(values > 0)
    if dtype == "uint8":
        return numpy.asarray(numpy.abs(values) * 20, dtype=dtype)
    if dtype.startswith("int"):
        return numpy.asarray(values * 50, dtype=dtype)
    return numpy.asarray(values, dtype=dtype)


def text_of(module, values):
    return repr(module.tensor(values))


def assert_same_text(torch, oracle, values):
    assert text_of(torch, values) == text_of(oracle, values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_shape(torch, oracle, dtype):
    for shape in SHAPES + LARGE:
        assert_same_text(torch, oracle, array(shape, dtype))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_kind_of_values(torch, oracle, dtype, scale):
    for shape, seed in itertools.product([(), (1,), (5,), (20,), (3, 4), (2, 3, 5), (1200,)], range(3)):
        with numpy.errstate(over="ignore"):
            values = array(shape, dtype, scale, seed)
        assert_same_text(torch, oracle, values)


def test_single_values(torch, oracle):
    for value in (0.0, 1.0, -1.0, 0.1, 1e-4, 9.9e-5, 1e8, 1.0001e8, 99999.5, 123456789.0, 1e-45, 3.4e38, 1 / 3):
        for values in (value, [value], [value, 1.0], [value, -value * 1000.1], [value, 0.0], [value, float("nan")]):
            assert_same_text(torch, oracle, values)


def test_integers_at_their_limits(torch, oracle):
    for values in ([2**63 - 1, -(2**63)], [0], [-1, 100], 2**40, [[1], [-1000000]]):
        assert_same_text(torch, oracle, values)


def test_history_and_dtype_wrap_at_the_end_of_the_line(torch, oracle):
    for count in range(1, 16):
        texts = []
        for module in (torch, oracle):
            x = module.ones(count, dtype=module.float64, requires_grad=True)
            texts.append([repr(x), repr(x * 2), repr((x * 2).reshape(1, -1)), repr(x.detach())])
        assert texts[0] == texts[1]


def test_memory_in_another_order(torch, oracle):
    values = array((4, 5))
    for module_texts in zip(
        *(
            [repr(x) for x in (t.t(), t[:, ::2], t[1], t.expand(2, 4, 5))]
            for t in (torch.tensor(values), oracle.tensor(values))
        ),
        strict=True,
    ):
        assert module_texts[0] == module_texts[1]


OPTIONS = [
    {"precision": 2},
    {"precision": 8},
    {"threshold": 5},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 2, "linewidth": 40},
    {"linewidth": 30},
    {"linewidth": 200},
    {"sci_mode": True},
    {"sci_mode": False},
    {"profile": "short"},
    {"profile": "full"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_print_options(torch, oracle, options):
    try:
        for module in (torch, oracle):
            module.set_printoptions(profile="default")
            module.set_printoptions(**options)
        for shape, scale in itertools.product(
            [(), (4,), (12,), (3, 4), (7, 8), (4, 5, 6)], ["units", "wide", "whole", "tiny"]
        ):
            assert_same_text(torch, oracle, array(shape, "float32", scale))
    finally:
        for module in (torch, oracle):
            module.set_printoptions(profile="default")


@pytest.mark.beyond
def test_an_unknown_profile_is_refused(torch):
    with pytest.raises(ValueError, match="profile"):
        torch.set_printoptions(profile="bananas")


@pytest.mark.beyond
@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"precision": 2.0}, TypeError),
        ({"precision": -1}, ValueError),
        ({"precision": 10**9}, ValueError),
        ({"edgeitems": "3"}, TypeError),
        ({"edgeitems": -1}, ValueError),
        ({"threshold": "5"}, TypeError),
        ({"threshold": float("nan")}, ValueError),
        ({"linewidth": [80]}, TypeError),
        ({"sci_mode": numpy.ones(2)}, ValueError),
    ],
    ids=str,
)
def test_an_option_that_cannot_be_used_changes_nothing(torch, options, kind):
    x = torch.arange(3000.0) / 7
    before = repr(x)
    with pytest.raises(kind):
        torch.set_printoptions(**{"profile": "full", "precision": 2, "threshold": 5, "linewidth": 30} | options)
    assert repr(x) == before


@pytest.mark.beyond
def test_what_gives_an_option_may_go(torch, oracle):
    """The numbers are kept, not the objects that gave them."""
    leaf = torch.tensor(2)
    try:
        torch.set_printoptions(precision=leaf, threshold=numpy.float32(numpy.inf), linewidth=numpy.inf)
        leaf.fill_(9)
        oracle.set_printoptions(precision=2, threshold=numpy.inf, linewidth=10**9)
        assert_same_text(torch, oracle, numpy.linspace(0, 1, 2000, dtype="float32"))
    finally:
        for module in (torch, oracle):
            module.set_printoptions(profile="default")


def test_subclasses_print_their_name(torch, oracle):
    texts = []
    for module in (torch, oracle):

        class Meters(module.Tensor):
            pass

        x = module.ones(2, 12).as_subclass(Meters)
        texts.append([repr(x), repr(x * 2), str(x[0])])
    assert texts[0] == texts[1]


def test_parameters(torch, oracle):
    texts = [
        [repr(module.nn.Parameter(module.ones(2, 2))), str(module.nn.Parameter(module.ones(1), requires_grad=False))]
        for module in (torch, oracle)
    ]
    assert texts[0] == texts[1]


def test_other_things_that_print(torch, oracle):
    for make in (
        lambda module: module.ones(2, 3).shape,
        lambda module: module.Size([]),
        lambda module: module.float32,
        lambda module: module.long,
        lambda module: module.strided,
        lambda module: module.preserve_format,
        lambda module: module.device("cpu"),
        lambda module: module.device("cuda:1"),
        lambda module: module.finfo(module.float64),
        lambda module: module.iinfo(module.uint8),
        lambda module: module.ones(3).type(),
    ):
        assert repr(make(torch)) == repr(make(oracle))
        assert str(make(torch)) == str(make(oracle))


def test_formatting(torch):
    assert f"{torch.tensor(1.23456):.2f}" == "1.23"
    assert f"{torch.tensor(7):>3d}" == "  7"
    assert f"{torch.tensor([1.0])}" == "tensor([1.])"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{torch.ones(2):.2f}"


def test_printing_reads_nothing_of_the_graph(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: pytest.fail("saved"), lambda packed: packed):
        repr(x)
    y = x.exp()
    before = y.grad_fn
    repr(y)
    assert y.grad_fn is before
    assert y._version == 0
