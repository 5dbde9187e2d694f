"""Pages of the questions in examples/questions: what was asked, the program that answers, what it prints."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from tools.website.docstrings import escaped

ROOT = Path(__file__).resolve().parents[2]
THREADS = ("freed", "created", "kept", "tutorial")


def pages() -> dict[str, str]:
    """Text of each page by its place on the site. The programs run now: they assert what they claim."""
    folder = str(ROOT / "examples")
    if folder not in sys.path:
        sys.path.append(folder)
    threads = {name: importlib.import_module(f"questions.{name}").THREAD for name in THREADS}
    made = {f"questions/{name}.md": page(thread) for name, thread in threads.items()}
    made["questions/index.md"] = overview(threads)
    return made


def overview(threads: dict[str, Any]) -> str:
    """The list of all questions."""
    lines = [
        "# Questions about graphs",
        "",
        "Questions that people asked in forums and courses, one by one. Each answer is a program that asserts what it "
        "claims; what is shown below it is what it printed when this page was built.",
    ]
    for name, thread in threads.items():
        lines += ["", f"## [{thread.title}]({name}.md)", ""]
        lines += [f"* [{escaped(asked.asked)}]({name}.md#{asked.name.replace('_', '-')})" for asked in thread.questions]
    return "\n".join(lines) + "\n"


def page(thread: Any) -> str:
    """One thread."""
    parts = [f"# {thread.title}\n"]
    for asked in thread.questions:
        heading = asked.name.replace("_", " ").capitalize()
        anchor = asked.name.replace("_", "-")
        parts.append(
            f"## {heading} {{ #{anchor} }}\n\n> {escaped(asked.asked)}\n\n{escaped(asked.answer)}\n\n"
            f"```python\n{asked.code.strip()}\n```\n\n```text\n{asked.run().rstrip()}\n```\n"
        )
    return "\n".join(parts)
