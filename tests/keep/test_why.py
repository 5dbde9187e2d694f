"""Row 6.9: a compiled function says what it did, can be switched off, and travels as its function."""

from __future__ import annotations

import collections
import copy
import os
import pickle
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest

import clew

pytestmark = pytest.mark.records_calls


@clew.compile
def decorated(x: Any) -> Any:
    return x * 2


class Scaler:
    """With a compiled method."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @clew.compile
    def scale(self, x: Any) -> Any:
        return x * self.factor


def test_why_tells_counts_variants_and_lines() -> None:
    def printed(x: Any, loud: bool) -> Any:
        if loud:
            print(end="")
        return x * 2

    function = clew.compile(printed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        for _ in range(4):
            function(clew.ones(2), False)
            function(clew.ones(2), True)
    first, kept, variant, given, times, reason = function.why().splitlines()
    assert first == "printed: 3 hits, 5 misses, 1 variant"
    assert kept.startswith(f"  {function.bytes} bytes are kept; ")
    assert variant.startswith("  variant: 1 step, ")
    assert variant.endswith("; 3 hits, 0 misses")
    assert given == "    for the arguments (float32[2], False)"
    assert times.startswith("    recorded in ")
    line = printed.__code__.co_firstlineno + 2
    assert reason.startswith("  stays eager: it calls builtins.print")
    assert f"test_why.py:{line} in printed" in reason


def counted_by_a_scheduler() -> Any:
    model = clew.nn.Linear(3, 1)
    optimizer = clew.optim.SGD(model.parameters(), lr=0.1)
    scheduler = clew.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step(x: clew.Tensor) -> clew.Tensor:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss

    return step


def counted_in_a_dict() -> Any:
    calls = {"n": 0}

    def step(x: clew.Tensor) -> clew.Tensor:
        calls["n"] = 2 * calls["n"] + 1
        return x * 2

    return step


def set_as_a_global() -> Any:
    def step(x: clew.Tensor) -> clew.Tensor:
        global latest
        latest = len(x)
        return x * 2

    return step


def printed_on_its_way() -> Any:
    def step(x: clew.Tensor) -> clew.Tensor:
        print(end="")
        return x * 2

    return step


@pytest.mark.parametrize(
    ("make", "reason", "advice"),
    [
        (printed_on_its_way, "calls builtins.print, whose reads cannot be tracked", "call it outside of the function"),
        (set_as_a_global, "assigns to a global", "return the value, or set an attribute of an object"),
        (counted_by_a_scheduler, "which it has counted up", "count, or take a scheduler's step, outside of"),
        (counted_in_a_dict, "n of a dict", "make what varies a tensor, or count in an attribute of an object"),
    ],
)
def test_a_function_that_stays_eager_is_told_what_to_do(make: Any, reason: str, advice: str) -> None:
    function = clew.compile(make())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", clew.KeepWarning)
        for _ in range(6):
            function(clew.ones(2, 3))
    (text,) = [str(one.message) for one in said]
    for told in (text, function.why()):
        assert reason in told
        assert f". To do: {advice}" in told
    assert f"({Path(__file__).name}:" in text or reason == "n of a dict"


def test_why_tells_times_and_when_they_are_regained() -> None:
    model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.Tanh(), clew.nn.Linear(4, 1))
    function = clew.compile(lambda x: model(x).sum())
    function(clew.ones(2, 3))
    assert "a Python call" not in function.why()  # nothing was replayed
    for _ in range(20):
        function(clew.ones(2, 3))
    ((_, _, _, _, hits, misses, _, eager, recording, planning, replay, *_),) = function._describe()
    assert (hits, misses) == (20, 0)
    assert min(eager, recording, planning, replay) > 0
    assert replay < eager  # no Python and no nodes of Python's operations
    count = -(-(recording + planning) // (eager - replay))
    assert f"; pays off after {count} {'call' if count == 1 else 'calls'} at the earliest\n" in function.why() + "\n"


def test_why_tells_misses_of_each_variant() -> None:
    state = types.SimpleNamespace(factor=2.0)
    function = clew.compile(lambda x: x * state.factor)
    for factor in (2.0, 3.0, 2.0, 3.0):
        state.factor = factor
        function(clew.ones(2))
    assert [(hits, misses) for _, _, _, _, hits, misses, *_ in function._describe()] == [(1, 1), (1, 2)]
    assert function.why().count("last miss: it read another value of Python: factor of a types.SimpleNamespace") == 2


def given(function: Any) -> list[str]:
    start = "    for the arguments "
    return [line.removeprefix(start) for line in function.why().splitlines() if line.startswith(start)][::-1]


def test_why_tells_variants_apart_by_their_arguments() -> None:
    def f(x: Any, times: Any = 1.0, other: Any = None) -> Any:
        return x * times if times > 0 else x**times

    function = clew.compile(f)
    x, w = clew.ones(2, 3), clew.ones(2, requires_grad=True)
    for one in (x, x.t(), x.double(), w, w * 2):
        function(one)
    function(x, 2)
    for times in (2.0, 3.0, -2.0):
        function(x, times)
    function(x, other=[x, "a", {"b": clew.nn.Linear}])
    with clew.no_grad():
        function(w)
    assert given(function) == [
        "(float32[2, 3])",
        "(float32[3, 2] strides (1, 3) view)",
        "(float64[2, 3])",
        "(float32[2] requires_grad)",
        "(float32[2] with a graph)",
        "(float32[2, 3], 2)",
        "(float32[2, 3], any float that is > 0.0)",
        "(float32[2, 3], -2.0)",
        "(float32[2, 3], other=[the same float32[2, 3], 'a', {'b': Linear}])",
        "(float32[2] requires_grad) under no_grad",
    ]


def test_why_runs_nothing_of_the_users_to_tell_arguments() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise AssertionError("it was asked for its text")

    nested: list[Any] = []
    nested.append(nested)
    function = clew.compile(lambda x, *others: x * 2)
    silent = Silent()  # held: what is recorded goes with it
    function(clew.ones(1), silent, nested, 10**5000, list(range(100)))
    (text,) = given(function)
    assert text.startswith("(float32[1], <Silent>, [[[")
    assert text.endswith(", int, [0, 1, 2, 3, 4, 5, 6, 7, ...])")


factor_of_module = 1


def test_why_tells_the_value_that_made_another_variant() -> None:
    global factor_of_module
    state, enclosed = types.SimpleNamespace(factor=2), 2
    function = clew.compile(lambda x: x * state.factor * enclosed * factor_of_module)
    function(clew.ones(2))
    state.factor = 3
    function(clew.ones(2))
    enclosed = 5
    function(clew.ones(2))
    factor_of_module = 7
    with pytest.warns(
        clew.KeepWarning, match=r"of a types\.SimpleNamespace \(.*<lambda>\), 4 times in all"
    ):  # which it says once
        function(clew.ones(2))
    told = [line for line in function.why().splitlines() if "recorded as the call " in line][::-1]
    start = "    recorded as the call read another value of Python: "
    assert [line.removeprefix(start) for line in told] == [
        "factor of a types.SimpleNamespace (3 instead of 2)",
        "enclosed of a closure (5 instead of 2)",
        f"factor_of_module of module {__name__} (7 instead of 1)",
    ]


def test_what_keeps_a_function_eager_has_its_public_name() -> None:
    def run(x: clew.Tensor) -> clew.Tensor:
        clew.get_rng_state()
        return x * 2

    def silently(x: clew.Tensor) -> clew.Tensor:
        with warnings.catch_warnings():
            return x * 2

    for function, called in (
        (run, "clew.random.get_rng_state"),
        (silently, "warnings.catch_warnings.__enter__"),
    ):
        compiled = clew.compile(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", clew.KeepWarning)
            for _ in range(3):
                compiled(clew.ones(2))
        said = f"it calls {called}, whose reads cannot be tracked (test_why.py:"
        assert said in compiled.why(), compiled.why()
        assert f"in {function.__name__})" in compiled.why()


def test_what_stays_eager_is_named_by_the_users_call_and_line() -> None:
    state, checkpoint = types.SimpleNamespace(count=0, total=0.0), clew.utils.checkpoint.checkpoint
    w, window = clew.ones(2, requires_grad=True), collections.deque([1.0], maxlen=3)

    def saved_by_hooks(x: clew.Tensor) -> clew.Tensor:
        return clew.autograd.grad(checkpoint(lambda y: (y * w).tanh(), x, use_reentrant=False).sum(), w)[0]

    def drawn_again(x: clew.Tensor) -> clew.Tensor:
        y = checkpoint(lambda y: clew.nn.functional.dropout(y * w), x * w, use_reentrant=True)
        y.sum().backward()
        return y.detach()

    def every_third(x: clew.Tensor) -> clew.Tensor:
        state.count += 1
        return x * 2 if state.count % 3 else x

    def summed(x: clew.Tensor) -> None:
        state.total += x.sum().item()

    def measured(x: clew.Tensor) -> clew.Tensor:
        window.append(x.sum().item())
        return x * len(window)

    def made(x: clew.Tensor) -> Any:
        return collections.deque([x])

    def warned(x: clew.Tensor) -> clew.Tensor:
        warnings.warn("large", stacklevel=2)
        return x * 2

    for function, line, reason in (
        (saved_by_hooks, 1, "checkpoint(use_reentrant=False)"),
        (drawn_again, 2, "state of a random generator"),
        (every_third, 2, "reads count, which it has counted up"),
        (summed, 1, "read another value of Python: total of a types.SimpleNamespace"),
        (measured, 2, "reads a collections.deque from before the call"),
        (made, 1, "gives or keeps a collections.deque that it made"),
        (warned, 1, "calls warnings.warn, whose reads cannot be tracked"),
    ):
        compiled = clew.compile(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in range(40):
                compiled(clew.full((2,), float(i)))
        assert reason in compiled.why(), compiled.why()
        assert f"(test_why.py:{function.__code__.co_firstlineno + line} in " in compiled.why(), compiled.why()
        assert compiled.variants == 0  # none of them is tried for ever


def test_the_line_of_a_miss_is_named_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import dis

    state, other = types.SimpleNamespace(rate=0.0), types.SimpleNamespace(rate=1.0)

    def once(x: clew.Tensor) -> clew.Tensor:
        named = "rate"
        return x * len(named) * state.rate

    def twice(x: clew.Tensor) -> clew.Tensor:
        y = x * other.rate
        return y * state.rate

    def changing(compiled: Any) -> None:
        for state.rate in range(8):
            compiled(clew.ones(2))

    for function, line in ((once, 2), (twice, None)):
        compiled = clew.compile(function)
        with pytest.warns(clew.KeepWarning, match="rate of a types.SimpleNamespace") as said:
            changing(compiled)
        at = f" (test_why.py:{function.__code__.co_firstlineno + line} in " if line else ", 4 times"
        assert f"rate of a types.SimpleNamespace{at}" in str(said[0].message)
    forgetful, instructions = clew.compile(once), dis.get_instructions

    def forgets(code: Any) -> Any:
        forgetful.cache_clear()
        return instructions(code)

    monkeypatch.setattr(dis, "get_instructions", forgets)
    with pytest.warns(clew.KeepWarning):
        changing(forgetful)


def test_bytes_are_those_of_constants_and_tables() -> None:
    function = clew.compile(lambda x: x + clew.tensor([1.0] * 1000))
    assert function.bytes == 0
    function(clew.ones(1000))
    assert 4000 < function.bytes < 12000
    function.cache_clear()
    assert function.bytes == 0


def test_a_function_that_always_raises_is_not_recorded_forever() -> None:
    def broken(x: Any) -> Any:
        recorded.append(sys.gettrace() is not None or clew._core.is_interpreted())
        raise KeyError("nothing")

    recorded: list[bool] = []
    function = clew.compile(broken)
    for _ in range(100):
        with pytest.raises(KeyError, match="nothing"):
            function(clew.ones(1))
    assert recorded[:3] == [True, True, True]
    assert sum(recorded) < 10


def test_fullgraph_raises_where_it_would_stay_eager() -> None:
    function = clew.compile(lambda x: print(end="") or x, fullgraph=True)
    for _ in range(2):  # what is done once only is not done again
        function(clew.ones(1))
    for _ in range(3):
        with pytest.raises(clew.KeepError, match=r"builtins\.print"):
            function(clew.ones(1))


def test_fullgraph_raises_at_each_call_that_reads_yet_another_number() -> None:
    state = types.SimpleNamespace(factor=0)
    function = clew.compile(lambda x: x * state.factor, fullgraph=True)
    for state.factor in range(3):
        function(clew.ones(2))
    for state.factor in range(3, 8):
        with pytest.raises(clew.KeepError, match="make what varies a tensor"):
            function(clew.ones(2))


def test_it_can_be_switched_off() -> None:
    function = clew.compile(lambda x: x * 2)
    with clew.compiler.disabled():
        assert function(clew.ones(1)).item() == 2
        with clew.compiler.disabled():
            function(clew.ones(1))
        function(clew.ones(1))
    assert (function.hits, function.misses) == (0, 0)
    function(clew.ones(1))
    assert function.misses == 1


def test_the_environment_switches_it_off() -> None:
    program = (
        "import clew; f = clew.compile(lambda x: x * 2); f(clew.ones(1)), f(clew.ones(1)); print(f.hits, f.misses)"
    )
    for value, expected in (("0", "0 0"), ("1", "1 1")):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "CLEW_COMPILE": value},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected


def test_a_function_is_pickled_and_copied_as_its_function() -> None:
    decorated(clew.ones(1))
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.deepcopy(decorated) is decorated
    decorated.cache_clear()
    wrapped = clew.compile(abs, max_variants=3)
    wrapped(clew.ones(1))
    for other in (pickle.loads(pickle.dumps(wrapped)), copy.deepcopy(wrapped)):
        assert other is not wrapped
        assert other.eager is abs
        assert (other.hits, other.misses, other.variants) == (0, 0, 0)
        assert other._options == wrapped._options


def test_a_method_is_compiled_for_each_instance() -> None:
    two, three = Scaler(2.0), Scaler(3.0)
    for _ in range(3):
        assert [one.scale(clew.ones(1)).item() for one in (two, three)] == [2, 3]
    assert (Scaler.scale.hits, Scaler.scale.variants) == (4, 2)
    two.factor = 5.0
    assert two.scale(clew.ones(1)).item() == 5
    Scaler.scale.cache_clear()


def test_a_module_is_wrapped_as_by_pytorch() -> None:
    plain = clew.nn.Sequential(clew.nn.Linear(2, 2), clew.nn.Dropout())
    model = clew.compile(plain)
    assert list(model.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert [id(one) for one in model.parameters()] == [id(one) for one in plain.parameters()]
    model.eval()
    assert (plain.training, plain[1].training, model.training) == (False, False, False)
    plain.train()
    assert model.training
    model.note = 3
    assert plain.note == 3
    assert model.note == 3
    del model.note
    assert not hasattr(plain, "note")
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        model.nothing_of_the_kind  # noqa: B018 - it raises
    with pytest.raises(AttributeError, match=r"'Sequential' object has no attribute 'why'.*take `\.compiled\.why`"):
        model.why()


def test_a_module_and_its_hooks_are_called() -> None:
    plain = clew.nn.Linear(2, 1)
    model = clew.compile(plain)
    seen: list[str] = []
    model.register_forward_hook(lambda *_: seen.append("wrapper"))
    x = clew.ones(3, 2)
    for _ in range(3):
        assert model(x).tolist() == plain(x).tolist()
    assert model.compiled.hits == 2
    assert seen == ["wrapper"] * 3


def test_a_copied_module_is_compiled_anew() -> None:
    model = clew.compile(clew.nn.Linear(2, 1))
    x = clew.ones(3, 2)
    expected = model(x).tolist()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.compiled.eager is other._orig_mod
        assert other._orig_mod is not model._orig_mod
        assert other.compiled.variants == 0
        assert other(x).tolist() == expected
        with clew.no_grad():
            other._orig_mod.bias.add_(1)
        assert other(x).tolist() != expected
    assert model(x).tolist() == expected


def test_telling_variants_apart_asks_nothing_of_objects():
    class Silent:
        def __getattr__(self, name):
            raise AssertionError(f"asked for {name}")

    compiled, silent = clew.compile(lambda x, other, kind: x * 2), Silent()
    compiled(clew.ones(2), silent, Silent)
    assert "(float32[2], <Silent>, Silent)" in compiled.why()


def test_an_argument_that_dies_says_nothing_of_the_next_kind_of_call():
    class Own:
        pass

    compiled, own = clew.compile(lambda x, own: x * 2), Own()
    compiled(clew.ones(2), own)
    del own
    compiled(clew.ones(3), 1)
    assert "float32[3]" in compiled.why()
    assert "gone since" not in compiled.why()
