"""Docstrings in Google style as Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap

SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples|Note):\s*$")
ENTRY = re.compile(r"^(?P<names>[\w*.`]+(?:, [\w*.`]+)*): (?P<text>.*)$")


def to_markdown(docstring: str) -> str:
    """The docstring: prose as it is, arguments as a list, examples as code."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in inspect.cleandoc(docstring).splitlines():
        section = SECTION.match(line)
        if section:
            parts.append((section[1], []))
        elif parts[-1][0] and line and not line[0].isspace():
            parts.append(("", [line]))  # prose goes on after a section
        else:
            parts[-1][1].append(line)
    return "\n\n".join(filter(None, (part(name, textwrap.dedent("\n".join(lines)).strip()) for name, lines in parts)))


def part(name: str, text: str) -> str:
    """A section, or prose where it has no name."""
    if not text:
        return ""
    if name.startswith("Example"):
        return f"**Example**\n\n{fenced(text)}"
    if not name:
        return prose(text)
    if name in ("Args", "Attributes", "Raises"):
        text = entries(text)
    return f"**{'Arguments' if name == 'Args' else name}**\n\n{prose(text)}"


def entries(text: str) -> str:
    """`name: what it is`, with continued lines indented, as a list."""
    items: list[str] = []
    for line in text.splitlines():
        found = ENTRY.match(line)
        if found:
            items.append(f"* `{found['names'].replace('`', '')}`: {found['text']}")
        elif items and line.strip():
            items[-1] += " " + line.strip()
        elif line.strip():
            items.append(line.strip())
    return "\n".join(items)


def prose(text: str) -> str:
    """Roles and literals of reStructuredText as Markdown, doctests as code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    blocks = re.split(r"\n\s*\n", text)
    return "\n\n".join(fenced(block) if block.lstrip().startswith(">>>") else escaped(block) for block in blocks)


def escaped(text: str) -> str:
    """Signs that mean something in Markdown, outside of code: angle brackets, and the stars and lines of formulas."""
    pieces = re.split(r"(`[^`]*`)", text)
    pieces[::2] = [re.sub(r"(?m)(?<!^)\*", r"\\*", piece).replace("<", "&lt;") for piece in pieces[::2]]
    return "".join(pieces)


def fenced(text: str) -> str:
    """A doctest as a block of code."""
    return f"```pycon\n{textwrap.dedent(text)}\n```"
