"""The names of the package: what is there, what comes late, what is refused, what it costs to import."""

import itertools
import os
import subprocess
import sys

import pytest

DTYPES = ["bool", "uint8", "int32", "int64", "float32", "float64"]
MORE_DTYPES = [*DTYPES, "int8", "int16", "float16", "bfloat16"]


def test_promotion_of_dtypes(torch, oracle):
    for one, other in itertools.product(MORE_DTYPES, repeat=2):
        ours = torch.promote_types(getattr(torch, one), getattr(torch, other))
        theirs = oracle.promote_types(getattr(oracle, one), getattr(oracle, other))
        assert str(ours) == str(theirs), (one, other)
        assert torch.can_cast(getattr(torch, one), getattr(torch, other)) == oracle.can_cast(
            getattr(oracle, one), getattr(oracle, other)
        ), (one, other)


def test_the_dtype_of_results(torch, oracle):
    def operands(module):
        for name in DTYPES:
            yield module.ones(2, dtype=getattr(module, name))
            yield module.tensor(1, dtype=getattr(module, name))
        yield from (True, 3, 2.5)

    pairs = zip(
        itertools.product(operands(torch), repeat=2), itertools.product(operands(oracle), repeat=2), strict=True
    )
    for ours, theirs in pairs:
        if any(isinstance(value, torch.Tensor) for value in ours):
            assert str(torch.result_type(*ours)) == str(oracle.result_type(*theirs)), theirs
            if not all(isinstance(value, torch.Tensor) for value in ours):
                continue
            assert torch.result_type(*ours) == (ours[0] * ours[1]).dtype, theirs


def test_limits_of_dtypes(torch, oracle):
    for name in ("float32", "float64", "float16", "bfloat16"):
        ours, theirs = torch.finfo(getattr(torch, name)), oracle.finfo(getattr(oracle, name))
        for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
            assert getattr(ours, field) == getattr(theirs, field), (name, field)
    for name in ("uint8", "int8", "int16", "int32", "int64"):
        ours, theirs = torch.iinfo(getattr(torch, name)), oracle.iinfo(getattr(oracle, name))
        for field in ("bits", "max", "min", "dtype"):
            assert getattr(ours, field) == getattr(theirs, field), (name, field)
    assert torch.finfo().dtype == "float32"
    for call in (lambda: torch.finfo(torch.int64), lambda: torch.iinfo(torch.float32)):
        with pytest.raises(TypeError, match="requires"):
            call()


def test_the_default_dtype(torch):
    assert torch.get_default_dtype() == torch.float32
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.tensor(1.0).dtype == torch.float64
        assert repr(torch.tensor([1.0])) == "tensor([1.], dtype=torch.float64)".replace(", dtype=torch.float64", "")
        assert torch.finfo().dtype == "float64"
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(TypeError, match="floating"):
        torch.set_default_dtype(torch.int64)


def test_questions(torch):
    x = torch.ones(2)
    assert torch.is_tensor(x)
    assert not torch.is_tensor([1])
    assert torch.is_floating_point(x)
    assert not torch.is_complex(x)
    assert torch.numel(x) == 2
    assert torch.is_nonzero(torch.tensor(2.0))
    assert torch.typename(x) == "torch.FloatTensor"
    assert torch.typename([]) == "list"


def test_sizes(torch, oracle):
    for make in (
        lambda m: m.ones(2, 3).shape + (4,),  # noqa: RUF005 - it is what is tested
        lambda m: (4, *m.ones(2).shape),
        lambda m: m.ones(2, 3).shape * 2,
        lambda m: m.ones(2, 3).shape[1:],
        lambda m: m.ones(2, 3).shape[-1],
        lambda m: m.ones(2, 3).size(),
        lambda m: m.Size([2, 0]).numel(),
        lambda m: m.Size().numel(),
        lambda m: list(m.Size([1, 2])),
        lambda m: m.Size([1, 2]) == (1, 2),
    ):
        assert repr(make(torch)) == repr(make(oracle))


def test_devices(torch):
    device = torch.device("cpu")
    assert (device.type, device.index) == ("cpu", None)
    assert torch.device("cuda:1") == torch.device("cuda", 1)
    assert torch.device(device) == device
    assert device != torch.device("cpu", 0)
    assert hash(device) == hash(torch.device("cpu"))
    assert {device: 1}[torch.ones(1).device] == 1
    with pytest.raises(RuntimeError, match="device string: bananas"):
        torch.device("bananas")
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0
    with device:
        assert torch.ones(1).device == device


def test_switches_that_scripts_set(torch):
    torch.use_deterministic_algorithms(True)
    assert torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision(before)
    assert not torch.backends.mps.is_available()
    torch.backends.cudnn.deterministic = True
    assert torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = False


@pytest.mark.beyond
def test_an_unknown_precision_is_refused(torch):
    with pytest.raises(ValueError, match="bananas"):
        torch.set_float32_matmul_precision("bananas")


@pytest.mark.beyond
def test_names_that_pytorch_has_and_clew_not_yet(torch):
    for name in ("sparse_bsr_tensor", "dequantize", "empty_quantized"):
        assert not hasattr(torch, name)
        with pytest.raises(NotImplementedError, match=rf"^{name}: clew does not have it \(yet\); use .*; see docs"):
            getattr(torch, name)
    with pytest.raises(NotImplementedError, match=r"^nn\.CTCLoss: clew does not have it"):
        torch.nn.CTCLoss()
    with pytest.raises(AttributeError, match="has no attribute 'no_such_layer'") as raised:
        torch.nn.no_such_layer  # noqa: B018
    assert not isinstance(raised.value, NotImplementedError)
    with pytest.raises(NotImplementedError, match=r"cuda\.synchronize"):
        torch.cuda.synchronize()


def test_names_that_nobody_has(torch):
    with pytest.raises(AttributeError, match="bananas") as caught:
        torch.bananas  # noqa: B018
    assert not isinstance(caught.value, NotImplementedError)


@pytest.mark.beyond
def test_dir_names_what_comes_late(torch):
    names = dir(torch)
    for name in ("nn", "optim", "explain", "save", "tensor", "exp", "float32", "memory"):
        assert name in names


@pytest.mark.beyond
def test_importing_loads_little(script_environment):
    script = (
        "import sys\n"
        "import clew\n"
        "print([name for name in ('clew.nn', 'clew.optim', 'clew.graph', 'clew.cli', 'torch')"
        " if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, env=script_environment, check=True
    )
    assert run.stdout.splitlines() == ["[]"]


@pytest.mark.beyond
def test_memory_statistics(torch):
    stats = torch.memory.stats()
    assert set(stats._fields) == {"live", "cached", "peak", "allocations", "frees", "objects", "pool"}
    before = stats.live
    torch.memory.reset_peak()
    x = torch.zeros(1000)
    assert torch.memory.stats().live == before + 4000
    del x
    after = torch.memory.stats()
    assert (after.live, after.peak) == (before, before + 4000)
    assert after.allocations - after.frees >= stats.allocations - stats.frees
    torch.memory.empty_cache()
    assert torch.memory.stats().cached == 0


@pytest.mark.beyond
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer keeps freed memory to itself")
def test_memory_of_a_freed_graph_goes_back_to_the_system(run_script):
    run_script(
        """
from pathlib import Path

def megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

def chain():
    x = torch.ones((), requires_grad=True)
    for _ in range(300_000):
        x = x.sin()
    return x

before = megabytes()
for _ in range(2):
    y = chain()
    kept = y.sin()
    assert megabytes() - before > 40
    del y, kept
    torch.memory.empty_cache()
    assert megabytes() - before < 15, megabytes() - before
z = torch.ones(2, requires_grad=True)
(z * z).sum().backward()
assert z.grad.tolist() == [2.0, 2.0]
"""
    )
