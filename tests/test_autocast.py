"""Regions of autocast beside PyTorch's: the lists, models, the cache of weights, contexts, graphs and programs."""

import threading
import warnings

import numpy
import pytest

import clew
from clew import _core
from clew.amp import _lists

# Of PyTorch's lists: what clew lacks, and operations by which public functions are computed there.
OTHER_NAMES = {
    "cross_entropy_loss": "cross_entropy",
    "grid_sampler": "grid_sample",
}
LACKING = """
    _addmm_activation _convolution _grid_sampler_2d_cpu_fallback _lu_with_info _native_multi_head_attention conv_tbc
    ctc_loss fake_quantize_per_tensor_affine fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler_2d
    grid_sampler_3d mkldnn_rnn_layer multilabel_margin_loss_forward nll_loss2d ormqr
"""


def test_lists_are_those_of_pytorchs_dispatcher(oracle):
    listed = oracle._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
    names = {one.removeprefix("aten::").partition(".")[0] for one in listed} - set(LACKING.split())
    ours = [*_lists.LOWER, *_lists.FLOAT32, *_lists.PROMOTE]
    assert sorted(OTHER_NAMES.get(name, name) for name in names) == sorted(ours)
    for name in ours:
        assert list(_lists._places(name)), name
    for name in LACKING.split():
        assert not list(_lists._places(name)), name


class Attention:
    """A block of a transformer."""

    def __init__(self, module):
        self.inner = module.nn.TransformerEncoderLayer(16, 4, 32, 0.0, "gelu", batch_first=True)

    def __call__(self, x):
        return self.inner(x)


def mlp(nn):
    return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 5))


def cnn(nn):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3),
        nn.GroupNorm(2, 8),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )


def attention(nn):
    return nn.TransformerEncoderLayer(16, 4, 32, 0.0, "gelu", batch_first=True)


class First:
    """A recurrent network's output."""

    def __init__(self, network):
        self.network, self.named_parameters = network, network.named_parameters

    def __call__(self, x):
        return self.network(x)[0]


MODELS = {
    "mlp": (mlp, (6, 12)),
    "cnn": (cnn, (4, 3, 10, 10)),
    "attention": (attention, (3, 7, 16)),
    "lstm": (lambda nn: First(nn.LSTM(6, 9, 2, batch_first=True)), (3, 8, 6)),
    "gru": (lambda nn: First(nn.GRU(6, 9)), (8, 3, 6)),
    "rnn": (lambda nn: First(nn.RNN(6, 9, bidirectional=True)), (8, 3, 6)),
}


def run(module, kind, region=None):
    """The output's dtype, and the output and all gradients as arrays."""
    make, shape = MODELS[kind]
    model = make(module.nn)
    generator = numpy.random.default_rng(3)
    for _, one in sorted(model.named_parameters()):
        one.data = module.from_numpy(generator.uniform(-0.4, 0.4, tuple(one.shape)).astype("float32"))
    x = module.from_numpy(generator.standard_normal(shape).astype("float32"))
    with module.autocast("cpu", dtype=region and getattr(module, region), enabled=region is not None):
        output = model(x)
        loss = module.nn.functional.mse_loss(output, module.ones_like(output))
    assert loss.dtype == module.float32
    loss.backward()
    gradients = [one.grad for _, one in sorted(model.named_parameters())]
    assert all(one.dtype == module.float32 for one in gradients)
    return str(output.dtype), [one.detach().float().numpy() for one in (output, *gradients)]


def distance(ones, others):
    """The Euclidean norm of the difference: of the output, and of all gradients together."""
    differences = [numpy.linalg.norm(one - other) for one, other in zip(ones, others, strict=True)]
    return numpy.array([differences[0], numpy.linalg.norm(differences[1:])])


@pytest.mark.filterwarnings("ignore:Non-full backward")
@pytest.mark.parametrize("region", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", MODELS)
def test_models_are_as_close_to_pytorchs_as_those_to_float32(oracle, kind, region):
    if kind == "lstm" and region == "float16":
        pytest.skip("PyTorch has no such LSTM on this machine")
    dtype, ours = run(clew, kind, region)
    expected, theirs = run(oracle, kind, region)
    _, plain = run(oracle, kind)
    assert dtype == expected
    allowed = distance(theirs, plain)
    assert (allowed > 0).all()
    # A GRU rounds less here than there.
    assert (distance(ours, plain if kind == "gru" else theirs) <= allowed).all()


def states_of(module, kind, region, given, state):
    """The dtypes of the results of a recurrent network; None: of packed sequences."""
    nn, lower = module.nn, getattr(module, region)
    network, steps = getattr(nn, kind)(3, 4, 2), module.ones(5, 2, 3).to(getattr(module, given))
    with module.autocast("cpu", dtype=lower):
        if state is None:
            output, last = network(nn.utils.rnn.pack_padded_sequence(steps, [5, 3]))
            output = output.data
        else:
            first = module.zeros(2, 2, 4).to(getattr(module, state))
            output, last = network(steps, (first, first) if kind == "LSTM" else first)
    return [str(one.dtype) for one in (output, *(last if kind == "LSTM" else [last]))]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("region", ["bfloat16", "float16"])
def test_states_of_recurrent_networks(oracle, kind, region):
    for given in ("float32", region):
        for state in (None, "float32", region):
            if (kind, region) == ("LSTM", "float16") and state:
                continue  # which PyTorch computes otherwise, or not at all, on other machines
            expected = states_of(oracle, kind, region, given, state)
            assert states_of(clew, kind, region, given, state) == expected, (given, state)


def test_products_accumulate_in_float32():
    with clew.autocast("cpu"):
        long = clew.ones(1, 4096) @ clew.ones(4096, 1)
    assert long.dtype == clew.bfloat16
    assert long.item() == 4096  # in bfloat16 the sum would stay at 256


def dtype_of(module, region, call):
    with module.autocast("cpu", dtype=getattr(module, region)):
        try:
            return str(call(module).dtype)
        except RuntimeError:
            return "refused"


KINDS = ["float32", "bfloat16", "float16", "float64", "int64"]
PAIRS = {
    "mm": lambda m, a, b: m.mm(a, b),
    "@": lambda m, a, b: a @ b,
    "cat": lambda m, a, b: m.cat([a, b]),
    "stack": lambda m, a, b: m.stack((a, b)),
    "hstack": lambda m, a, b: m.hstack((a, b)),
    "index_copy": lambda m, a, b: a.index_copy(0, m.tensor([1, 0]), b),
    "mse_loss": lambda m, a, b: m.nn.functional.mse_loss(a, b),
    "add": lambda m, a, b: a + b,
    "einsum": lambda m, a, b: m.einsum("ij,jk->ik", a, b),
    "tensordot": lambda m, a, b: m.tensordot(a, b, 1),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("region", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_dtypes(oracle, name, region):
    for left in KINDS:
        for right in KINDS:

            def call(module, left=left, right=right):
                a, b = (module.ones(2, 2).to(getattr(module, kind)) for kind in (left, right))
                return PAIRS[name](module, a, b)

            expected = dtype_of(oracle, region, call)
            if expected != "refused":
                assert dtype_of(clew, region, call) == expected, (left, right)


def test_a_dtype_that_no_promotion_knows_is_refused():
    with clew.autocast("cpu"), pytest.raises(RuntimeError, match="autocast: expected tensors of bfloat16 or float32"):
        clew.cat([clew.ones(1).half(), clew.ones(1)])


def test_out_and_in_place_are_left_alone(oracle):
    for module in (clew, oracle):
        a = module.ones(2, 2)
        with module.autocast("cpu"):
            assert module.mm(a, a, out=module.empty(2, 2)).dtype == module.float32
            assert a.clone().addmm_(a, a).dtype == module.float32
            b = a.clone()
            b @= a
            assert b.dtype == module.bfloat16


def test_regions_nest_and_decorate(oracle):
    for module in (clew, oracle):
        a = module.ones(2, 2)

        def dtype(a=a):
            return str((a @ a).dtype)[6:]

        with module.autocast("cpu"):
            assert dtype() == "bfloat16"
            with module.autocast("cpu", enabled=False):
                assert dtype() == "float32"
                with module.autocast("cpu", dtype=module.float16):
                    assert dtype() == "float16"
                    assert module.get_autocast_dtype("cpu") == module.float16
                assert dtype() == "float32"
            assert dtype() == "bfloat16"
            assert module.autocast("cpu", enabled=False)(dtype)() == "float32"
            with pytest.raises(ZeroDivisionError), module.autocast("cpu", dtype=module.float16):
                1 / 0  # noqa: B018
            assert dtype() == "bfloat16"
        assert dtype() == "float32"
        assert module.autocast("cpu")(dtype)() == "bfloat16"
        module.set_autocast_enabled("cpu", True)
        module.set_autocast_dtype("cpu", module.float16)
        assert dtype() == "float16"
        module.set_autocast_enabled("cpu", False)
        module.set_autocast_dtype("cpu", module.bfloat16)
        assert dtype() == "float32"
        with pytest.warns(UserWarning, match="Disabling autocast"), module.autocast("cpu", dtype=module.float64):
            assert dtype() == "float32"
        with pytest.raises(TypeError):
            module.set_autocast_enabled("cpu", 3)
        with pytest.raises(TypeError):
            module.set_autocast_dtype("cpu", 3)
    with pytest.raises(NotImplementedError, match="expected bfloat16 or float16"):
        clew.set_autocast_dtype("cpu", clew.float64)


def test_a_region_is_its_threads():
    seen = []
    with clew.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((clew.ones(1, 1) @ clew.ones(1, 1)).dtype))
        thread.start()
        thread.join()
    assert seen == [clew.float32]


class Casts:
    """Counts casts to bfloat16 of a tensor of this shape."""

    def __init__(self, shape):
        self.shape, self.count = shape, 0
        self.interpreter = _core.Interpreter(self.see)

    def see(self, call):
        call.run()
        if call.name == "_cast" and (tuple(call.outputs[0].shape), call.outputs[0].dtype) == (
            self.shape,
            clew.bfloat16,
        ):
            self.count += 1

    def __enter__(self):
        self.interpreter.push()
        return self

    def __exit__(self, *exception):
        self.interpreter.pop()


def test_a_weight_is_cast_once_in_a_region():
    w, x = clew.ones(2, 3, requires_grad=True), clew.ones(4, 3)
    with Casts((2, 3)) as casts:
        with clew.autocast("cpu"):
            for _ in range(3):
                clew.nn.functional.linear(x, w).float().sum().backward()
        assert (casts.count, w.grad.dtype) == (1, clew.float32)
        numpy.testing.assert_array_equal(w.grad.numpy(), 12)
        with clew.autocast("cpu"):
            clew.nn.functional.linear(x, w)
            with clew.autocast("cpu", enabled=False):
                pass
            clew.nn.functional.linear(x, w)
        assert casts.count == 2
        with clew.autocast("cpu", cache_enabled=False):
            clew.nn.functional.linear(x, w)
            clew.nn.functional.linear(x, w)
        assert casts.count == 4
        with clew.autocast("cpu"):
            clew.nn.functional.linear(x, w.detach())
            clew.nn.functional.linear(x, w.detach())
        assert casts.count == 6


def test_a_cast_is_not_taken_after_a_write():
    w, x = clew.ones(1, 1, requires_grad=True), clew.ones(1, 1)
    with clew.autocast("cpu"):
        assert (x @ w).item() == 1
        with clew.no_grad():
            w.mul_(3)
        assert (x @ w).item() == 3
        w.data = clew.full((1, 1), 5.0)
        assert (x @ w).item() == 5


def test_a_cast_without_a_history_is_not_taken_where_one_is_needed():
    w, x = clew.ones(1, 1, requires_grad=True), clew.ones(1, 1)
    with clew.autocast("cpu"):
        with clew.no_grad():
            assert not (x @ w).requires_grad
        (x @ w).backward()
    assert w.grad.item() == 1


def test_gradients_of_shared_weights_are_summed_as_pytorch_does(oracle):
    found = []
    for module in (clew, oracle):
        w = module.full((3, 3), 0.1, requires_grad=True)
        x = module.arange(9.0).reshape(3, 3) / 7
        with module.autocast("cpu"):
            y = (x @ w) @ w
        y.float().pow(2).sum().backward()
        found.append(w.grad.numpy())
    numpy.testing.assert_allclose(*found, rtol=2**-7)


def test_custom_functions(oracle):
    def run(module, cast_inputs):
        seen = []

        class Product(module.autograd.Function):
            @staticmethod
            @module.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs and getattr(module, cast_inputs))
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                seen.append((str(a.dtype), module.is_autocast_enabled("cpu")))
                return a @ b

            @staticmethod
            @module.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                seen.append((str(grad.dtype), module.is_autocast_enabled("cpu"), str((grad @ b.t()).dtype)))
                return grad.to(a.dtype) @ b.t(), a.t() @ grad.to(a.dtype)

        a = module.ones(2, 2, requires_grad=True)
        with module.autocast("cpu"):
            y = Product.apply(a, module.ones(2, 2).bfloat16())
        seen.append(str(y.dtype))
        y.float().sum().backward()
        return seen, str(a.grad.dtype), a.grad.tolist()

    for cast_inputs in (None, "float32"):
        assert run(clew, cast_inputs) == run(oracle, cast_inputs)


def test_functions_for_cuda_are_left_alone():
    class Product(clew.autograd.Function):
        @staticmethod
        @clew.cuda.amp.custom_fwd(cast_inputs=clew.float32)
        def forward(ctx, a):
            return a @ a

        @staticmethod
        @clew.cuda.amp.custom_bwd
        def backward(ctx, grad):
            assert not clew.is_autocast_enabled("cpu")
            return grad.float()

    a = clew.ones(2, 2, requires_grad=True)
    with clew.autocast("cpu"):
        y = Product.apply(a)
    y.float().sum().backward()
    assert y.dtype == clew.bfloat16
    assert a.grad.dtype == clew.float32


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("preserve", [True, False])
def test_a_checkpoint_is_run_again_in_its_region(reentrant, preserve):
    seen = []

    def inside(x, w):
        y = x @ w
        seen.append(y.dtype)
        return y.sin() @ w

    x, w = clew.rand(3, 3, requires_grad=True), clew.rand(3, 3, requires_grad=True)
    with clew.autocast("cpu"):
        y = clew.utils.checkpoint.checkpoint(inside, x, w, use_reentrant=reentrant, preserve_rng_state=preserve)
    y.float().sum().backward()
    assert seen == [clew.bfloat16] * 2
    assert not clew.is_autocast_enabled("cpu")


def steps(model, step, data):
    """Losses and parameters, bit by bit."""
    parameters = [one for _, one in model.named_parameters()]
    optimizer = clew.optim.SGD(parameters, lr=0.1)
    seen = []
    for x in data:
        loss = step(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen, [one.detach().clone() for one in parameters]


@pytest.mark.parametrize("around", [True, False])
@pytest.mark.parametrize("kind", MODELS)
def test_compiled_functions_compute_the_same_bits(kind, around):
    make, shape = MODELS[kind]

    def trained(compiled):
        clew.manual_seed(0)
        model = make(clew.nn)
        data = clew.randn(6, *shape)

        def inner(x):
            return model(x).float().pow(2).mean()

        def within(x):
            with clew.autocast("cpu"):
                return inner(x)

        called = clew.compile(inner if around else within) if compiled else inner if around else within

        def step(x):
            if not around:
                return called(x)
            with clew.autocast("cpu"):
                return called(x)

        result = steps(model, step, data)
        return result, called

    (losses, parameters), _ = trained(False)
    (replayed, others), called = trained(True)
    assert called.hits > 0
    assert losses == replayed
    assert all(clew.equal(one, other) for one, other in zip(parameters, others, strict=True))


def test_pure_functions_run_again_in_their_region():
    product = clew.pure(lambda x: (x @ x).float())

    def within(x):
        with clew.autocast("cpu"):
            return product(x) * 2

    called, x = clew.compile(within), clew.rand(3, 3)
    for _ in range(3):
        assert clew.equal(called(x), within(x))
    assert called.hits > 0
    assert not clew.equal(within(x), (x @ x) * 2)


def test_a_compiled_function_is_another_one_in_a_region():
    called = clew.compile(lambda x: x @ x)
    x = clew.ones(2, 2)
    for _ in range(3):
        assert called(x).dtype == clew.float32
        with clew.autocast("cpu"):
            assert called(x).dtype == clew.bfloat16
        with clew.autocast("cpu", dtype=clew.float16):
            assert called(x).dtype == clew.float16


@pytest.mark.parametrize("around", [True, False])
def test_kept_graphs_read_their_weights_again(around):
    w, x = clew.ones(2, 2, requires_grad=True), clew.ones(2, 2)
    with clew.autocast("cpu", enabled=around):
        assert (x @ w).dtype == (clew.bfloat16 if around else clew.float32)  # a cast of before the block
        with clew.keep_graph(), clew.autocast("cpu"):
            y = (x @ w).float().sum()
    w.data = clew.full((2, 2), 3.0)
    y.forward()
    assert y.item() == 24
    y.backward()
    assert w.grad.tolist() == [[2, 2], [2, 2]]
    assert w.grad.dtype == clew.float32


def test_transforms():
    a, w = clew.rand(5, 3, 4), clew.rand(4, 2)
    with clew.autocast("cpu"):
        batched = clew.vmap(lambda one: one @ w)(a)
        assert clew.equal(batched, a @ w)
        value, tangent = clew.func.jvp(lambda one: one @ w, (a[0],), (clew.ones(3, 4),))
        assert value.dtype == tangent.dtype == clew.bfloat16
        gradient = clew.func.grad(lambda one: (one @ w).float().sum())(a[0])
    assert gradient.dtype == clew.float32


def test_an_interpreter_computes_outside_of_the_region():
    seen = []

    class Product(clew.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a @ a

        @staticmethod
        def backward(ctx, grad):
            return grad

    def handle(call):
        seen.append((clew.ones(1, 1) @ clew.ones(1, 1)).dtype)
        call.run()

    interpreter = _core.Interpreter(handle)
    with clew.autocast("cpu"):
        interpreter.push()
        try:
            results = [clew.ones(2, 2) + 1, Product.apply(clew.ones(2, 2, requires_grad=True))]
        finally:
            interpreter.pop()
        results.append(clew.ones(2, 2) @ clew.ones(2, 2))
    assert set(seen) == {clew.float32}
    assert [one.dtype for one in results] == [clew.float32, clew.bfloat16, clew.bfloat16]


def test_classes_and_modes_are_asked_once():
    asked = []

    class Mode(clew.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(func)
            return func(*args, **(kwargs or {}))

    class Named(clew.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    a = clew.ones(2, 2)
    with clew.autocast("cpu"):
        with Mode():
            result = clew.mm(a, a)
        assert result.dtype == clew.bfloat16
        assert asked == [clew.mm]
        result = clew.mm(a.as_subclass(Named), a)
    assert asked == [clew.mm] * 2
    assert (type(result), result.dtype) == (Named, clew.bfloat16)


def test_the_first_region_warns(monkeypatch):
    import subprocess
    import sys

    program = (
        "import clew\n"
        "with clew.autocast('cpu', enabled=False): pass\n"
        "for _ in range(2):\n"
        "    with clew.autocast('cpu'): pass\n"
    )
    found = subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True)
    assert found.stderr.count("UserWarning: autocast: products of bfloat16") == 1
    assert "<string>:4" in found.stderr


def test_scaled_training_in_float16_is_pytorchs(oracle):
    def trained(module):
        w = module.full((4, 4), 0.05, requires_grad=True)
        optimizer, scaler = module.optim.SGD([w], lr=0.1), module.amp.GradScaler("cpu", init_scale=2.0**16)
        seen = []
        for factor in (1.0, 1e5, 1.0, 1.0):
            optimizer.zero_grad()
            with module.autocast("cpu", dtype=module.float16):
                loss = module.nn.functional.mse_loss(module.ones(4, 4) @ w * factor, module.zeros(4, 4))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            seen.append(scaler.get_scale())
        return seen, w.detach().numpy()

    (scales, weights), (expected, others) = trained(clew), trained(oracle)
    assert scales == expected
    assert scales[0] != scales[1]
    numpy.testing.assert_allclose(weights, others, rtol=2**-9)


def test_float16_gradients_are_not_unscaled(oracle):
    for module in (clew, oracle):
        w = module.ones(1, dtype=module.float16, requires_grad=True)
        optimizer, scaler = module.optim.SGD([w], lr=0.1), module.amp.GradScaler("cpu", init_scale=2.0)
        scaler.scale(w.sum()).backward()
        with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
            scaler.unscale_(optimizer)


def test_nothing_warns_where_it_is_off():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with clew.autocast("cpu", enabled=False):
            assert (clew.ones(1, 1) @ clew.ones(1, 1)).dtype == clew.float32
