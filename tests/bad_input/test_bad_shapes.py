"""Shapes that do not fit, and dimensions that are not there."""

import pytest
from refusing import assert_refused, cases

SHAPES = {
    "add": ("add", lambda torch, t: t.leaf + torch.ones(4)),
    "mul": ("mul", lambda torch, t: t.matrix * torch.ones(2, 4)),
    "sub": ("sub", lambda torch, t: t.result - torch.ones(3, 3, 2)),
    "div": ("div", lambda torch, t: t.leaf / torch.ones(2)),
    "pow": ("pow", lambda torch, t: t.leaf ** torch.ones(2)),
    "maximum": ("maximum", lambda torch, t: torch.maximum(t.leaf, torch.ones(2))),
    "eq": ("eq", lambda torch, t: t.leaf == torch.ones(2)),
    "where": ("where", lambda torch, t: torch.where(t.mask, t.leaf, torch.ones(2))),
    "lerp": ("lerp", lambda torch, t: torch.lerp(t.leaf, torch.ones(2), 0.5)),
    "addcmul": ("addcmul", lambda torch, t: torch.addcmul(t.leaf, torch.ones(2), torch.ones(5))),
    "masked_fill": ("masked_fill", lambda torch, t: t.leaf.masked_fill(torch.ones(2) > 0, 1.0)),
    "mm": ("mm", lambda torch, t: t.matrix.mm(t.plain)),
    "mm of vectors": ("mm", lambda torch, t: t.leaf.mm(t.leaf)),
    "matmul": ("mat1 and mat2 shapes cannot be multiplied", lambda torch, t: t.matrix @ t.plain),
    "matmul of a scalar": ("matmul", lambda torch, t: t.matrix @ torch.tensor(1.0)),
    "matmul of batches": ("matmul", lambda torch, t: torch.ones(2, 3, 4) @ torch.ones(3, 4, 5)),
    "bmm": ("bmm", lambda torch, t: torch.ones(2, 3, 4).bmm(torch.ones(3, 4, 5))),
    "bmm of matrices": ("bmm", lambda torch, t: t.matrix.bmm(t.matrix)),
    "mv": ("mv", lambda torch, t: t.matrix.mv(torch.ones(2))),
    "dot": ("dot", lambda torch, t: t.leaf.dot(torch.ones(2))),
    "dot of matrices": ("dot", lambda torch, t: t.matrix.dot(t.matrix)),
    "outer": ("outer", lambda torch, t: torch.outer(t.matrix, t.leaf)),
    "addmm": ("addmm", lambda torch, t: torch.addmm(torch.ones(5), t.matrix, t.plain.t())),
    "linear": ("mat1 and mat2", lambda torch, t: torch.nn.functional.linear(t.matrix, torch.ones(4, 2))),
    "Linear": ("mat1 and mat2", lambda torch, t: torch.nn.Linear(5, 2)(t.matrix)),
    "einsum": ("einsum", lambda torch, t: torch.einsum("ij,jk->ik", t.matrix, t.plain)),
    "einsum subscripts": ("einsum", lambda torch, t: torch.einsum("ijk->i", t.matrix)),
    "cat": ("cat", lambda torch, t: torch.cat([t.matrix, torch.ones(2, 4)])),
    "cat of nothing": ("cat", lambda torch, t: torch.cat([])),
    "cat of scalars": ("cat", lambda torch, t: torch.cat([torch.tensor(1.0), torch.tensor(2.0)])),
    "stack": ("stack", lambda torch, t: torch.stack([t.leaf, torch.ones(4)])),
    "stack of nothing": ("stack", lambda torch, t: torch.stack([])),
    "view": ("view", lambda torch, t: t.matrix.view(4)),
    "view of a transposed": ("view", lambda torch, t: t.matrix.t().view(6)),
    "view with two unknowns": ("view", lambda torch, t: t.matrix.view(-1, -1)),
    "view with a remainder": ("view", lambda torch, t: t.matrix.view(4, -1)),
    "reshape": ("reshape", lambda torch, t: t.matrix.reshape(5)),
    "expand": ("expand", lambda torch, t: t.matrix.expand(4, 3)),
    "expand to fewer": ("expand", lambda torch, t: t.matrix.expand(3)),
    "unflatten": ("unflatten", lambda torch, t: t.matrix.unflatten(1, (2, 2))),
    "gather": ("gather", lambda torch, t: t.matrix.gather(1, t.integers)),
    "scatter": ("scatter", lambda torch, t: t.matrix.scatter(1, torch.zeros(3, 4, dtype=torch.int64), t.matrix)),
    "index_select": ("index_select", lambda torch, t: t.matrix.index_select(0, torch.zeros(1, 1, dtype=torch.int64))),
    "mask of another shape": ("index", lambda torch, t: t.matrix[t.mask]),
    "masked_select": ("masked_select", lambda torch, t: t.matrix.masked_select(torch.ones(4) > 0)),
    "index lists": ("index", lambda torch, t: t.matrix[[0, 1], [0, 1, 2]]),
    "diag of a cube": ("diag", lambda torch, t: torch.diag(torch.ones(2, 2, 2))),
    "trace of a vector": ("trace", lambda torch, t: t.leaf.trace()),
    "t of a cube": ("t", lambda torch, t: torch.ones(2, 2, 2).t()),
    "layer_norm": ("layer_norm", lambda torch, t: torch.nn.functional.layer_norm(t.matrix, (2,))),
    "cross_entropy": (
        "cross_entropy",
        lambda torch, t: torch.nn.functional.cross_entropy(t.matrix, t.integers),
        ValueError,
    ),
    "nll_loss": ("nll_loss", lambda torch, t: torch.nn.functional.nll_loss(t.matrix, t.integers), ValueError),
    "mse_loss": ("mse_loss", lambda torch, t: torch.nn.functional.mse_loss(t.leaf, torch.ones(4)), RuntimeError),
    "binary_cross_entropy_with_logits": (
        "binary_cross_entropy_with_logits",
        lambda torch, t: torch.nn.functional.binary_cross_entropy_with_logits(t.leaf, torch.ones(4)),
    ),
    "LSTMCell": ("lstm", lambda torch, t: torch.nn.LSTMCell(3, 4)(torch.ones(2, 5))),
    "repeat": ("repeat", lambda torch, t: t.matrix.repeat(2)),
    "permute": ("permute", lambda torch, t: t.matrix.permute(0)),
    "max of nothing": ("max", lambda torch, t: torch.zeros(0).max()),
    "argmax of nothing": ("argmax", lambda torch, t: torch.zeros(0).argmax()),
    "max of an empty dim": ("max", lambda torch, t: torch.zeros(2, 0).max(1)),
}

DIMS = {
    "sum": ("sum", lambda torch, t: t.matrix.sum(2)),
    "sum negative": ("sum", lambda torch, t: t.matrix.sum(-3)),
    "sum twice": ("sum", lambda torch, t: t.matrix.sum((0, 0))),
    "sum same twice": ("sum", lambda torch, t: t.matrix.sum((1, -1))),
    "mean": ("mean", lambda torch, t: t.matrix.mean(2)),
    "prod": ("prod", lambda torch, t: t.matrix.prod(2)),
    "max": ("max", lambda torch, t: t.matrix.max(2)),
    "min": ("min", lambda torch, t: t.matrix.min(-3)),
    "amax": ("amax", lambda torch, t: t.matrix.amax(5)),
    "argmax": ("argmax", lambda torch, t: t.matrix.argmax(2)),
    "var": ("var", lambda torch, t: t.matrix.var(2)),
    "std": ("std", lambda torch, t: t.matrix.std(2)),
    "logsumexp": ("logsumexp", lambda torch, t: t.matrix.logsumexp(2)),
    "softmax": ("softmax", lambda torch, t: t.matrix.softmax(2)),
    "log_softmax": ("log_softmax", lambda torch, t: t.matrix.log_softmax(-3)),
    "cumsum": ("cumsum", lambda torch, t: t.matrix.cumsum(2)),
    "any": ("any", lambda torch, t: t.matrix.any(2)),
    "transpose": ("transpose", lambda torch, t: t.matrix.transpose(0, 2)),
    "permute": ("permute", lambda torch, t: t.matrix.permute(0, 2)),
    "permute twice": ("permute", lambda torch, t: t.matrix.permute(0, 0)),
    "squeeze": ("squeeze", lambda torch, t: t.matrix.squeeze(2)),
    "unsqueeze": ("unsqueeze", lambda torch, t: t.matrix.unsqueeze(4)),
    "flatten": ("flatten", lambda torch, t: t.matrix.flatten(0, 3)),
    "flatten backwards": ("flatten", lambda torch, t: t.matrix.flatten(1, 0)),
    "cat": ("cat", lambda torch, t: torch.cat([t.matrix, t.matrix], 2)),
    "stack": ("stack", lambda torch, t: torch.stack([t.matrix, t.matrix], 4)),
    "split": ("split", lambda torch, t: t.matrix.split(1, 2)),
    "chunk": ("chunk", lambda torch, t: t.matrix.chunk(2, 3)),
    "unbind": ("unbind", lambda torch, t: t.matrix.unbind(2)),
    "select": ("select", lambda torch, t: t.matrix.select(2, 0)),
    "narrow": ("narrow", lambda torch, t: t.matrix.narrow(3, 0, 1)),
    "index_select": ("index_select", lambda torch, t: t.matrix.index_select(2, t.integers)),
    "gather": ("gather", lambda torch, t: t.matrix.gather(2, torch.zeros(2, 3, dtype=torch.int64))),
    "flip": ("flip", lambda torch, t: t.matrix.flip(2)),
    "flip twice": ("flip", lambda torch, t: t.matrix.flip(0, 0)),
    "roll": ("roll", lambda torch, t: t.matrix.roll(1, 2)),
    "roll counts": ("roll", lambda torch, t: t.matrix.roll((1, 2), 0)),
    "sort": ("sort", lambda torch, t: t.matrix.sort(2)),
    "topk": ("topk", lambda torch, t: t.matrix.topk(1, 2)),
    "movedim": ("movedim", lambda torch, t: t.matrix.movedim(0, 2)),
    "diagonal": ("diagonal", lambda torch, t: t.matrix.diagonal(dim1=0, dim2=0)),
    "size": ("size", lambda torch, t: t.matrix.size(2)),
}

NEGATIVE = {
    "zeros": ("zeros", lambda torch, t: torch.zeros(-1)),
    "ones": ("ones", lambda torch, t: torch.ones(2, -3)),
    "empty": ("empty", lambda torch, t: torch.empty(-1)),
    "full": ("full", lambda torch, t: torch.full((-1,), 2.0)),
    "rand": ("rand", lambda torch, t: torch.rand(-2)),
    "eye": ("eye", lambda torch, t: torch.eye(-1)),
    "randperm": ("randperm", lambda torch, t: torch.randperm(-1)),
    "linspace": ("linspace", lambda torch, t: torch.linspace(0, 1, -1)),
    "arange": ("arange", lambda torch, t: torch.arange(0, 5, -1)),
    "arange by zero": ("arange", lambda torch, t: torch.arange(0, 5, 0)),
    "view": ("view", lambda torch, t: t.matrix.view(-2)),
    "reshape": ("reshape", lambda torch, t: t.matrix.reshape(-2, -3)),
    "expand": ("expand", lambda torch, t: t.leaf.expand(-1, 3)),
    "expand by less": ("expand", lambda torch, t: t.leaf.expand(-5)),
    "narrow": ("narrow", lambda torch, t: t.leaf.narrow(0, 0, -1)),
    "narrow too long": ("narrow", lambda torch, t: t.leaf.narrow(0, 1, 3)),
    "split": ("split", lambda torch, t: t.leaf.split(-1)),
    "split by sizes": ("split", lambda torch, t: t.leaf.split([1, 1])),
    "chunk": ("chunk", lambda torch, t: t.leaf.chunk(0)),
    "repeat": ("repeat", lambda torch, t: t.leaf.repeat(-1)),
    "topk": ("topk", lambda torch, t: t.leaf.topk(4)),
    "slice step": ("step", lambda torch, t: t.leaf[::-1]),
    "randint empty range": ("randint", lambda torch, t: torch.randint(5, 5, (2,))),
    "too large": ("", lambda torch, t: torch.zeros(2**61), (RuntimeError, MemoryError)),
    "larger than can be counted": ("", lambda torch, t: torch.zeros(2**40, 2**40), (RuntimeError, MemoryError)),
}


@pytest.mark.parametrize(("call", "words", "error"), cases(SHAPES))
def test_shapes_that_do_not_fit(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


@pytest.mark.parametrize(("call", "words", "error"), cases(DIMS))
def test_dimensions_out_of_range(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


@pytest.mark.parametrize(("call", "words", "error"), cases(NEGATIVE))
def test_sizes_that_make_no_sense(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


@pytest.mark.beyond
def test_more_dimensions_than_are_supported(torch):
    """Either it works or the limit is named."""
    x = torch.ones(1)
    try:
        for _ in range(200):
            x = x.unsqueeze(0)
        assert x.tolist() is not None
    except (RuntimeError, ValueError) as error:
        assert "dimension" in str(error)  # noqa: PT017
        assert x.numel() == 1
    try:
        y = torch.zeros([1] * 200)
        assert y.dim() == 200
    except (RuntimeError, ValueError) as error:
        assert "dimension" in str(error)  # noqa: PT017
