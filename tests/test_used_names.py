"""Names of PyTorch's that libraries use: those at import are there, and those that refuse say what to use instead."""

import importlib
import importlib.util
import json
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import _unsupported as unsupported

ROOT = Path(__file__).parents[1]


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
    assert not [name for name, state in found.items() if state == "missing"]


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
    assert not json.loads(done.stdout)


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


def test_operations_by_pytorchs_names(oracle: Any) -> None:
    for library in (clew, oracle):
        aten = library.ops.aten
        assert aten.add.Tensor(library.ones(2), 1).tolist() == [2.0, 2.0]
        assert {aten.mm.default: 1}[aten.mm.default] == 1
        assert aten.mm.default != aten.mm.out
        assert (str(aten.mm), str(aten.mm.default)) == ("aten.mm", "aten.mm.default")
        assert (aten.mm.default.name(), aten.add.Tensor.name()) == ("aten::mm", "aten::add.Tensor")
        assert aten.mm.default.overloadpacket == aten.mm
    with pytest.raises(NotImplementedError, match=r"ops\.aten\._no_such\.default"):
        clew.ops.aten._no_such.default(1)


def test_modes_of_determinism(oracle: Any) -> None:
    for library in (clew, oracle):
        for mode in ("warn", 2, "default"):
            library.set_deterministic_debug_mode(mode)
            warns = library.is_deterministic_algorithms_warn_only_enabled()
            assert (library.get_deterministic_debug_mode(), warns) == {"warn": (1, True), 2: (2, False)}.get(
                mode, (0, False)
            )
        with pytest.raises(RuntimeError):
            library.set_deterministic_debug_mode(3)


def test_small_functions(oracle: Any) -> None:
    for library in (clew, oracle):
        x = library.ones(2, requires_grad=True)
        assert not library.detach(x).requires_grad
        assert library.get_device_module("cuda") is library.cuda
        for check, error in ((library._check, RuntimeError), (library._check_value, ValueError)):
            check(True)
            with pytest.raises(error, match="said"):
                check(False, lambda: "said")
        flat = importlib.import_module(f"{library.__name__}._utils")._flatten_dense_tensors([x, x.view(1, 2)])
        assert flat.tolist() == [1.0] * 4


def test_seeds_of_workers(oracle: Any) -> None:
    theirs = importlib.import_module("torch.utils.data._utils.worker")._generate_state
    for seed, worker in ((0, 0), (123456789, 3), (2**62 + 5, 7)):
        assert clew.utils.data.worker._generate_state(seed, worker) == theirs(seed, worker)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # PyTorch's, of LeafSpec
def test_trees_as_lightning_takes_them_apart(oracle: Any) -> None:
    for library in (clew, oracle):
        tree = importlib.import_module(f"{library.__name__}.utils._pytree")
        node = {"a": [1, 2]}
        assert tree._get_node_type(node) is dict
        assert tree._get_node_type(1) not in tree.SUPPORTED_NODES
        children, context = tree.SUPPORTED_NODES[dict].flatten_fn(node)
        assert (list(children), list(context)) == ([[1, 2]], ["a"])
        assert tree.LeafSpec() == tree.tree_flatten(1)[1]
        pairs, _ = tree._dict_flatten_with_keys(node)
        assert [(key.key, child) for key, child in pairs] == [("a", [1, 2])]


def test_weak_dictionaries(oracle: Any) -> None:
    for library in (clew, oracle):
        weak = importlib.import_module(f"{library.__name__}.utils.weak")
        x, same = library.ones(2), library.ones(2)
        names = weak.WeakTensorKeyDictionary({x: "x"})
        assert x in names
        assert same not in names
        assert len(list(names)) == 1
        del x
        assert len(names) == 0


def test_modules_as_functions(oracle: Any) -> None:
    layer = clew.nn.Linear(2, 1)
    functorch = importlib.import_module("clew.functorch")
    f, parameters = functorch.make_functional(layer)
    x = clew.ones(3, 2)
    assert clew.equal(f(parameters, x), layer(x))
    grads = clew.func.grad(lambda given: f(given, x).sum())(parameters)
    assert grads[0].tolist() == [[3.0, 3.0]]
    normed = clew.nn.Sequential(clew.nn.BatchNorm1d(2))
    clew.func.replace_all_batch_norm_modules_(normed)
    assert not normed[0].track_running_stats


def test_batches_of_other_classes(oracle: Any) -> None:
    class Sample:
        def __init__(self, value: int) -> None:
            self.value = value

    class Derived(Sample): ...

    for library in (clew, oracle):
        module = importlib.import_module(f"{library.__name__}.utils.data._utils.collate")
        functions = {Sample: lambda batch, *, collate_fn_map=None: [one.value for one in batch]}
        batch = [{"x": (library.ones(2), Derived(n))} for n in range(2)]
        made = module.collate(batch, collate_fn_map={**module.default_collate_fn_map, **functions})
        assert made["x"][0].shape == (2, 2)
        assert list(made["x"][1]) == [0, 1]
        assert module.np_str_obj_array_pattern.search("<U3")


def test_options_of_printing_in_a_context(oracle: Any) -> None:
    for library in (clew, oracle):
        module = importlib.import_module(f"{library.__name__}._tensor_str")
        with module.printoptions(precision=2):
            assert "0.33)" in repr(library.tensor(1 / 3)) or "0.3300" in repr(library.tensor(1 / 3))
        assert "0.3333" in repr(library.tensor(1 / 3))


@pytest.mark.parametrize(
    "place", ["nn", "optim", "optim.lr_scheduler", "utils.data", "distributions", "autograd", "fx"]
)
def test_type_hints_of_classes_are_found(place: str) -> None:
    """Libraries ask for the hints of classes that derive from these."""
    module = importlib.import_module(f"clew.{place}")
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, type):
            typing.get_type_hints(value)
