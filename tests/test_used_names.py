"""Names of PyTorch's that libraries use: those at import are there, and those that refuse say what to use instead."""

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import _unsupported as unsupported

ROOT = Path(__file__).parents[1]
# Of what most libraries use at import, what is still missing. It only shrinks.
MISSING = {
    "_C._disabled_torch_function_impl",
    "autograd.profiler.EventList",
    "autograd.profiler.emit_nvtx",
    "autograd.profiler.profile",
    "autograd.profiler.record_function",
    "complex32",
    "distributions.transforms._InverseTransform",
    "distributions.utils._standard_normal",
    "distributions.utils._sum_rightmost",
    "float8_e4m3fn",
    "float8_e5m2",
    "fx.Graph",
    "fx.GraphModule",
    "fx.Interpreter",
    "fx.Node",
    "fx.Tracer",
    "fx.experimental.proxy_tensor.make_fx",
    "fx.node.Node",
    "fx.passes.shape_prop.ShapeProp",
    "fx.proxy.GraphAppendingTracer",
    "fx.symbolic_trace",
    "hub.load_state_dict_from_url",
    "nn.attention.flex_attention.BlockMask",
    "ops.aten",
    "overrides.TorchFunctionMode",
    "profiler.ProfilerAction",
    "profiler.ProfilerActivity",
    "profiler.kineto_available",
    "profiler.profile",
    "profiler.tensorboard_trace_handler",
    "qint32",
    "qint8",
    "quasirandom.SobolEngine",
    "quint4x2",
    "quint8",
    "serialization.DEFAULT_PROTOCOL",
    "sparse_coo",
    "uint16",
    "uint32",
    "uint64",
}


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("used_names", ROOT / "tools" / "used_names.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def placeholders() -> Any:
    return importlib.import_module("clew._placeholders")


def refusing() -> list[tuple[str, Any]]:
    """All names of the table whose value refuses, with it."""
    found = []
    for place, names in placeholders().table().items():
        module = importlib.import_module(f"clew.{place}".rstrip("."))
        for name in names:
            try:
                value = getattr(module, name, None)
            except ImportError:  # what an alias is for is not there
                value = None
            if unsupported.refuses(value):
                found.append((f"{place}.{name}".lstrip("."), value))
    return found


def test_what_two_libraries_use_at_import_is_there() -> None:
    tools = tool()
    _, counts = tools.read_counts()
    names = [name for name in counts if counts[name][tools.IMPORT] > 1]
    assert len(names) > 400
    found = tools.states(names)
    assert {name.removeprefix("torch.") for name, state in found.items() if state == "missing"} <= MISSING


def test_the_page_of_used_names_is_up_to_date() -> None:
    tools = tool()
    number, counts = tools.read_counts()
    page = tools.page(number, counts, tools.states(list(counts)))
    assert tools.PAGE.read_text(encoding="utf-8") == page, "run tools/used_names.py"


def test_what_refuses_says_what_to_use() -> None:
    found = refusing()
    assert len(found) > 300
    for name, value in found:
        with pytest.raises(NotImplementedError, match=r"clew does not have it \(yet\); use .+; see docs/coverage.md"):
            value()
        assert unsupported.substitute(name), name


def test_each_row_of_the_table_makes_something() -> None:
    program = """
import importlib, json, clew
clew.as_torch()
table = importlib.import_module("clew._placeholders").table()
failed = []
for place, names in table.items():
    module = importlib.import_module(f"torch.{place}".rstrip(".") if not place.startswith("functorch") else place)
    for name in names:
        try:
            getattr(module, name)
        except (ImportError, AttributeError) as error:
            failed.append(f"{place}.{name}: {error}")
print(json.dumps(failed))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # What a row takes from elsewhere may itself be missing.
    assert not [one for one in json.loads(done.stdout) if "torch.hub" not in one]


def test_a_refused_class_is_a_class() -> None:
    stream = clew.cuda.Stream
    assert not isinstance(clew.ones(1), stream)
    assert not isinstance(clew.ones(1), stream | None)
    assert stream.__module__ == "clew.cuda"
    with pytest.raises(NotImplementedError, match=r"^cuda\.Stream: clew does not have it"):
        stream(device=0)

    class Derived(stream):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()

    with pytest.raises(NotImplementedError, match=r"^cuda\.Stream"):
        Derived()
    assert not unsupported.refuses(Derived)
    assert issubclass(clew.nn.LazyLinear, clew.nn.Module)
    assert not isinstance(clew.nn.Linear(1, 1), clew.nn.LazyLinear)


def test_modules_that_are_in_the_table_only_are_imported() -> None:
    module = importlib.import_module("clew.distributed.fsdp")
    assert module.FullyShardedDataParallel is clew.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel
    assert "FullyShardedDataParallel" in dir(module)
    assert list(module.StateDictType.__members__) == ["FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"]
    with pytest.raises(AttributeError, match="no_such"):
        module.no_such  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("clew.distributed.no_such")


def test_names_are_made_when_they_are_asked_for() -> None:
    program = "import sys, clew; print(any(name in sys.modules for name in ('clew._placeholders', 'clew.types')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_decorators_change_nothing() -> None:
    def function() -> None: ...

    dynamo = importlib.import_module("clew._dynamo")
    assert dynamo.disable(function) is function
    assert dynamo.disallow_in_graph(function) is function
    assert clew.utils.data.functional_datapipe("name")(function) is function


def test_answers_are_those_of_pytorch_without_a_device(oracle: Any) -> None:
    names = ("memory_allocated", "max_memory_allocated", "memory_reserved", "memory_stats", "get_arch_list",
             "get_rng_state_all", "is_bf16_supported", "device_count", "is_available", "empty_cache")  # fmt: skip
    for name in names:
        assert getattr(clew.cuda, name)() == getattr(oracle.cuda, name)(), name
    for library in (clew, oracle):
        assert library.accelerator.current_accelerator() is None
        assert not library.xpu.is_available()
        with library.cuda.stream(None), library.cuda.device(-1):
            library.cuda.set_rng_state_all([])
        assert library.backends.cudnn.enabled
        assert not library.backends.cuda.is_built()
    for refused in (clew.cuda.current_device, clew.cuda.synchronize, lambda: clew.cuda.stream(1).__enter__()):
        with pytest.raises(NotImplementedError, match="the CPU, the only device"):
            refused()


def test_a_backend_has_no_switches_that_nobody_has() -> None:
    assert not hasattr(clew.backends.cuda, "no_such_switch")
    assert not callable(clew.backends.cuda.matmul.allow_tf32)
    before = clew.backends.cudnn.benchmark
    clew.backends.cudnn.benchmark = not before
    assert clew.backends.cudnn.benchmark != before
    clew.backends.cudnn.benchmark = before
