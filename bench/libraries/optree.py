"""Trees of tensors: mapped, flattened and gathered."""

import optree

from bench.drawn import normal


def main():
    tree = {"a": normal(3), "b": [normal(2, 2), (normal(1),)]}
    doubled = optree.tree_map(lambda value: 2 * value, tree)
    leaves, shape = optree.tree_flatten(doubled)
    from optree.integrations.torch import tree_ravel

    flat, back = tree_ravel(tree)
    return leaves, optree.tree_unflatten(shape, leaves)["a"], flat, back(flat)["a"]
