"""A picture in Graphviz's language, with torchviz's colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.wording import bytes_text
from .groups import KINDS

if TYPE_CHECKING:
    from .picture import Picture, Row

LEAF_COLOUR, RESULT_COLOUR, SAVED_COLOUR = "lightblue", "darkolivegreen1", "orange"
STYLE = {
    "held": 'style=filled, fillcolor="#fff1cf"',
    "packed": 'style=filled, fillcolor="#f1e6ff"',
    "freed": 'style="filled,dashed", fillcolor="#f3f4f6", fontcolor="#59636e"',
    "gone": 'style="filled,dashed", fillcolor="#ffffff", fontcolor="#9aa4af"',
    "plain": 'style=filled, fillcolor="#ffffff"',
    "leaf": f"style=filled, fillcolor={LEAF_COLOUR}",
    "input": 'style=filled, fillcolor="#fdeef6"',
    "result": f"style=filled, fillcolor={RESULT_COLOUR}",
}


def as_dot(picture: Picture) -> str:
    """All nodes and edges, nothing folded. What nodes saved is drawn where the picture was told to."""
    lines = ["digraph {", '  node [shape=box, fontname="monospace", fontsize=10, height=0.2]']
    if picture.summary is not None:
        lines.append(f"  summary [label={quoted(picture.title)}]")
    else:
        open_groups: list[int] = []
        edges: list[str] = []
        for number, row in enumerate(picture.rows()):
            lines += _clusters(picture, open_groups, number)
            lines.append(f"  n{number} [label={quoted(_label(row))}, {STYLE[row.state]}]")
            edges += [f"  n{below} -> n{number}" for below in row.inputs]
            if picture.show_saved:
                for at, slot in enumerate(row.saved):
                    label = f"{slot.name}\n{slot.shape}\n{bytes_text(slot.nbytes)} {slot.word}"
                    lines.append(f"  n{number}s{at} [label={quoted(label)}, style=filled, fillcolor={SAVED_COLOUR}]")
                    lines.append(f"  n{number}s{at} -> n{number} [dir=none]")
        lines += ["  }"] * len(open_groups) + edges
    return "\n".join([*lines, "}", ""])


def _clusters(picture: Picture, open_groups: list[int], row: int) -> list[str]:
    """What ends the clusters that a row is not in any more, and begins those that it is in: modules and functions."""
    groups, wanted = picture.groups, []
    group = groups.node_group[row] if groups.node_group else 0
    while group > 0:
        if KINDS[groups.kind[group]] in ("module", "function"):
            wanted.append(group)
        group = groups.parent[group]
    lines = []
    while open_groups != wanted[::-1][: len(open_groups)]:
        open_groups.pop()
        lines.append("  }")
    for group in wanted[::-1][len(open_groups) :]:
        open_groups.append(group)
        label = quoted(picture.columns.text.values[groups.label[group]])
        lines.append(f"  subgraph cluster_{group} {{ label={label}; labeljust=l; color=gray")
    return lines


def quoted(text: str) -> str:
    """A string of the language: nothing in it ends it or is taken for an escape.

    Example:
        >>> print(quoted('say "a"'))
        "say \\"a\\""
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _label(row: Row) -> str:
    lines = [row.heading, row.shape, row.place.short if row.place is not None else "", row.attributes]
    return "\n".join(line for line in lines if line)
