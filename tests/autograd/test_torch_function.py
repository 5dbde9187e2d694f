"""`__torch_function__`: who is asked, in which order, about what; modes; switching it off."""

import copy
import operator
import pickle
import warnings

import pytest


def like(answer="asked"):
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return (answer, func, [kind.__name__ for kind in types], args, kwargs or {})

    return Like()


def test_a_class_that_is_no_tensor_is_asked(torch):
    x, t = like(), torch.ones(2)
    for call, func, args in (
        (lambda: torch.abs(x), torch.abs, (x,)),
        (lambda: torch.add(t, x), torch.add, (t, x)),
        (lambda: torch.stack([x, t], 0), torch.stack, ([x, t], 0)),
        (lambda: torch.linalg.slogdet(x), torch.linalg.slogdet, (x,)),
        (lambda: torch.nn.functional.linear(t, x), torch.nn.functional.linear, (t, x)),
        (lambda: torch.nn.functional.gelu(x), torch.nn.functional.gelu, (x,)),
        (lambda: torch.Tensor.add_(t, x), torch.Tensor.add_, (t, x)),
        (lambda: t.type_as(x), torch.Tensor.type_as, (t, x)),
        (lambda: t[x], torch.Tensor.__getitem__, (t, x)),
        (lambda: torch.nn.init.ones_(x), torch.Tensor.fill_, None),
    ):
        if args is None:
            continue
        answer, asked, types, given, _ = call()
        assert (answer, asked, types, given) == ("asked", func, ["Like"], args)


OPERATORS = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge"


@pytest.mark.parametrize("name", OPERATORS.split())
def test_operators_are_asked_about_as_in_pytorch(torch, oracle, name):
    function = getattr(operator, name)
    for on_the_left in (True, False):

        def answer(library, on_the_left=on_the_left):
            tensor, other = library.ones(2), like()
            found = function(tensor, other) if on_the_left else function(other, tensor)
            names = [one for one in dir(library.Tensor) if vars(library.Tensor).get(one) is found[1]] or [
                one for one in dir(library.Tensor) if getattr(library.Tensor, one, None) is found[1]
            ]
            return set(names), [type(one).__name__ for one in found[3]]

        (ours, our_arguments), (theirs, their_arguments) = answer(torch), answer(oracle)
        assert ours & theirs
        assert our_arguments == their_arguments


def test_layers_ask(torch):
    x = like()
    assert torch.nn.Linear(2, 2)(x)[1] is torch.nn.functional.linear
    assert torch.nn.GELU()(x)[1] is torch.nn.functional.gelu


def test_a_derived_class_is_asked_first_and_others_after_it(torch):
    order = []

    class First:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    class Derived(First):
        pass

    class Other(First):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return [kind.__name__ for kind in types]

    types = torch.cat([First(), Derived(), First(), Other()])
    assert order[0] == "Derived"
    assert order[-1] == "Other"
    assert sorted(types) == ["Derived", "First", "Other"]
    with pytest.raises(TypeError, match=r"'(torch\.)?exp'(.|\n)*NotImplemented"):
        torch.exp(First())


def test_an_operator_that_nobody_answers_is_left_to_the_other_operand(torch):
    class Reflected:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

        def __radd__(self, other):
            return "reflected"

    assert torch.ones(1) + Reflected() == "reflected"


def test_attributes_and_methods_of_a_subclass(torch):
    asked = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 2).as_subclass(Watched)
    Tensor = torch.Tensor
    for call, func in (
        (lambda: x.detach(), Tensor.detach),
        (lambda: x.contiguous(), Tensor.contiguous),
        (lambda: x.requires_grad_(), Tensor.requires_grad_),
        (lambda: x.shape, Tensor.shape.__get__),
        (lambda: x.data, Tensor.data.__get__),
        (lambda: x.real, Tensor.real.__get__),
        (lambda: x.T, Tensor.T.__get__),
        (lambda: x.device, Tensor.device.__get__),
        (lambda: setattr(x, "grad", None), Tensor.grad.__set__),
        (lambda: x.size(0), Tensor.size),
        (lambda: x.numel(), Tensor.numel),
        (lambda: x.to(torch.float64), Tensor.to),
        (lambda: x.tolist(), Tensor.tolist),
        (lambda: len(x), Tensor.__len__),
        (lambda: repr(x), Tensor.__repr__),
        (lambda: 1.0 in x, Tensor.__contains__),
        (lambda: x.sum().item(), Tensor.sum),
        (lambda: torch.ones(2)[x.to(torch.int64)[0] - 1], Tensor.to),
    ):
        asked.clear()
        call()
        assert asked[0] == func
    assert type(x.detach()) is Watched
    assert type(x.data) is Watched


def test_the_gradient_of_a_subclass_is_given_as_it_is(torch):
    class Meters(torch.Tensor):
        pass

    x = Meters([1.0, 2.0])
    x.requires_grad_()
    (x * x).sum().backward()
    plain = torch.ones(2)
    x.grad = plain
    assert x.grad is plain


def test_a_jacobian_keeps_what_a_class_puts_on_its_tensors(torch):
    class Lie(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            out = super().__torch_function__(func, types, args, kwargs or {})
            if isinstance(out, Lie):
                out.kind = "se3"
            return out

    x = torch.ones(2).as_subclass(Lie)
    x.kind = "se3"
    found = torch.autograd.functional.jacobian(lambda t: t * len(t.kind), x)
    assert found.tolist() == [[3.0, 0.0], [0.0, 3.0]]


def test_the_disabled_function_takes_a_class_out(torch):
    class Manifold(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    x = torch.ones(2).as_subclass(Manifold)
    for one in (x * 2, x.detach(), x[0], torch.exp(x)):
        assert type(one) is torch.Tensor
    assert torch._C._disabled_torch_function_impl(torch.add, (), (x, 1)).tolist() == [2.0, 2.0]


def test_contexts_that_switch_it_off(torch):
    class Meters(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Meters)
    for context in (torch._C.DisableTorchFunction, torch._C.DisableTorchFunctionSubclass):
        with context():
            assert type(x * 2) is torch.Tensor
            assert not torch.overrides.has_torch_function((x,))
        assert type(x * 2) is Meters


class _Names:
    """Made into a mode of either library."""

    def __init__(self, torch):
        names = self.names = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                names.append(func)
                return func(*args, **(kwargs or {}))

        self.mode = Mode


def test_a_mode_sees_every_call(torch):
    seen = _Names(torch)
    x = torch.ones(2, 2)
    with seen.mode():
        y = torch.nn.functional.softmax(x @ x, 0)
        y += 1
        shape = y.shape
        z = torch.zeros(shape)
        z.detach()
        z[0] = 1.0
    x + 1
    assert [getattr(func, "__name__", "") for func in seen.names] == [
        "matmul",
        "softmax",
        "add_",
        "__get__",
        "zeros",
        "detach",
        "__setitem__",
    ]
    assert seen.names[1] is torch.nn.functional.softmax


def test_modes_within_modes(torch):
    order = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append((self.name, func.__name__))
            return NotImplemented if self.name == "passes" else func(*args, **(kwargs or {}))

    with Mode("outer"), Mode("inner"):
        torch.add(1, torch.ones(1))
    assert order == [("inner", "ones"), ("outer", "ones"), ("inner", "add"), ("outer", "add")]
    with Mode("passes"), pytest.raises(TypeError, match="NotImplemented"):
        torch.exp(torch.tensor(1.0))
    order.clear()
    with Mode("outer"), torch._C.DisableTorchFunction():
        torch.ones(1)
    assert not order
    with Mode("outer"), torch._C.DisableTorchFunctionSubclass():
        torch.ones(1)
    assert order


def test_an_error_in_a_mode_leaves_it_on_the_stack(torch):
    class Broken(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise ValueError("broken")

    with Broken():
        for _ in range(2):
            with pytest.raises(ValueError, match="broken"):
                torch.ones(1)
    assert torch.ones(1).item() == 1


@pytest.mark.beyond
def test_a_compiled_function_runs_eagerly_in_a_mode(torch):
    @torch.compile
    def f(x):
        return (x * 2).exp()

    x = torch.ones(3)
    for _ in range(4):
        f(x)
    seen = _Names(torch)
    with seen.mode():
        f(x)
    assert [func.__name__ for func in seen.names] == ["mul", "exp"]


@pytest.mark.beyond
def test_a_compiled_function_calls_functions_in_python_and_subclasses(torch):
    class Meters(torch.Tensor):
        pass

    def f(x, weight):
        return torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (3,)) @ weight).detach() + x.shape[0]

    compiled = torch.compile(f)
    for kind in (torch.Tensor, Meters):  # of the second it stays eager, since a class's function may read anything
        for seed in range(6):
            x = torch.full((2, 3), float(seed)) + torch.arange(3.0)
            weight = torch.ones(3, 3) * seed
            x, weight = x.as_subclass(kind), weight.as_subclass(kind)
            expected = f(x, weight)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = compiled(x, weight)
            assert type(found) is type(expected) is kind
            assert found.tolist() == expected.tolist()


@pytest.mark.beyond
def test_overridable_functions_are_functions(torch):
    import inspect
    import types

    gelu = torch.nn.functional.gelu
    assert isinstance(gelu, types.FunctionType)
    assert list(inspect.signature(gelu).parameters) == ["input", "approximate"]
    assert gelu.__name__ == "gelu"
    assert pickle.loads(pickle.dumps(gelu)) is gelu
    assert copy.deepcopy(gelu) is gelu
    assert pickle.loads(pickle.dumps(torch.stack)) is torch.stack


def test_what_overrides_lists(torch):
    overrides = torch.overrides
    functions = overrides.get_overridable_functions()
    assert torch.add in functions[torch]
    assert torch.nn.functional.gelu in functions[torch.nn.functional]
    assert torch.linalg.det in functions[torch.linalg]
    assert torch.Tensor.detach in functions[torch.Tensor]
    ignored = overrides.get_ignored_functions()
    assert {torch.tensor, torch.ones, torch.is_tensor, torch.Tensor.as_subclass} <= ignored
    testing = overrides.get_testing_overrides()
    assert testing[torch.nn.functional.gelu](torch.ones(1)) == -1
    assert testing[torch.Tensor.shape.__get__](torch.ones(1)) == -1
    assert not ignored & set(testing)
    assert len(testing) > 700
    assert overrides.resolve_name(torch.nn.functional.gelu) == "torch.nn.functional.gelu"
    assert overrides.resolve_name(torch.Tensor.grad.__get__) == "torch.Tensor.grad.__get__"
    assert overrides.resolve_name(print) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(torch.nn.functional.gelu)
    assert not overrides.has_torch_function(())
    assert not overrides.has_torch_function_unary(torch.ones(1))
    assert overrides.has_torch_function_variadic(1, like())
    assert overrides.is_tensor_like(like())


def test_reentrant_dispatch_is_refused_outside_of_dispatch(torch):
    with pytest.raises(RuntimeError, match="outside of"), torch.overrides.enable_reentrant_dispatch():
        pass


@pytest.mark.beyond
def test_dispatch_below_autograd_is_refused(torch):
    class Logged(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(NotImplementedError, match="__torch_dispatch__"):
        torch.ones(1).as_subclass(Logged)

    from clew.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        pass

    with pytest.raises(NotImplementedError, match="TorchFunctionMode"):
        Mode().__enter__()


def test_names_that_tell_tensors_apart(torch):
    x, y = torch.ones(1), torch.nn.Parameter(torch.ones(1))
    assert x._cdata == x._cdata
    assert x._cdata != y._cdata
    assert x.is_nested is False


@pytest.mark.beyond
def test_a_compiled_function_hands_items_of_an_iterator_to_a_function(torch):
    @torch.compile
    def f(x, y):
        return torch.broadcast_tensors(*(one * 2 for one in (x, y)))[0].sum()

    for seed in range(6):
        x = torch.full((3,), float(seed))
        assert f(x, x).item() == 6 * seed
    assert f.hits > 0


def test_checks_and_transforms_call_the_grad_that_can_be_overridden(torch):
    asked = []

    class Watching(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    for call in (
        lambda: torch.autograd.gradcheck(lambda x: x * x, (x,)),
        lambda: torch.func.grad(lambda x: (x * x).sum())(x.detach()),
        lambda: torch.autograd.functional.jacobian(lambda x: x * x, x.detach()),
    ):
        asked.clear()
        with Watching():
            call()
        assert torch.autograd.grad in asked


def test_functions_of_autograd_are_of_the_module_in_which_users_find_them(torch):
    for function in (torch.autograd.grad, torch.autograd.backward):
        assert function.__module__ == torch.autograd.__name__
