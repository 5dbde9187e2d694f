"""Runs ten programs of the corpus in tests/culprits under PyTorch and under clew, and writes what each says.

python tools/culprits_side_by_side.py           writes docs/errors.md, below its introduction
python tools/culprits_side_by_side.py --check   fails if that file is not what would be written
"""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import sys
import textwrap
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "errors.md"
SCRIPT = "train.py"  # what the programs are called on the page

CASES = {
    ("second_backward", "value_made_outside_the_loop"): "A value made outside the loop",
    ("second_backward", "hidden_state_carried_over"): "A hidden state carried over",
    ("second_backward", "gan_discriminator_step_without_detach"): "A GAN's discriminator step without detach",
    ("in_place", "residual_added_after_relu"): "A residual added in place after relu",
    ("in_place", "optimizer_step_between_two_backward_passes"): "An optimizer step between two backward passes",
    ("in_place", "written_through_data"): "A write through .data",
    ("lost_history", "loss_made_again_from_item"): "A loss made again from .item()",
    ("lost_history", "prediction_by_argmax"): "argmax on the way to the loss",
    ("lost_history", "all_parameters_frozen"): "All parameters frozen",
    ("nan_gradients", "sqrt_behind_where"): "A square root behind where",
}
HIDDEN = {"advice"}  # a field that is the end of the message


class Outcome(NamedTuple):
    """What came of a program under one library."""

    message: str
    fields: dict[str, str]


def script_of(program: Any) -> tuple[str, str | None]:
    """The body of a program as a script of its own, and the expression that it returns, if any."""
    lines = textwrap.dedent(inspect.getsource(program.run)).splitlines()
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    *body, last = function.body
    returned = None
    if isinstance(last, ast.Return) and last.value is not None:
        returned = ast.unparse(last.value)
    else:
        body.append(last)
    text = textwrap.dedent("\n".join(lines[body[0].lineno - 1 : body[-1].end_lineno]))
    heading = "import torch  # or: import clew as torch\n"
    if program.kind == "nan_gradients":
        heading += "torch.autograd.set_detect_anomaly(True)\n"
    return f"{heading}\n{text}\n", returned


def run(program: Any, library: ModuleType) -> Outcome:
    """Runs the script with `torch` bound to the library."""
    script, returned = script_of(program)
    linecache.cache[SCRIPT] = (len(script), None, script.splitlines(keepends=True), SCRIPT)
    code = compile("\n" + script.partition("\n")[2], SCRIPT, "exec")
    names: dict[str, Any] = {"torch": library, "__name__": "__main__"}
    library.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, names)
    except RuntimeError as error:
        return Outcome(f"{type(error).__name__}: {error}", told_by(error))
    finally:
        library.autograd.set_detect_anomaly(False)
        del linecache.cache[SCRIPT]
    if returned is None:
        return Outcome("no error", {})
    gradient, right = eval(returned, names)
    asked = ast.unparse(ast.parse(returned, mode="eval").body.elts[0])  # type: ignore[attr-defined]
    return Outcome(f"no error; `{asked}` is {gradient.tolist()}, and should be {right.tolist()}", {})


def told_by(error: RuntimeError) -> dict[str, str]:
    """The fields of an exception of ours, as text."""
    fields = {}
    for name, value in vars(error).items():
        if value is None or name.startswith("_") or name in HIDDEN:
            continue
        fields[name] = value.name() if name == "node" else str(value)
    return fields


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    for sign in "<|*":
        text = text.replace(sign, {"<": "&lt;", "|": "\\|", "*": "\\*"}[sign])
    return "<br>".join(" ".join(line.split()) for line in text.splitlines())


def section(title: str, program: Any, ours: Outcome, theirs: Outcome) -> str:
    """One case of the page."""
    script, _ = script_of(program)
    numbered = "\n".join(f"{number:2}  {line}".rstrip() for number, line in enumerate(script.splitlines(), 1))
    fields = "<br>".join(f"`.{name}` = {cell(value)}" for name, value in ours.fields.items())
    return f"""## {title}

```python
{numbered}
```

| PyTorch 2.13 | clew |
|---|---|
| {cell(theirs.message)} | {cell(ours.message)} |
| | {fields} |
"""


MARK = "<!-- What follows is written by tools/culprits_side_by_side.py; a test checks that clew still says it. -->"


def load(kind: str, name: str) -> Any:
    """A program of the corpus."""
    folder = str(ROOT / "tests" / "culprits")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return getattr(importlib.import_module(kind), name)


def page() -> str:
    """The text of docs/errors.md: what a person wrote there, and the cases."""
    clew, torch = importlib.import_module("clew"), importlib.import_module("torch")
    sections = []
    for (kind, name), title in CASES.items():
        program = load(kind, name)
        sections.append(section(title, program, run(program, clew), run(program, torch)))
    return "\n".join([PAGE.read_text().partition(MARK)[0] + MARK + "\n", *sections])


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" in arguments:
        if PAGE.read_text() != text:
            print(f"{PAGE.relative_to(ROOT)} is out of date: run python tools/culprits_side_by_side.py")
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
