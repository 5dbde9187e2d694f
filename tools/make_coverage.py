"""Which of PyTorch's public names clew has: writes docs/coverage.md, what the README and the errors of clew say of it.

python tools/make_coverage.py           writes src/clew/_pytorch_names.txt, docs/coverage.md and the README's paragraph
python tools/make_coverage.py --check   fails if they are not up to date

Needs PyTorch.
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
import warnings
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
NAMES = ROOT / "src" / "clew" / "_pytorch_names.txt"
PAGE = ROOT / "docs" / "coverage.md"
README = ROOT / "README.md"
MARKS = "coverage: made by tools/make_coverage.py", "end of coverage"
sys.path.append(str(ROOT))

from bench.readme import fill  # noqa: E402

# "" is torch itself. What is below a module that clew does not have at all counts as well.
PLACES = [
    "", "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize",
    "nn.utils.parametrizations", "nn.utils.stateless", "nn.parallel", "optim", "optim.lr_scheduler", "optim.swa_utils",
    "autograd", "autograd.functional", "autograd.graph", "autograd.forward_ad", "autograd.profiler", "linalg",
    "special", "fft", "func", "distributions", "distributions.constraints", "distributions.transforms",
    "distributions.kl",
    "utils", "utils.data", "utils.checkpoint", "utils.tensorboard", "utils.dlpack", "random", "testing", "amp", "jit",
    "compiler", "fx", "onnx", "futures", "multiprocessing", "distributed", "export", "library", "overrides",
    "serialization", "profiler", "hub", "sparse", "nested", "masked", "cuda", "mps", "xpu", "backends", "version",
]  # fmt: skip

# What belongs to machines, number formats and compilers that clew is not made for.
NOT_APPLICABLE = re.compile(
    r"(cuda|mps|xpu|distributed|export|library|onnx|fx|sparse|nested|masked|quantization|ao|nn\.parallel)\..*"
    r"|(cuda|mps|xpu|mtia|ipu|hpu|vulkan|accelerator|ao|quantization|sym_\w+|Sym\w+)"
    r"|(Tensor\.)?(cuda|xpu|mtia|ipu|hpu|vulkan|pin_memory|record_stream|sym_\w+|.*mkldnn.*)"
    r"|.*(cudnn|miopen|mkldnn|fbgemm|nnapi|vitals|quantize|fake_quant|hash_tensor|hspmm|sspaddmm).*|(Tensor\.)?q_\w+"
)
TITLES = {
    "same": "clew has the name; tests compare its results with PyTorch's",
    "deviation": "clew has the name, and differs on purpose",
    "refuses": "programs can import the name; calling it raises `NotImplementedError`",
    "missing": "clew does not have the name (yet)",
    "not applicable": "for machines, number formats or compilers that clew does not support; some can be imported",
}


def find(package: str, place: str) -> Any:
    """The module, or the class Tensor; None if there is none."""
    if place == "Tensor":
        return importlib.import_module(package).Tensor
    try:
        return importlib.import_module(f"{package}.{place}".rstrip("."))
    except ImportError:
        return None


def public_names(place: str) -> list[str]:
    """What PyTorch has there that a program may use."""
    theirs = find("torch", place)
    if theirs is None:  # needs a package that is not installed
        return []
    listed = getattr(theirs, "__all__", None)
    if listed is None or place in ("", "nn.functional"):
        listed = [name for name in dir(theirs) if _is_public(theirs, name)]
    # Which other modules there are depends on what was imported.
    below = {one.rpartition(".")[2] for one in PLACES if one and one.rpartition(".")[0] == place}
    return sorted({name for name in listed if not name.startswith("_")} | below)


def _is_public(place: Any, name: str) -> bool:
    value = getattr(place, name, None)
    if isinstance(place, type):
        return True
    if isinstance(value, ModuleType):
        return False
    home = str(getattr(value, "__module__", "") or "torch")
    return (callable(value) or type(value).__module__ == "torch") and home.startswith("torch")


def deviations() -> dict[str, str]:
    """For each operation of which a deviation is told the entry's name."""
    entries = tomllib.loads((ROOT / "docs" / "deviations.toml").read_text(encoding="utf-8"))["deviation"]
    found: dict[str, str] = {}
    for entry in entries:
        for one in entry.get("differs", []):
            for operation in one["operations"]:
                found.setdefault(operation, entry["name"])
    return found


def state(place: str, name: str, ours: Any, deviates: dict[str, str]) -> tuple[str, str]:
    """One of TITLES, and a remark."""
    full = f"{place}.{name}".lstrip(".")
    from clew._unsupported import refuses, substitute

    refused = ours is not None and hasattr(ours, name) and refuses(getattr(ours, name))
    if ours is not None and hasattr(ours, name) and not refused:
        entry = deviates.get(full.removeprefix("Tensor.").rstrip("_"))
        return ("deviation", f"[{entry}](deviations.md#{entry})") if entry else ("same", "")
    if NOT_APPLICABLE.fullmatch(full):
        return "not applicable", substitute(full)
    return "refuses" if refused else "missing", substitute(full)


def survey() -> dict[str, list[tuple[str, str, str]]]:
    """(name, state, remark) for each place."""
    deviates = deviations()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in PLACES:  # a module that is loaded is a name of the one above it
            find("torch", place)
        return {
            place: [(name, *state(place, name, find("clew", place), deviates)) for name in public_names(place)]
            for place in PLACES
        }


def title(place: str) -> str:
    return f"torch.{place}" if place else "torch"


def page(found: dict[str, list[tuple[str, str, str]]]) -> str:
    """docs/coverage.md."""
    lines = [
        "# What clew has of PyTorch 2.13",
        "",
        "Made by `tools/make_coverage.py` from the public names of both.",
        "Having a name does not mean having every argument.",
        "",
        *(f"- **{name}**: {text}" for name, text in TITLES.items()),
        "",
        "| | names | " + " | ".join(TITLES) + " |",
        "|---|---" + "|---" * len(TITLES) + "|",
    ]
    for place, names in found.items():
        counts = Counter(one[1] for one in names)
        lines.append(f"| {title(place)} | {len(names)} | " + " | ".join(str(counts[name]) for name in TITLES) + " |")
    for place, names in found.items():
        lines += ["", f"## {title(place)}", ""]
        for kind in TITLES:
            of_kind = [(name, remark) for name, what, remark in names if what == kind]
            if not of_kind:
                continue
            by_remark: dict[str, list[str]] = {}
            for name, remark in of_kind:
                by_remark.setdefault(remark, []).append(f"`{name}`")
            lines.append(f"**{kind}** ({len(of_kind)})")
            lines.append("")
            use = "" if kind == "deviation" else "use "
            for remark, some in by_remark.items():
                lines.append(f"- {', '.join(some)}" + (f": {use}{remark}" if remark else ""))
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def names_file(found: dict[str, list[tuple[str, str, str]]]) -> str:
    return "".join(f"{place}: {' '.join(name for name, *_ in names)}\n" for place, names in found.items())


def paragraph(found: dict[str, list[tuple[str, str, str]]]) -> str:
    """The README's text."""
    main = ["", "Tensor", "nn", "nn.functional", "optim", "autograd", "linalg", "distributions", "utils.data"]
    told = []
    for place in main:
        counts = Counter(kind for _, kind, _ in found[place])
        total = sum(counts.values()) - counts["not applicable"]
        told.append(f"{counts['same'] + counts['deviation']} of {total} in {title(place)}")
    return (
        f"clew has these of PyTorch 2.13's public names that apply to a CPU: {', '.join(told)}.\n"
        "[The list of names](docs/coverage.md) has a replacement for each missing name."
    )


def outputs() -> dict[Path, str]:
    """All files that this writes, with what they should hold."""
    found = survey()
    readme = fill(*MARKS, paragraph(found), README.read_text(encoding="utf-8"))
    return {NAMES: names_file(found), PAGE: page(found), README: readme}


def main() -> int:
    written = outputs()
    if "--check" in sys.argv:
        stale = [path.name for path, text in written.items() if path.read_text(encoding="utf-8") != text]
        if stale:
            print(f"{', '.join(stale)}: not up to date; run python tools/make_coverage.py", file=sys.stderr)
        return int(bool(stale))
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
