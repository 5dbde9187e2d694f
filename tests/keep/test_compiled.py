"""Row 6.3: what a compiled function gives, and what happens when somebody meddles with it."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref
from typing import Any

import pytest

import clew
from clew import _core

pytestmark = [
    pytest.mark.records_calls,
    pytest.mark.filterwarnings("ignore::clew.KeepWarning"),
]


def test_gradients_are_summed_in_the_order_of_eager() -> None:
    def run(x: Any) -> Any:
        y = x.t()
        return clew.cross(y, y)  # a graph of many nodes, whose contributions to y cancel but for their rounding

    compiled = clew.compile(run)
    x = clew.tensor([[0.399, 1.092, -0.237], [1.063, -0.099, -1.621]], requires_grad=True)
    expected = clew.autograd.grad(run(x).sum(), x)[0].tolist()
    for _ in range(4):
        assert clew.autograd.grad(compiled(x).sum(), x)[0].tolist() == expected


def test_a_second_backward_names_the_line_of_the_first() -> None:
    def run(x: Any) -> Any:
        loss = (x.exp() * x).sum()
        loss.backward()
        return loss

    def message(function: Any) -> str:
        x = clew.ones(2, requires_grad=True)
        loss = function(x)
        with pytest.raises(RuntimeError) as caught:
            loss.backward()
        return str(caught.value)

    compiled = clew.compile(run)
    expected = message(run)
    assert "freed by the backward at test_compiled.py" in expected
    assert [message(compiled) for _ in range(3)] == [expected] * 3
    assert compiled.hits == 2


def test_results_are_those_of_eager_with_graphs_views_and_dtypes() -> None:
    def parts(x: Any, y: Any) -> Any:
        a = x * y
        with clew.no_grad():
            filled = clew.zeros(3)
            column = filled.view(3, 1)
            filled.add_(1)
        row = a[0]
        return [
            *(a, row, row[1:], a.t(), a.detach(), a.data, filled, column, clew.zeros(0, 3) * 2),
            *(x * 1j, x.half(), x.expand(2, 2, 3), x[0], x.detach(), x, a),
        ]

    def describe(results: Any) -> Any:
        where = {id(one): place for place, one in reversed(list(enumerate(results)))}
        return [
            (
                *(one.tolist(), one.dtype, one.stride(), one.storage_offset(), one.requires_grad, one.is_leaf),
                *(one._version, one.grad_fn and one.grad_fn.name(), where[id(one)], where.get(id(one._base))),
                [other.data_ptr() == one.data_ptr() for other in results],
            )
            for one in results
        ]

    def higher(results: Any, x: Any, y: Any) -> Any:
        total = (results[0] * results[1]).sum() + results[2].sum() + (results[3] ** 2).sum()
        first = clew.autograd.grad(total, [x, y], create_graph=True)
        second = clew.autograd.grad(first[0].sum() + (first[1] ** 2).sum(), [x, y])
        with clew.no_grad():
            results[4].add_(1)  # the memory of results[0]
        with pytest.raises(RuntimeError) as caught:
            total.backward()
        return [one.tolist() for one in first + second], results[0]._version, str(caught.value)

    compiled = clew.compile(parts)
    for seed in range(4):
        outcomes = []
        for function in (parts, compiled):
            clew.manual_seed(seed)
            x, y = (clew.randn(2, 3, requires_grad=True) for _ in range(2))
            results = function(x, y)
            outcomes.append((describe(results), higher(results, x, y)))
        assert outcomes[0] == outcomes[1]
    assert compiled.hits == 3


def trained() -> tuple[Any, Any]:
    """A compiled step, and a weak reference to what it trains."""
    weight = clew.randn(4, 4, requires_grad=True)
    optimizer = clew.optim.SGD([weight], lr=0.1, momentum=0.9)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        y = (x @ weight).tanh()
        loss = (y * y).sum()
        loss.backward()
        optimizer.step()
        return loss.item(), y

    return clew.compile(step), weakref.ref(weight)


def test_what_a_result_shares_with_what_its_graph_saved() -> None:
    def run(x: Any, w: Any) -> tuple[Any, Any, Any, Any]:
        h = (x @ w).tanh()  # saved by its own node, and by the next one
        return h, h * h, h[0], (x.data[1:] * w[:1]).exp()  # whose version counter is another one than its storage's

    def errors_of(function: Any, write: Any) -> list[str]:
        x, w = clew.rand(2, 2), clew.rand(2, 2).requires_grad_()
        for _ in range(3):
            results = function(x, w)
        write(x, w, results)
        messages = []
        for one in results:
            try:
                one.sum().backward(retain_graph=True)
                messages.append(str(w.grad.tolist()))
            except RuntimeError as error:
                messages.append(str(error).split(":")[0])
        return [*messages, str([one._version for one in results]), str(results[2]._base is results[0])]

    writes: list[Any] = [
        lambda x, w, results: None,
        lambda x, w, results: x.add_(1),
        lambda x, w, results: x.data.add_(1),
        lambda x, w, results: w.data.mul_(2),
        lambda x, w, results: results[0].detach().mul_(2),
        lambda x, w, results: results[1].add_(1),
        lambda x, w, results: results[2].mul_(2),
        lambda x, w, results: results[3].mul_(2),
    ]
    for write in writes:
        clew.manual_seed(3)
        expected = errors_of(run, write)
        clew.manual_seed(3)
        assert errors_of(clew.compile(run), write) == expected


def test_a_result_is_the_grad_itself_only_where_it_is_in_eager() -> None:
    w = clew.ones(3, requires_grad=True)
    given: dict[str, Any] = {
        "itself": lambda: (w.grad,),
        "detached": lambda: (w.grad.detach(),),
        "both": lambda: (w.grad, w.grad.detach()),
        "the reverse": lambda: (w.grad.detach(), w.grad),
        "a view": lambda: (w.grad.view(3),),
    }
    for name, results in given.items():

        def function(x: clew.Tensor, results: Any = results) -> Any:
            w.grad = None
            (w * x).sum().backward()
            return results()

        for hold in (False, True):  # a .grad that somebody has can't be written anew
            compiled, held = clew.compile(function), []
            for place in range(5):
                seen = []
                for run in (function, compiled):
                    made = run(clew.ones(3) * place)
                    assert all(one.data_ptr() == w.grad.data_ptr() for one in made)
                    seen.append([(one is w.grad, one.tolist(), one.requires_grad) for one in made])
                    held += made if hold else []
                assert seen[0] == seen[1], name
            assert compiled.hits > 2
            assert [one.tolist()[0] for one in held] == [i // 2 // len(made) for i in range(len(held))]


def test_a_frame_without_builtins_is_watched_in_a_new_process(run_script: Any) -> None:
    """As that of a named tuple's `__new__`: what the recording itself imports it finds elsewhere."""
    run_script(
        "import collections\n"
        "Pair = collections.namedtuple('Pair', 'a b')\n"
        "compiled = torch.compile(lambda x: Pair(x * 2, x + 1))\n"
        "for i in range(3):\n"
        "    assert compiled(torch.ones(1) * i).a.item() == 2 * i\n"
        "assert compiled.hits == 2\n"
    )


GRADS: dict[str, Any] = {
    "the argument": lambda x: (x, x),
    "detached": lambda x: (x.detach(), x),
    "detached and given": lambda x: [x.detach()] * 2,
    "the argument, and a detached one given": lambda x: (x, x.detach()),
    "one of two that are alike": lambda x: (x.detach(), x.detach()),
    "a view": lambda x: (x.view(3), x),
}


@pytest.mark.parametrize("name", GRADS)
def test_a_grad_on_memory_of_an_argument_is_the_tensor_that_it_is_in_eager(name: str) -> None:
    w = clew.ones(3, requires_grad=True)

    def function(x: Any) -> Any:
        w.grad, given = GRADS[name](x)
        return given

    compiled = clew.compile(function)
    for place in range(5):
        seen = []
        for run in (function, compiled):
            w.grad = None
            x = clew.ones(3) * place
            given, version = run(x), x._version
            with clew.no_grad():
                w.grad.add_(1)
            seen.append((w.grad is x, w.grad is given, given is x, w.grad._is_view(), x.tolist(), x._version - version))
        assert seen[0] == seen[1]
    assert compiled.hits > 2


def test_a_replay_keeps_no_memory_and_a_dropped_function_frees_all() -> None:
    compiled, weight = trained()
    counts = []
    for calls in (200, 3000):
        for _ in range(calls):
            compiled(clew.ones(3, 4))
        gc.collect()
        counts.append((clew.memory.stats().live, len(gc.get_objects())))
    assert compiled.hits > 3000
    assert abs(counts[1][1] - counts[0][1]) < 50
    assert counts[1][0] == counts[0][0]
    argument = clew.ones(3, 4)
    gone = [weakref.ref(argument), weakref.ref(compiled(argument)[1])]
    del argument
    assert [one() for one in gone] == [None, None]
    gone = [weakref.ref(compiled), weight]
    del compiled
    gc.collect()
    assert [one() for one in gone] == [None, None]


def test_cycles_through_all_that_a_variant_holds_are_collected() -> None:
    class Net(clew.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.hidden, self.calls, self.log = clew.nn.Linear(2, 2), clew.zeros(2), 0, []
            self.kept: Any = clew.ones(2)
            self.kept.owner = self
            self.run = clew.compile(self.plain)

        def plain(self, x: Any) -> Any:
            self.calls += 1
            y = self.layer(x)
            self.hidden = (y + self.hidden).detach()
            self.log.append(y.sum().item())
            return y, self.kept

    net = Net()
    for _ in range(4):
        net.run(clew.ones(2))
        net.run(net.kept)
    assert net.run.hits > 4
    gone = [weakref.ref(net), weakref.ref(net.run), weakref.ref(net.kept)]
    del net
    gc.collect()
    assert [one() for one in gone] == [None] * 3


def test_it_may_forget_its_variants_while_it_runs() -> None:
    class Clears:
        def __init__(self, function: Any) -> None:
            self.function = function

        def __del__(self) -> None:
            self.function.cache_clear()

    def inside(x: Any) -> Any:
        given.cache_clear()
        return x * 2

    given = clew.compile(inside)
    assert [given(clew.ones(1)).item() for _ in range(4)] == [2] * 4

    by_identity = clew.compile(lambda x, key: x * 2, max_variants=4)
    for _ in range(12):
        assert by_identity(clew.ones(1), Clears(by_identity)).item() == 2
    by_identity.cache_clear()
    assert by_identity.variants == 0

    class Holder:
        value: Any = None

    def sets(x: Any) -> Any:
        Holder.value[0] = x
        return x * 2

    Holder.value = {0: None}
    setter = clew.compile(sets)
    for size in (1, 2, 1, 2, 1):
        assert setter(clew.ones(size)).tolist() == [2] * size
        Holder.value[0] = Clears(setter)
    Holder.value = None


def test_one_without_init_is_refused() -> None:
    bare = _core.CompiledFunction.__new__(_core.CompiledFunction)
    with pytest.raises(TypeError, match="without __init__"):
        bare(1)
    with pytest.raises(ValueError, match="at least 1"):
        clew.compile(lambda x: x, max_variants=0)
    gc.collect()


def test_an_error_in_a_recording_leaves_no_trace() -> None:
    calls = []

    def raises(x: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return x * 2

    function = clew.compile(raises)
    with pytest.raises(KeyboardInterrupt):
        function(clew.ones(1))
    assert sys.gettrace() is None
    assert function(clew.ones(1)).item() == 2
    other = clew.compile(lambda x: x * 2)
    other(clew.ones(1))
    other(clew.ones(1))
    assert other.hits == 1


def test_replays_on_several_threads_at_once() -> None:
    weight = clew.randn(600, 600)  # products of this size let other threads run
    plain = lambda x: (x @ weight).relu() @ weight  # noqa: E731
    function = clew.compile(plain)
    given = [clew.randn(600, 600) for _ in range(3)]
    expected = [plain(x) for x in given]
    outcomes: list[bool] = []

    def run(place: int) -> None:
        outcomes.extend(clew.equal(function(given[place]), expected[place]) for _ in range(6))

    threads = [threading.Thread(target=run, args=(place,)) for place in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert outcomes == [True] * 18


def test_a_compiled_function_in_another_is_replayed_with_it() -> None:
    inner = clew.compile(lambda x: x * 2)
    outer = clew.compile(lambda x: inner(x) + 1)
    assert [outer(clew.ones(1) * i).item() for i in range(4)] == [1, 3, 5, 7]
    assert (outer.hits, inner.hits, inner.variants) == (3, 0, 0)


def test_functions_in_hooks_run_as_they_are() -> None:
    double = clew.compile(lambda x: x * 2)
    for _ in range(3):
        x = clew.ones(2, requires_grad=True)
        x.register_hook(double)
        (x * 3).sum().backward()
        assert x.grad.tolist() == [6, 6]
        assert double(clew.ones(1)).item() == 2
    assert double.hits == 2


def test_a_write_is_told_with_the_versions_of_the_recorded_run() -> None:
    w = clew.ones(3, requires_grad=True)

    @clew.compile
    def f(x: Any) -> Any:
        z = x.exp()
        y = (w * z).sum() + (w * (z * 2)).sum()
        z.add_(1)
        return y

    for _ in range(4):
        with pytest.raises(clew.autograd.errors.InplaceError, match="is at version 1; expected version 0"):
            f(clew.ones(3)).backward()
    assert f.hits == 3


def test_what_is_saved_after_a_write_is_at_its_version() -> None:
    w = clew.ones(3, requires_grad=True)

    @clew.compile
    def f(x: Any) -> Any:
        z = x.exp()
        z.add_(1)
        return (w * z).sum()

    for _ in range(4):
        w.grad = None
        f(clew.ones(3)).backward()
        assert w.grad.tolist() == (clew.ones(3).exp() + 1).tolist()
    assert f.hits == 3


def test_a_call_may_name_dtypes_and_shapes() -> None:
    def f(x: Any) -> Any:
        names = str(x.dtype), f"{x.dtype} {x.shape}", repr(x.shape), clew.finfo(x.dtype).dtype
        names += clew.iinfo(clew.int32).dtype, _core.dtype_name(x.dtype), _core.imported_as()
        return x * clew.finfo(x.dtype).eps, names

    compiled = clew.compile(f)
    for dtype, name in ((clew.float32, "float32"), (clew.float64, "float64")):
        for _ in range(3):
            result, names = compiled(clew.ones(3, dtype=dtype))
        expected, expected_names = f(clew.ones(3, dtype=dtype))
        assert result.tolist() == expected.tolist()
        assert names == expected_names
        assert names[3] == names[5] == name
    assert compiled.hits == 4
    with pytest.raises(TypeError, match="dtype_name: expected a dtype, got str"):
        _core.dtype_name("float32")  # type: ignore[arg-type]


def test_only_a_module_is_asked_for_its_class_of_tensors(run_script: Any) -> None:
    script = """
import clew
from clew import _core

class Asked:
    def __getattr__(self, name):
        raise SystemError(name)

torch = Asked()
print(clew.float32, _core.imported_as())
"""
    assert run_script(script).stdout.split() == ["clew.float32", "clew"]


def test_modes_and_options_are_checked_as_pytorch_does(oracle):
    x = clew.ones(2)
    for given in ({"mode": "max-autotune"}, {"mode": "reduce-overhead"}, {"options": {"triton.cudagraphs": True}}):
        assert clew.compile(lambda x: x * 2, **given)(x).tolist() == [2, 2]
    assert clew.compile(abs, backend="eager", mode="nope") is abs
    for given, said in (
        ({"mode": "nope"}, "expected a mode of default, .*, got 'nope'"),
        ({"backend": "nope"}, "expected a backend of inductor, .*, got 'nope'"),
        ({"mode": "default", "options": {}}, "expected mode or options, got both"),
    ):
        for function in (abs, None):
            with pytest.raises(RuntimeError, match=said):
                clew.compile(function, **given)
        with pytest.raises(RuntimeError):
            oracle.compile(abs, **given)


def test_a_module_compiles_itself():
    clew.manual_seed(0)
    model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.Tanh(), clew.nn.Linear(4, 2))
    eager = copy.deepcopy(model)
    model.compile(fullgraph=True)
    for _ in range(5):
        x = clew.randn(6, 3)
        for one in (model, eager):
            one(x).square().sum().backward()
        assert all(clew.equal(p.grad, q.grad) for p, q in zip(model.parameters(), eager.parameters(), strict=True))
    compiled = model._compiled_call_impl
    assert (compiled.hits, compiled.misses) == (4, 1)
    model.register_forward_hook(lambda module, arguments, result: result * 2)
    assert clew.equal(model(x), eager(x) * 2)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(eager))):
        assert other._compiled_call_impl is None
    assert list(model.state_dict()) == list(eager.state_dict())
    with pytest.raises(RuntimeError, match="mode"):
        model.compile(mode="nope")
