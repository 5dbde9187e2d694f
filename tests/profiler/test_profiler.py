"""Profiles: counts against PyTorch's own and against accounts kept apart, times, memory, schedules, traces."""

import collections
import gzip
import itertools
import json
import subprocess
import sys
import threading
import time
import warnings

import pytest
import torch

import clew


def mlp(library):
    model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.ReLU(), library.nn.Linear(4, 2))
    return model(library.ones(5, 3)).exp().mean()


def arithmetic(library):
    x = library.ones(2, 3, requires_grad=True)
    y = (x * x + x).sin() / 2
    for _ in range(3):
        y = y.tanh()
    return library.cat([y, y]).sum()


def convolution(library):
    return library.nn.functional.max_pool2d(library.nn.Conv2d(2, 3, 3)(library.ones(1, 2, 8, 8)), 2).sigmoid()


def products(library):
    a, b = library.ones(2, 3), library.ones(3, 4)
    return library.mm(a, b), library.bmm(a[None], b[None]), library.addmm(library.ones(4), a, b)


def counts(events, names):
    found = collections.Counter(event.name for event in events)
    return {name: found[name] for name in names}


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (mlp, "addmm relu exp mean"),
        (arithmetic, "mul add sin div tanh cat sum"),
        (convolution, "convolution sigmoid"),
        (products, "mm bmm addmm select"),
    ],
)
def test_operations_are_counted_as_in_pytorch(program, names):
    names = [f"aten::{name}" for name in names.split()]
    with torch.profiler.profile() as theirs:
        program(torch)
    with clew.profiler.profile() as ours:
        program(clew)
    expected = counts(theirs.events(), names)
    assert counts(ours.events(), names) == expected
    averages = {event.key: event.count for event in ours.key_averages()}
    assert {name: averages.get(name, 0) for name in names} == expected


def test_known_counts_of_forward_and_backward():
    x = clew.ones(3, requires_grad=True)
    with clew.autograd.profiler.profile() as prof:
        y = x
        for _ in range(7):
            y = y.sin()
        loss = y.sum()
        with clew.profiler.record_function("backward"):
            loss.backward()
    found = counts(prof.function_events, ["aten::sin", "aten::cos", "aten::sum"])
    assert found == {"aten::sin": 7, "aten::cos": 7, "aten::sum": 1}
    (backward,) = (event for event in prof.function_events if event.name == "backward")
    inside = [event for event in prof.function_events if event.name == "aten::cos"]
    assert all(event.cpu_parent is backward for event in inside)


def test_a_rule_whose_first_gradient_nobody_needs_is_seen():
    model = clew.nn.LSTM(4, 8)  # its input needs no gradient: the first result of the layer's rule is none
    with clew.profiler.profile() as prof:
        model(clew.ones(3, 2, 4))[0].sum().backward()
    assert any("recurrent_layer_backward" in event.name for event in prof.events())


def test_a_profile_changes_no_result():
    def gradients(record):
        clew.manual_seed(0)
        model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.Tanh(), clew.nn.Linear(4, 1))
        optimizer = clew.optim.Adam(model.parameters())
        with record:
            for _ in range(3):
                optimizer.zero_grad()
                model(clew.randn(5, 3)).pow(2).mean().backward()
                optimizer.step()
        return [parameter.detach() for parameter in model.parameters()]

    profiled = gradients(clew.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True))
    plain = gradients(clew.enable_grad())
    assert all(clew.equal(a, b) for a, b in zip(profiled, plain, strict=True))


def test_times_lie_within_each_other():
    begun = time.perf_counter_ns()
    with clew.profiler.profile() as prof, clew.profiler.record_function("outer"):
        with clew.profiler.record_function("sleep"):
            time.sleep(0.02)
        clew.ones(100).exp()
    whole = (time.perf_counter_ns() - begun) / 1e3
    outer, sleep = prof.events()[:2]
    assert (outer.name, sleep.name) == ("outer", "sleep")
    assert 20_000 <= sleep.cpu_time_total <= outer.cpu_time_total <= whole
    assert outer.self_cpu_time_total == pytest.approx(
        outer.cpu_time_total - sum(child.cpu_time_total for child in outer.cpu_children)
    )
    assert prof.profiler.self_cpu_time_total == pytest.approx(outer.cpu_time_total)
    assert prof.key_averages().total_average().count == len(prof.events())


def test_memory_is_what_an_operation_allocates():
    with clew.profiler.profile(profile_memory=True) as prof, clew.profiler.record_function("both"):
        kept = [clew.zeros(1000), clew.zeros(500, dtype=clew.float64)]
    memory = [event.cpu_memory_usage for event in prof.events() if event.name != "both"]
    assert [one for one in memory if one] == [4000, 4000]
    assert prof.events()[0].cpu_memory_usage == 8000
    assert prof.events()[0].self_cpu_memory_usage == 0
    assert len(kept) == 2
    assert "CPU Mem" in prof.key_averages().table()


def test_shapes_and_flops():
    with clew.profiler.profile(record_shapes=True, with_flops=True) as prof:
        a, b = clew.ones(2, 3), clew.ones(3, 4)
        _ = a @ b
        _ = clew.ones(5, 3) @ b
        _ = clew.addmm(clew.ones(4), a, b)
        _ = clew.nn.functional.conv2d(clew.ones(1, 2, 6, 6), clew.ones(3, 2, 3, 3))
        _ = a * a
    by_shape = {(event.key, event.input_shapes): event.flops for event in prof.key_averages(group_by_input_shape=True)}
    assert by_shape["aten::mm", "[[2, 3], [3, 4]]"] == 2 * 2 * 3 * 4
    assert by_shape["aten::mm", "[[5, 3], [3, 4]]"] == 2 * 5 * 3 * 4
    assert by_shape["aten::addmm", "[[4], [2, 3], [3, 4]]"] == 2 * 2 * 3 * 4
    assert next(f for (name, _), f in by_shape.items() if name == "aten::convolution") == 2 * (3 * 4 * 4) * (2 * 3 * 3)
    assert by_shape["aten::mul", "[[2, 3], [2, 3]]"] == 6
    with torch.profiler.profile(record_shapes=True, with_flops=True) as theirs:
        torch.mm(torch.ones(2, 3), torch.ones(3, 4))
    (flops,) = (event.flops for event in theirs.key_averages() if event.key == "aten::mm")
    assert by_shape["aten::mm", "[[2, 3], [3, 4]]"] == flops
    text = prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total")
    assert "[[5, 3], [3, 4]]" in text
    assert "Total FLOPs" in text


def inner():
    return clew.ones(2).sin()


def test_stacks(tmp_path):
    with clew.profiler.profile(with_stack=True) as prof:
        inner()
    (event,) = (event for event in prof.events() if event.name == "aten::sin")
    assert event.stack[0].endswith(f"test_profiler.py({inner.__code__.co_firstlineno + 1}): inner")
    assert "test_stacks" in event.stack[1]
    grouped = prof.key_averages(group_by_stack_n=1)
    assert any("inner" in "".join(one.stack) for one in grouped)
    prof.export_stacks(tmp_path / "stacks.txt", "self_cpu_time_total")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    assert any(";" in line and line.rpartition(" ")[2].isdecimal() and "inner" in line for line in lines)
    with pytest.raises(ValueError, match="metric"):
        prof.export_stacks(tmp_path / "stacks.txt", "seconds")
    with clew.profiler.profile() as without:
        inner()
    with pytest.raises(RuntimeError, match="with_stack"):
        without.export_stacks(tmp_path / "stacks.txt")


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_a_trace_has_the_fields_of_pytorchs(tmp_path, suffix):
    traces = {}
    for library in (torch, clew):
        path = str(tmp_path / f"{library.__name__}.{suffix}")
        with library.profiler.profile(record_shapes=True) as prof, library.profiler.record_function("mine"):
            _ = library.ones(2, 3) * 2
        if library is clew:
            prof.add_metadata("words", "a text")
            prof.add_metadata_json("numbers", "[1, 2]")
        prof.export_chrome_trace(path)
        with gzip.open(path, "rt") if suffix.endswith("gz") else open(path) as file:
            traces[library] = json.load(file)
    theirs, ours = traces[torch], traces[clew]
    assert set(theirs) - {"trace_id"} <= set(ours)
    assert (ours["words"], ours["numbers"]) == ("a text", [1, 2])
    for category in ("cpu_op", "user_annotation"):
        a, b = (
            {one["name"]: one for one in trace["traceEvents"] if one.get("cat") == category} for trace in (theirs, ours)
        )
        name = "aten::mul" if category == "cpu_op" else "mine"
        assert set(a[name]) == set(b[name])
        assert all(type(b[name][key]) in (int, float) for key in ("ts", "dur", "pid", "tid"))
        assert b[name]["args"]["Ev Idx"] >= 0
    mul = next(one for one in ours["traceEvents"] if one["name"] == "aten::mul")
    mine = next(one for one in ours["traceEvents"] if one["name"] == "mine")
    assert mul["args"]["Input Dims"][0] == [2, 3]
    assert mine["ts"] <= mul["ts"]
    assert mul["ts"] + mul["dur"] <= mine["ts"] + mine["dur"]


@pytest.mark.parametrize(
    "counted", list(itertools.product(range(2), range(1, 3), range(1, 3), range(3), (0, 3), (0, 1)))
)
def test_schedules_are_pytorchs(counted):
    options = dict(zip(("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait"), counted, strict=True))
    ours, theirs = clew.profiler.schedule(**options), torch.profiler.schedule(**options)
    assert [ours(step).name for step in range(25)] == [theirs(step).name for step in range(25)]


@pytest.mark.parametrize("options", [(1, 1, 2, 0), (0, 1, 1, 2), (2, 1, 3, 1)])
@pytest.mark.parametrize("steps", [1, 5, 11])
def test_recordings_end_where_pytorchs_do(options, steps):
    ends = {}
    plan = dict(zip(("wait", "warmup", "active", "repeat"), options, strict=True))
    for library in (torch, clew):
        found = []

        def ready(prof, found=found):
            names = [event.name for event in prof.events() if event.name.startswith("ProfilerStep")]
            found.append((prof.step_num, sorted(names)))

        with (
            warnings.catch_warnings(),
            library.profiler.profile(schedule=library.profiler.schedule(**plan), on_trace_ready=ready) as prof,
        ):
            warnings.simplefilter("ignore")
            for _ in range(steps):
                _ = library.ones(2) + 1
                prof.step()
        ends[library] = found
    assert ends[clew] == ends[torch]


def test_traces_for_tensorboard(tmp_path):
    handler = clew.profiler.tensorboard_trace_handler(str(tmp_path / "logs"), worker_name="me", use_gzip=True)
    plan = clew.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    with clew.profiler.profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(4):
            _ = clew.ones(2) + 1
            prof.step()
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert len(files) == 2
    assert all(name.startswith("me.") and name.endswith(".pt.trace.json.gz") for name in files)


def test_record_function_decorates_and_costs_nothing_without_a_profile():
    @clew.profiler.record_function("factorial")
    def factorial(n):
        return 1 if n == 0 else n * factorial(n - 1)

    assert factorial(4) == 24
    with clew.profiler.profile() as prof:
        assert factorial(4) == 24
    assert counts(prof.events(), ["factorial"]) == {"factorial": 5}
    assert sum(event.cpu_parent is None for event in prof.events()) == 1
    assert not clew._core.is_interpreted()


def test_optimizer_steps_are_events():
    parameter = clew.nn.Parameter(clew.ones(3))
    optimizer = clew.optim.SGD([parameter], lr=0.1)
    with clew.profiler.profile() as prof:
        parameter.sum().backward()
        optimizer.step()
    names = [event.name for event in prof.events()]
    assert names.count("Optimizer.step#SGD.step") == 1
    parameter.sum().backward()
    optimizer.step()  # nobody looks on


def test_a_profile_begins_and_ends_within_a_step():
    """As Lightning does, whose closure is the training step."""
    parameter = clew.nn.Parameter(clew.ones(3))
    optimizer = clew.optim.SGD([parameter], lr=0.1)
    plan = clew.profiler.schedule(wait=1, warmup=1, active=2)
    found = []
    ready = lambda prof: found.append([event.name for event in prof.events()])  # noqa: E731
    with clew.profiler.profile(schedule=plan, on_trace_ready=ready) as prof:

        def closure():
            prof.step()
            optimizer.zero_grad()
            loss = parameter.sum()
            loss.backward()
            return loss

        for _ in range(9):
            optimizer.step(closure)
    assert len(found) == 2
    assert all("aten::sgd_step" in names or "clew::sgd_step" in names for names in found)
    assert any("Optimizer.step#SGD.step" in names for names in found)
    assert clew.optim.optimizer.watchers == []
    assert not clew._core.is_interpreted()


def test_errors_and_blocks_that_end_early():
    with clew.autograd.profiler.profile() as prof:
        clew.profiler.record_function("open").__enter__()
        clew.ones(2)
    assert prof.function_events[0].cpu_time_total >= prof.function_events[1].cpu_time_total
    with clew.autograd.profiler.profile() as prof, pytest.raises(RuntimeError):
        clew.ones(2) @ clew.ones(3)
    assert not clew._core.is_interpreted()
    with clew.profiler.profile(), pytest.raises(RuntimeError, match="no other profile"):
        clew.profiler.profile().start()
    with pytest.raises(RuntimeError, match="expected a recording"):
        clew.profiler.profile().events()
    with pytest.raises(ValueError, match="active"):
        clew.profiler.schedule(wait=0, warmup=1, active=0)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        clew.profiler.profile(activities=[clew.profiler.ProfilerActivity.CUDA, clew.profiler.ProfilerActivity.CPU])
    with pytest.raises(NotImplementedError, match=r"torch\.profiler"), clew.autograd.profiler.emit_nvtx():
        pass
    with clew.autograd.profiler.emit_nvtx(enabled=False):
        pass
    with clew.autograd.profiler.profile(enabled=False) as none:
        clew.ones(2)
    assert none.function_events is None


def test_other_threads_are_not_in_it():
    with clew.profiler.profile() as prof:
        thread = threading.Thread(target=lambda: clew.ones(2).cos())
        thread.start()
        thread.join()
        clew.ones(2).sin()
    assert counts(prof.events(), ["aten::sin", "aten::cos"]) == {"aten::sin": 1, "aten::cos": 0}


def test_a_compiled_function_is_seen_and_goes_on():
    @clew.compile
    def f(x):
        return (x.sin() * 2).sum()

    x = clew.ones(3)
    expected = max(f(x).item() for _ in range(3))
    with clew.profiler.profile() as prof:
        assert f(x).item() == expected
    assert counts(prof.events(), ["aten::sin", "aten::mul"]) == {"aten::sin": 1, "aten::mul": 1}
    assert f(x).item() == expected


def test_the_table():
    with clew.profiler.profile() as prof:
        for _ in range(3):
            clew.ones(2).sin()
        clew.ones(2).cos()
    averages = prof.key_averages()
    lines = averages.table(sort_by="count", row_limit=1, time_unit="us").splitlines()
    assert lines[1].split()[0] == "Name"
    assert sum("aten::" in line for line in lines) == 1
    assert lines[-1].startswith("Self CPU time total: ")
    assert sum("aten::" in line for line in averages.table(row_limit=-1).splitlines()) == len(averages)
    for title in ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"):
        assert title in str(averages)


def test_an_import_of_clew_loads_no_profiler():
    program = "import clew, sys; print([name for name in sys.modules if 'profiler' in name])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_transforms_and_hooks_give_the_same_bits():
    clew.manual_seed(0)
    x, w = clew.randn(3, 4), clew.randn(4, 4, requires_grad=True)

    def f(v):
        return (v.sin() @ w.detach()).pow(2).sum()

    def gradient(loss):
        (found,) = clew.autograd.grad(loss, w)
        return found

    def everything():
        yield clew.func.hessian(f)(x)
        yield clew.func.vmap(clew.func.grad(f))(x)
        yield clew.func.jvp(f, (x,), (x,))[1]
        yield gradient(clew.utils.checkpoint.checkpoint(lambda a: (a @ w).relu(), x, use_reentrant=False).sum())
        with clew.autograd.graph.saved_tensors_hooks(lambda one: one.clone(), lambda one: one):
            yield gradient((x @ w).sigmoid().sum())
        with clew.autocast("cpu"):
            yield (x @ w).detach()
        with clew.memory.timeline():
            yield gradient((x @ w).exp().sum())

    with clew.profiler.profile(record_shapes=True, with_stack=True, profile_memory=True, with_flops=True) as prof:
        profiled = list(everything())
    assert all(clew.equal(one, other) for one, other in zip(profiled, everything(), strict=True))
    assert len(prof.events()) > 50
