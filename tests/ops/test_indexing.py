"""Reading and writing at the places that index tensors name."""

import warnings

import numpy
import pytest
from oracle import check, check_error, check_out, module, sample, strided

import clew


def index(*rows, dtype="int64"):
    return numpy.array(rows, dtype=dtype)


def indices(shape, size, seed=0, low=0):
    """Random indices from low ... size - 1, with repetitions."""
    return numpy.random.default_rng([seed, *shape]).integers(low, size, shape)


# ------------------------------------------------------------------------------------------------------- along one axis
SELECT = [
    ((4, 3), 0, index(0, 2, 2)),
    ((4, 3), -1, index(2, 1)),
    ((4, 3), 1, index(1, dtype="int32")),
    ((5,), 0, index()),
    ((4, 3), 0, numpy.array(1)),
    ((), 0, index(0)),
    ((2, 0, 3), 0, index(1, 1, 0)),
    ((0, 3), 1, index(0, 0)),
    ((2, 3, 4), 1, index(2, 0, 2, 1)),
]


@pytest.mark.parametrize(("shape", "dim", "at"), SELECT)
def test_index_select(shape, dim, at):
    check("index_select", sample(shape), dim, at)
    check("index_select", strided(sample(shape)), dim, strided(at), method=True)
    check("index_select", sample(shape, dtype="bool"), dim, at)


def test_index_select_large():
    check("index_select", sample((300, 257)), 0, indices((1000,), 300), second=False)
    check(
        "index_select", strided(sample((300, 257), dtype="float32")), 1, indices((500,), 257), second=False, rtol=1e-4
    )


GATHER = [
    ((4, 3), 0, (2, 3)),
    ((4, 3), 1, (4, 5)),
    ((4, 3), 1, (2, 2)),
    ((5,), 0, (7,)),
    ((5,), 0, ()),
    ((), 0, (3,)),
    ((), 0, ()),
    ((4, 3), 0, (0, 3)),
    ((2, 3, 4), -2, (2, 5, 1)),
]


@pytest.mark.parametrize(("shape", "dim", "shape_of_index"), GATHER)
def test_gather(shape, dim, shape_of_index):
    at = indices(shape_of_index, shape[dim] if shape else 1)
    check("gather", sample(shape), dim, at)
    check("gather", strided(sample(shape)), dim, strided(at), method=True)
    check("gather", sample(shape, dtype="int32"), dim, at.astype("int32"))


@pytest.mark.parametrize(
    ("shape", "dim", "at"),
    [((4, 3), 1, indices((4, 2), 3)), ((4, 1), 0, indices((2, 3), 4)), ((4, 3), None, indices((5,), 12))],
)
def test_take_along_dim(shape, dim, at):
    check("take_along_dim", sample(shape), at, dim)


@pytest.mark.parametrize(("shape", "dim", "at"), [((4, 3), 1, index(-1, -3, 2, 0)), ((4, 1), 0, index(-4, 3, -1))])
def test_take_along_dim_counts_from_the_end(shape, dim, at):
    check("take_along_dim", sample(shape), at[:, None], dim)
    check("take_along_dim", sample(shape, dtype="int64"), at[:, None], dim, method=True)
    check_error("take_along_dim", sample(shape), index(-1), match="index -1 is out of bounds")


def test_take_along_dim_refuses_indices_beyond_the_axis():
    for beyond in (3, -4):
        with pytest.raises(RuntimeError, match="out of bounds for dimension 1 with size 3"):
            module.take_along_dim(module.ones(4, 3), module.full((4, 1), beyond), 1)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
def test_scatter_reduce_reads_the_part_of_its_source_that_the_index_covers(reduce, include_self):
    """PyTorch refuses the derivative of a source that is larger than the index."""
    at = module.tensor([[2, 0], [2, 2]])
    source = module.from_numpy(sample((3, 4), seed=5)).requires_grad_()
    x = module.from_numpy(sample((3, 2), seed=6)).requires_grad_()

    def results(source):
        return x.scatter_reduce(0, at, source, reduce, include_self=include_self)

    v = module.from_numpy(sample((3, 2), seed=7))
    expected = module.autograd.grad(results(source[:2, :2].clone()), (x, source), v)
    found = module.autograd.grad(results(source), (x, source), v)
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(one.numpy(), other.numpy())
    assert found[1][:2, :2].abs().sum() > 0
    along = module.from_numpy(sample((3, 4), seed=8))
    tangent = module.func.jvp(results, (source.detach(),), (along,))[1]
    assert abs((tangent * v).sum() - (along * found[1]).sum()) < 1e-12


@pytest.mark.parametrize("at", [index(3, -1, 3), numpy.array(0), indices((2, 3), 12, low=-12), index()])
def test_take(at):
    check("take", sample((4, 3)), at)
    check("take", strided(sample((4, 3))), strided(at), method=True)


# ------------------------------------------------------------------------------------------------------------- writing
SCATTER = [
    ((4, 3), 0, (2, 3)),
    ((4, 3), 1, (2, 2)),
    ((5,), 0, (3,)),
    ((), 0, ()),
    ((4, 3), 0, (0, 3)),
    ((2, 3, 4), 1, (2, 3, 2)),
]


def different(shape, size, dim):
    """Indices that name no place twice."""
    if not shape:
        return numpy.array(0)
    lanes = numpy.moveaxis(numpy.empty(shape, "int64"), dim, 0)
    generator = numpy.random.default_rng(3)
    for place in numpy.ndindex(lanes.shape[1:]):
        lanes[(slice(None), *place)] = generator.permutation(size)[: lanes.shape[0]]
    return numpy.ascontiguousarray(numpy.moveaxis(lanes, 0, dim))


@pytest.mark.parametrize("name", ["scatter", "scatter_"])
@pytest.mark.parametrize(("shape", "dim", "shape_of_index"), SCATTER)
def test_scatter(name, shape, dim, shape_of_index):
    at = different(shape_of_index, shape[dim] if shape else 1, dim)
    check(name, sample(shape), dim, at, sample(shape_of_index, seed=1), method=True)
    check(name, strided(sample(shape)), dim, strided(at), strided(sample(shape_of_index, seed=1)), method=True)
    check(name, sample(shape), dim, at, 2.5, method=True)
    check(name, sample(shape, dtype="int64"), dim, at, -3, method=True)
    check(name, sample(shape, dtype="bool"), dim, at, True, method=True)


@pytest.mark.parametrize("name", ["scatter_add", "scatter_add_"])
@pytest.mark.parametrize(("shape", "dim", "shape_of_index"), SCATTER)
def test_scatter_add(name, shape, dim, shape_of_index):
    at = indices(shape_of_index, shape[dim] if shape else 1)
    check(name, sample(shape), dim, at, sample(shape_of_index, seed=1), method=True)
    check(name, strided(sample(shape)), dim, strided(at), strided(sample(shape_of_index, seed=1)), method=True)
    check(name, sample(shape, dtype="int32"), dim, at, sample(shape_of_index, dtype="int32", seed=1), method=True)


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_a_source_larger_than_the_index(name):
    """PyTorch has no gradient here; ours is zero where nothing was read."""
    x, source = (module.from_numpy(sample(shape, seed=2)).requires_grad_() for shape in ((4, 3), (3, 5)))
    at = module.from_numpy(different((2, 3), 4, 0))
    result = getattr(x, name)(0, at, source)
    weight = module.from_numpy(sample((4, 3), seed=3))
    (result * weight).sum().backward()
    expected = numpy.zeros((3, 5))
    expected[:2, :3] = numpy.take_along_axis(sample((4, 3), seed=3), different((2, 3), 4, 0), 0)
    assert numpy.array_equal(source.grad.numpy(), expected)


def test_the_last_of_repeated_places_stays():
    x = module.zeros(3)
    assert x.scatter(0, module.tensor([1, 1, 1]), module.tensor([1.0, 2.0, 3.0])).tolist() == [0.0, 3.0, 0.0]
    x[[0, 0, 0]] = module.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [3.0, 0.0, 0.0]
    assert x.index_copy(0, module.tensor([2, 2]), module.tensor([5.0, 6.0])).tolist() == [3.0, 0.0, 6.0]


WRITE = [
    ((4, 3), 0, index(2, 0)),
    ((4, 3), 1, index(1)),
    ((5,), 0, index()),
    ((4, 3), 0, numpy.array(3)),
    ((), 0, index(0)),
]


def source_for(shape, dim, at, **options):
    sizes = list(shape)
    if sizes:
        sizes[dim] = at.size
    return sample(tuple(sizes), seed=1, **options)


@pytest.mark.parametrize("name", ["index_add", "index_add_", "index_copy", "index_copy_"])
@pytest.mark.parametrize(("shape", "dim", "at"), WRITE)
def test_index_add_and_copy(name, shape, dim, at):
    if shape == () and "copy" in name:
        return  # PyTorch writes a 0-dim tensor by index only with a 0-dim index
    check(name, sample(shape), dim, at, source_for(shape, dim, at), method=True)
    check(name, strided(sample(shape)), dim, strided(at), strided(source_for(shape, dim, at)), method=True)
    check(name, sample(shape, dtype="int64"), dim, at, source_for(shape, dim, at, dtype="int64"), method=True)


def test_index_add_repeated_and_scaled():
    at = index(1, 1, 0, 1)
    for alpha in (1, 2, -0.5):
        check("index_add", sample((3, 2)), 0, at, sample((4, 2), seed=1), kwargs={"alpha": alpha})
    check("index_add", sample((3, 2), dtype="int64"), 0, at, sample((4, 2), dtype="int64", seed=1), kwargs={"alpha": 3})


@pytest.mark.parametrize("name", ["index_fill", "index_fill_"])
def test_index_fill(name):
    check(name, sample((4, 3)), 0, index(1, 1, -1), 2.5, method=True)
    for shape, dim, at in WRITE:
        check(name, sample(shape), dim, at, 2.5, method=True)
        check(name, sample(shape), dim, at, numpy.array(1.5), method=True)
        check(name, strided(sample(shape, dtype="int64")), dim, at, 7, method=True)


# ---------------------------------------------------------------------------------------------------- advanced indexing
PUT = [
    ((4, 3), [index(0, 2)], (2, 3)),
    ((4, 3), [index(0, 2)], (3,)),
    ((4, 3), [index(0, 2)], ()),
    ((4, 3), [index(0, 3, 3), index(2, 0, 0)], (3,)),
    ((4, 3), [index([0, 1], [2, 3]), index(0, 2)], (2, 1)),
    ((4, 3), [sample((4, 3), dtype="bool")], ()),
    ((4, 3), [numpy.array([True, False, True, True])], (3,)),
    ((2, 3, 4), [index(1), sample((3, 4), dtype="bool", seed=2)], (1,)),
    ((4, 3), [index()], (0, 3)),
    ((4, 3), [index(-1, -4)], (2, 3)),
    ((4, 3), [index(1, 1, 1, dtype="int32")], (3, 3)),
]


@pytest.mark.parametrize("name", ["index_put", "index_put_"])
@pytest.mark.parametrize(("shape", "at", "values"), PUT)
def test_index_put(name, shape, at, values):
    accumulate = {"accumulate": True}
    check(name, sample(shape), at, sample(values, seed=1), kwargs=accumulate, method=True)
    check(name, strided(sample(shape)), tuple(at), strided(sample(values, seed=1)), kwargs=accumulate, method=True)
    if not any(part.dtype.kind == "i" and len(numpy.unique(part)) < part.size for part in at):
        check(name, sample(shape), at, sample(values, seed=1), method=True)
        check(name, sample(shape, dtype="int64"), at, sample(values, seed=1, dtype="int64"), method=True)


def test_index_put_along_later_axes():
    x = module.zeros(2, 3)
    x.index_put_((None, module.tensor([0, 2])), module.tensor(5.0))
    assert x.tolist() == [[5.0, 0.0, 5.0]] * 2


def test_indices_that_share_memory_with_what_is_written():
    x = module.tensor([1, 2, 0])
    x[x] = module.tensor([10, 20, 30])
    assert x.tolist() == [30, 10, 20]
    y = module.tensor([3, 1, 2])
    y.index_copy_(0, module.tensor([2, 1, 0]), y)
    assert y.tolist() == [2, 1, 3]
    z = module.tensor([[1, 2], [3, 4]])
    z.scatter_(0, module.tensor([[1, 1], [0, 0]]), z)
    assert z.tolist() == [[3, 4], [1, 2]]


def test_what_is_saved():
    x = module.from_numpy(sample((4, 3))).requires_grad_()
    at = module.tensor([0, 2])
    assert [slot.name for slot in x[at].grad_fn.saved] == ["indices"]
    assert [slot.name for slot in x.index_select(0, at).grad_fn.saved] == ["index"]
    assert [slot.name for slot in x.gather(0, at.reshape(1, 2)).grad_fn.saved] == ["index"]
    assert [
        slot.name for slot in (x * 1).index_put((at,), module.zeros(3).double(), accumulate=True).grad_fn.saved
    ] == []
    assert [slot.name for slot in x.scatter_add(0, at.reshape(1, 2), module.zeros(1, 2).double()).grad_fn.saved] == []


def test_out():
    check_out("index_select", sample((4, 3)), 0, index(0, 2))
    check_out("gather", sample((4, 3)), 0, index([0, 2, 1]))
    check_out("take", sample((4, 3)), index(0, 7))


# --------------------------------------------------------------------------------------------------------------- errors
BAD = [
    ("index_select", ((3,), 0, index(3)), IndexError, "index out of range in self"),
    ("index_select", ((3,), 0, index(-1)), IndexError, "index -1 is out of bounds for dimension 0 with size 3"),
    ("index_select", ((3,), 0, index(0.0, dtype="float64")), RuntimeError, "Expected dtype int32"),
    ("index_select", ((3,), 0, index([0])), IndexError, "Index is supposed to be a vector"),
    ("gather", ((2, 3), 1, index([0, 3])), RuntimeError, "index 3 is out of bounds for dimension 1 with size 3"),
    ("gather", ((2, 3), 1, index([-1])), RuntimeError, "index -1 is out of bounds for dimension 1 with size 3"),
    ("gather", ((2, 3), 1, index(0)), RuntimeError, "must have the same number of dimensions"),
    (
        "gather",
        ((2, 3), 1, index([0], [0], [0])),
        RuntimeError,
        "Size does not match at dimension 0 expected index [3, 1]",
    ),
    ("scatter", ((2, 3), 1, index([3]), 1.0), RuntimeError, "index 3 is out of bounds for dimension 1 with size 3"),
    ("scatter", ((2, 3), 1, index(0), 1.0), RuntimeError, "same number of dimensions as self"),
    ("scatter_add", ((3,), 0, index(-1), sample((1,))), RuntimeError, "index -1 is out of bounds"),
    (
        "index_add",
        ((3,), 0, index(3), sample((1,))),
        IndexError,
        "index 3 is out of bounds for dimension 0 with size 3",
    ),
    (
        "index_add",
        ((3,), 0, index(0), sample((2,))),
        RuntimeError,
        "Number of indices (1) should be equal to source.size(dim)",
    ),
    ("index_add", ((2, 3), 0, index(0), sample((1, 2))), RuntimeError, "Got self.shape = [2, 3] source.shape = [1, 2]"),
    (
        "index_copy",
        ((3,), 0, index(3), sample((1,))),
        IndexError,
        "index 3 is out of bounds for dimension 0 with size 3",
    ),
    ("index_fill", ((3,), 0, index(-4), 0.0), IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
    ("index_fill", ((3,), 0, index(0), sample((1,))), RuntimeError, "0-dimensional value tensor"),
    ("take", ((3,), index(3)), IndexError, "out of range"),
    ("index_put", ((3,), (index(3),), sample(())), IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
    ("index_put", ((3,), (index(0), index(0)), sample(())), IndexError, "too many indices"),
    (
        "index_put",
        ((2, 3), (index(0, 1),), sample((3, 2))),
        RuntimeError,
        "cannot be broadcast to indexing result of shape [2, 3]",
    ),
    (
        "index_put",
        ((3,), (index(0),), sample((), dtype="float32")),
        RuntimeError,
        "source and destination dtypes match",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "error", "words"), BAD)
def test_bad_arguments(name, arguments, error, words):
    shape, *rest = arguments
    check_error(name, sample(shape), *rest, error=error, match=words, method=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("index_put_", ((index(0, 9),), sample((2, 3)))),
        ("scatter_", (0, index([0, 1, 9]), 1.0)),
        ("scatter_add_", (0, index([0, 1, 9]), sample((1, 3)))),
        ("index_add_", (0, index(0, 9), sample((2, 3)))),
        ("index_copy_", (0, index(0, 9), sample((2, 3)))),
        ("index_fill_", (0, index(0, 9), 1.0)),
    ],
)
def test_nothing_is_written_on_an_error(name, arguments):
    def as_tensors(value):
        if isinstance(value, tuple):
            return tuple(as_tensors(item) for item in value)
        return module.from_numpy(value.copy()) if isinstance(value, numpy.ndarray) else value

    x = module.from_numpy(sample((4, 3)))
    with pytest.raises((IndexError, RuntimeError), match="index 9 is out of bounds for dimension 0 with size 4"):
        getattr(x, name)(*as_tensors(arguments))
    assert numpy.array_equal(x.numpy(), sample((4, 3)))
    assert x._version == 0


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
def test_scatter_adds(dtype, oracle):
    def found(m):
        x = m.arange(6).reshape(3, 2).to(getattr(m, dtype))
        at = m.tensor([[0, 1], [0, 1], [2, 1]])
        row = m.tensor([0, 0, 2])
        into = m.zeros(3, dtype=x.dtype)
        into.scatter_(0, row, 2, reduce="add")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's on its deprecation
            return [
                x.scatter(0, at, x, reduce="add").tolist(),
                x[:, 0].scatter(0, row, 3, reduce="add").tolist(),
                into.tolist(),
            ]

    assert found(module) == found(oracle)
    x = module.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for scatter with reduce='add'"):
        x.scatter(0, module.tensor([0]), 1.0, reduce="add").sum().backward()
    with pytest.raises(NotImplementedError, match="use scatter_reduce with reduce='prod'"):
        x.scatter(0, module.tensor([0]), 1.0, reduce="multiply")


def test_products_are_added_into_out(oracle):
    def found(m):
        out, other = m.empty(2, 3), m.empty(0)
        a, b = m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0, 5.0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert m.addr(m.ones(2, 3), a, b, alpha=2, out=out) is out
            m.addbmm(m.ones(1, 1), m.ones(2, 1, 3), m.ones(2, 3, 1), out=other)
        return out.tolist(), other.tolist()

    assert found(module) == found(oracle)


@pytest.mark.parametrize(
    "write",
    [
        lambda y: clew.zeros(3).scatter(0, clew.tensor([0, 2, 0]), y),
        lambda y: clew.zeros(3).index_put((clew.tensor([0, 2, 0]),), y),
        lambda y: clew.zeros(3).index_copy(0, clew.tensor([0, 2, 0]), y),
        lambda y: clew.zeros(2, 3).index_put((clew.tensor(1), clew.tensor([0, 2, 0])), y)[1],
        lambda y: clew.zeros(1, 3).scatter(1, clew.tensor([[0, 2, 0]]), y[None])[0],
    ],
)
def test_of_values_written_to_one_place_the_last_has_the_gradient(write):
    """Linear in y, so the Jacobian is what unit vectors become."""
    expected = clew.stack([write(unit) for unit in clew.eye(3)], 1).tolist()
    assert expected == [[0, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert clew.func.jacrev(write)(clew.ones(3)).tolist() == expected
    assert clew.func.jacfwd(write)(clew.ones(3)).tolist() == expected


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
def test_equal_elements_share_the_gradient_in_vmap_too(name):
    x = clew.tensor([[2.0, 2.0, 2.0], [1.0, 2.0, 2.0]])
    f = getattr(clew, name)
    expected = [clew.func.grad(f)(row).tolist() for row in x]
    assert clew.vmap(clew.func.grad(f))(x).tolist() == expected
    assert clew.func.jacrev(clew.vmap(f))(x).sum(0).tolist() == expected
    assert [clew.func.jacfwd(f)(row).tolist() for row in x] == expected


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int16", "float16", "bfloat16", "uint8", "bool"])
def test_writes_of_narrow_types(dtype, accumulate, torch, oracle):
    def program(m):
        kind = getattr(m, dtype)
        whole = m.arange(60).reshape(5, 4, 3).to(kind)
        part, row = m.tensor([100, 7, 3]).to(kind), m.tensor([4, 0, 3])
        made = []
        for indices, values in [
            ((row,), part),
            ((m.tensor([-1, 2]), m.tensor([1, 1])), part),
            ((m.tensor([3, 1]), m.tensor([[0], [3]]), m.tensor(1)), part[0]),
            ((whole.to(m.int64) % 7 == 1,), part[0]),
        ]:
            made.append(whole.index_put(indices, values, accumulate))
            lying = whole.transpose(1, 2).contiguous().transpose(1, 2)
            made.append(lying.index_put_(indices, values, accumulate))
        if not accumulate:
            whole[m.tensor([1, 3])] = part
            made.append(whole)
        return [one.float().tolist() for one in made] + [str(made[0].dtype).split(".")[1]]

    assert program(torch) == program(oracle)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float16", "bfloat16"])
def test_a_write_of_few_rows_takes_no_memory_for_the_whole(dtype, torch):
    """It was converted as a whole, there and back."""
    whole = torch.zeros(1000, 1000, dtype=getattr(torch, dtype))
    rows, values = torch.tensor([5, 7]), torch.ones(2, 1000).to(whole.dtype)
    clew._core.reset_peak()
    before = clew._core.memory_stats()["peak"]
    whole[rows] = values
    assert clew._core.memory_stats()["peak"] - before < 100_000


def test_forms_in_place_take_no_out():
    x, a = clew.ones(2, 2), clew.ones(2)
    with pytest.raises(TypeError, match=r"addr_\(\) got an unexpected keyword argument 'out'"):
        x.addr_(a, a, out=clew.zeros(2, 2))
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
