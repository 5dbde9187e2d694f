"""Pruning against PyTorch: masks, parameters, gradients, and what is left."""

import pytest
import torch
import torch.nn.utils.prune

import clew


def layer(library):
    library.manual_seed(0)
    return library.nn.Conv2d(3, 4, 2)


def programs(prune):
    def twice(module):
        prune.l1_unstructured(module, "weight", amount=0.3)
        prune.random_unstructured(module, "weight", amount=5)

    def mixed(module):
        prune.ln_structured(module, "weight", amount=1, n=2, dim=0)
        prune.l1_unstructured(module, "weight", amount=0.25)
        prune.random_structured(module, "weight", amount=1, dim=1)

    def masked(module):
        prune.custom_from_mask(module, "bias", module.bias.detach() > 0)
        prune.identity(module, "weight")

    def scored(module):
        prune.l1_unstructured(module, "weight", amount=7, importance_scores=1 / module.weight.detach())

    def everywhere(module):
        pairs = [(module, "weight"), (module, "bias")]
        prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.4)
        prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=6)

    def ends(module):
        prune.l1_unstructured(module, "weight", amount=0)
        prune.ln_structured(module, "weight", amount=0.0, n=1, dim=-1)
        prune.random_structured(module, "weight", amount=0, dim=0)

    return {
        "l1": lambda module: prune.l1_unstructured(module, "weight", 0.4),
        "random": lambda module: prune.random_unstructured(module, "bias", amount=2),
        "norms": lambda module: prune.ln_structured(module, "weight", amount=0.5, n=float("inf"), dim=1),
        "channels": lambda module: prune.random_structured(module, "weight", amount=2, dim=0),
        "twice": twice, "mixed": mixed, "masked": masked, "scored": scored, "everywhere": everywhere, "ends": ends,
    }  # fmt: skip


@pytest.mark.parametrize("name", programs(torch.nn.utils.prune))
def test_it_is_pytorchs(name):
    found = []
    for library in (clew, torch):
        module = layer(library)
        library.manual_seed(3)
        programs(library.nn.utils.prune)[name](module)
        module(library.ones(1, 3, 5, 5)).sum().backward()
        with library.no_grad():
            for parameter in module.parameters():
                parameter.add_(parameter.grad, alpha=-0.1)
        result = module(library.ones(1, 3, 5, 5))
        state = {key: value.detach().numpy().copy() for key, value in module.state_dict().items()}
        names = [name for name, _ in module.named_parameters()]
        pruned = [name for name in ("weight", "bias") if hasattr(module, f"{name}_mask")]
        for one in pruned:
            library.nn.utils.prune.remove(module, one)
        left = {key: value.detach().numpy() for key, value in module.state_dict().items()}
        found.append((result.detach().numpy(), state, names, left, library.nn.utils.prune.is_pruned(module)))
    ours, theirs = found
    assert ours[2] == theirs[2]
    assert ours[4] is theirs[4] is False
    for one, other in ((ours[1], theirs[1]), (ours[3], theirs[3]), ({"": ours[0]}, {"": theirs[0]})):
        assert list(one) == list(other)
        for key, value in one.items():
            assert value == pytest.approx(other[key], rel=1e-4, abs=1e-5)


def test_methods_of_ones_own_and_containers():
    prune = clew.nn.utils.prune

    class Every(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    module = clew.nn.Linear(4, 2)
    Every.apply(module, "weight")
    assert module.weight_mask.flatten().tolist() == [0, 1] * 4
    Every.apply(module, "weight")
    assert module.weight_mask.flatten().tolist() == [0, 0, 0, 1] * 2
    (container,) = module._forward_pre_hooks.values()
    assert isinstance(container, prune.PruningContainer)
    assert (len(container), type(container[0])) == (2, Every)
    assert Every().prune(clew.ones(4)).tolist() == [0, 1, 0, 1]
    assert prune.is_pruned(clew.nn.Sequential(module))


def test_errors():
    prune = clew.nn.utils.prune
    module = clew.nn.Linear(4, 2)
    for amount, kind in (("many", TypeError), (-1, ValueError), (1.5, ValueError), (9, ValueError)):
        with pytest.raises(kind, match="amount"):
            prune.l1_unstructured(module, "weight", amount=amount)
    with pytest.raises(ValueError, match="multidimensional"):
        prune.random_structured(module, "bias", amount=1, dim=0)
    with pytest.raises(IndexError, match="Invalid index"):
        prune.random_structured(module, "weight", amount=1, dim=2)
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(module, "weight")
    with pytest.raises(ValueError, match="importance_scores"):
        prune.l1_unstructured(module, "weight", amount=1, importance_scores=clew.ones(2))
    with pytest.raises(TypeError, match="unstructured"):
        prune.global_unstructured([(module, "weight")], prune.LnStructured, amount=1, n=1)
    with pytest.raises(TypeError, match="Iterable"):
        prune.global_unstructured(3, prune.L1Unstructured, amount=1)
    assert [name for name, _ in module.named_parameters()] == ["weight", "bias"]  # nothing was half done
