"""Indices out of range, and writes that cannot be."""

import pytest
from refusing import assert_refused, cases

INDICES = {
    "integer": ("index", lambda torch, t: t.leaf[3]),
    "negative": ("index", lambda torch, t: t.leaf[-4]),
    "second": ("index", lambda torch, t: t.matrix[0, 3]),
    "too many": ("indices", lambda torch, t: t.matrix[0, 0, 0]),
    "of a scalar": ("dim", lambda torch, t: torch.tensor(1.0)[0]),
    "list": ("index", lambda torch, t: t.leaf[[0, 7]]),
    "negative list": ("index", lambda torch, t: t.leaf[[-4]]),
    "tensor": ("index", lambda torch, t: t.leaf[torch.tensor([0, 3])]),
    "select": ("select", lambda torch, t: t.matrix.select(1, 3)),
    "index_select": ("index", lambda torch, t: t.leaf.index_select(0, torch.tensor([3]))),
    "index_select negative": ("index", lambda torch, t: t.leaf.index_select(0, torch.tensor([-1]))),
    "gather": ("gather", lambda torch, t: t.leaf.gather(0, torch.tensor([3]))),
    "gather negative": ("gather", lambda torch, t: t.leaf.gather(0, torch.tensor([-1]))),
    "scatter": ("scatter", lambda torch, t: t.leaf.scatter(0, torch.tensor([3]), torch.ones(1))),
    "scatter_add": ("scatter", lambda torch, t: t.leaf.scatter_add(0, torch.tensor([3]), torch.ones(1))),
    "scatter_": ("scatter", lambda torch, t: t.plain.scatter_(1, torch.tensor([[0, 3], [0, 1]]), torch.ones(2, 2))),
    "embedding": ("embedding", lambda torch, t: torch.nn.functional.embedding(torch.tensor([2]), t.matrix), IndexError),
    "Embedding": ("embedding", lambda torch, t: torch.nn.Embedding(3, 2)(torch.tensor([-1])), IndexError),
    "label": (
        ("9", "out of bounds"),
        lambda torch, t: torch.nn.functional.cross_entropy(t.matrix, torch.tensor([0, 9])),
    ),
    "negative label": ("-1", lambda torch, t: torch.nn.functional.nll_loss(t.matrix, torch.tensor([0, -1]))),
    "assigned": ("index", lambda torch, t: t.plain.__setitem__(2, 1.0)),
    "assigned by list": ("index", lambda torch, t: t.plain.__setitem__([0, 2], 1.0)),
    "assigned second": ("index", lambda torch, t: t.plain.__setitem__((0, 3), 1.0)),
    "assigned by lists": ("index", lambda torch, t: t.plain.__setitem__(([0, 1], [0, 3]), 1.0)),
}

LEAF = "a leaf Variable that requires grad"
WRITES = {
    "add_ to a leaf": (LEAF, lambda torch, t: t.leaf.add_(1)),
    "+= to a leaf": (LEAF, lambda torch, t: t.leaf.__iadd__(1)),
    "zero_ of a leaf": (LEAF, lambda torch, t: t.leaf.zero_()),
    "assignment to a leaf": (LEAF.removeprefix("a "), lambda torch, t: t.leaf.__setitem__(0, 1.0)),
    "mask assignment to a leaf": (LEAF, lambda torch, t: t.leaf.__setitem__(t.mask, 1.0)),
    "copy_ into a leaf": (LEAF, lambda torch, t: t.leaf.copy_(torch.ones(3))),
    "uniform_ of a leaf": (LEAF, lambda torch, t: t.leaf.uniform_()),
    "clamp_ of a leaf": (LEAF, lambda torch, t: t.leaf.clamp_(0, 1)),
    "growing by add_": ("add", lambda torch, t: t.plain.add_(torch.ones(4, 2, 3))),
    "growing by mul_": ("mul", lambda torch, t: t.integers.mul_(torch.ones(2, 3, dtype=torch.int64))),
    "growing a result": ("add", lambda torch, t: t.result.add_(torch.ones(2, 2, 3))),
    "growing by +=": ("add", lambda torch, t: t.integers.__iadd__(torch.ones(2, 3, dtype=torch.int64))),
    "growing by copy_": ("copy_", lambda torch, t: t.plain.copy_(torch.ones(4, 2, 3))),
    "not fitting add_": ("add", lambda torch, t: t.plain.add_(torch.ones(2))),
    "not fitting copy_": ("copy_", lambda torch, t: t.plain.copy_(torch.ones(2))),
    "not fitting assignment": ("", lambda torch, t: t.plain.__setitem__(0, torch.ones(2))),
    "not fitting assignment of a slice": ("", lambda torch, t: t.plain.__setitem__(slice(0, 1), torch.ones(4, 3))),
    "not fitting mask": ("", lambda torch, t: t.plain.__setitem__(t.plain > 0, torch.ones(2))),
    "not fitting list": ("", lambda torch, t: t.plain.__setitem__([0, 1], torch.ones(3, 3))),
    "text assigned": ("", lambda torch, t: t.plain.__setitem__(0, "a"), (TypeError, ValueError)),
    "none assigned": ("", lambda torch, t: t.plain.__setitem__(0, None), (TypeError, ValueError)),
    "a list assigned": ("", lambda torch, t: t.plain.__setitem__(0, [1.0, 2.0, 3.0]), (TypeError, ValueError)),
    "an item deleted": ("", lambda torch, t: t.plain.__delitem__(0), (TypeError, AttributeError)),
    "fill_ with many": ("fill_", lambda torch, t: t.plain.fill_(t.leaf)),
    "masked_fill_ of another shape": ("masked_fill_", lambda torch, t: t.plain.masked_fill_(torch.ones(2) > 0, 1.0)),
    "uniform_ upside down": ("uniform_", lambda torch, t: t.plain.uniform_(3, 1)),
    "normal_ of a negative deviation": ("normal_", lambda torch, t: t.plain.normal_(0, -1)),
    "random numbers into integers": ("uniform_", lambda torch, t: t.integers.uniform_(), RuntimeError),
    "bernoulli_ of a large chance": ("bernoulli_", lambda torch, t: t.plain.bernoulli_(1.5)),
    "expanded memory": ("memory", lambda torch, t: torch.ones(1).expand(3).add_(1)),
    "a view detached in place": ("detach", lambda torch, t: t.result[0].detach_()),
    "out= with a gradient": ("out=", lambda torch, t: torch.add(t.leaf, 1, out=torch.empty(3))),
    "out= into a leaf": ("out=", lambda torch, t: torch.add(torch.ones(3), 1, out=t.leaf)),
}


@pytest.mark.parametrize(("call", "words", "error"), cases(INDICES))
def test_indices_out_of_range(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)


@pytest.mark.parametrize(("call", "words", "error"), cases(WRITES))
def test_writes_that_cannot_be(torch, oracle, on_oracle, call, words, error):
    assert_refused(torch, oracle, on_oracle, call, words, error)
