"""What layers are made of: normalisation, embedding, dropout, recurrent cells."""

import numpy
import pytest
import torch as reference
from oracle import check, check_error, compare, module, sample, strided

F = "nn.functional."


# -------------------------------------------------------------------------------------------------------- normalisation
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("shape", "axes"), [((3, 5), 1), ((2, 3, 4), 2), ((2, 3, 4), 1), ((7,), 1), ((0, 3), 1)], ids=str
)
def test_layer_norm(shape, axes, dtype):
    inner = shape[len(shape) - axes :]
    x, weight, bias = (sample(size, dtype=dtype, seed=i) for i, size in enumerate((shape, inner, inner)))
    second = dtype == "float64"
    for array in (x, strided(x)):
        check(F + "layer_norm", array, inner, weight, bias, second=second)
        # PyTorch has no second derivative of these.
        check(F + "layer_norm", array, inner, second=False)
        check(F + "layer_norm", array, inner, weight, second=False)
        check(F + "layer_norm", array, inner, None, bias, kwargs={"eps": 0.1}, second=False)


@pytest.mark.parametrize(("with_weight", "with_bias"), [(True, False), (False, True), (False, False)])
def test_second_derivatives_of_layer_norm(with_weight, with_bias):
    arrays = [sample((2, 3, 4)), *([sample((3, 4), seed=1)] * with_weight), *([sample((3, 4), seed=2)] * with_bias)]

    def norm(x, *parameters):
        given = list(parameters)
        weight, bias = (given.pop(0) if present else None for present in (with_weight, with_bias))
        return module.nn.functional.layer_norm(x, (3, 4), weight, bias)

    assert module.autograd.gradgradcheck(norm, [module.from_numpy(array).requires_grad_() for array in arrays])


def test_layer_norm_saves_what_it_needs():
    x, weight, bias = module.ones(2, 3), module.ones(3), module.zeros(3)

    def saved(*leaves):
        for leaf in (x, weight, bias):
            leaf.requires_grad_(any(leaf is one for one in leaves))
        return {slot.name for slot in module.layer_norm(x, (3,), weight, bias).grad_fn.saved if slot.nbytes}

    assert saved(x) == {"input", "weight", "result1", "result2"}
    assert saved(weight) == {"input", "result1", "result2"}
    assert saved(bias) == set()


def test_large_layer_norm():
    check(F + "layer_norm", sample((300, 257), dtype="float32"), (257,), second=False)
    check(F + "layer_norm", sample((3, 20000)) + 100, (20000,), second=False)


def test_layer_norm_refuses():
    name, x = F + "layer_norm", sample((2, 3))
    check_error(name, x, (2,), match="Given normalized_shape=[2]")
    check_error(name, x, (), match="normalized_shape")
    check_error(name, x, (1, 2, 3), match="normalized_shape")
    check_error(name, x, (3,), sample((2,)), match="weight")
    check_error(name, x, (3,), sample((3,), dtype="float32"), match="weight")
    check_error(name, x.astype("int64"), (3,), match="layer_norm")


# ------------------------------------------------------------------------------------------------------------ embedding
@pytest.mark.parametrize("index_shape", [(), (4,), (2, 3), (0,), (2, 0)], ids=str)
def test_embedding(index_shape):
    indices = numpy.random.default_rng(0).integers(0, 5, index_shape)
    for table in (sample((5, 3)), strided(sample((5, 3))), sample((5, 3), dtype="float32")):
        some = indices.size > 0  # of nothing PyTorch has no second derivative
        check(F + "embedding", indices, table, second=some)
        check(F + "embedding", indices.astype("int32"), table, second=some)
        for padding in (0, 2, -1):
            check(F + "embedding", indices, table, padding, second=some)


def test_embedding_adds_up_what_is_looked_up_twice():
    check(F + "embedding", numpy.array([1, 1, 4, 1]), sample((5, 3)))
    check(F + "embedding", strided(numpy.array([[1, 1], [0, 1]])), sample((5, 3)), 1)
    check(F + "embedding", numpy.random.default_rng(0).integers(0, 50, (1000,)), sample((50, 64)), second=False)


def test_embedding_refuses():
    table = sample((5, 3))
    check_error(F + "embedding", numpy.array([0, 5]), table, error=IndexError, match="index out of range in self")
    check_error(F + "embedding", numpy.array([0, -1]), table, error=IndexError, match="index out of range in self")
    check_error(F + "embedding", numpy.array([0.0]), table, match="indices")
    check_error(F + "embedding", numpy.array([0]), sample((3,)), match="2-D")


# -------------------------------------------------------------------------------------------------------------- dropout
@pytest.mark.parametrize("shape", [(), (15,), (16,), (3, 5), (100, 7)], ids=str)
@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", [F + "dropout", "dropout"])
def test_dropout(shape, chance, name):
    """PyTorch's mask, where its Bernoulli stream is its own."""
    for array in (sample(shape), strided(sample(shape, dtype="float32"))):
        results = []
        for to in (module, reference):
            to.manual_seed(7)
            x = to.from_numpy(array.copy()).requires_grad_()
            y = to.nn.functional.dropout(x, chance) if name != "dropout" else to.dropout(x, chance, True)
            assert y.grad_fn.name() == "MulBackward0"
            y.sum().backward()
            results.append((y, x.grad, to.rand(2)))
        (ours, our_slope, our_next), (theirs, their_slope, their_next) = results
        compare("dropout", ours, theirs, 1e-6, 0)
        compare("gradient", our_slope, their_slope, 1e-6, 0)
        compare("the stream goes on", our_next, their_next, 0, 0)


def test_dropout_that_drops_nothing_or_all():
    x = module.ones(5, requires_grad=True)
    dropout = module.nn.functional.dropout
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0) is x
    y = dropout(x, 1.0)
    assert y.tolist() == [0] * 5
    y.sum().backward()
    assert x.grad.tolist() == [0] * 5
    z = x * 1
    assert dropout(z, 0.5, inplace=True) is z
    assert set(z.tolist()) <= {0.0, 2.0}
    assert z.grad_fn.name() == "MulBackward0"
    check_error("dropout", sample((3,)), 1.5, True, match="dropout")
    check_error("dropout", sample((3,), dtype="int64"), 0.5, True, match="dropout")


# ------------------------------------------------------------------------------------------------------ recurrent cells
def cell_arguments(gates, batch=3, features=4, hidden=5, dtype="float64", biases=True, states=2):
    def array(shape, seed):
        return sample(shape, dtype=dtype, seed=seed) * 0.5

    state = [array((batch, hidden), 1 + i) for i in range(states)]
    arguments = [array((batch, features), 0), state if states == 2 else state[0]]
    arguments += [array((gates * hidden, features), 3), array((gates * hidden, hidden), 4)]
    if biases:
        arguments += [array((gates * hidden,), 5), array((gates * hidden,), 6)]
    return arguments


CELLS = {"lstm_cell": (4, 2), "gru_cell": (3, 1), "rnn_tanh_cell": (1, 1), "rnn_relu_cell": (1, 1)}


@pytest.mark.parametrize("name", CELLS)
def test_cells(name):
    gates, states = CELLS[name]
    for biases in (True, False):
        check(name, *cell_arguments(gates, biases=biases, states=states), node=False)
    check(name, *cell_arguments(gates, 1, 1, 1, states=states), node=False)
    for hidden in (15, 16, 17, 33):
        check(name, *cell_arguments(gates, 2, 3, hidden, states=states), node=False, second=hidden < 17)
    check(name, *cell_arguments(gates, 16, 40, 64, "float32", states=states), node=False, second=False)
    check(name, *cell_arguments(gates, 0, 3, 4, states=states), node=False, second=False)


def test_lstm_cell_of_other_memory():
    arguments = cell_arguments(4)
    check("lstm_cell", *[[strided(a) for a in x] if isinstance(x, list) else strided(x) for x in arguments], node=False)


def test_one_result_of_an_lstm_cell_is_enough():
    """The gradient of the hidden state alone, of the cell state alone, and for each input alone."""
    arguments = cell_arguments(4)

    def slopes(to, output, leaf):
        inputs = [to.from_numpy(a) for x in arguments for a in (x if isinstance(x, list) else [x])]
        inputs[leaf].requires_grad_()
        result = to.lstm_cell(inputs[0], inputs[1:3], *inputs[3:])[output]
        (slope,) = to.autograd.grad((result * result).sum(), inputs[leaf], create_graph=True, allow_unused=True)
        if slope is None:
            return None
        again = to.autograd.grad((slope * slope).sum(), inputs[leaf])[0] if slope.requires_grad else None
        return slope, again

    for output in (0, 1):
        for leaf in range(7):
            for ours, theirs in zip(slopes(module, output, leaf), slopes(reference, output, leaf), strict=True):
                compare(f"output {output}, input {leaf}", ours, theirs, 1e-9, 1e-11)


def test_lstm_cell_through_time_and_third_derivatives():
    small = cell_arguments(4, 2, 2, 2)

    def steps(x, h, c, w, u, b, d):
        for _ in range(2):
            h, c = module.lstm_cell(x, (h, c), w, u, b, d)
        return h, c

    inputs = [module.from_numpy(a).requires_grad_() for x in small for a in (x if isinstance(x, list) else [x])]
    assert module.autograd.gradcheck(steps, inputs)
    assert module.autograd.gradgradcheck(steps, inputs)

    def slope_of_weights(*values):
        h, _ = steps(*values)
        return module.autograd.grad(h.sum(), values[3], create_graph=True)[0]

    assert module.autograd.gradgradcheck(slope_of_weights, inputs[:1] + inputs[1:])


def test_cells_refuse():
    arguments = cell_arguments(4)
    wrong = [sample((3, 7)), *arguments[1:]]
    check_error("lstm_cell", *wrong, match="lstm_cell: input has inconsistent input_size: got 7 expected 4")
    with pytest.raises(RuntimeError, match="lstm_cell: expected hx"):
        module.lstm_cell(*[module.ones(2, 2), [module.ones(2, 3)] * 3], module.ones(12, 2), module.ones(12, 3))
    with pytest.raises(RuntimeError, match="lstm_cell: expected b_ih of shape"):
        module.lstm_cell(
            module.ones(2, 2), [module.ones(2, 3)] * 2, module.ones(12, 2), module.ones(12, 3), module.ones(3)
        )
    with pytest.raises(RuntimeError, match="gru_cell: input has inconsistent input_size"):
        module.gru_cell(module.ones(2, 2), module.ones(2, 3), module.ones(9, 4), module.ones(9, 3))
