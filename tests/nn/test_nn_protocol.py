"""What libraries touch of a module: its tables, its hooks, the attributes that a wrapper hands on, copies of it."""

import collections
import copy
import pickle

import pytest


def net(m):
    return m.nn.Sequential(m.nn.Linear(3, 4), m.nn.BatchNorm1d(4), m.nn.ReLU(), m.nn.Linear(4, 2))


def test_a_wrapper_hands_on_what_it_has_not(agree):
    def program(m):
        class Wrapper(m.nn.Module):
            def __init__(self, module):
                super().__init__()
                self.module = module
                self.scale = m.nn.Parameter(m.ones(1))

            def __getattr__(self, name):
                try:
                    return super().__getattr__(name)
                except AttributeError:
                    return getattr(self.module, name)

            def forward(self, x):
                return self.module(x) * self.scale

        wrapped = Wrapper(m.nn.Linear(3, 2))
        with pytest.raises(AttributeError, match="'Linear' object has no attribute 'out'"):
            wrapped.out  # noqa: B018
        return wrapped.in_features, wrapped.weight, list(wrapped.state_dict()), wrapped(m.ones(1, 3)), repr(wrapped)

    agree(program)


def test_getattr_of_a_module_is_a_method(agree):
    def program(m):
        layer = m.nn.Linear(3, 2)
        layer.register_buffer("scale", m.ones(1))
        found = [layer.__getattr__(name) is getattr(layer, name) for name in ("weight", "bias", "scale")]
        with pytest.raises(AttributeError, match="'Linear' object has no attribute 'in_features'"):
            layer.__getattr__("in_features")
        return found

    agree(program)


def test_an_override_is_asked_for_what_is_registered(agree):
    """As by Pyro's modules, which register parameters by it: they were not trained, without an error."""

    def program(m):
        class Watch(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = m.nn.Parameter(m.ones(2))
                self.register_buffer("mean", m.zeros(2))
                self.inner = m.nn.Linear(2, 2)
                self.plain = 3

            def __getattr__(self, name):
                asked.append(name)
                return super().__getattr__(name)

        class Derived(Watch):
            pass

        asked, seen = [], []
        for kind in (Watch, Derived):
            model = kind()
            asked.clear()
            for one in (model, copy.deepcopy(model), copy.copy(model)):
                asked.clear()
                one.weight, one.mean, one.inner, one.plain  # noqa: B018
                seen.append((list(asked), sorted({"weight", "mean", "inner"} & vars(one).keys())))
            model.mean = m.ones(2)
            model.weight = None
            seen.append((model.mean, model.weight, list(model._buffers), hasattr(model, "other")))
            del model.inner
            seen.append(list(model._modules))
        return seen

    agree(program)


def test_a_class_that_is_set_later_is_asked_too(agree):
    """As `pyro.nn.module.to_pyro_module_` does."""

    def program(m):
        class Watch(m.nn.Linear):
            def __getattr__(self, name):
                asked.append(name)
                return super().__getattr__(name)

        asked, layer = [], m.nn.Linear(2, 1)
        layer.__class__ = Watch
        layer.weight, layer.in_features  # noqa: B018
        layer.__class__ = m.nn.Linear
        layer.bias  # noqa: B018
        return asked, list(layer._parameters), layer(m.ones(1, 2)).shape

    agree(program)


def test_the_tables_are_dicts(agree):
    def program(m):
        layer = m.nn.Linear(2, 1)
        kinds = [isinstance(getattr(layer, name), dict) for name in ("_parameters", "_buffers", "_modules")]
        made = type(layer._parameters)({"a": None}, b=None)
        made["c"] = 1
        kinds.append([dict(made), made.pop("a"), made.setdefault("d", 4), made.popitem(), len(made)])
        kinds.append([key in vars(layer) for key in ("_parameters", "_buffers", "_modules")])
        table = layer._parameters
        table |= {"gain": m.nn.Parameter(m.ones(1))}
        table.update(more=None)
        kinds.append([layer._parameters is table, layer.gain.tolist(), layer.more, list(table)])
        table.clear()
        kinds.append([hasattr(layer, "weight"), dict(table)])
        with pytest.raises(KeyError):
            table.pop("weight")
        with pytest.raises(KeyError):
            table.popitem()
        return kinds

    agree(program)


def test_attributes_before_init(agree):
    """An object that `__new__` made, and a `__setattr__` that looks at the tables, as in `higher`."""

    def program(m):
        class Functional(m.nn.Module):
            def __init__(self):
                m.nn.Module.__init__(self)

            def __setattr__(self, name, value):
                if isinstance(value, m.nn.Module) and self.__dict__.get("_modules") is None:
                    raise AttributeError("cannot assign module before Module.__init__() call")
                super().__setattr__(name, value)

        one = Functional()
        one.layer = m.nn.Linear(1, 1)
        seen = [list(one._modules)]
        for value in (m.nn.Linear(1, 1), m.nn.Parameter(m.ones(1))):
            with pytest.raises(AttributeError, match=r"before Module\.__init__"):
                m.nn.Module.__setattr__(m.nn.Module.__new__(m.nn.Linear), "part", value)
        bare = m.nn.Linear.__new__(m.nn.Linear)
        bare.__dict__.update(_parameters={}, _buffers={}, _modules={}, training=True)
        bare._parameters["weight"] = m.nn.Parameter(m.ones(1))
        return [*seen, bare.weight.tolist(), [name for name, _ in bare.named_parameters()]]

    agree(program)


def test_a_copied_dict_is_another_modules(agree):
    """As `nn.parallel.replicate` and `higher` copy modules."""

    def program(m):
        layer = m.nn.Linear(2, 1)
        replica = type(layer).__new__(type(layer))
        replica.__dict__ = layer.__dict__.copy()
        replica._parameters = layer._parameters.copy()
        replica._buffers, replica._modules = layer._buffers.copy(), layer._modules.copy()
        before = layer.weight
        replica.weight = m.nn.Parameter(m.zeros(1, 2))
        replica._parameters["bias"] = None
        return layer.weight is before, replica.weight.tolist(), replica.bias, layer.bias is None

    agree(program)


def test_the_tables_are_mappings_that_can_be_changed(agree):
    def program(m):
        model = net(m)
        names = [list(reversed(model._modules)), [name for name, _ in reversed(model._modules.items())]]
        layer = model[0]
        layer._parameters["weight"] = m.nn.Parameter(m.zeros(4, 3))
        names.append([int(layer.weight.sum()), list(layer._parameters), "bias" in layer._parameters])
        del layer._parameters["bias"]
        names.append([list(layer.state_dict()), hasattr(layer, "bias")])
        layer._parameters = collections.OrderedDict(gain=m.nn.Parameter(m.ones(1)))
        names.append([name for name, _ in layer.named_parameters()])
        model._modules = {"only": m.nn.Identity()}
        names.append(repr(model))
        model[0]._buffers["mean"] = m.ones(2)
        names.append([list(model.state_dict()), copy.copy(model[0]._buffers).pop("mean").tolist()])
        return names

    agree(program)


def test_the_tables_are_copied_and_pickled_as_plain_dicts(torch):
    layer = torch.nn.Linear(2, 1)
    for copied in (copy.deepcopy(layer._parameters), pickle.loads(pickle.dumps(layer._parameters))):
        assert list(copied) == ["weight", "bias"]
        assert copied["weight"] is not layer.weight
        assert copied["weight"].equal(layer.weight)


def test_hooks_can_be_seen_and_taken_away_by_hand(agree):
    def program(m):
        def hook(module, *args):
            calls.append(len(args))

        calls, counts, model = [], [], net(m)
        layer = model[0]
        layer.register_forward_pre_hook(hook)
        handle = layer.register_forward_hook(hook, with_kwargs=True)
        layer.register_full_backward_hook(hook)
        layer.register_full_backward_pre_hook(hook)
        tables = [layer._forward_pre_hooks, layer._forward_hooks, layer._backward_hooks, layer._backward_pre_hooks]
        counts.append([[one is hook for one in table.values()] for table in tables])
        counts.append([layer._is_full_backward_hook, model._is_full_backward_hook])
        model(m.ones(3, 3).requires_grad_()).sum().backward()
        del layer._forward_hooks[handle.id]
        layer._forward_pre_hooks.clear()
        layer._backward_hooks = collections.OrderedDict()
        model(m.ones(3, 3).requires_grad_()).sum().backward()
        return calls, counts, [len(table) for table in (layer._forward_hooks, layer._backward_hooks)]

    agree(program)


def test_regular_backward_hooks_see_the_last_node(agree):
    def program(m):
        seen = []
        layer = m.nn.ReLU()
        layer.register_backward_hook(lambda module, before, after: seen.extend([len(before), *before, *after]))
        layer(m.tensor([1.0, -2.0], requires_grad=True) * 2).sum().backward()
        with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
            layer.register_full_backward_hook(print)
        several = m.nn.Linear(2, 2)
        several.register_backward_hook(lambda module, before, after: seen.append(len(before)))
        with pytest.warns(FutureWarning, match="non-full backward hook when the forward contains multiple"):
            m.nn.Sequential(m.nn.Tanh(), several)(m.ones(1, 2)).sum().backward()
        return seen

    agree(program)


def test_regular_backward_hooks_of_all_modules(agree):
    def program(m):
        seen, tanh = [], m.nn.Tanh()
        with m.nn.modules.module.register_module_backward_hook(lambda module, *grads: seen.append(repr(module))):
            tanh(m.ones(2, requires_grad=True) * 1).sum().backward()
        tanh(m.ones(2, requires_grad=True) * 1).sum().backward()
        return seen

    agree(program)


def test_private_hooks_of_state_dicts(agree):
    def program(m):
        def rename(state, prefix, metadata, strict, missing, unexpected, errors):
            state[prefix + "weight"] = state.pop(prefix + "old")

        layer, seen = m.nn.Linear(2, 1), []
        layer._register_load_state_dict_pre_hook(rename)
        layer._register_load_state_dict_pre_hook(lambda *args: seen.append(args[0] is layer), with_module=True)
        layer.load_state_dict({"old": m.ones(1, 2), "bias": m.zeros(1)})
        layer._register_state_dict_hook(lambda module, state, prefix, metadata: {"all": list(state)})
        counts = [len(layer._load_state_dict_pre_hooks), len(layer._state_dict_hooks), len(layer._state_dict_pre_hooks)]
        return layer.weight, seen, layer.state_dict(), counts

    agree(program)


def test_a_state_dict_hook_must_return_nothing(torch):
    layer = torch.nn.Linear(2, 1)
    layer.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        layer.state_dict()


def test_state_dicts_take_their_arguments_by_place(agree):
    def program(m):
        with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
            return list(m.nn.Linear(2, 1).state_dict({}, "head."))

    agree(program)


def test_named_apply_as_in_timm(agree):
    def program(m):
        def named_apply(fn, module, name="", depth_first=True, include_root=False):
            if not depth_first and include_root:
                fn(module=module, name=name)
            for child_name, child in module.named_children():
                child_name = ".".join((name, child_name)) if name else child_name
                named_apply(fn, child, child_name, depth_first, include_root=True)
            if depth_first and include_root:
                fn(module=module, name=name)
            return module

        def init(module, name):
            seen.append(name)
            if isinstance(module, m.nn.Linear):
                m.nn.init.trunc_normal_(module.weight, std=0.02)
                m.nn.init.zeros_(module.bias)
            elif isinstance(module, m.nn.modules.batchnorm._BatchNorm):
                m.nn.init.constant_(module.weight, 0.5)

        seen = []
        model = named_apply(init, m.nn.Sequential(net(m), m.nn.ModuleDict({"head": m.nn.Linear(2, 2)})))
        return seen, model.state_dict()

    agree(program)


def test_an_average_of_a_model_by_deepcopy(agree):
    def program(m):
        model = net(m)
        average = copy.deepcopy(model).eval().requires_grad_(False)
        optimizer = m.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(m.randn(5, 3)).square().sum().backward()
            optimizer.step()
            with m.no_grad():
                for kept, value in zip(average.state_dict().values(), model.state_dict().values(), strict=True):
                    if kept.dtype.is_floating_point:
                        kept.mul_(0.9).add_(value, alpha=0.1)
        return average.state_dict(), [one.requires_grad for one in average.parameters()]

    agree(program)


def test_operations_are_counted_by_hooks(agree):
    def program(m):
        counts = collections.Counter()

        def count(module, args, output):
            counts[type(module).__name__] += output.numel() * getattr(module, "in_features", 1)

        model = net(m)
        handles = [one.register_forward_hook(count) for one in model.modules() if not list(one.children())]
        model(m.ones(5, 3))
        for handle in handles:
            handle.remove()
        model(m.ones(5, 3))
        return dict(counts), [len(one._forward_hooks) for one in model.modules()]

    agree(program)


def test_members_are_found_by_a_function(agree):
    def program(m):
        model = net(m)
        found = model._named_members(lambda module: module._buffers.items(), prefix="net", recurse=True)
        return [name for name, _ in found], [name for name, _ in model[1]._named_members(lambda _: [("x", 1)])]

    agree(program)


def test_conversions_of_whole_modules(agree):
    def program(m):
        model = net(m)
        kinds = [
            model.type(m.float64)[0].weight.dtype.is_floating_point,
            model[1].num_batches_tracked.is_floating_point(),
        ]
        fresh = m.nn.Linear(3, 2).to_empty(device="cpu")
        return kinds, fresh.weight.shape == (2, 3), m.nn.Module.dump_patches, m.nn.Module.call_super_init

    agree(program)


def test_losses_take_their_tensors_by_name(agree):
    def program(m):
        x, y, sign = m.ones(2, 3), m.arange(6.0).reshape(2, 3), m.tensor([1.0, -1.0])
        return [
            m.nn.MarginRankingLoss()(input1=x[:, 0], input2=y[:, 0], target=sign),
            m.nn.CosineEmbeddingLoss()(x, input2=y, target=sign),
            m.nn.HingeEmbeddingLoss()(input=x, target=2 * (y > 2).float() - 1),
            m.nn.SoftMarginLoss()(input=y, target=x),
            m.nn.TripletMarginLoss()(anchor=x, positive=y, negative=-y),
        ]

    agree(program)


def test_the_rest_of_a_parameter_dict(agree):
    def program(m):
        values = m.nn.ParameterDict(parameters={"a": m.ones(1)})
        copied, filled = values.copy(), values.fromkeys(["b", "c"], m.zeros(1))
        copied.setdefault("d", m.ones(2))
        last = copied.popitem()
        with pytest.raises(KeyError):
            m.nn.ParameterDict().popitem()
        return [list(values), copied["a"] is values["a"], list(filled), last[0], type(last[1]).__name__, list(copied)]

    agree(program)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_the_checks_of_recurrent_layers_can_be_called(kind, agree):
    def program(m):
        layer = getattr(m.nn, kind)(2, 3, num_layers=2, batch_first=True)
        x, order = m.ones(4, 5, 2), m.tensor([2, 0, 1, 3])
        shape = layer.get_expected_hidden_size(x, None)
        state = m.arange(24.0).reshape(shape)
        hidden = (state, -state) if kind == "LSTM" else state
        layer.check_forward_args(x, hidden, None)
        seen = [tuple(shape), layer.permute_hidden(hidden, None) is hidden]
        moved = layer.permute_hidden(hidden, order)
        seen += [one.tolist() for one in (moved if kind == "LSTM" else (moved,))]
        wrong = (state, state[:1]) if kind == "LSTM" else state[:1]
        for arguments in ((x[0], hidden), (x[..., :1], hidden), (x, wrong)):
            with pytest.raises(RuntimeError) as refused:
                layer.check_forward_args(*arguments, None)
            seen.append(str(refused.value))
        return seen

    agree(program)
