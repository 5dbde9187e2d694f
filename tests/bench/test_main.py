"""``python -m bench`` from end to end, with rounds so short that the figures mean nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

from bench import __main__, session
from bench.rivals import RIVALS

ROOT = Path(__file__).parents[2]


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "OPENBLAS_CORETYPE": "Nehalem",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-m", "bench", *options]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)


def test_figures_page_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file, folder = tmp_path / "figures.json", tmp_path / "page"
    words = ["product of 4 elements, recorded", "chain of 10 products", "sweep add, 10^0", "deep MLP, 2 layers"]
    options = [part for word in words for part in ("-k", word)]
    ran = bench(
        *options,
        "--threads",
        "1",
        "--rounds",
        "1",
        "--rivals",
        "clew,torch,numpy",
        "--json",
        str(file),
        "--out",
        str(folder),
    )
    assert "product of 4 elements, recorded" in ran.stdout
    figures = json.loads(file.read_text())
    assert {"command", "machine", "versions", "rows", "memory"} <= set(figures)
    assert {"processor", "caches", "flags", "governor", "system", "commit", "date"} <= set(figures["machine"])
    assert set(figures["versions"]) == {"clew", "torch", "numpy"}
    product = next(row for row in figures["rows"] if row["group"] == "overhead")
    assert set(product["results"]) == {"clew", "torch", "numpy"}
    assert set(product["results"]["clew"]) == {"best", "median", "rounds", "first_call_seconds"}
    assert product["results"]["torch"]["best"] > product["results"]["clew"]["best"] > 0
    (peaks,) = figures["memory"]
    assert peaks["results"]["clew"]["bytes"] > 2**20
    page = (folder / "README.md").read_text()
    for picture in ("ratios.svg", "graph-size.svg", "tensor-size-1.svg", "depth.svg"):
        assert picture in page
        assert (folder / picture).stat().st_size > 1000


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["--list"]) == 0
    out = capsys.readouterr().out
    assert "MLP 784-256-256-10, batch 64, Adam  [clew, torch, torch.compile, jax, numpy, autograd]" in out


def chosen(*options: str) -> list[str]:
    return [workload.name for workload in session.chosen(__main__.parser().parse_args(options))]


def test_names_are_parts_and_may_be_several() -> None:
    assert chosen("-k", "LSTM", "-k", "hmc") == [name for name in chosen() if name.startswith(("LSTM", "HMC"))]
    assert len(chosen("-k", "sweep")) > 20 * 8 * 2


def test_quick_takes_few_sizes() -> None:
    assert len(chosen("--quick", "-k", "sweep")) == len(chosen("-k", "sweep")) * 3 // 8


def test_who_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(RIVALS, "jax", type(RIVALS["jax"])("jax", "JAX", "no_such_library", "jax"))
    assert session.rivals(__main__.parser().parse_args(["--rivals", "clew,jax"])) == ["clew"]
    assert "jax: not installed, left out" in capsys.readouterr().err


def test_unknown_rival() -> None:
    with pytest.raises(SystemExit, match="tensorflow unknown"):
        session.rivals(__main__.parser().parse_args(["--rivals", "tensorflow"]))
