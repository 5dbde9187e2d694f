"""How a picture groups nodes by module, function and loop."""

import re

import numpy
import pytest

import clew
from clew.graph import draw
from clew.graph.pictures.columns import Table
from clew.graph.pictures.folding import MOST_CHILDREN, fold
from clew.graph.pictures.groups import KINDS, first_unfolded
from clew.graph.pictures.repeats import find_repeats

pytestmark = pytest.mark.beyond


def groups_of(picture, kind):
    groups = picture.groups
    return {
        picture.columns.text.values[groups.label[number]]
        for number in range(1, len(groups))
        if KINDS[groups.kind[number]] == kind
    }


def square(x):
    y = x * x
    return y + x


def test_a_function_is_a_group():
    x = clew.ones(2, requires_grad=True)
    picture = draw(square(x.exp()).sum())
    assert groups_of(picture, "function") == {"square()"}


def test_the_same_lines_again_and_again_are_a_loop():
    x = clew.ones(2, requires_grad=True)
    y = x
    for _ in range(7):
        y = y.exp()
        y = y * x
    first = draw(y).groups
    (label,) = groups_of(draw(y), "loop")
    assert re.fullmatch(r"test_folding\.py:\d+-\d+ × 7", label)  # noqa: RUF001
    assert sum(KINDS[kind] == "step" for kind in first.kind) == 7


def test_what_consumes_a_parameter_belongs_to_its_module(mlp, loss):
    picture = draw(loss, dict(mlp.named_parameters()))
    assert groups_of(picture, "module") == {"0", "2"}
    label = {number: picture.columns.text.values[label] for number, label in enumerate(picture.groups.label)}
    homes = {row.title: label[picture.groups.node_group[at]] for at, row in enumerate(picture.rows())}
    assert homes["0.weight"] == "0"
    assert homes["2.bias"] == "2"
    assert homes["ReluBackward0"] == ""


def test_a_module_that_is_not_in_another_is_called_as_the_program_calls_it():
    table, rnn, head = clew.nn.Embedding(5, 3), clew.nn.GRU(3, 4), clew.nn.Linear(4, 2)
    with clew.graph.record_modules():
        y = head(rnn(table(clew.zeros(6, 2, dtype=clew.int64)))[0]).log_softmax(-1).mean()
    assert groups_of(draw(y), "module") == {"table · Embedding", "rnn · GRU", "head · Linear"}


def test_module_of_is_believed(loss):
    picture = draw(loss, module_of=lambda node: "head.out" if node.name().startswith("Addmm") else None)
    assert groups_of(picture, "module") == {"head.out"}


def test_every_group_is_an_unbroken_piece_and_none_is_long():
    x = clew.ones(2, requires_grad=True)
    generator = numpy.random.default_rng(3)
    made = [x]
    for _ in range(700):
        one, other = (made[-1 - int(number)] for number in generator.integers(0, min(9, len(made)), 2))
        made.append(one * other if generator.random() < 0.5 else one + other)
    groups = draw(made[-1]).groups
    children = [0] * len(groups)
    for number in range(1, len(groups)):
        parent = groups.parent[number]
        children[parent] += 1
        assert groups.first[parent] <= groups.first[number] < groups.end[number] <= groups.end[parent]
    for number, group in enumerate(groups.node_group):
        children[group] += 1
        assert groups.first[group] <= number < groups.end[group]
    assert max(children[1:]) <= MOST_CHILDREN
    assert children[0] <= MOST_CHILDREN + 1  # and the result


def test_a_long_graph_is_folded_at_first_and_a_short_one_is_not():
    def chain(length):
        y = clew.ones(1, requires_grad=True)
        for _ in range(length):
            y = y.exp()
        return draw(y)

    short, long = chain(8), chain(2000)
    assert len(first_unfolded(short.groups)) == len(short.groups)
    assert first_unfolded(long.groups) == [0]


@pytest.mark.parametrize(
    ("sequence", "repeats"),
    [
        ([], []),
        ([1, 2, 3], []),
        ([1, 1, 1], []),
        ([1] * 5, [(0, 1, 5)]),
        ([1, 2] * 3, [(0, 2, 3)]),
        ([7, 1, 1, 2, 1, 1, 2, 9], [(1, 3, 2)]),
        ([1, 1, 1, 1, 2] * 50, [(0, 5, 50)]),
        ([1, 2, 1, 2, 5, 3, 4, 3, 4], [(0, 2, 2), (5, 2, 2)]),
    ],
)
def test_repeats(sequence, repeats):
    assert find_repeats(sequence) == repeats


def test_a_loop_around_loops_of_different_length_is_found():
    sequence = [1, *[2] * 5, 3, 1, *[2] * 9, 3, 1, *[2] * 6, 3]
    groups = fold(sequence, ["f.py:1"] * len(sequence), [()] * len(sequence), [], Table())
    kinds = [KINDS[kind] for kind in groups.kind]
    assert kinds.count("loop") == 1 + 3
    assert kinds.count("step") == 3
    assert groups.order == list(range(len(sequence)))
