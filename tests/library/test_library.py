"""Operations of users: the same program here and in PyTorch."""

import numpy
import pytest

import clew

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def programs():
    return [value for name, value in sorted(globals().items()) if name.startswith("program_")]


def numbers(value):
    if isinstance(value, tuple | list):
        return [numbers(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def define_sine(torch, name):
    @torch.library.custom_op(name, mutates_args=())
    def sine(x: torch.Tensor, by: float = 1.0) -> torch.Tensor:
        return torch.from_numpy(numpy.sin(x.numpy() * by))

    @sine.register_fake
    def _(x, by=1.0):
        return torch.empty_like(x)

    def keep(ctx, inputs, output):
        x, by = inputs
        ctx.save_for_backward(x)
        ctx.by = by

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.cos(x * ctx.by) * ctx.by, None

    sine.register_autograd(backward, setup_context=keep)
    return sine


def program_in_one_go(torch):
    sine = define_sine(torch, "one_go::sine")
    x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    y = sine(x, by=2.0)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.autograd.gradcheck(sine, (x, 2.0))
    assert torch.autograd.gradgradcheck(sine, (x, 2.0))
    there = sine(torch.ones(10**6, 10**6, device="meta"))
    same = torch.ops.one_go.sine(x), torch.ops.one_go.sine.default(x, 3.0)
    tests = torch.library.opcheck(
        sine, (x,), test_utils=["test_schema", "test_autograd_registration", "test_faketensor"]
    )
    return y, first, second, there.is_meta, tuple(there.shape), same, y.grad_fn.name(), tests, repr(sine)


def program_several_results_and_a_list(torch):
    @torch.library.custom_op("several::mix", mutates_args=())
    def mix(x: torch.Tensor, ys: list[torch.Tensor], n: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        total = numpy.sum([y.numpy() for y in ys], axis=0)
        return x * (n or 1), torch.from_numpy(total)

    seen = []

    def keep(ctx, inputs, output):
        _, ys, n = inputs
        seen.append((len(ys), n, len(output)))
        ctx.count, ctx.n = len(ys), n or 1

    def backward(ctx, first, second):
        return first * ctx.n, [second] * ctx.count, None

    mix.register_autograd(backward, setup_context=keep)
    x, y, z = (torch.tensor([value], requires_grad=value != 2.0) for value in (1.0, 2.0, 3.0))
    a, b = mix(x, [y, z], 4)
    (a * 2 + b * 5).sum().backward()
    return a, b, x.grad, y.grad, z.grad, seen, str(mix._schema)


def program_writes(torch):
    @torch.library.custom_op("writes::add_one", mutates_args=("x",))
    def add_one(x: torch.Tensor) -> None:
        array = x.numpy()
        array += 1

    x = torch.zeros(2)
    before = x._version
    result = add_one(x)
    errors = []
    try:
        add_one.register_autograd(lambda ctx, grad: grad)
    except RuntimeError as error:
        errors.append(str(error).split(" with ")[0])
    return result, x, x._version > before, errors


def program_piece_by_piece(torch):
    lib = torch.library.Library("pieces", "DEF")
    name = lib.define("scale(Tensor x, float by=2.0) -> Tensor")
    lib.impl("scale", lambda x, by=2.0: x * by, "CompositeExplicitAutograd")
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.pieces.scale(x)
    z = torch.ops.pieces.scale(x, by=3.0)
    torch.library.register_autograd(
        "pieces::scale",
        lambda ctx, grad: (grad * ctx.by, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]),
        lib=lib,
    )
    (gradient,) = torch.autograd.grad(torch.ops.pieces.scale(x, 5.0).sum(), x)
    torch.library.define("pieces2::twice", "(Tensor x) -> Tensor")

    @torch.library.impl("pieces2::twice", "CPU")
    def twice(x):
        return x * 2

    @torch.library.register_fake("pieces2::twice")
    def _(x):
        return x.new_empty(x.shape)

    return name, y, z, gradient, torch.ops.pieces2.twice(torch.ones(1)), torch.ops.pieces2.twice(
        torch.ones(3, device="meta")).is_meta, str(torch.ops.pieces.scale)  # fmt: skip


def program_defined_again(torch):
    found = []
    for by in (2.0, 3.0):

        @torch.library.custom_op("again::times", mutates_args=())
        def times(x: torch.Tensor, by: float = by) -> torch.Tensor:
            return x * by

        found += [times(torch.ones(1)), torch.ops.again.times(torch.ones(1))]
    return found


def program_schemas(torch):
    def every(
        a: torch.Tensor, b: torch.Tensor | None, c: list[torch.Tensor], d: int, e: float = 1.5, f: bool = True,
        *, g: str = "sum", h: int | None = None, i: list[int] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]: ...  # fmt: skip

    def nothing(x: torch.Tensor, y: torch.Tensor) -> None: ...

    return (
        torch.library.infer_schema(every, mutates_args=()),
        torch.library.infer_schema(nothing, mutates_args=("y",)),
        torch.library.infer_schema(nothing, mutates_args="unknown", op_name="name"),
    )


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.__name__)
def test_as_in_pytorch(torch, oracle, program):
    assert numbers(program(torch)) == numbers(program(oracle))


def bad_no_annotation(torch):
    @torch.library.custom_op("bad::a", mutates_args=())
    def f(x) -> torch.Tensor: ...


def bad_no_return(torch):
    @torch.library.custom_op("bad::b", mutates_args=())
    def f(x: torch.Tensor): ...


def bad_type(torch):
    @torch.library.custom_op("bad::c", mutates_args=())
    def f(x: dict) -> torch.Tensor: ...


def bad_name(torch):
    @torch.library.custom_op("bad", mutates_args=())
    def f(x: torch.Tensor) -> torch.Tensor: ...


def bad_mutated(torch):
    @torch.library.custom_op("bad::d", mutates_args=("y",))
    def f(x: torch.Tensor) -> torch.Tensor: ...


def bad_varargs(torch):
    @torch.library.custom_op("bad::e", mutates_args=())
    def f(*x: torch.Tensor) -> torch.Tensor: ...


def bad_alias(torch):
    @torch.library.custom_op("bad::alias", mutates_args=())
    def f(x: torch.Tensor) -> torch.Tensor:
        return x

    f(torch.ones(1))


def bad_no_formula(torch):
    @torch.library.custom_op("bad::formula", mutates_args=())
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 1

    f(torch.ones(1, requires_grad=True)).backward()


def bad_no_fake(torch):
    @torch.library.custom_op("bad::fake", mutates_args=())
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 1

    f(torch.ones(1, device="meta"))


def bad_no_kernel(torch):
    torch.library.define("bad::kernel", "(Tensor x) -> Tensor")
    torch.ops.bad.kernel(torch.ones(1))


def bad_missing(torch):
    define_sine(torch, "bad::there")
    _ = torch.ops.bad.not_there


def bad_namespace(torch):
    _ = torch.ops.no_such_namespace.f


def bad_kind(torch):
    torch.library.Library("bad_kind", "OTHER")


def bad_definition(torch):
    _both = torch.library.Library("bad_twice", "DEF"), torch.library.Library("bad_twice", "DEF")


@pytest.mark.parametrize("program", [v for n, v in sorted(globals().items()) if n.startswith("bad_")],
                         ids=lambda program: program.__name__)  # fmt: skip
def test_errors_of_pytorchs_kind(torch, oracle, program):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        program(oracle)
    with pytest.raises(theirs.type if theirs.type is not NotImplementedError else RuntimeError):
        program(torch)


def test_opcheck_finds_what_is_wrong(torch, oracle):
    found = []
    for module in (torch, oracle):

        @module.library.custom_op("wrong::shape", mutates_args=())
        def shape(x: module.Tensor) -> module.Tensor:
            return x * 2

        @shape.register_fake
        def _(x, torch=module):
            return x.new_empty(7)

        @module.library.custom_op("wrong::writes", mutates_args=())
        def writes(x: module.Tensor) -> module.Tensor:
            array = x.numpy()
            array += 1
            return x * 2

        x = module.ones(3, dtype=module.float64)
        for operation, name in ((shape, "test_faketensor"), (writes, "test_schema")):
            result = module.library.opcheck(operation, (x.clone(),), test_utils=name, raise_exception=False)
            with pytest.raises(Exception, match=name):
                module.library.opcheck(operation, (x.clone(),), test_utils=[name])
            found.append({key: value == "SUCCESS" for key, value in result.items()})
    assert found[:2] == found[2:]


@pytest.mark.beyond
def test_opcheck_tests_gradients():
    sine = define_sine(clew, "gradients::sine")
    x = clew.rand(3, dtype=clew.float64, requires_grad=True)
    assert clew.library.opcheck(sine, (x, 2.0), test_utils="test_gradients") == {"test_gradients": "SUCCESS"}
    sine.register_autograd(lambda ctx, grad: (grad * 3, None))
    with pytest.raises(clew.library.OpCheckError, match="test_gradients"):
        clew.library.opcheck(sine, (x, 2.0), test_utils="test_gradients")
    with pytest.raises(NotImplementedError, match="test_aot_dispatch_dynamic"):
        clew.library.opcheck(sine, (x,), test_utils="test_aot_dispatch_dynamic")


@pytest.mark.beyond
def test_a_backward_returns_a_gradient_for_each_argument():
    sine = define_sine(clew, "count::sine")
    sine.register_autograd(lambda ctx, grad: grad)
    with pytest.raises(RuntimeError, match="expected its backward to return 2 gradients"):
        sine(clew.ones(1, requires_grad=True)).backward()


@pytest.mark.beyond
def test_it_is_in_the_registry_and_seen_by_interpreters():
    sine = define_sine(clew, "seen::sine")
    (said,) = sine._operation.overloads
    assert said["schema"] == "seen::sine(Tensor x, float by=1.0)"
    names = []
    interpreter = clew._core.Interpreter(lambda call: (names.append(call.name), call.run()))
    interpreter.push()
    try:
        sine(clew.ones(2))
    finally:
        interpreter.pop()
    assert "seen::sine" in names


@pytest.mark.beyond
def test_the_registrys_own_way_is_open():
    @clew.library.operation(
        "own::blend(Tensor a, Tensor b, *, float share=0.5)",
        rules=(lambda g, share: g * share, lambda g, share: g * (1 - share)),
        derivative="a + b",
        infer=lambda a, b, share: a.new_empty(a.shape),
        domain="real",
    )
    def blend(a, b, share):
        """share * a + (1 - share) * b."""
        return share * a + (1 - share) * b

    a, b = (clew.rand(2, 3, dtype=clew.float64, requires_grad=True) for _ in "ab")
    assert clew.autograd.gradcheck(blend, (a, b))
    assert clew.autograd.gradgradcheck(blend, (a, b))
    result = clew.ops.own.blend(a, b, share=0.25)
    assert clew.allclose(result, 0.25 * a + 0.75 * b)
    assert result.grad_fn.name() == "BlendBackward0"
    assert blend(a.detach().to("meta"), b.detach().to("meta")).shape == (2, 3)


@pytest.mark.beyond
def test_what_is_not_supported_says_so():
    with pytest.raises(NotImplementedError, match="results that are tensors"):
        clew.library.define("unsupported::a", "(Tensor x) -> Tensor[]")
    with pytest.raises(NotImplementedError, match="arguments of type Device"):
        clew.library.define("unsupported::b", "(Tensor x, Device d) -> Tensor")
    with pytest.raises(NotImplementedError, match="one list of tensors"):
        clew.library.define("unsupported::c", "(Tensor[] x, Tensor[] y) -> Tensor")
    clew.library.define("unsupported::d", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="register_autograd"):
        clew.library.impl("unsupported::d", "AutogradFunctionality", lambda x: x)
    with pytest.raises(ValueError, match="expected a schema"):
        clew.library.define("unsupported::e", "Tensor x")
    clew.library.impl("unsupported::d", "CPU", lambda x: 3)
    with pytest.raises(TypeError, match="expected its kernel to return 1 tensor"):
        clew.ops.unsupported.d(clew.ones(1))


def test_a_kernel_for_autograd_is_asked_first(oracle):
    def found(m, key):
        lib = m.library.Library(f"composed_{key.lower()}", "FRAGMENT")
        lib.define("cube(Tensor x) -> Tensor")
        lib.impl("cube", lambda x: x * 0, "CPU")
        lib.impl("cube", lambda x: x * x * x, key)
        x = m.tensor([2.0, 3.0], requires_grad=True)
        result = getattr(m.ops, lib.ns).cube(x)
        result.sum().backward()
        return result.tolist(), x.grad.tolist()

    for key in ("Autograd", "AutogradCPU"):
        assert found(clew, key) == found(oracle, key) == ([8.0, 27.0], [12.0, 27.0])


def test_a_kernel_for_autograd_reaches_the_other_kernel(oracle):
    def found(m):
        lib = m.library.Library("below_autograd", "FRAGMENT")
        lib.define("twice(Tensor x) -> Tensor")

        class Twice(m.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                with m._C._AutoDispatchBelowAutograd():
                    return m.ops.below_autograd.twice(x)

            @staticmethod
            def backward(ctx, grad):
                return grad * 10

        lib.impl("twice", lambda x: x * 2, "CPU")
        lib.impl("twice", lambda x: Twice.apply(x), "Autograd")
        x = m.tensor([2.0, 3.0], requires_grad=True)
        result = m.ops.below_autograd.twice(x)
        result.sum().backward()
        with m.no_grad():
            return result.tolist(), x.grad.tolist(), m.ops.below_autograd.twice(x).tolist()

    assert found(clew) == found(oracle)
