"""Public reports on hooks, saved tensors, checkpoints and threads, each as a test.

The first line of a docstring is the report.
"""

import math
import threading
import warnings

import pytest

checkpoints = pytest.mark.parametrize("use_reentrant", [False, True], ids=["by hooks", "reentrant"])


def test_the_order_of_hooks(torch):
    """https://github.com/pytorch/pytorch/issues/35802, https://github.com/pytorch/pytorch/pull/85849

    Hooks of a tensor run before those of its node, in the order of their registration, and see each other's gradient.
    """
    seen = []

    def hook(name, factor):
        def call(g):
            seen.append((name, g.item()))
            return g * factor

        return call

    x = torch.tensor(1.0, requires_grad=True)
    y = x * 1
    y.grad_fn.register_prehook(lambda g: seen.append(("node", g[0].item())))
    y.register_hook(hook("first", 2))
    y.register_hook(hook("second", 3))
    y.retain_grad()
    y.backward()
    assert seen == [("first", 1), ("second", 2), ("node", 6)]
    assert y.grad.item() == 6, "retain_grad comes after all hooks, whenever they were registered"
    assert x.grad.item() == 6


def test_post_accumulate_hooks(torch):
    """https://github.com/pytorch/pytorch/pull/107063

    They come after the hooks of the tensor, once `.grad` is there, and may free it: an optimizer within backward.
    """
    seen = []
    x = torch.tensor(1.0, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.item()))
    x.register_hook(lambda g: g * 5)
    (x * 2).backward()
    (x * 2).backward()
    assert seen == [10, 20]

    def step(leaf):
        with torch.no_grad():
            leaf -= 0.1 * leaf.grad
        leaf.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2).backward()
    assert x.grad is None
    assert x.item() == pytest.approx(1 - 0.1 * 30)
    handle.remove()


def test_hooks_of_a_tensor_that_is_written(torch):
    """https://github.com/pytorch/pytorch/pull/79996

    A hook belongs to the value it was registered on: after `a.mul_(2)` it gets the gradient of the old value.
    """
    leaf = torch.tensor(1.0, requires_grad=True)
    a = leaf.clone()
    seen = []
    a.register_hook(lambda g: seen.append(("old", g.item())))
    a.mul_(2)
    a.register_hook(lambda g: seen.append(("new", g.item())))
    a.backward()
    assert seen == [("new", 1), ("old", 2)]


def test_module_hooks_beside_writes(torch):
    """https://github.com/pytorch/pytorch/issues/61519

    A full backward hook on a module makes its output a view: a write to it, by `relu(inplace=True)`, raises.
    """
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda module, before, after: None)
    net = torch.nn.Sequential(layer, torch.nn.ReLU(inplace=True))
    with pytest.raises(RuntimeError, match=r"BackwardHookFunction.*is a view and is being modified inplace"):
        net(torch.ones(1, 2, requires_grad=True)).sum().backward()


def test_full_backward_hooks_see_gradients_of_the_module(torch):
    """https://github.com/pytorch/pytorch/issues/7040, https://github.com/pytorch/pytorch/issues/598

    They get the gradients to the module's inputs and outputs, not those of its last operation, and may replace them.
    """
    seen = []
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))

    def hook(module, before, after):
        seen.append((before[0].shape, after[0].shape))
        return (before[0] * 0,)

    net.register_full_backward_hook(hook)
    x = torch.ones(4, 2, requires_grad=True)
    net(x).sum().backward()
    assert seen == [((4, 2), (4, 1))]
    assert x.grad.abs().sum().item() == 0


def test_full_backward_hooks_of_a_module_whose_input_needs_no_gradient(torch):
    """https://github.com/pytorch/pytorch/issues/56380, https://github.com/pytorch/pytorch/issues/117925

    The hook of the first module did not run, as its input requires no gradient. It runs, with None for the input.
    """
    seen = []
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    for layer in net:
        layer.register_full_backward_hook(lambda module, before, after: seen.append((module, before[0] is None)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Full backward hook is firing")
        net(torch.ones(4, 2)).sum().backward()
    assert seen == [(net[2], False), (net[1], False), (net[0], True)]


def counted(torch, *layers):
    """A net that counts its runs."""
    net = torch.nn.Sequential(*layers)
    net.runs = 0

    def count(*_):
        net.runs += 1

    net.register_forward_pre_hook(count)
    return net


@checkpoints
@pytest.mark.parametrize("depth", [1, 4])
def test_a_checkpoint_runs_its_block_twice(torch, use_reentrant, depth):
    """https://github.com/pytorch/pytorch/issues/62471, https://github.com/pytorch/pytorch/issues/96136

    A block with batch norms runs once more in backward, not once for each layer; its statistics move twice.
    """
    layers = [layer for _ in range(depth) for layer in (torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))]
    net = counted(torch, *layers)
    x = torch.arange(12.0).reshape(4, 3).requires_grad_()
    torch.utils.checkpoint.checkpoint(net, x, use_reentrant=use_reentrant).sum().backward()
    assert net.runs == 2
    assert all(layer.num_batches_tracked.item() == 2 for layer in layers[1::2])


def test_a_checkpoint_of_a_long_sequence(torch):
    """https://github.com/pytorch/pytorch/issues/96866, https://github.com/pytorch/pytorch/issues/82482

    Each tensor that was saved in the block is asked for once: else the block runs again and again.
    """
    cell = torch.nn.LSTMCell(2, 2)
    runs = []

    def unrolled(x, h, c):
        runs.append(1)
        for _ in range(10):
            h, c = cell(x, (h, c))
        return h.sum()

    arguments = [torch.ones(1, 2, requires_grad=True) for _ in range(3)]
    torch.utils.checkpoint.checkpoint(unrolled, *arguments, use_reentrant=False).backward()
    assert len(runs) == 2
    given = [a.grad for a in arguments]
    plain = torch.autograd.grad(unrolled(*arguments), arguments)
    assert all(torch.allclose(a, b) for a, b in zip(given, plain, strict=True))


@pytest.mark.parametrize("name", ["batch_norm", "pow", "div", "atan2", "where", "clamp", "lerp", "lstm", "gelu", "svd"])
def test_saved_tensors_are_unpacked_once(torch, name):
    """https://github.com/pytorch/pytorch/issues/82156, https://github.com/state-spaces/mamba/pull/1021

    Hooks that give each saved tensor once (as checkpoints do) fail where a backward unpacks one twice.
    """
    functional = torch.nn.functional
    x, y = (torch.rand(4, 3, dtype=torch.float64).add(0.5).requires_grad_() for _ in range(2))
    cell = torch.nn.LSTMCell(3, 3).double()
    call = {
        "batch_norm": lambda: functional.batch_norm(x, None, None, y[0], y[1], training=True),
        "pow": lambda: x**y,
        "div": lambda: x / y,
        "atan2": lambda: torch.atan2(x, y),
        "where": lambda: torch.where(x > 1, x * y, y),
        "clamp": lambda: x.clamp(y, y + 0.5),
        "lerp": lambda: torch.lerp(x, y, x),
        "lstm": lambda: cell(x)[0],
        "gelu": lambda: functional.gelu(x),
        "svd": lambda: torch.linalg.svdvals(x),
    }[name]
    unpacked = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda box: (unpacked.append(id(box)), box[0])[1]):
        out = call()
    out.sum().backward()
    assert len(set(unpacked)) == len(unpacked)


@checkpoints
def test_dropout_in_a_checkpoint(torch, use_reentrant):
    """https://github.com/pytorch/pytorch/issues/62471

    The second run of the block draws the same numbers: gradients are those of the block without a checkpoint.
    """
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    x = torch.ones(2, 3, requires_grad=True)
    gradients = []
    for run in (net, lambda x: torch.utils.checkpoint.checkpoint(net, x, use_reentrant=use_reentrant)):
        torch.manual_seed(1)
        x.grad = None
        run(x).sum().backward()
        gradients.append(x.grad)
    assert torch.equal(*gradients)


@checkpoints
def test_a_parameter_used_in_two_checkpoints(torch, use_reentrant):
    """https://github.com/pytorch/pytorch/issues/81296

    A hook on a parameter that several blocks share: the reentrant form calls it once for each block.
    """
    weight = torch.tensor([2.0], requires_grad=True)
    calls = []
    weight.register_hook(lambda g: calls.append(g.item()))
    x = torch.tensor([1.0], requires_grad=True)
    block = lambda x: x * weight  # noqa: E731
    y = x
    for _ in range(2):
        y = torch.utils.checkpoint.checkpoint(block, y, use_reentrant=use_reentrant)
    y.backward()
    assert weight.grad.item() == 4
    assert sum(calls) == 4
    assert len(calls) == (2 if use_reentrant else 1)


def test_second_derivatives_through_a_checkpoint(torch):
    """https://github.com/pytorch/pytorch/pull/90105

    A checkpoint may contain `autograd.grad`, may lie in another one, and has a second derivative.
    """
    checkpoint = torch.utils.checkpoint.checkpoint

    def inner(x):
        (g,) = torch.autograd.grad((x**4).sum(), x, create_graph=True)
        return g.sum()

    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    nested = checkpoint(lambda x: checkpoint(inner, x, use_reentrant=False) * 1, x, use_reentrant=False)
    (second,) = torch.autograd.grad(nested, x)
    assert second.item() == 12 * 4
    y = checkpoint(lambda x: (x**3).sum(), x, use_reentrant=False)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert torch.autograd.grad(g, x)[0].item() == 12


def test_pack_hooks_that_write(torch):
    """https://github.com/pytorch/pytorch/pull/62362

    A pack hook that writes to the tensor it is given changes the forward values; that is refused.
    """

    def pack(t):
        t += 2
        return t

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="pack hook"), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        (x * 1).exp() * (x * 1)


def test_saved_tensors_on_a_disk(torch, tmp_path):
    """https://github.com/pytorch/pytorch/pull/62362

    The documentation's example: hooks that write what is saved to files and read it in backward.
    """
    names = []

    def pack(t):
        name = tmp_path / str(len(names))
        names.append(name)
        torch.save(t, name)
        return name

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, torch.load):
        y = (x.exp() * x).sin().sum()
    y.backward()
    value = x.detach()
    expected = (value.exp() * value).cos() * (value.exp() * value + value.exp())
    assert torch.allclose(x.grad, expected)
    assert names


def test_backwards_of_two_threads(torch):
    """https://github.com/pytorch/pytorch/issues/18333, https://github.com/pytorch/pytorch/issues/17566

    Backwards from several threads ran one after the other; gradients of one leaf have to add up, none may be lost.
    """
    leaf = torch.zeros(3, requires_grad=True)
    failures = []

    def work(factor):
        try:
            for _ in range(50):
                (leaf * factor).sum().backward()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in (1.0, 2.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert leaf.grad.tolist() == [350] * 3


def test_a_backward_beside_one_that_builds(torch):
    """https://github.com/tracel-ai/burn/issues/5573

    A backward in one thread freed parts of a graph that another thread was still building on the same leaf.
    """
    leaf = torch.ones(4, requires_grad=True)
    expected = torch.full((4,), 3 * (1 - math.tanh(3) ** 2) + 1 - math.tanh(1) ** 2)
    stop = threading.Event()

    def sweep():
        while not stop.is_set():
            torch.autograd.grad((leaf * 2).exp().sum(), leaf)

    thread = threading.Thread(target=sweep)
    thread.start()
    try:
        for _ in range(200):
            y = torch.cat([leaf * 3, leaf]).tanh()
            (g,) = torch.autograd.grad(y.sum(), leaf)
            assert torch.allclose(g, expected)
    finally:
        stop.set()
        thread.join()
