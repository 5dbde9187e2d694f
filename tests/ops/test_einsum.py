"""Index equations, and contraction over chosen axes."""

import numpy
import pytest
from oracle import check, check_error, module, sample, strided

EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("ij,j->i", (3, 4), (4,)),
    ("i,i->", (4,), (4,)),
    ("i,j->ij", (3,), (4,)),
    ("i,j->ji", (3,), (4,)),
    ("ij->ji", (3, 4)),
    ("ji", (3, 4)),
    ("ij->", (3, 4)),
    ("ij->j", (3, 4)),
    ("ii", (4, 4)),
    ("ii->i", (4, 4)),
    ("iji->j", (3, 4, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bij,bkj->kib", (2, 3, 4), (2, 5, 4)),
    ("ijk,ilk->jl", (2, 3, 4), (2, 5, 4)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (6, 4, 5)),
    ("...i,...i", (2, 3, 4), (3, 4)),
    ("i...->...", (3, 4, 2)),
    ("...i,kij,...j->...k", (6, 3), (2, 3, 4), (6, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("i,j,k->kji", (2,), (3,), (4,)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 2)),
    ("ij,jk->ik", (3, 1), (4, 5)),
    ("bi,bj->bij", (1, 3), (4, 5)),
    ("i,ij->j", (0,), (0, 3)),
    (" i j , j -> i ", (3, 4), (4,)),
    ("Ab,bA", (3, 4), (4, 3)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda case: case[0])
def test_einsum(case):
    equation, *shapes = case
    arrays = [sample(shape, seed=seed) for seed, shape in enumerate(shapes)]
    check("einsum", equation, *arrays, node=False)
    check("einsum", equation, *(strided(array) for array in arrays), node=False)


def test_einsum_takes_a_list_and_sublists():
    a, b = sample((3, 4)), sample((4, 5))
    check("einsum", "ij,jk->ik", [a, b], node=False)
    check("einsum", a, [0, 1], b, [1, 2], [0, 2], node=False)
    check("einsum", a, [0, 1], b, [1, 2], node=False)
    check("einsum", a, [Ellipsis, 1], b, [1, 2], [Ellipsis, 2], node=False)


def test_einsum_of_integers():
    check("einsum", "ij,jk->ik", sample((3, 4), dtype="int64"), sample((4, 5), dtype="int64"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ij,jk->ik", (3, 4)), "fewer operands"),
        (("ij->i", (3, 4), (3, 4)), "more operands"),
        (("ij->i", (3, 4, 5)), "number of subscripts"),
        (("i$->i", (3, 4)), "invalid subscript"),
        (("ij->k", (3, 4)), "output subscript k does not appear"),
        (("ij->ii", (3, 4)), "output subscript i appears more than once"),
        (("ij,jk->ik", (3, 4), (3, 5)), "does not broadcast with previously seen size"),
        (("ii->i", (3, 4)), "repeated for"),
    ],
    ids=str,
)
def test_einsum_errors(arguments, words):
    equation, *shapes = arguments
    check_error("einsum", equation, *(sample(shape) for shape in shapes), match=words)


def test_the_plan_is_made_once():
    if module.__name__ == "clew":
        from clew.ops.einsum import make_plan

        before = make_plan.cache_info().hits
        x = module.ones(3, 3)
        module.einsum("ij,jk->ki", x, x)
        module.einsum("ij,jk->ki", x, x)
        assert make_plan.cache_info().hits > before


@pytest.mark.parametrize("dims", [0, 1, 2, ([1], [1]), ([0, 1], [0, 1]), ([2, 0], [1, 0])], ids=str)
def test_tensordot(dims):
    shapes = {0: ((2, 3), (4,)), 1: ((2, 3, 4), (4, 5)), 2: ((2, 3, 4), (3, 4, 5))}
    left, right = shapes.get(dims if isinstance(dims, int) else None, ((3, 4, 3), (3, 4, 3)))
    if dims == ([2, 0], [1, 0]):
        left, right = (5, 2, 4), (5, 4, 3)
    check("tensordot", sample(left, seed=1), sample(right, seed=2), kwargs={"dims": dims}, node=False)


def test_tensordot_errors():
    check_error(
        "tensordot", sample((2, 3)), sample((4, 5)), kwargs={"dims": 1}, match="contracted dimensions need to match"
    )
    numpy.testing.assert_equal(module.tensordot(module.ones(2), module.ones(2), dims=1).item(), 2.0)
