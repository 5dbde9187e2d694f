"""``python -m bench`` from end to end, with rounds so short that the figures mean nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # behind everything installed

import clew
from bench import __main__, against, session
from bench.rivals import RIVALS

ROOT = Path(__file__).parents[2]


def bench(*options: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "OPENBLAS_CORETYPE": "Nehalem",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-m", "bench", *options]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if ran.returncode not in codes or "Traceback" in ran.stderr:
        raise subprocess.CalledProcessError(ran.returncode, command, ran.stdout, ran.stderr)
    return ran


def test_figures_page_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file, folder = tmp_path / "figures.json", tmp_path / "page"
    words = [
        "product of 4 elements, recorded",
        "chain of 10 products",
        "chain of 100 products",
        "sweep add, 10^0",
        "deep MLP, 2 layers",
    ]
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
    assert all(result["best"] > 0 for result in product["results"].values())
    (peaks,) = figures["memory"]
    assert peaks["results"]["clew"]["bytes"] > 2**20
    page = (folder / "README.md").read_text()
    for picture in ("ratios.svg", "graph-size.svg", "tensor-size-1.svg", "depth.svg"):
        assert picture in page
        assert (folder / picture).stat().st_size > 1000


def test_beside_another_clew(tmp_path: Path) -> None:
    """A copy of clew elsewhere is the rival: each row has a ratio, and what is slower has a second run."""
    import clew

    there = tmp_path / "there" / "clew"
    shutil.copytree(Path(clew.__file__).parent, there, ignore=shutil.ignore_patterns("__pycache__", "_core.*.so"))
    shutil.copy(clew._core.__file__, there)  # an editable installation keeps it elsewhere
    file = tmp_path / "figures.json"
    options = ["-k", "product of 4", "-k", "sweep add, 10^0, f", "--threads", "1", "--rounds", "1", "--json", str(file)]
    ran = bench(*options, "--against", str(tmp_path / "there"), codes=(0, 1))
    figures = json.loads(file.read_text())
    assert set(figures["versions"]) == {"clew", "against"}
    for row in figures["rows"]:
        assert row["results"]["against"]["best"] > 0
        assert ("second run" in row) == against.is_slower(row["group"], row["results"])
    assert f"Of {len(figures['rows'])} rows compared" in ran.stdout
    assert ran.returncode == int(any(map(against.is_slower_twice, figures["rows"])))


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        ("no/such/python", "neither an interpreter nor a folder"),
        (str(Path(__file__).parent), "holds no clew"),
        (str(Path(clew.__file__).parents[1]), "there, too,"),
    ],
)
def test_no_other_clew(where: str, wrong: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as raised:
        bench("-k", "product of 4", "--against", where)
    assert wrong in raised.value.stderr


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["--list"]) == 0
    out = capsys.readouterr().out
    assert "MLP 784-256-256-10, batch 64, Adam  [clew, clew.compile, torch, torch.compile, jax, numpy, autograd]" in out


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
