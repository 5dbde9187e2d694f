"""Containers behave and print as PyTorch's."""

from collections import OrderedDict

import pytest


def layers(m, count):
    return [m.nn.Linear(index + 1, 1) for index in range(count)]


def test_lists_of_modules_are_edited_as_lists(agree):
    def program(m):
        texts = []
        for kind in (m.nn.ModuleList, lambda modules: m.nn.Sequential(*modules)):
            model = kind(layers(m, 4))
            texts += [repr(model), repr(model[1:3]), repr(model[-1]), len(model)]
            del model[1]
            texts.append(repr(model))
            model[0] = m.nn.Tanh()
            model.append(m.nn.ReLU())
            model.extend([m.nn.ReLU(), m.nn.ReLU()])
            model.insert(1, m.nn.Sigmoid())
            texts += [repr(model), repr(model.pop(0)), repr(model), [type(module).__name__ for module in model]]
            texts.append(list(model.state_dict()))
            texts.append(repr(model + kind(layers(m, 1))))
            del model[1:3]
            texts.append(repr(model))
        return texts

    agree(program)


@pytest.mark.parametrize("kind", ["ModuleList", "Sequential"])
def test_positions_outside_are_refused(kind, torch):
    model = getattr(torch.nn, kind)()
    model.append(torch.nn.ReLU())
    for act in (lambda: model[1], lambda: model[-2], lambda: model.pop(5)):
        with pytest.raises(IndexError, match="out of range"):
            act()
    with pytest.raises(TypeError, match="is not a Module subclass"):
        model.append(3)
    assert len(model) == 1


@pytest.mark.beyond
@pytest.mark.parametrize("kind", ["ModuleList", "Sequential"])
def test_inserting_outside_is_refused(kind, torch):
    with pytest.raises(IndexError, match="index 3 is out of range"):
        getattr(torch.nn, kind)().insert(3, torch.nn.ReLU())


def test_a_sequential_with_names(agree):
    def program(m):
        model = m.nn.Sequential(OrderedDict(encode=m.nn.Linear(2, 3), act=m.nn.Tanh()))
        return repr(model), list(model.state_dict()), model(m.ones(1, 2)), repr(model.encode), repr(model[:1])

    agree(program)


def test_a_sequential_is_repeated(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2)) * 3
    assert len(model) == 3
    assert model[0] is model[2]
    with pytest.raises(ValueError, match="0"):
        model * 0


def test_a_sequential_that_was_sliced_can_grow(torch):
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.Sigmoid())[1:]
    assert list(model._modules) == ["1", "2"]
    assert torch.allclose(model(torch.ones(1)), torch.ones(1).tanh().sigmoid())


@pytest.mark.beyond
def test_growing_a_sliced_sequential_loses_nothing(torch):
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.Sigmoid())[1:]
    model.append(torch.nn.ReLU())
    assert [type(module).__name__ for module in model] == ["Tanh", "Sigmoid", "ReLU"]


def test_a_dict_of_modules(agree):
    def program(m):
        model = m.nn.ModuleDict({"a": m.nn.ReLU(), "b": m.nn.Linear(1, 1)})
        model["c"] = m.nn.Tanh()
        model.update([("d", m.nn.ReLU()), ("a", m.nn.Sigmoid())])
        texts = [repr(model), list(model), list(model.keys()), len(model), "b" in model, "x" in model]
        texts += [repr(model.pop("b")), [name for name, _ in model.items()], [repr(value) for value in model.values()]]
        del model["c"]
        texts.append(repr(model))
        model.clear()
        return [*texts, repr(model)]

    agree(program)


def test_bad_names_in_a_dict_of_modules(torch):
    model = torch.nn.ModuleDict()
    with pytest.raises(KeyError, match="already exists"):
        model["pop"] = torch.nn.ReLU()
    with pytest.raises(KeyError):
        model["absent"]
    with pytest.raises(TypeError, match=r"ModuleDict\.update"):
        model.update(3)


def test_lists_of_parameters(agree):
    def program(m):
        values = m.nn.ParameterList([m.zeros(2), m.nn.Parameter(m.ones(2, 3)), 3])
        values.append(m.zeros(1))
        values.extend([m.nn.Parameter(m.zeros(()))])
        values[0] = m.ones(4)
        shown = repr(values).replace("clew.", "torch.")
        return shown, len(values), list(values.state_dict()), [p.shape[0] for p in values[:2]], len(list(values))

    agree(program)


def test_dicts_of_parameters(torch):
    values = torch.nn.ParameterDict({"a": torch.zeros(2), "b": 3})
    values["c"] = torch.nn.Parameter(torch.ones(3))
    values.update({"d": torch.ones(1)})
    assert list(values) == list(values.keys()) == ["a", "b", "c", "d"]
    assert isinstance(values["a"], torch.nn.Parameter)
    assert list(values.state_dict()) == ["a", "c", "d"]
    assert "(b): Object of type: int" in repr(values)
    assert values.pop("b") == 3
    assert "b" not in values
    assert values.get("b", 7) == 7
    del values["a"]
    assert [name for name, _ in values.items()] == ["c", "d"]
    with pytest.raises((KeyError, AttributeError)):
        values["a"]
    values.clear()
    assert len(values) == 0


def test_parameter_lists_take_iterables_only(torch):
    with pytest.raises(TypeError, match=r"ParameterList\.extend"):
        torch.nn.ParameterList(3)
    with pytest.raises(IndexError):
        torch.nn.ParameterList([torch.zeros(1)])[1]
