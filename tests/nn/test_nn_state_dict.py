"""Saving and loading a module's state."""

import collections

import pytest


def model(m):
    return m.nn.Sequential(
        collections.OrderedDict(
            first=m.nn.Linear(3, 4), act=m.nn.Tanh(), norm=m.nn.LayerNorm(4), rest=m.nn.Sequential(m.nn.Linear(4, 2))
        )
    )


def across(state, source, target):
    """The state of one module system as tensors of the other."""
    return {name: target.from_numpy(tensor.detach().numpy().copy()) for name, tensor in state.items()}


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
def test_names_shapes_and_metadata_are_pytorchs(agree):
    def program(m):
        state = model(m).state_dict()
        return dict(state), {name: tuple(value.items()) for name, value in state._metadata.items()}

    agree(program)


def test_state_goes_to_pytorch_and_back(torch, oracle):
    ours, theirs = model(torch), model(oracle)
    x = torch.rand(5, 3)
    theirs.load_state_dict(across(ours.state_dict(), torch, oracle))
    expected = theirs(oracle.from_numpy(x.numpy())).detach().numpy()
    assert abs(ours(x).detach().numpy() - expected).max() < 1e-6
    fresh = model(torch)
    fresh.load_state_dict(across(theirs.state_dict(), oracle, torch))
    assert all((a == b).all() for a, b in zip(fresh.parameters(), ours.parameters(), strict=True))


def test_tensors_are_shared_and_detached(torch):
    layer = torch.nn.Linear(2, 2)
    state = layer.state_dict()
    assert not state["weight"].requires_grad
    with torch.no_grad():
        layer.weight.fill_(3)
    assert (state["weight"] == 3).all()
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight


def test_loading_copies_into_the_same_parameters(torch):
    source, target = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    weight = target.weight
    assert repr(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert target.weight is weight
    assert (weight == source.weight).all()
    with torch.no_grad():
        source.weight.fill_(3)
    assert not (weight == 3).any()


def test_assigning_takes_the_tensors_themselves(torch):
    state = torch.nn.Linear(2, 2).double().state_dict()
    target = torch.nn.Linear(2, 2)
    target.weight.requires_grad_(False)
    target.load_state_dict(state, assign=True)
    assert target.weight.dtype == torch.float64
    assert isinstance(target.weight, torch.nn.Parameter)
    assert not target.weight.requires_grad
    assert target.bias.requires_grad
    with torch.no_grad():
        target.weight.fill_(3)
    assert (state["weight"] == 3).all()


def bad_states(m):
    good = model(m).state_dict()
    return {
        "missing": {name: tensor for name, tensor in good.items() if name != "norm.weight"},
        "unexpected": {**good, "first.extra": m.ones(1), "other": m.ones(1)},
        "both": {"first.weight": good["first.weight"], "first.bias": m.ones(7), "rest.9.weight": m.ones(1)},
        "shape": {**good, "first.weight": m.ones(3, 4)},
        "no tensor": {**good, "norm.bias": [1.0]},
    }


@pytest.mark.parametrize("name", ["missing", "unexpected", "both", "shape", "no tensor"])
def test_what_does_not_match_is_told_as_pytorch_tells_it(name, torch, oracle):
    texts = []
    for m in (torch, oracle):
        with pytest.raises(RuntimeError) as caught:
            model(m).load_state_dict(bad_states(m)[name])
        texts.append(str(caught.value).replace("clew.Size", "torch.Size"))
    assert texts[0] == texts[1]


def test_without_strict_the_names_are_returned(torch):
    result = model(torch).load_state_dict(bad_states(torch)["both"] | {"first.bias": torch.ones(4)}, strict=False)
    missing, unexpected = result
    assert missing == ["norm.weight", "norm.bias", "rest.0.weight", "rest.0.bias"]
    assert unexpected == ["rest.9.weight"]
    assert "missing_keys=['norm.weight'" in repr(result)


def test_only_mappings_are_loaded(torch):
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        model(torch).load_state_dict([1])


def test_hooks_run_around_saving_and_loading(torch):
    layer = torch.nn.Linear(2, 2)
    events = []
    handles = [
        layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: events.append(("before", prefix))),
        layer.register_state_dict_post_hook(lambda module, state, prefix, meta: events.append(("after", len(state)))),
        layer.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: events.append(("load", prefix))),
        layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear()),
    ]
    outer = torch.nn.Sequential(layer)
    state = outer.state_dict()
    del state["0.bias"]
    outer.load_state_dict(state)
    assert events == [("before", "0."), ("after", 2), ("load", "0.")]
    for handle in handles:
        handle.remove()
    with pytest.raises(RuntimeError, match="Missing key"):
        outer.load_state_dict(state)
    assert len(events) == 3


def test_a_post_hook_must_return_nothing(torch):
    layer = torch.nn.Linear(2, 2)
    layer.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        layer.state_dict()


def test_extra_state_goes_along(torch):
    class Counting(torch.nn.Module):
        def __init__(self, count):
            super().__init__()
            self.count = count

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    source, target = torch.nn.Sequential(Counting(3)), torch.nn.Sequential(Counting(0))
    assert source.state_dict() == {"0._extra_state": {"count": 3}}
    target.load_state_dict(source.state_dict())
    assert target[0].count == 3
    with pytest.raises(RuntimeError, match="Missing key"):
        target.load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        torch.nn.Sequential(torch.nn.ReLU()).load_state_dict(source.state_dict())


def test_a_module_may_save_in_its_own_way(torch):
    class Doubled(torch.nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.value = torch.nn.Parameter(torch.ones(1))

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            destination[prefix + "half"] = self.value.detach() / 2

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            assert local_metadata["version"] == 2
            with torch.no_grad():
                self.value.copy_(state_dict.pop(prefix + "half") * 2)

    source, target = Doubled(), Doubled()
    with torch.no_grad():
        source.value.fill_(8)
    target.load_state_dict(source.state_dict())
    assert target.value.item() == 8
