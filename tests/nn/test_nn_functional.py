"""Functions of `nn.functional` that are not the body of a module or loss."""

import pytest


def with_gradient(function, *inputs):
    inputs = [tensor.requires_grad_() for tensor in inputs]
    result = function(*inputs)
    (result * result).sum().backward()
    return result, [tensor.grad for tensor in inputs]


PROGRAMS = {
    "normalize": lambda m, F: with_gradient(F.normalize, m.randn(3, 4)),
    "normalize by another norm": lambda m, F: with_gradient(lambda x: F.normalize(x, p=1.0, dim=0), m.randn(3, 4)),
    "normalize zeros": lambda m, F: F.normalize(m.zeros(2, 3)),
    "cosine similarity": lambda m, F: with_gradient(F.cosine_similarity, m.randn(3, 4), m.randn(3, 4)),
    "one hot": lambda m, F: F.one_hot(m.tensor([[2, 0], [1, 1]])),
    "one hot of more classes": lambda m, F: F.one_hot(m.tensor([2, 0]), 5),
    "pad": lambda m, F: with_gradient(lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), m.randn(2, 3)),
    "pad by less": lambda m, F: with_gradient(lambda x: F.pad(x, (-1, 2)), m.randn(2, 3)),
    "dropout": lambda m, F: with_gradient(F.dropout, m.randn(4, 50)),
    "dropout off": lambda m, F: F.dropout(m.randn(4, 5), training=False),
    "embedding": lambda m, F: with_gradient(
        lambda w: F.embedding(m.tensor([1, 0, 1]), w, padding_idx=-2), m.randn(2, 3)
    ),
    "linear": lambda m, F: with_gradient(F.linear, m.randn(2, 3), m.randn(4, 3), m.randn(4)),
    "bilinear": lambda m, F: with_gradient(F.bilinear, m.randn(2, 3), m.randn(2, 4), m.randn(5, 3, 4), m.randn(5)),
    "layer norm": lambda m, F: with_gradient(lambda x: F.layer_norm(x, (4,)), m.randn(2, 4)),
    "softmax in another dtype": lambda m, F: F.softmax(m.randn(2, 3), 1, dtype=m.float64),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_agrees(name, agree):
    agree(lambda m: PROGRAMS[name](m, m.nn.functional))


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda F, m: F.one_hot(m.tensor([-1, 0])), RuntimeError),
        (lambda F, m: F.one_hot(m.tensor([3]), 2), RuntimeError),
        (lambda F, m: F.one_hot(m.tensor([1.0])), RuntimeError),
        (lambda F, m: F.one_hot(m.tensor([], dtype=m.int64)), RuntimeError),
        (lambda F, m: F.pad(m.zeros(2), (1,)), (RuntimeError, ValueError)),
        (lambda F, m: F.pad(m.zeros(2), (-1, -2)), RuntimeError),
        (lambda F, m: F.dropout(m.zeros(2), -0.5), ValueError),
    ],
)
def test_bad_arguments_are_refused(act, error, torch):
    with pytest.raises(error):
        act(torch.nn.functional, torch)


@pytest.mark.beyond
def test_what_is_not_supported_says_so(torch):
    F = torch.nn.functional
    with pytest.raises(NotImplementedError, match="embedding: max_norm is not supported"):
        F.embedding(torch.tensor([0]), torch.zeros(1, 1), max_norm=1.0)
