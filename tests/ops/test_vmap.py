"""vmap beside PyTorch's: axes, trees, nesting, gradients, in-place writes, random numbers, and what is refused."""

import importlib

import numpy
import pytest
import torch

import clew

BOTH = pytest.mark.parametrize("module", [clew, torch], ids=["clew", "torch"])


def pair(*shape, seed=0):
    values = numpy.random.default_rng(seed).standard_normal(shape)
    return clew.tensor(values), torch.tensor(values)


def same(found, wanted):
    assert tuple(found.shape) == tuple(wanted.shape)
    numpy.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("in_dims", [0, 1, -1, (0, None), (None, 1), (1, -1), (-2, 0)])
@pytest.mark.parametrize("out_dims", [0, 1, -1])
def test_axes_of_arguments_and_results(in_dims, out_dims):
    (x, x_torch), (y, y_torch) = pair(3, 3), pair(3, 3, seed=1)
    found = clew.vmap(lambda a, b: a * 2 + b.sin(), in_dims, out_dims)(x, y)
    same(found, torch.vmap(lambda a, b: a * 2 + b.sin(), in_dims, out_dims)(x_torch, y_torch))


@BOTH
def test_trees_of_arguments_and_results(module):
    x, y = module.arange(6.0).reshape(2, 3), module.arange(4.0).reshape(2, 2)

    def function(given, factor):
        return {"sum": given["x"].sum() + given["rest"][0].sum(), "all": [given["x"] * factor]}

    given = {"x": x, "rest": [y, 3]}
    made = module.vmap(function, in_dims=({"x": 0, "rest": [1, None]}, None), out_dims={"sum": 0, "all": [1]})
    found = made(given, 10)
    assert found["sum"].tolist() == [5.0, 16.0]
    assert found["all"][0].tolist() == [[0.0, 30.0], [10.0, 40.0], [20.0, 50.0]]


@BOTH
def test_samples_have_shapes_without_the_batch(module):
    seen = []

    def function(x):
        seen.append((tuple(x.shape), x.ndim, x.numel(), x.dtype))
        return x.reshape(-1)

    module.vmap(function, in_dims=1)(module.zeros(2, 5, 3))
    assert seen == [((2, 3), 2, 6, module.float32)]


def test_nested():
    (x, x_torch), (y, y_torch) = pair(2, 3, 4), pair(5, 4, seed=1)

    def nested(module, x, y):
        inner = module.vmap(lambda a, b: (a * b).sum(), in_dims=(None, 0))
        return module.vmap(module.vmap(inner, in_dims=(0, None)), in_dims=(0, None), out_dims=1)(x, y)

    same(nested(clew, x, y), nested(torch, x_torch, y_torch))


def test_gradients_pass_through():
    (x, x_torch), (w, w_torch) = pair(4, 3), pair(3, 2, seed=1)
    gradients = []
    for module, samples, weight in ((clew, x, w), (torch, x_torch, w_torch)):
        leaves = [samples.requires_grad_(), weight.requires_grad_()]
        result = module.vmap(lambda a, b: (a @ b).tanh().sum(), in_dims=(0, None))(*leaves)
        gradients.append(module.autograd.grad(result.square().sum(), leaves))
    for found, wanted in zip(*gradients, strict=True):
        same(found, wanted)


@pytest.mark.parametrize("number", [2, 2.5], ids=["int", "float"])
@BOTH
def test_samples_without_axes_yield_in_promotion_as_numbers_do(module, number):
    batch, other = module.tensor([1.0, 2.0], dtype=module.float64), module.ones(3, dtype=module.float32)
    assert module.vmap(lambda x: x * other)(batch).dtype is module.float32
    assert module.vmap(lambda x: x * other.long())(batch).dtype is module.float64
    assert module.vmap(lambda x: x.float() * module.tensor(number, dtype=module.float64))(batch).dtype is module.float64
    assert module.vmap(lambda x: x.float() * number)(batch).dtype is module.float32


@BOTH
def test_a_write_into_a_sample_reaches_the_batch(module):
    x = module.zeros(2, 3)

    def function(row):
        row[1:].add_(row.new_ones(2))
        row.t_().mul_(2)
        return row

    module.vmap(function)(x)
    assert x.tolist() == [[0.0, 2.0, 2.0]] * 2


def test_a_batch_is_not_written_into_one_tensor():
    for write in ("add_", "copy_", "mul_"):
        with pytest.raises(RuntimeError, match="being vmapped over but `self` not being vmapped over"):
            clew.vmap(lambda x, write=write: getattr(clew.zeros(3), write)(x))(clew.ones(2, 3))


@BOTH
def test_values_cannot_be_read(module):
    x = module.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"vmap: It looks like you're calling .item\(\) on a Tensor"):
        module.vmap(lambda row: row.sum().item())(x)
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        module.vmap(lambda row: row if row.sum() > 0 else -row)(x)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        module.vmap(lambda row: row.nonzero())(x)
    with pytest.raises(RuntimeError, match="requires_grad_"):
        module.vmap(lambda row: row.requires_grad_())(x)


@pytest.mark.parametrize("read", ["numpy", "tolist", "data_ptr"])
def test_memory_of_a_sample_is_refused(read):
    with pytest.raises(RuntimeError, match=f"vmap: It looks like you're calling .{read}"):
        clew.vmap(lambda row: getattr(row, read)())(clew.ones(2, 3))
    with pytest.raises(RuntimeError, match="vmap: It looks like you're calling"):
        clew.vmap(lambda row: memoryview(row))(clew.ones(2, 3))


def test_a_sample_outside_its_vmap_is_refused():
    kept = []
    clew.vmap(lambda row: kept.append(row) or row)(clew.ones(2, 3))
    (row,) = kept
    for use in (lambda: row + 1, row.numpy, row.tolist, lambda: row[0], lambda: clew.zeros(3).copy_(row), row.add_):
        with pytest.raises((RuntimeError, TypeError)):
            use() if use is not row.add_ else use(1)
    with pytest.raises(RuntimeError, match="outside the vmap"):
        clew.vmap(lambda other: other + row)(clew.ones(2, 3))
    assert "lvl=dead" in repr(row)


@BOTH
def test_representation(module):
    shown = []
    module.vmap(lambda row: shown.append(repr(row)) or row)(module.tensor([[1.0, 2.0]]))
    assert shown == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 2.]])\n)"]


@BOTH
@pytest.mark.parametrize(
    ("function", "in_dims", "out_dims", "arguments", "message"),
    [
        (lambda x: x, 0, 0, lambda m: [], "got no inputs"),
        (lambda x: x, None, 0, lambda m: [m.ones(2)], "expected `in_dims` to be int"),
        (lambda x: x, (None,), 0, lambda m: [m.ones(2)], "Expected at least one Tensor to vmap over"),
        (lambda x: x, (0, 0), 0, lambda m: [m.ones(2)], "in_dims is not compatible"),
        (lambda x: x, 1, 0, lambda m: [m.ones(2)], "Got in_dim=1 for some input"),
        (lambda x: x, ("a",), 0, lambda m: [m.ones(2)], "must be either an integer dimension or None"),
        (lambda x: x, 0, 0, lambda m: [3], "We cannot vmap over non-Tensor arguments"),
        (lambda x, y: x, 0, 0, lambda m: [m.ones(2), m.ones(3)], "to have the same size in the mapped dimension"),
        (lambda x: 3, 0, 0, lambda m: [m.ones(2)], "must only return Tensors"),
        (lambda x: x, 0, None, lambda m: [m.ones(2)], "can not return a BatchedTensor when out_dim is None"),
        (lambda x: x, 0, (0, 0), lambda m: [m.ones(2)], "out_dims is not compatible"),
    ],
)
def test_misfits(module, function, in_dims, out_dims, arguments, message):
    with pytest.raises(ValueError, match=message):
        module.vmap(function, in_dims, out_dims)(*arguments(module))


@BOTH
def test_wrong_settings(module):
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        module.vmap(lambda x: x, randomness="other")(module.ones(2))
    with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
        module.vmap(lambda x: x, chunk_size=0)(module.ones(2))


@BOTH
def test_randomness(module):
    x = module.zeros(4, 3)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        module.vmap(lambda row: row + module.rand(3))(x)
    for draw in (
        lambda row: module.rand(3) + row,
        lambda row: module.rand_like(row),
        lambda row: module.nn.functional.dropout(row + 1),
        lambda row: module.randperm(6) + row.sum(),
        lambda row: module.bernoulli(row + 0.5),
    ):
        module.manual_seed(3)
        assert (lambda rows: (rows != rows[0]).any())(module.vmap(draw, randomness="different")(x))
    module.manual_seed(3)
    same_numbers = module.vmap(lambda row: module.rand(3) + row, randomness="same")(x)
    assert (same_numbers == same_numbers[0]).all()
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched tensor"):
        module.vmap(lambda row: module.zeros(3).normal_() + row, randomness="different")(x)


@BOTH
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_chunks(module, size):
    x = module.arange(10.0).reshape(5, 2)
    seen = []

    def function(row):
        seen.append(row)
        return row.sum()

    assert module.vmap(function, chunk_size=size)(x).tolist() == [1.0, 5.0, 9.0, 13.0, 17.0]
    assert len(seen) == -(-5 // size)


@BOTH
def test_a_result_that_is_the_same_for_all_samples(module):
    x, constant = module.ones(3, 2), module.arange(2.0)
    assert module.vmap(lambda row: constant)(x).tolist() == [[0.0, 1.0]] * 3
    once, each = module.vmap(lambda row: (constant, row), out_dims=(None, 0))(x)
    assert once is constant
    assert tuple(each.shape) == (3, 2)


def test_an_empty_batch():
    found = clew.vmap(lambda row: (row.sum(), row.sort().values, clew.linalg.matrix_exp(row.outer(row))))(
        clew.ones(0, 3)
    )
    assert [tuple(one.shape) for one in found] == [(0,), (0, 3), (0, 3, 3)]


def test_an_error_inside_ends_the_batch():
    with pytest.raises(ZeroDivisionError):
        clew.vmap(lambda row: row / (1 // 0))(clew.ones(2))
    assert clew._core.active_batches() == []
    assert (clew.ones(2) + 1).tolist() == [2.0, 2.0]


def test_wrong_arguments_inside_say_what_the_operation_says():
    for function in (lambda row: row.sum(5), lambda row: row.transpose(0, 4), lambda row: row.softmax(3)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            clew.vmap(function)(clew.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"size mismatch|cannot be multiplied"):
        clew.vmap(lambda row: clew.ones(4, 4) @ row)(clew.ones(2, 3))


def test_a_number_that_each_sample_has_may_index():
    x, i = clew.arange(12.0).reshape(3, 4), clew.tensor([2, 0, -1])
    assert clew.vmap(lambda row, at: row[at])(x, i).tolist() == [2.0, 4.0, 11.0]

    def write(row, at):
        row = row.clone()
        row[at] = -1.0
        return row

    written = clew.vmap(write)(x, i)
    wanted = x.numpy().copy()
    wanted[range(3), [2, 0, 3]] = -1
    numpy.testing.assert_array_equal(written.numpy(), wanted)


@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_by_statistics_that_are_given(affine):
    values = numpy.random.default_rng(0).standard_normal((4, 5, 3, 2))
    found = []
    for module in (clew, torch):
        module.manual_seed(0)
        layer = module.nn.BatchNorm1d(3, affine=affine).to(module.float64)
        layer(module.tensor(values[0]))
        layer.eval()
        found.append(module.vmap(layer)(module.tensor(values)))
        statistics = dict(layer.named_buffers())
        assert not statistics["running_mean"].requires_grad
    same(*found)
    with pytest.raises(RuntimeError, match=r"native_batch_norm.*not possible"):
        clew.vmap(clew.nn.BatchNorm1d(3).double())(clew.tensor(values))


def test_checks_of_matrices_read_all_samples():
    values = numpy.random.default_rng(0).standard_normal((4, 3, 3)) + 4 * numpy.eye(3)
    x, y = clew.tensor(values), clew.tensor(values[:, 0])
    same(clew.vmap(clew.linalg.inv)(x), clew.linalg.inv(x))
    same(clew.vmap(clew.linalg.cholesky)(x @ x.mT), clew.linalg.cholesky(x @ x.mT))
    same(clew.vmap(clew.linalg.solve)(x, y), clew.linalg.solve(x, y))
    with pytest.raises(RuntimeError, match="singular"):
        clew.vmap(clew.linalg.inv)(clew.stack([x[0], clew.zeros(3, 3, dtype=clew.float64)]))


def test_batches_run_at_once():
    """The number of operations does not depend on the size of the batch."""
    layers = clew.nn.Sequential(clew.nn.Linear(4, 8), clew.nn.Tanh(), clew.nn.LayerNorm(8), clew.nn.Linear(8, 2))

    def count(size):
        calls = []
        interpreter = clew._core.Interpreter(lambda call: (calls.append(call.name), call.run()))
        interpreter.push()
        try:
            clew.vmap(lambda row: layers(row).log_softmax(-1).sum())(clew.ones(size, 4))
        finally:
            interpreter.pop()
        return len(calls)

    assert count(2) == count(50)


def test_a_number_of_each_sample_fills_it():
    x, values = clew.zeros(3, 2), clew.tensor([1.0, 2.0, 3.0])
    assert clew.vmap(lambda x, value: x.clone().fill_(value))(x, values).tolist() == [[1.0] * 2, [2.0] * 2, [3.0] * 2]
    assert clew.func.jacfwd(lambda x: x.clone().fill_(x[0] * 3))(x[0]).tolist() == [[3.0, 0.0], [3.0, 0.0]]


def test_blocks_along_a_diagonal():
    x, y = clew.arange(8.0).reshape(2, 2, 2), clew.ones(2, 1)
    expected = clew.stack([clew.block_diag(one, y) for one in x])
    same(clew.vmap(lambda one: clew.block_diag(one, y))(x), expected)
    blocks = lambda x: (clew.block_diag(x, y, x) ** 3).sum()  # noqa: E731
    same(clew.func.hessian(blocks)(x[1]), clew.func.jacrev(clew.func.jacrev(blocks))(x[1]))


class Rows:
    """Columns of one length, as tensordict has them: its shape is theirs without what lies behind."""

    def __init__(self, columns, shape):
        self.columns, self.shape, self.ndim = columns, shape, len(shape)

    def _add_batch_dim(self, *, in_dim, vmap_level):
        add = importlib.import_module("clew._functorch.vmap")._add_batch_dim
        left = [size for axis, size in enumerate(self.shape) if axis != in_dim]
        return Rows({name: add(one, in_dim, vmap_level) for name, one in self.columns.items()}, left)

    def _maybe_remove_batch_dim(self, name, vmap_level, batch_size, out_dim):
        remove = importlib.import_module("clew._functorch.vmap")._maybe_remove_batch_dim
        shape = [*self.shape[:out_dim], batch_size, *self.shape[out_dim:]]
        return Rows(
            {key: remove(name, one, vmap_level, batch_size, out_dim) for key, one in self.columns.items()}, shape
        )


def test_a_container_puts_its_tensors_into_the_batch_itself():
    nodes = importlib.import_module("clew.utils._pytree_nodes")
    nodes.register_pytree_node(Rows, lambda rows: (list(rows.columns.values()), list(rows.columns)), None)
    try:
        x, y = clew.arange(6.0).reshape(2, 3), clew.arange(24.0).reshape(2, 3, 4)
        shapes = []

        def function(rows, factor):
            shapes.append((rows.shape, *(one.shape for one in rows.columns.values())))
            return Rows(
                {"sum": rows.columns["x"] + rows.columns["y"].sum(-1), "same": clew.ones(2)}, rows.shape[:0]
            ), factor

        rows, factor = clew.vmap(function, in_dims=(1, None), out_dims=(1, 0))(
            Rows({"x": x, "y": y}, [2, 3]), clew.ones(2)
        )
    finally:
        nodes.BATCHING.remove(Rows)
        del nodes.NODES[Rows]
    assert shapes == [([2], (2,), (2, 4))]
    assert (rows.shape, factor.shape) == ([3], (3, 2))
    assert rows.columns["sum"].tolist() == (x + y.sum(-1)).tolist()
    assert rows.columns["same"].tolist() == [[1.0] * 3] * 2


@BOTH
def test_a_mask_without_axes_has_no_part_in_promotion(module):
    mask, x = module.tensor([True, False]), module.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=module.float64)
    assert module.vmap(lambda m, x: module.where(m, x, -x))(mask, x).tolist() == [[1.0, 2.0], [-3.0, -4.0]]
    assert module.vmap(lambda m, x: module.where(m, x, module.zeros(2)))(mask, x).tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert module.vmap(lambda m, x: x.masked_fill(m, 7.0))(mask, x).tolist() == [[7.0, 7.0], [3.0, 4.0]]


def test_masked_select_by_one_mask_for_all_samples():
    (x, x_torch), mask = pair(3, 4), [True, False, True, True]
    found = clew.vmap(lambda x: x.masked_select(clew.tensor(mask)))(x)
    same(found, x_torch[:, torch.tensor(mask)])
