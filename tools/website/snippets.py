"""Runs the code of a page of Markdown, and compares what it prints with what the page says.

python -m tools.website.snippets docs/howto/scipy.md           fails where they differ
python -m tools.website.snippets --write docs/howto/scipy.md   writes what was printed into the page

Blocks of Python share their names, one after the other. One with a title (```python title="train.py") is a script: it
has names of its own and is written to a file of that name in the folder where all of the page runs. Commands
(```console) run there, too. A block of ```text right below is what must have been printed; `...` stands for any text.
An error that nobody catches ends a block, and its last line is printed.

<!-- setup: ... --> runs and is not shown. <!-- not run: reason --> leaves the next block out.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, NamedTuple

PIECE = re.compile(
    r"^<!-- setup:\n(?P<setup>.*?)^-->$|(?P<skipped>^<!-- not run: [^\n]*-->\n+)?"
    r"^```(?P<kind>python|pycon|console)(?: title=\"(?P<title>[^\"]*)\")?\n(?P<code>.*?)^```$"
    r"(?P<between>\n+^```text\n)?(?P<output>(?(between).*?(?=^```$)))",
    re.MULTILINE | re.DOTALL,
)
CHECK = doctest.OutputChecker().check_output


class Difference(NamedTuple):
    """A block that prints something else than the page says."""

    line: int
    expected: str
    printed: str


class Page:
    """A page whose code runs in a folder that is made for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.differences: list[Difference] = []
        self.ran = 0

    def run(self) -> str:
        """Run all blocks; returns the text with what they printed."""
        text = self.path.read_text()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            return PIECE.sub(lambda found: self._piece(found, text), text)

    def _piece(self, found: re.Match[str], text: str) -> str:
        if found["setup"]:
            exec(compile(found["setup"], f"{self.path.name} (setup)", "exec"), self.names)
            return found[0]
        if found["skipped"]:
            return found[0]
        line = text.count("\n", 0, found.start("code")) + 1
        printed, failed = self._block(found["kind"], found["title"], found["code"])
        self.ran += 1
        if not found["between"]:
            if failed:
                self.differences.append(Difference(line, "no error\n", printed))
            return found[0]
        if CHECK(found["output"], printed, doctest.ELLIPSIS):
            return found[0]
        self.differences.append(Difference(line, found["output"], printed))
        return text[found.start() : found.start("output")] + printed + text[found.end("output") : found.end()]

    def _block(self, kind: str, title: str | None, code: str) -> tuple[str, bool]:
        if kind == "console":
            return "".join(map(command, re.findall(r"^\$ (.*)$", code, re.MULTILINE))), False
        if kind == "pycon" or code.startswith(">>> "):
            return doctested(code, self.names, self.path.name)
        if title:
            Path(title).write_text(code)
            return executed(code, title, {"__name__": "__main__"})
        return executed(code, f"{self.path.stem}.py", self.names)


def executed(code: str, file: str, names: dict[str, Any]) -> tuple[str, bool]:
    """What a block prints, and whether it failed. Its lines can be looked up by the name of its file."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, file, "exec"), names)
        except Exception as error:
            shown = "".join(traceback.format_exception_only(error))
            return f"{printed.getvalue()}{shown.rstrip()}\n", True
    return printed.getvalue(), False


def doctested(code: str, names: dict[str, Any], name: str) -> tuple[str, bool]:
    """Nothing, or what doctest says of examples that fail."""
    said = io.StringIO()
    test = doctest.DocTestParser().get_doctest(code, names, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=said.write, clear_globs=False)
    names.update(test.globs)
    return said.getvalue(), runner.failures > 0


def command(line: str) -> str:
    """What a command prints. `python` and `clew` are those that run now."""
    program, *arguments = shlex.split(line)
    start = {"python": [sys.executable], "clew": [sys.executable, "-m", "clew.cli"]}.get(program, [program])
    ran = subprocess.run([*start, *arguments], capture_output=True, text=True, timeout=120, check=False)
    return ran.stdout + ran.stderr


def main(arguments: list[str]) -> int:
    """The command; returns the exit code."""
    wrong = 0
    for name in arguments:
        if name.startswith("--"):
            continue
        page = Page(Path(name).resolve())
        text = page.run()
        if "--write" in arguments:
            page.path.write_text(text)
            continue
        for line, expected, printed in page.differences:
            print(f"{name}:{line}: expected:\n{expected}got:\n{printed}")
        wrong += len(page.differences)
        if page.ran == 0:
            print(f"{name}: nothing to run")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    sys.exit(main(sys.argv[1:]))
