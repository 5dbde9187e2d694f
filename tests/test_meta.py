"""Tensors without values: the device "meta". The same program runs here and in PyTorch."""

import copy
import pickle

import pytest

import clew


def told(tensor):
    return str(tensor.device), tuple(tensor.shape), tensor.stride(), str(tensor.dtype), tensor.requires_grad


MAKERS = [f"torch.{name}(2, 3, device='meta')" for name in ("zeros", "ones", "empty", "rand", "randn")] + [
    "torch.tensor([1, 2], device='meta')",
    "torch.as_tensor([1.0], device='meta')",
    "torch.as_tensor(torch.ones(2), device='meta')",
    "torch.asarray([1.0], device='meta')",
    "torch.scalar_tensor(1.0, device='meta')",
    "torch.full((2,), 3, device='meta')",
    "torch.eye(2, device='meta')",
    "torch.arange(5, device='meta')",
    "torch.arange(1.0, 5.0, 0.5, device='meta')",
    "torch.linspace(0, 1, 3, device='meta')",
    "torch.logspace(0, 1, 3, device='meta')",
    "torch.empty_strided((2, 2), (1, 2), device='meta')",
    "torch.randint(5, (2,), device='meta')",
    "torch.randperm(3, device='meta')",
    "torch.hann_window(4, device='meta')",
    "torch.tril_indices(3, 3, device='meta')",
    "torch.zeros_like(torch.ones(2, 3).t(), device='meta')",
    "torch.empty_like(torch.ones(2), dtype=torch.int64, device='meta')",
    "torch.rand_like(torch.ones(2), device='meta')",
    "torch.randint_like(torch.ones(2), 5, device='meta')",
    "torch.ones(2).new_zeros(3, device='meta')",
    "torch.ones(2).new_tensor([1.0], device='meta')",
    "torch.ones(2, device='meta').new_ones(3)",
    "torch.ones(2, device='meta').new_ones(3, device='cpu')",
    "torch.ones(2, device='meta').new_empty_strided((2, 2), (1, 2))",
    "torch.zeros_like(torch.ones(2, 3, device='meta').t())",
    "torch.empty_like(torch.ones(2, device='meta'), device='cpu')",
    "torch.ones(2, 3).to('meta')",
    "torch.ones(2, 3).t().to('meta', torch.float64)",
    "torch.ones(2).to(torch.ones(1, dtype=torch.float64, device='meta'))",
    "torch.ones(2, requires_grad=True).to('meta')",
    "torch.ones(2, device=torch.device('meta', 1))",
    "torch.nn.Linear(2, 3, device='meta').weight",
    "torch.nn.Linear(2, 3).to('meta').bias",
    "torch.nn.Linear(2, 3, device='meta').to_empty(device='cpu').weight",
    "torch.nn.Embedding(3, 2, device='meta')(torch.tensor([1], device='meta'))",
    "torch.ones(2, 3, device='meta')[torch.tensor([0, 1])]",
    "torch.ones(2, 3, device='meta')[0, 1:]",
    "torch.ones(2, device='meta') + torch.tensor(1.0)",
    "torch.tensor(1.0) * torch.ones(2, device='meta')",
    "torch.ones(2, device='meta').copy_(torch.ones(2))",
    "torch.ones(2, device='meta').add_(1)",
    "torch.add(torch.ones(2, device='meta'), 1, out=torch.empty(0, device='meta'))",
]
UNDER_A_DEFAULT = [
    *("torch.ones(2)", "torch.tensor([1.0])", "torch.as_tensor([1.0])", "torch.arange(3)", "torch.eye(2)"),
    *("torch.Tensor(2, 3)", "torch.FloatTensor(2)", "torch.randperm(3)", "torch.hann_window(4)", "torch.rand(2)"),
    *("torch.as_tensor(x)", "torch.zeros_like(x)", "x.new_zeros(2)", "x.new_tensor([1.0])"),
    *("torch.ones(2, device='cpu')", "torch.nn.Linear(2, 2).weight", "x * 2", "x[[0]]", "torch.vander(x)"),
    *("torch.full((2,), 1.0)", "torch.linspace(0, 1, 3)", "torch.block_diag(x)"),
]


@pytest.mark.parametrize("program", MAKERS)
def test_tensors_are_made_there(torch, oracle, program):
    assert told(eval(program, {"torch": torch})) == told(eval(program, {"torch": oracle}))


@pytest.mark.parametrize("program", UNDER_A_DEFAULT)
def test_a_device_is_a_context_and_a_default(torch, oracle, program):
    found = []
    for module in (torch, oracle):
        x = module.ones(3)
        with module.device("meta"):
            inside = eval(program, {"torch": module, "x": x})
        module.set_default_device("meta")
        try:
            there = module.get_default_device().type
            default = eval(program, {"torch": module, "x": x})
        finally:
            module.set_default_device(None)
        found.append((told(inside), told(default), there, module.get_default_device().type))
    assert found[0] == found[1]


def test_contexts_nest(torch):
    with torch.device("meta"), torch.device("cpu"):
        assert torch.ones(1).device.type == "cpu"
        with torch.device("meta"):
            assert torch.ones(1).is_meta
        assert not torch.ones(1).is_meta
    assert not torch.ones(1).is_meta


READS = {
    "x.sum().item()": RuntimeError,
    "bool(x.sum())": RuntimeError,
    "float(x.sum())": RuntimeError,
    "int(x.sum())": RuntimeError,
    "x.tolist()": NotImplementedError,
    "x.numpy()": TypeError,
    "x.__array__()": TypeError,
    "x.cpu()": NotImplementedError,
    "x.to('cpu')": NotImplementedError,
    "torch.ones(2, 3).copy_(x)": NotImplementedError,
    "torch.nonzero(x)": NotImplementedError,
    "torch.masked_select(x, x > 0)": NotImplementedError,
    "torch.unique(x)": NotImplementedError,
    "x[x > 0]": NotImplementedError,
    "torch.equal(x, x)": NotImplementedError,
    "torch.allclose(x, x)": RuntimeError,
    "torch.bincount(torch.ones(3, dtype=torch.int64, device='meta'))": NotImplementedError,
    "torch.ones(2, 3) + x": RuntimeError,
    "x + torch.ones(3)": RuntimeError,
    "torch.cat([x, torch.ones(2, 3)])": RuntimeError,
    "torch.where(x > 0, x, torch.zeros(2, 3))": RuntimeError,
    "torch.add(x, 1, out=torch.ones(2, 3))": RuntimeError,
    "torch.add(torch.ones(2, 3), 1, out=x)": RuntimeError,
    "torch.nn.Linear(2, 3, device='meta').to('cpu')": NotImplementedError,
    "setattr(torch.ones(2, 3), 'data', x)": RuntimeError,
    "setattr(torch.ones(2, 3, requires_grad=True), 'grad', x)": RuntimeError,
    "torch.ones(2, 3, requires_grad=True).to('meta').sum().backward()": NotImplementedError,
    "(x * c).sum().backward()": NotImplementedError,
    "(x * 2).requires_grad_().backward(torch.ones(2, 3))": RuntimeError,
}


@pytest.mark.parametrize("program", READS)
def test_what_needs_values_says_so(torch, oracle, program):
    for module in (torch, oracle):
        x, c = module.ones(2, 3, device="meta"), module.ones((), requires_grad=True)
        with pytest.raises(READS[program]):
            eval(program, {"torch": module, "x": x, "c": c})
    assert (torch.ones(2) + 1).tolist() == [2.0, 2.0]  # kernels run again


@pytest.mark.beyond
@pytest.mark.parametrize(
    "program", ["torch.ones(2, 3).add_(x)", "torch.mm(x, torch.ones(3, 2))", "x.add_(torch.ones(3))"]
)
def test_memory_and_none_do_not_mix(program):
    """PyTorch lets these pass, and the first leaves what it should have written as it was."""
    with pytest.raises(RuntimeError, match="is not on the expected device meta"):
        eval(program, {"torch": clew, "x": clew.ones(2, 3, device="meta")})


TEXTS = [
    "x",
    "x.sum()",
    "x.long()",
    "x.requires_grad_() * 2",
    "torch.nn.Parameter(x)",
    "x.double()[:, :0]",
]


@pytest.mark.parametrize("program", TEXTS)
def test_text(torch, oracle, program):
    found = [repr(eval(program, {"torch": m, "x": m.ones(2, 3, device="meta")})) for m in (torch, oracle)]
    assert found[0] == found[1]


def test_nothing_is_taken_and_nothing_computed(torch):
    x = torch.ones(10**6, 10**6, device="meta", requires_grad=True)
    y = torch.nn.functional.softmax(x @ x.T, -1).sum()
    y.backward()
    assert x.grad.shape == (10**6, 10**6)
    assert x.grad.is_meta


@pytest.mark.beyond
def test_no_bytes_are_counted():
    before = clew._core.memory_stats()["live"]
    x = clew.ones(10**6, 10**6, device="meta")
    y = x[::2].exp_()
    assert clew._core.memory_stats()["live"] == before
    assert (x._version, y._version, x.data_ptr()) == (1, 1, 0)


def test_a_network_trains_without_values(torch, oracle):
    def train(torch):
        with torch.device("meta"):
            model = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                torch.nn.Flatten(), torch.nn.Dropout(), torch.nn.Linear(8 * 15 * 15, 10),
            )  # fmt: skip
            images, classes = torch.rand(4, 3, 32, 32), torch.randint(10, (4,))
        seen = []
        for kind in (torch.optim.SGD, torch.optim.Adam):
            optimizer = kind(model.parameters(), lr=0.1)
            for _ in range(2):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(images), classes)
                loss.backward()
                optimizer.step()
            seen += [told(loss), *(told(one.grad) for one in model.parameters())]
            seen += [told(one) for one in model.state_dict().values()]
        return seen

    assert train(torch) == train(oracle)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "TransformerEncoderLayer", "MultiheadAttention", "LayerNorm"])
def test_layers_without_values(torch, oracle, kind):
    def run(torch):
        given = {"TransformerEncoderLayer": (8, 2), "MultiheadAttention": (8, 2), "LayerNorm": (8,)}.get(kind, (8, 4))
        layer = getattr(torch.nn, kind)(*given, device="meta")
        x = torch.ones(5, 3, 8, device="meta", requires_grad=True)
        result = layer(x, x, x)[0] if kind == "MultiheadAttention" else layer(x)
        first = result[0] if isinstance(result, tuple) else result
        first.sum().backward()
        return tuple(first.shape), tuple(x.grad.shape), [tuple(one.grad.shape) for one in layer.parameters()]

    assert run(torch) == run(oracle)


def test_weights_come_later(torch):
    source = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    for assign in (True, False):
        with torch.device("meta"):
            model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
        if not assign:
            model = model.to_empty(device="cpu")
        model.load_state_dict(source.state_dict(), assign=assign)
        x = torch.rand(4, 2)
        assert torch.equal(model(x), source(x))
        model(x).sum().backward()
        assert not model[0].weight.grad.is_meta


def test_autograd_and_hooks(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            assert first.is_meta
            assert second.is_meta
            assert (torch.ones(2) + 1).tolist() == [2.0, 2.0]  # what Python computes is computed
            return first * 2 + second

    x = torch.ones(2, 3, device="meta", requires_grad=True)
    seen = []
    x.register_hook(lambda grad: seen.append((torch.ones(2) * 3).tolist()))
    first, _ = Double.apply(x)
    (gradient,) = torch.autograd.grad(first.sin().sum(), x, create_graph=True)
    assert gradient.is_meta
    gradient.sum().backward()
    assert x.grad.is_meta
    assert seen == [[3.0, 3.0]] * 2


def test_copies_and_pickles(torch):
    x = torch.ones(2, 3, device="meta").t().requires_grad_()
    for other in (copy.deepcopy(x.detach()), pickle.loads(pickle.dumps(x.detach())), x.clone(), x.detach()):
        assert told(other)[:4] == told(x)[:4]
    model = copy.deepcopy(torch.nn.Linear(2, 3, device="meta"))
    assert model.weight.is_meta


def test_the_generator_stands_still(torch):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    x = torch.randn(3, device="meta").uniform_()
    torch.nn.functional.dropout(x, 0.5)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.beyond
def test_threads_see_what_others_made():
    from concurrent.futures import ThreadPoolExecutor

    x = clew.ones(3, device="meta")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: (x * i).is_meta and (clew.ones(2) * i).tolist() == [i, i], range(20)))
    assert all(found)


@pytest.mark.beyond
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_anomalies_and_inference_mode():
    x = clew.ones(3, device="meta", requires_grad=True)
    with clew.autograd.detect_anomaly():
        (x / 0).sum().backward()
    assert x.grad.is_meta
    with clew.inference_mode():
        assert (x * 2).is_meta
    seen = []

    def handle(call):
        seen.append((clew.ones(2) + 1).tolist())
        call.run()

    interpreter = clew._core.Interpreter(handle)
    interpreter.push()
    try:
        y = clew.nn.functional.softmax(x * 2, 0)
    finally:
        interpreter.pop()
    assert y.is_meta
    assert seen
    assert all(one == [2.0, 2.0] for one in seen)
