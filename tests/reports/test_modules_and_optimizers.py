"""Public reports on modules, optimizers, schedulers, grad modes and copies, each as a test.

The first line of a docstring is the report.
"""

import copy
import io
import pickle

import pytest


def test_zero_gradients_are_not_no_gradients(torch):
    """https://github.com/pytorch/pytorch/issues/83769, https://github.com/pytorch/pytorch/pull/42754

    With gradients of 0 momentum and weight decay still move a parameter; without a gradient it stays.
    """
    for make in (
        lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9),
        lambda p: torch.optim.SGD([p], lr=0.1, weight_decay=0.5),
        lambda p: torch.optim.Adam([p], lr=0.1),
        lambda p: torch.optim.AdamW([p], lr=0.1, weight_decay=0.5),
        lambda p: torch.optim.RMSprop([p], lr=0.1, momentum=0.9),
    ):
        p = torch.ones(2, requires_grad=True)
        optimizer = make(p)
        p.sum().backward()
        optimizer.step()
        before = p.detach().clone()
        optimizer.zero_grad()
        assert p.grad is None
        optimizer.step()
        assert p.equal(before)
        p.grad = torch.zeros(2)
        optimizer.step()
        assert not p.equal(before)


def test_an_optimizer_with_gradients_of_some(torch):
    """https://github.com/pytorch/pytorch/issues/41696

    Parameters that a loss did not reach have no gradient, and no state is made for them.
    """
    first, second = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    optimizer = torch.optim.Adam([first, second], lr=0.1)
    first.sum().backward()
    optimizer.step()
    assert second.item() == 1
    assert list(optimizer.state) == [first]


def test_the_scheduler_steps_after_the_optimizer(torch):
    """https://github.com/deepspeedai/DeepSpeed/issues/1120, https://github.com/huggingface/transformers/issues/2277

    A scheduler that steps before the optimizer skips the first learning rate, and warns.
    """
    p = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
    with pytest.warns(UserWarning, match="lr_scheduler.step"):
        scheduler.step()
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.01)


def test_no_grad_as_a_decorator_inside_no_grad(torch):
    """https://github.com/pytorch/pytorch/issues/10858

    A call of a function decorated with one shared `no_grad()` turned gradients on again for its caller.
    """

    @torch.no_grad()
    def nothing(x):
        return x * 2

    with torch.no_grad():
        nothing(torch.ones(1))
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def recursive(depth):
        if depth:
            recursive(depth - 1)
        return torch.is_grad_enabled()

    assert recursive(3) is False
    assert torch.is_grad_enabled()


def test_decorated_generators(torch):
    """https://github.com/pytorch/pytorch/pull/31792, https://github.com/pytorch/pytorch/issues/31497

    `no_grad` around a generator function did nothing for its body, as that runs later; between values the mode is the
    caller's.
    """
    modes = []

    @torch.no_grad()
    def values():
        for _ in range(2):
            modes.append(torch.is_grad_enabled())
            yield torch.ones(1, requires_grad=True) * 2

    for value in values():
        assert torch.is_grad_enabled()
        assert not value.requires_grad
    assert modes == [False, False]


def test_generators_that_are_sent_to(torch):
    """https://github.com/pytorch/pytorch/issues/48713

    Decorated generators took no values (`send`), no exceptions (`throw`), were not closed, and lost their return value.
    """
    log = []

    @torch.no_grad()
    def echo():
        received = None
        try:
            while True:
                try:
                    received = yield (received, torch.is_grad_enabled())
                except ValueError:
                    received = "error"
                if received == "stop":
                    return "done"
        finally:
            log.append(torch.is_grad_enabled())

    generator = echo()
    assert next(generator) == (None, False)
    assert generator.send(3) == (3, False)
    assert generator.throw(ValueError) == ("error", False)
    with pytest.raises(StopIteration) as stopped:
        generator.send("stop")
    assert stopped.value.value == "done"
    generator = echo()
    next(generator)
    generator.close()
    assert log == [False, False]
    assert torch.is_grad_enabled()


def test_a_generator_that_is_left_inside_no_grad(torch):
    """https://github.com/pytorch/pytorch/pull/49017

    A `with no_grad()` around a `yield` leaves the caller in that mode until the generator goes on: as in PyTorch.
    """

    def values():
        with torch.no_grad():
            yield 1
        yield 2

    generator = values()
    next(generator)
    assert not torch.is_grad_enabled()
    next(generator)
    assert torch.is_grad_enabled()


def test_deepcopy_of_a_module_that_keeps_its_output(torch):
    """https://github.com/pytorch/pytorch/issues/54580, https://github.com/sktime/sktime/issues/10928

    A module that keeps an output cannot be copied: only leaves can. Detached, it can.
    """

    class Keeps(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x):
            self.out = self.layer(x)
            return self.out

    module = Keeps()
    module(torch.ones(1, 2))
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(module)
    module.out = module.out.detach()
    other = copy.deepcopy(module)
    assert other.layer.weight.equal(module.layer.weight)
    assert other.layer.weight is not module.layer.weight
    assert other.out.equal(module.out)


def test_deepcopy_keeps_what_is_shared(torch):
    """https://github.com/pytorch/pytorch/issues/81186

    A copy of a module with tied weights ties its own. A parameter's copy begins without a gradient, a tensor's has one.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net(torch.ones(1, 2)).sum().backward()
    other = copy.deepcopy(net)
    assert other[0].weight is other[1].weight
    assert other[0].weight.grad is None
    leaf = torch.ones(2, requires_grad=True)
    leaf.sum().backward()
    twin = copy.deepcopy(leaf)
    twin.grad.add_(1)
    assert (leaf.grad.tolist(), twin.grad.tolist()) == ([1, 1], [2, 2])


def test_pickles_have_no_history(torch):
    """https://github.com/pytorch/pytorch/issues/48697

    Of a result with a history `torch.save` keeps the value; `requires_grad` stays, and views stay views of one storage.
    """
    x = torch.arange(4.0, requires_grad=True)
    y = x * 2
    file = io.BytesIO()
    torch.save({"y": y, "part": y[1:]}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["y"].tolist() == [0, 2, 4, 6]
    assert loaded["y"].is_leaf
    assert loaded["y"].requires_grad
    assert loaded["y"].untyped_storage().data_ptr() == loaded["part"].untyped_storage().data_ptr()
    again = pickle.loads(pickle.dumps(torch.nn.Linear(2, 1)))
    assert isinstance(again.weight, torch.nn.Parameter)


def test_parametrizations_pass_gradients_to_the_original(torch):
    """https://github.com/pytorch/pytorch/issues/71062

    The gradient goes to the original parameter, also where the weight is cached and used twice: a backward for each use
    failed, as the second went through the part that they share.
    """
    parametrize = torch.nn.utils.parametrize

    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

    layer = torch.nn.Linear(2, 2, bias=False)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    x = torch.tensor([[1.0, 2.0]])
    with parametrize.cached():
        assert layer.weight is layer.weight
        (layer(x) + layer(x)).sum().backward()
    expected = torch.tensor([[1.0, 2.0 + 1.0], [0.0, 2.0]]) * 2
    assert layer.parametrizations.weight.original.grad.equal(expected)


def test_spectral_norm_in_evaluation(torch):
    """https://github.com/pytorch/pytorch/issues/12737

    In evaluation mode the gradient did not reach the original weight.
    """
    layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 2))
    for training in (True, False):
        layer.train(training).zero_grad()
        layer(torch.ones(1, 3)).sum().backward()
        g = layer.parametrizations.weight.original.grad
        assert g.abs().sum() > 0
        weight = layer.parametrizations.weight.original.detach()
        assert (g * weight).sum().item() == pytest.approx(0, abs=1e-4), "the norm does not depend on the weight's size"


def test_a_write_into_the_argument_of_a_module(torch):
    """https://github.com/pytorch/pytorch/issues/9634

    A layer with `x += self.bias` changes its caller's batch: trained on that again and again it learns nothing.
    """

    class Bias(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            x += self.bias
            return x

    layer, batch = Bias(), torch.zeros(3, 2)
    out = layer(batch)
    assert out is batch
    assert batch.requires_grad
    out.sum().backward()
    assert layer.bias.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="leaf"):
        layer(torch.zeros(3, 2, requires_grad=True))


def test_attention_masks_of_a_multihead_layer(torch):
    """https://github.com/pytorch/pytorch/issues/41508

    Padding and a mask that together hide a whole row gave NaN gradients of all parameters, even if that row has no part
    in the loss. Only weights that are asked for keep the NaN of their row.
    """
    layer = torch.nn.MultiheadAttention(2, 1)
    x = torch.rand(4, 2, 2)
    padding = torch.tensor([[False] * 4, [False, False, True, True]])
    window = torch.tensor([[0 <= i - j <= 1 for j in range(4)] for i in range(4)]).logical_not()
    out, _ = layer(x, x, x, key_padding_mask=padding, attn_mask=window, need_weights=False)
    out[:2].sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


def test_gradients_of_two_dtypes(torch):
    """https://github.com/pytorch/pytorch/pull/34904

    The gradient of a float32 leaf that was used as float64 is float32; a `.grad` of another dtype is refused.
    """
    leaf = torch.ones(2, requires_grad=True)
    (leaf.double() * 2).sum().backward()
    assert leaf.grad.dtype == torch.float32
    with pytest.raises((RuntimeError, TypeError), match=r"dtype|type"):
        leaf.grad = torch.ones(2, dtype=torch.float64)


def test_an_embedding_with_sparse_use(torch):
    """https://github.com/pytorch/pytorch/issues/1528, https://github.com/pytorch/pytorch/issues/1631

    Rows that are looked up several times get the sum of their gradients; the padding row gets none.
    """
    table = torch.nn.Embedding(4, 2, padding_idx=0)
    table(torch.tensor([1, 1, 0, 3, 1])).sum().backward()
    assert table.weight.grad.tolist() == [[0, 0], [3, 3], [0, 0], [1, 1]]
    optimizer = torch.optim.SGD(table.parameters(), lr=1.0)
    before = table.weight.detach().clone()
    optimizer.step()
    assert (table.weight - before).abs().sum(1).tolist() == pytest.approx([0, 6, 0, 2])
