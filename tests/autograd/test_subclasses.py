"""Subclasses of Tensor: results have the class, `__torch_function__` has its say, Parameter decays."""

import pytest


def subclass(torch):
    class Meters(torch.Tensor):
        pass

    return Meters


def test_operations_give_the_subclass(torch):
    Meters = subclass(torch)
    x = torch.ones(2, 2).as_subclass(Meters)
    for result in (
        x * 2,
        2 - x,
        x.sum(),
        x[0],
        x.t(),
        x == x,
        x.exp_(),
        torch.cat([x, x]),
        x.to(torch.float64),
        x.double(),
        x.detach(),
    ):
        assert type(result) is Meters
    for result in (x.unbind(), x.split(1)):
        assert [type(one) for one in result] == [Meters, Meters]
    assert type(x.max(0).values) is Meters


@pytest.mark.parametrize("leaf", [True, False])
def test_a_subclass_called_with_a_tensor_keeps_its_history(leaf, torch, oracle):
    def gradient(m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        made = subclass(m)(x if leaf else x * 3)
        (made * made).sum().backward()
        return type(made).__name__, made.is_leaf, x.grad.tolist()

    assert gradient(torch) == gradient(oracle)


def test_a_subclass_called_with_a_tensor_shares_its_memory(torch):
    x = torch.ones(2)
    subclass(torch)(x)[0] = 5
    assert x.tolist() == [5, 1]


def test_mixed_with_plain_tensors(torch):
    Meters = subclass(torch)
    x = torch.ones(2).as_subclass(Meters)
    assert type(torch.ones(2) * x) is Meters
    assert type(torch.add(torch.ones(2), x)) is Meters


def test_of_two_classes_the_derived_one_decides(torch):
    Meters = subclass(torch)

    class Feet(Meters):
        pass

    a, b = torch.ones(2).as_subclass(Meters), torch.ones(2).as_subclass(Feet)
    assert type(a * b) is Feet
    assert type(b * a) is Feet


def test_gradients_flow_through(torch):
    Meters = subclass(torch)
    x = torch.ones(2, requires_grad=True)
    y = x.as_subclass(Meters)
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_leaf_of_a_subclass(torch):
    Meters = subclass(torch)
    x = Meters([1.0, 2.0])
    x.requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert x.is_leaf


def test_the_class_has_its_say(torch):
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, [kind.__name__ for kind in types]))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Watched)
    seen.clear()
    y = torch.exp(x)
    z = torch.add(x, 1, alpha=2)
    assert [entry for entry in seen if entry[0] in ("exp", "add")] == [("exp", ["Watched"]), ("add", ["Watched"])]
    assert (type(y), type(z)) == (Watched, Watched)
    assert z.tolist() == [3.0, 3.0]


def test_the_class_may_answer_something_else(torch):
    class Silent(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func.__name__ == "exp":
                return "no"
            return super().__torch_function__(func, types, args, kwargs or {})

    assert torch.ones(2).as_subclass(Silent).exp() == "no"


def test_parameters_decay(torch):
    p = torch.nn.Parameter(torch.ones(2))
    for result in (p * 2, p[0], p.detach(), p.double(), p.data, p.clone()):
        assert type(result) is torch.Tensor
    assert type(p.requires_grad_()) is torch.nn.Parameter
    with torch.no_grad():
        assert type(p.mul_(2)) is torch.nn.Parameter


def test_attributes_and_methods_of_ones_own(torch):
    class Named(torch.Tensor):
        kind = "named"

        def twice(self):
            return self * 2

    x = torch.ones(2).as_subclass(Named)
    x.label = "x"
    assert (x.label, x.kind, x.twice().tolist()) == ("x", "named", [2.0, 2.0])
    assert not hasattr(x * 2, "label")


def test_overrides(torch):
    from importlib import import_module

    overrides = import_module(torch.__name__ + ".overrides")
    Meters = subclass(torch)
    x, plain = torch.ones(2).as_subclass(Meters), torch.ones(2)
    assert overrides.has_torch_function((x,))
    assert overrides.has_torch_function((plain, x))
    assert not overrides.has_torch_function((plain, 5, torch.nn.Parameter(plain)))
    assert overrides.is_tensor_like(x)
    assert not overrides.is_tensor_like(5)

    @overrides.wrap_torch_function(lambda x: (x,))
    def double(x):
        return x * 2

    assert type(double(x)) is Meters
    assert double(plain).tolist() == [2.0, 2.0]

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "quack" if func is double else NotImplemented

    assert overrides.is_tensor_like(Duck())
    assert overrides.handle_torch_function(double, (Duck(),), Duck()) == "quack"
    with pytest.raises(TypeError, match="no implementation found"):
        overrides.handle_torch_function(torch.exp, (Duck(),), Duck())


def test_a_function_of_python_on_a_subclass(torch):
    Meters = subclass(torch)
    x = torch.ones(2).as_subclass(Meters)

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    leaf = torch.ones(2, requires_grad=True)
    result = Double.apply(leaf.as_subclass(Meters))
    assert type(result) is Meters
    result.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]
    assert type(x) is Meters


@pytest.mark.beyond
def test_a_class_may_be_assigned_between_subclasses_only(torch):
    class First(torch.Tensor):
        pass

    class Second(torch.Tensor):
        pass

    tensor = torch.ones(2).as_subclass(First)
    tensor.__class__ = Second
    assert type(tensor) is Second
    for one, kind in ((torch.ones(2), First), (tensor, torch.Tensor)):
        with pytest.raises(TypeError, match=r"__class__: expected a tensor of a subclass(.|\n)*as_subclass"):
            one.__class__ = kind
    plain = torch.ones(2)
    plain.__class__ = torch.Tensor
    assert plain.__class__ is torch.Tensor
