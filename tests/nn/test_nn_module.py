"""`Module`: registration, traversal, modes, conversion, text, copies."""

import copy
import gc
import pickle
import weakref

import pytest


def make_block(torch):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(2))
            self.register_parameter("shift", None)
            self.register_buffer("mean", torch.zeros(2))
            self.register_buffer("count", torch.zeros((), dtype=torch.int64), persistent=False)
            self.inner = torch.nn.Linear(2, 3)
            self.absent = None

        def forward(self, x, *, power=1):
            return self.inner(x * self.scale + self.mean) ** power

    return Block()


def names(pairs):
    return [name for name, _ in pairs]


def test_what_is_assigned_is_registered(torch):
    block = make_block(torch)
    assert names(block.named_parameters()) == ["scale", "inner.weight", "inner.bias"]
    assert names(block.named_buffers()) == ["mean", "count"]
    assert names(block.named_children()) == ["inner"]
    assert names(block.named_modules()) == ["", "inner"]
    assert names(block.named_parameters(prefix="model")) == ["model.scale", "model.inner.weight", "model.inner.bias"]
    assert names(block.named_parameters(recurse=False)) == ["scale"]
    assert block.shift is None
    assert list(block._parameters) == ["scale", "shift"]


def test_keyword_arguments_reach_forward(torch):
    block = make_block(torch)
    x = torch.ones(1, 2)
    assert torch.allclose(block(x, power=2), block(x) ** 2)


def test_forward_is_required(torch):
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        torch.nn.Module()(1)


def test_shared_parts_come_once(torch):
    layer = torch.nn.Linear(2, 2)
    model = torch.nn.Sequential(layer, layer)
    model[0].extra = layer.weight
    assert names(model.named_parameters()) == ["0.weight", "0.bias"]
    assert names(model.named_modules()) == ["", "0"]
    assert len(names(model.named_modules(remove_duplicate=False))) == 3
    assert len(names(model.named_parameters(remove_duplicate=False))) == 6
    assert len(list(model.children())) == 1


def test_a_name_can_change_its_kind(torch):
    block = make_block(torch)
    block.mean = torch.nn.Parameter(torch.ones(2))
    assert "mean" in dict(block.named_parameters())
    assert "mean" not in dict(block.named_buffers())
    block.inner = None
    assert names(block.named_children()) == []
    block.inner = torch.nn.ReLU()
    block.absent = torch.nn.Tanh()
    assert names(block.named_children()) == ["inner", "absent"]
    block.plain = 3
    block.plain = torch.nn.Parameter(torch.ones(1))
    assert "plain" in dict(block.named_parameters())


def test_assigning_keeps_the_place_in_the_order(torch):
    model = torch.nn.Module()
    for name in "abc":
        setattr(model, name, torch.nn.Parameter(torch.ones(1)))
    model.a = torch.nn.Parameter(torch.zeros(1))
    assert names(model.named_parameters()) == ["a", "b", "c"]


def test_a_buffer_is_replaced_by_a_plain_tensor(torch):
    block = make_block(torch)
    block.mean = torch.ones(2)
    assert names(block.named_buffers()) == ["mean", "count"]
    assert list(block.state_dict()) == ["scale", "mean", "inner.weight", "inner.bias"]
    block.mean = None
    assert names(block.named_buffers()) == ["count"]


def test_buffer_objects_register_themselves(torch):
    module = torch.nn.Module()
    module.kept = torch.nn.Buffer(torch.ones(2))
    module.passing = torch.nn.Buffer(torch.ones(2), persistent=False)
    assert names(module.named_buffers()) == ["kept", "passing"]
    assert list(module.state_dict()) == ["kept"]


def test_deleting_unregisters(torch):
    block = make_block(torch)
    del block.scale, block.mean, block.inner
    assert names(block.named_parameters()) == []
    assert names(block.named_buffers()) == ["count"]
    assert list(block.children()) == []
    with pytest.raises(AttributeError, match="scale"):
        _ = block.scale
    with pytest.raises(AttributeError):
        del block.scale


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (lambda t, b: setattr(b, "scale", 3), TypeError, "cannot assign 'int' as parameter 'scale'"),
        (lambda t, b: setattr(b, "scale", t.ones(2)), TypeError, "as parameter 'scale'"),
        (lambda t, b: setattr(b, "inner", 3), TypeError, "cannot assign 'int' as child module 'inner'"),
        (lambda t, b: setattr(b, "mean", 3), TypeError, "cannot assign 'int' as buffer 'mean'"),
        (lambda t, b: b.register_parameter("a.b", None), KeyError, r"parameter name can\\'t contain"),
        (lambda t, b: b.register_parameter("", None), KeyError, "parameter name can.*t be empty string"),
        (lambda t, b: b.register_parameter("forward", None), KeyError, "attribute 'forward' already exists"),
        (lambda t, b: b.register_parameter("mean", None), KeyError, "attribute 'mean' already exists"),
        (lambda t, b: b.register_parameter("p", t.ones(2)), TypeError, "object to parameter 'p'"),
        (lambda t, b: b.register_parameter(3, None), TypeError, "parameter name should be a string"),
        (lambda t, b: b.register_buffer("a.b", None), KeyError, r"buffer name can\\'t contain"),
        (lambda t, b: b.register_buffer("p", 3), TypeError, "cannot assign 'int' object to buffer 'p'"),
        (lambda t, b: b.register_buffer("scale", None), KeyError, "attribute 'scale' already exists"),
        (lambda t, b: b.add_module("a.b", None), KeyError, "module name can.*t contain"),
        (lambda t, b: b.add_module("m", 3), TypeError, "int is not a Module subclass"),
        (lambda t, b: b.train("yes"), ValueError, "training mode is expected to be boolean"),
        (lambda t, b: b.to(t.int64), TypeError, "only accepts floating point"),
        (lambda t, b: b.get_submodule("inner.nothing"), AttributeError, "has no attribute `nothing`"),
        (lambda t, b: b.get_submodule("scale"), AttributeError, "`scale` is not an nn.Module"),
        (lambda t, b: b.get_parameter("mean"), AttributeError, "`mean` is not an nn.Parameter"),
        (lambda t, b: b.get_buffer("scale"), AttributeError, "`scale` is not a buffer"),
        (lambda t, b: b.missing, AttributeError, "'Block' object has no attribute 'missing'"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(act, error, text, torch):
    block = make_block(torch)
    before = list(block.state_dict())
    with pytest.raises(error, match=text):
        act(torch, block)
    assert list(block.state_dict()) == before
    assert names(block.named_buffers()) == ["mean", "count"]


def test_nothing_is_registered_before_init(torch):
    class Early(torch.nn.Module):
        def __init__(self, value):
            self.early = value

    for value in (torch.nn.Parameter(torch.ones(1)), torch.nn.ReLU()):
        with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
            Early(value)
    assert Early(3).early == 3


def test_a_parameter_with_a_history_is_refused(torch):
    module = torch.nn.Module()
    with pytest.raises(TypeError):
        module.register_parameter("p", torch.ones(1, requires_grad=True) * 2)


def test_parts_are_found_by_dotted_names(torch):
    model = torch.nn.Sequential(make_block(torch))
    assert model.get_submodule("0.inner") is model[0].inner
    assert model.get_submodule("") is model
    assert model.get_parameter("0.inner.weight") is model[0].inner.weight
    assert model.get_buffer("0.mean") is model[0].mean
    model.set_submodule("0.inner", torch.nn.Identity())
    assert isinstance(model[0].inner, torch.nn.Identity)


def test_the_tables_can_be_written_to(torch):
    block = make_block(torch)
    replacement = torch.nn.Identity()
    block._modules["inner"] = replacement
    assert block.inner is replacement
    block._parameters["scale"] = None
    assert block.scale is None
    del block._buffers["mean"]
    assert not hasattr(block, "mean")


def test_modes_reach_all_modules(torch):
    model = torch.nn.Sequential(make_block(torch), torch.nn.Dropout())
    assert model.eval() is model
    assert [module.training for module in model.modules()] == [False] * 4
    model.train()
    assert [module.training for module in model.modules()] == [True] * 4


def test_apply_goes_from_the_leaves_up(torch):
    model = torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU()), torch.nn.Tanh())
    seen = []
    assert model.apply(lambda module: seen.append(type(module).__name__)) is model
    assert seen == ["ReLU", "Sequential", "Tanh", "Sequential"]


def test_conversion_keeps_the_objects(torch):
    block = make_block(torch)
    parameters = list(block.parameters())
    block(torch.ones(1, 2)).sum().backward()
    assert block.double() is block
    assert [id(p) for p in block.parameters()] == [id(p) for p in parameters]
    assert all(p.dtype == p.grad.dtype == torch.float64 for p in parameters)
    assert all(p.is_leaf and p.requires_grad for p in parameters)
    assert block.mean.dtype == torch.float64
    assert block.count.dtype == torch.int64
    block.to("cpu", torch.float32)
    assert block.scale.dtype == torch.float32
    block.to(torch.ones(1, dtype=torch.float64))
    assert block.scale.dtype == torch.float64
    assert block.float().scale.dtype == torch.float32
    block(torch.ones(1, 2)).sum().backward()


def test_requires_grad_reaches_all_parameters(torch):
    block = make_block(torch).requires_grad_(False)
    assert not any(p.requires_grad for p in block.parameters())
    assert not block(torch.ones(1, 2)).requires_grad


def test_zero_grad_drops_or_zeroes(torch):
    block = make_block(torch)
    block(torch.ones(1, 2)).sum().backward()
    grad = block.scale.grad
    block.zero_grad(set_to_none=False)
    assert block.scale.grad is grad
    assert not grad.any()
    block.zero_grad()
    assert all(p.grad is None for p in block.parameters())


def test_zeroing_cuts_a_recorded_gradient(torch):
    weight = torch.nn.Parameter(torch.ones(2))
    module = torch.nn.Module()
    module.weight = weight
    (grad,) = torch.autograd.grad((weight**3).sum(), weight, create_graph=True)
    weight.grad = grad
    module.zero_grad(set_to_none=False)
    assert weight.grad.grad_fn is None
    assert not weight.grad.requires_grad


def test_the_text_is_pytorchs(torch, oracle):
    def text(m):
        class Odd(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.block = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.ReLU())
                self.leaf = m.nn.Module()

            def extra_repr(self):
                return "one\ntwo"

        return repr([Odd(), m.nn.Sequential(), m.nn.Sequential(m.nn.Sequential(Odd()))])

    assert text(torch) == text(oracle)


def test_copies_are_independent(torch):
    block = make_block_global(torch)
    for twin in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert names(twin.named_parameters()) == names(block.named_parameters())
        assert names(twin.named_buffers()) == names(block.named_buffers())
        with torch.no_grad():
            twin[0].weight.fill_(7)
        assert not (block[0].weight == 7).any()
        assert isinstance(twin[0].weight, torch.nn.Parameter)
        assert twin[0].weight.requires_grad


def make_block_global(torch):
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))


def test_tied_parameters_stay_tied_in_a_copy(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    model[1].weight = model[0].weight
    twin = copy.deepcopy(model)
    assert twin[0].weight is twin[1].weight
    assert twin[0].weight is not model[0].weight


def test_a_module_dies_with_its_last_name(torch):
    gc.collect()
    gc.disable()
    try:
        block = make_block(torch)
        block(torch.ones(1, 2)).sum().backward()
        gone = weakref.ref(block)
        weight_gone = weakref.ref(block.inner.weight)
        del block
        assert gone() is None
        assert weight_gone() is None
    finally:
        gc.enable()
