"""utils._pytree beside PyTorch's: leaves, structures, maps."""

import importlib
import re
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

Point = namedtuple("Point", "x y")
TREES = [
    3,
    None,
    [],
    [1, (2, {"b": 3, "a": None})],
    {"b": 1, "a": [2]},
    Point(1, [2, 3]),
    OrderedDict(z=1, a=(2,)),
    defaultdict(list, {"q": [1]}),
    deque([1, 2], maxlen=3),
    ((), [[]], {}),
]


@pytest.fixture(params=["clew", "torch"])
def pytree(request, oracle):
    return importlib.import_module(f"{request.param}.utils._pytree")


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_tree_is_put_together_as_it_was(oracle, tree):
    ours, theirs = (importlib.import_module(f"{name}.utils._pytree") for name in ("clew", "torch"))
    leaves, spec = ours.tree_flatten(tree)
    expected, other = theirs.tree_flatten(tree)
    assert leaves == expected
    assert (spec.num_leaves, spec.is_leaf()) == (other.num_leaves, other.is_leaf())
    assert repr(spec) == re.sub(r",\n\s*", ", ", repr(other))
    again = ours.tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)
    doubled = [ours.tree_map(lambda leaf: [leaf], tree), theirs.tree_map(lambda leaf: [leaf], tree)]
    assert doubled[0] == doubled[1]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_paths_lead_to_the_leaves(oracle, tree):
    told = []
    for module in (importlib.import_module(f"{name}.utils._pytree") for name in ("clew", "torch")):
        found, spec = module.tree_flatten_with_path(tree)
        paths = [(module.keystr(path), [repr(key) for path in [path] for key in path], leaf) for path, leaf in found]
        assert found == module.tree_leaves_with_path(tree)
        assert [module.key_get(tree, path) for path, _ in found] == module.tree_leaves(tree)
        mapped = module.tree_map_with_path(lambda path, a, b, m=module: (m.keystr(path), a, b), tree, tree)
        told.append([paths, spec.num_leaves, mapped])
    assert told[0] == told[1]


def test_maps(pytree):
    tree = {"a": 1, "b": [2.5, (3,)]}
    assert pytree.tree_map(lambda a, b: a + b, tree, {"b": [1, (1,)], "a": 1}) == {"a": 2, "b": [3.5, (4,)]}
    assert pytree.tree_map(lambda a, b: [a, b], [1, 2], [(3,), [4]]) == [[1, (3,)], [2, [4]]]
    assert pytree.tree_map_only(int, lambda one: -one, tree) == {"a": -1, "b": [2.5, (-3,)]}
    assert pytree.tree_map_only(lambda one: one > 2, lambda one: 0, tree) == {"a": 1, "b": [0, (0,)]}
    seen = []
    assert pytree.tree_map_(seen.append, tree) is tree
    assert seen == [1, 2.5, 3]
    assert pytree.tree_leaves(tree, is_leaf=lambda one: isinstance(one, list)) == [1, [2.5, (3,)]]
    assert pytree.tree_all(lambda one: one > 0, tree)
    assert pytree.tree_any(lambda one: one > 2, tree)
    assert pytree.tree_all_only(float, lambda one: one == 2.5, tree)
    assert not pytree.tree_any_only(int, lambda one: one == 2.5, tree)
    assert list(pytree.tree_iter(tree)) == [1, 2.5, 3]
    assert pytree.tree_structure([1, 2]) == pytree.tree_structure([3, 4])
    assert pytree.tree_structure([1, 2]) != pytree.tree_structure((3, 4))


def test_what_does_not_fit_is_refused(pytree):
    spec = pytree.tree_structure([1, 2])
    with pytest.raises(ValueError, match="leaves"):
        pytree.tree_unflatten([1], spec)
    for other in ((1, 2), [1], 3):
        with pytest.raises(ValueError, match="mismatch"):
            pytree.tree_map(lambda a, b: a, [1, 2], other)
    with pytest.raises(ValueError, match="mismatch"):
        pytree.tree_map(lambda a, b: a, {"a": 1}, {"b": 1})


def test_classes_of_ones_own(pytree):
    class Pair:
        def __init__(self, left, right):
            self.left, self.right = left, right

    assert len(pytree.tree_leaves(Pair(1, 2))) == 1
    pytree.register_pytree_node(Pair, lambda one: ([one.left, one.right], None), lambda parts, _: Pair(*parts))
    assert pytree.tree_leaves([Pair(1, [2]), 3]) == [1, 2, 3]
    assert pytree.tree_map(lambda one: one + 1, Pair(1, 2)).right == 3
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, lambda one: ([], None), lambda parts, _: None)


def test_classes_of_ones_own_have_paths(pytree):
    class Pair:
        def __init__(self, first, second):
            self.first, self.second = first, second

    def keys(pair):
        return [(pytree.GetAttrKey("first"), pair.first), (pytree.GetAttrKey("second"), pair.second)], None

    parts = (lambda pair: ([pair.first, pair.second], None), lambda children, _: Pair(*children))
    pytree.register_pytree_node(Pair, *parts, flatten_with_keys_fn=keys)
    told = pytree.tree_leaves_with_path([Pair(1, {"a": 2})])
    assert [(pytree.keystr(path), leaf) for path, leaf in told] == [("[0].first", 1), ("[0].second['a']", 2)]

    class Plain:
        pass

    pytree.register_pytree_node(Plain, lambda _: ([1], None), lambda children, _: Plain())
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        pytree.tree_leaves_with_path(Plain())


def test_a_size_is_a_node_of_numbers(pytree):
    size = importlib.import_module(pytree.__name__.partition(".")[0]).Size([1, 2])
    assert pytree.tree_flatten(size)[0] == [1, 2]
    assert type(pytree.tree_map(lambda x: x, size)) is tuple
