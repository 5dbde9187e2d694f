"""How a large graph becomes small to look at: groups by module, function and loop, each of which can be folded.

Every group is an unbroken piece of the order in which the operations ran. Inputs come before what uses them in that
order, so no path leaves a group and comes back: whatever is folded, what remains to be drawn has no cycle.
"""

from __future__ import annotations

import itertools
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .columns import Table
from .groups import KINDS, Groups
from .repeats import find_repeats

MOST_CHILDREN = 40  # a group with more is cut into parts, so that unfolding it never floods the page
MOST_INPUTS = 3  # of one node or group that are drawn as a box each

TIMES = "\N{MULTIPLICATION SIGN}"

Component = tuple[str, str]  # kind and label


@dataclass(slots=True)
class Group:
    """Nodes that can be folded into one. ``items`` are numbers of nodes, and groups."""

    kind: str
    label: str
    items: list[int | Group]
    signature: int = -1


def fold(
    signatures: Sequence[int],
    lines: Sequence[str],
    paths: Sequence[tuple[Component, ...]],
    sources: Sequence[Sequence[int]],
    text: Table,
) -> Groups:
    """Group nodes that are numbered in the order in which they ran.

    Args:
        signatures: equal for nodes of the same operation and line.
        lines: a short text for the place of each node, ``train.py:12``.
        paths: the modules and functions that each node is in, outermost first.
        sources: for each thing without inputs that is drawn too (leaves), the nodes that use it; they are numbered on
            from ``len(signatures)`` and stand before their first user, outside of a loop that uses them in
            several steps.
        text: the table that labels are put in.
    """
    root = Group("part", "", list(_by_path(paths, 0, len(paths), 0)))
    signer = _Signer(signatures, lines)
    _find_loops(root, signer)
    _insert_sources(root, sources, len(signatures))
    _dissolve(root)
    _cut(root)
    return _flatten(root, len(signatures) + len(sources), text)


def _by_path(paths: Sequence[tuple[Component, ...]], first: int, end: int, depth: int) -> Iterator[int | Group]:
    place = first
    while place < end:
        start = place
        here = paths[start][depth] if len(paths[start]) > depth else None
        while place < end and (paths[place][depth] if len(paths[place]) > depth else None) == here:
            place += 1
        if here is None:
            yield from range(start, place)
            continue
        yield Group(*here, list(_by_path(paths, start, place, depth + 1)))


class _Signer:
    """Gives equal numbers to what looks equal: nodes by operation and line, groups by what they contain."""

    def __init__(self, signatures: Sequence[int], lines: Sequence[str]) -> None:
        self.signatures = signatures
        self.lines = lines
        self._groups = Table()
        self._offset = max(signatures, default=0) + 1

    def of(self, item: int | Group) -> int:
        return self.signatures[item] if isinstance(item, int) else item.signature

    def sign(self, group: Group) -> None:
        inner = [self.of(item) for item in group.items]
        if group.kind == "loop":  # a loop is the same loop, however often it ran
            inner = sorted(set(inner))
        label = re.sub(r"\d+", "#", group.label) if group.kind in ("module", "function") else ""
        group.signature = self._offset + self._groups.add((group.kind, label, tuple(inner)))

    def line_of(self, item: int | Group) -> str:
        while not isinstance(item, int):
            item = item.items[0]
        return self.lines[item]


def _find_loops(group: Group, signer: _Signer) -> None:
    """Fold repetitions in ``group`` and all that it contains, inner loops before those around them."""
    for item in group.items:
        if isinstance(item, Group) and item.signature < 0:
            _find_loops(item, signer)
    while repeats := find_repeats([signer.of(item) for item in group.items]):
        items: list[int | Group] = []
        place = 0
        for start, period, count in repeats:
            items += group.items[place:start]
            place = start + period * count
            items.append(_loop(group.items[start:place], period, signer))
        group.items = [*items, *group.items[place:]]
    signer.sign(group)


def _loop(items: list[int | Group], period: int, signer: _Signer) -> Group:
    count = len(items) // period
    steps: list[int | Group] = items
    if period > 1:
        steps = []
        for number in range(count):
            step = Group("step", f"{number + 1} of {count:,}", items[number * period : (number + 1) * period])
            _find_loops(step, signer)
            steps.append(step)
    loop = Group("loop", _loop_label(items[:period], items[-period:], count, signer), steps)
    signer.sign(loop)
    return loop


def _loop_label(first: list[int | Group], last: list[int | Group], count: int, signer: _Signer) -> str:
    named = [
        _range_label(opening.label, closing.label)
        for opening, closing in zip(first, last, strict=True)
        if isinstance(opening, Group) and isinstance(closing, Group) and opening.kind in ("module", "function")
    ]
    if named:
        return f"{', '.join(dict.fromkeys(named))} {TIMES} {count:,}"
    lines = list(dict.fromkeys(line for line in map(signer.line_of, first) if line))
    if not lines:
        return f"{TIMES} {count:,}"
    files = {line.rpartition(":")[0] for line in lines}
    if len(lines) > 1 and len(files) == 1:
        numbers = sorted(int(line.rpartition(":")[2]) for line in lines)
        return f"{files.pop()}:{numbers[0]}-{numbers[-1]} {TIMES} {count:,}"
    return f"{lines[0]} {TIMES} {count:,}"


def _range_label(first: str, last: str) -> str:
    """
    Example:
        >>> _range_label("h.0 · Block", "h.5 · Block"), _range_label("cell", "cell")
        ('h.0 … h.5 · Block', 'cell')
    """
    path, dot, kind = first.partition(" · ")
    if first == last:
        return first
    if dot and last.endswith(dot + kind):
        last = last.removesuffix(dot + kind)
        return f"{path} … {last}{dot}{kind}"
    return f"{first} … {last}"


def _insert_sources(root: Group, sources: Sequence[Sequence[int]], first_number: int) -> None:
    """Put each source into the innermost group of its first user, but beside a loop that uses it in several steps."""
    above: dict[int, tuple[Group, ...]] = {}
    wanted = {user for users in sources for user in users}
    stack: list[tuple[Group, tuple[Group, ...]]] = [(root, (root,))]
    while stack:
        group, way = stack.pop()
        for item in group.items:
            if isinstance(item, int):
                if item in wanted:
                    above[item] = way
            else:
                stack.append((item, (*way, item)))
    # By the identity of a group: before which of its items which sources come.
    before: dict[int, dict[int, list[int]]] = {}
    for offset, users in enumerate(sources):
        first = min(users)
        way = above[first]
        ways = [above[user] for user in users]
        depth = 0
        while depth + 1 < len(way):
            inside = way[depth + 1]
            if inside.kind == "loop" and _steps_of(inside, depth + 1, users, ways) > 1:
                break
            depth += 1
        home = way[depth]
        successor = first if len(way) == depth + 1 else id(way[depth + 1])
        before.setdefault(id(home), {}).setdefault(successor, []).append(first_number + offset)
    groups = [root]
    for group in groups:
        groups += [item for item in group.items if not isinstance(item, int)]
        mine = before.get(id(group))
        if mine is not None:
            group.items = [
                one
                for item in group.items
                for one in (*_together(mine.get(item if isinstance(item, int) else id(item), [])), item)
            ]


def _together(sources: list[int]) -> Sequence[int | Group]:
    """Many inputs of one thing are a group."""
    if len(sources) <= MOST_INPUTS:
        return sources
    return [Group("inputs", f"{len(sources):,} inputs", [*sources])]


def _steps_of(loop: Group, depth: int, users: Sequence[int], ways: Sequence[tuple[Group, ...]]) -> int:
    """In how many steps of a loop, which is at ``depth``, there are users."""
    steps = set()
    for user, way in zip(users, ways, strict=True):
        if len(way) > depth and way[depth] is loop:
            steps.add(user if len(way) == depth + 1 else id(way[depth + 1]))
    return len(steps)


def _dissolve(group: Group) -> None:
    """A group of one is the one: nothing is gained by unfolding it."""
    for place, item in enumerate(group.items):
        if isinstance(item, Group):
            _dissolve(item)
            if len(item.items) == 1:
                group.items[place] = item.items[0]


def _cut(root: Group) -> None:
    """Put the items of long groups into parts, and these into larger parts, until none is long."""
    groups = [root]
    for group in groups:
        total = len(group.items)
        names = [f"{number + 1}" for number in range(total)]
        levels = next(count for count in itertools.count(1) if MOST_CHILDREN**count >= total)
        size = max(2, math.ceil(total ** (1 / levels)))
        while len(group.items) > MOST_CHILDREN:
            items: list[int | Group] = []
            merged = []
            for start in range(0, len(group.items), size):
                end = min(start + size, len(group.items))
                name = f"{names[start].split(' ')[0]} to {names[end - 1].split(' ')[-1]}"
                items.append(Group("part", f"{name} of {total:,}", group.items[start:end]))
                merged.append(name)
            group.items, names = items, merged
        groups += [item for item in group.items if not isinstance(item, int)]


def _flatten(root: Group, total: int, text: Table) -> Groups:
    groups = Groups()
    groups.node_group = array("I", [0]) * total
    stack: list[tuple[int | Group, int]] = [(root, -1)]
    while stack:
        item, parent = stack.pop()
        if isinstance(item, int):
            if item < 0:  # the group is complete
                groups.end[parent] = len(groups.order)
                continue
            groups.node_group[len(groups.order)] = parent
            groups.order.append(item)
            continue
        number = len(groups)
        groups.parent.append(parent)
        groups.kind.append(KINDS.index(item.kind))
        groups.label.append(text.add(item.label))
        groups.first.append(len(groups.order))
        groups.end.append(0)
        stack.append((-1, number))
        stack.extend((one, number) for one in reversed(item.items))
    return groups
