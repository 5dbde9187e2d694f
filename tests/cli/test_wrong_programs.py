"""Ten wrong programs: the first screen of the report says which line is wrong, what is called what, and what to do."""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

WRONG = Path(__file__).parent / "wrong"
ROWS, COLUMNS = 24, 80  # of a terminal as it opens

# The line to be named, by its text; and what else the screen must say.
PROGRAMS = {
    "leak_total": ("total = total + loss", ["`total` keeps the graphs of", ".item()"]),
    "leak_list": (
        "loss = model(",
        ["`losses` keeps the graphs of 9 earlier losses", "36 nodes", "append(loss.item())"],
    ),
    "leak_hidden_state": ("self.average = 0.9", ["`tracker.average` keeps the graphs of", ".detach()"]),
    "leak_hook": (".square().mean().backward()", ["`activations` keeps the graphs of", ".detach()"]),
    "in_place_residual": ("out += x", ["`out` has this memory", "'add_'", "write out of place, or clone"]),
    "in_place_step": ("optimizer.step()", ["`model.2.weight` has this memory", "before the optimizer's step"]),
    "in_place_leaf": (None, ["The leaf is `model.0.weight`", "under no_grad()"]),
    "second_backward": ("hidden = cell(", ["`hidden = hidden.detach()`", "earlier iteration of the loop at line 5"]),
    "silent_optimizer": ("loss.backward()", ["`encoder.weight`", "are in no optimizer", "give them to an optimizer"]),
    "silent_zero_grad": ("optimizer.step()", ["gradients were not zeroed", "call zero_grad()"]),
}
# On the page the line that is to be changed is marked, too.
ON_PAGE = {
    "leak_list": "losses.append",
    "leak_hook": "activations.append",
    "in_place_leaf": "parameter.clamp_",
    "silent_optimizer": "optimizer = ",
}


def test_all_are_tried() -> None:
    assert {path.stem for path in WRONG.glob("*.py")} == set(PROGRAMS)
    assert len(PROGRAMS) == 10


def on_screen(text: str) -> str:
    """What is in sight before anybody scrolls: longer lines take several rows."""
    shown, rows = [], 0
    for line in text.splitlines():
        shown.append(line[: (ROWS - rows) * COLUMNS])
        rows += max(1, -(-len(line) // COLUMNS))
        if rows >= ROWS:
            break
    return "\n".join(shown)


@pytest.mark.parametrize("name", PROGRAMS)
def test_solved_from_the_first_screen(command: Run, tmp_path: Path, name: str) -> None:
    path = WRONG / f"{name}.py"
    ran = command("xray", "--html", str(tmp_path / "report.html"), str(path))
    text = on_screen(ran.stdout[ran.stdout.index("── clew xray") :])
    line, said = PROGRAMS[name]
    if line is not None:
        (number,) = [at for at, source in enumerate(path.read_text().splitlines(), 1) if line in source]
        assert f"{path.name}:{number}" in text, ran.stdout
    for words in said:
        assert words in text, ran.stdout
    page = (tmp_path / "report.html").read_text()
    section = page[page.index('<section id="section-0"') : page.index("</section>")]
    opening = html.unescape(re.sub("<[^>]*>", "", section.replace("<code>", "`").replace("</code>", "`")))
    for words in said:
        assert words in opening
    marked = [int(one) for one in re.findall(r'<tr class="marked"><td>(\d+)</td>', section)]
    faulty = ON_PAGE.get(name, line) or ""
    (number,) = [at for at, source in enumerate(path.read_text().splitlines(), 1) if faulty in source]
    assert number in marked
