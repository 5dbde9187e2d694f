"""The text of an :class:`Explanation`: a tree whose trunk goes straight down and whose side branches are indented."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.places import Place, ReleaseRecord
from ..model.wording import bytes_text, counted, freed_text, freed_word, names_text, source_text

if TYPE_CHECKING:
    from .explanation import Explanation, GroupRecord, NodeRecord, Note, SavedRecord, Totals

SITE_COLUMN = 44

_REFERENCED = {"dropped": "elsewhere", "elsewhere": "by other nodes"}


def render(told: Explanation) -> str:
    """The whole answer, without a newline at its end."""
    lines = header_lines(told)
    if told.nodes:
        lines += ["", *tree_lines(told), "", *totals_lines(told.totals)]
    return "\n".join(lines)


def header_lines(told: Explanation) -> list[str]:
    """What was asked about, and what there is to say of it as a whole."""
    lines = [f"{told.subject}; {told.remark}" if told.remark else told.subject]
    if told.lost_by is not None:
        lines += _lost(told.lost_by, told.lost_at)
    return lines + [_note(note) for note in told.notes]


def tree_lines(told: Explanation) -> list[str]:
    """The nodes, and a summary of those that are not shown."""
    lines = _tree(told.nodes)
    if told.hidden:
        lines.append(f"… {told.hidden:,} more nodes")
    if told.groups:
        lines += ["", "all of them, by operation and line:", *map(_group, told.groups)]
    return lines


def totals_lines(totals: Totals) -> list[str]:
    """Two lines or more: how many nodes, and what they saved."""
    lines = [
        f"{counted(totals.nodes, 'node')} and {counted(totals.leaves, 'leaf')}; "
        f"graph metadata {bytes_text(totals.node_bytes)}"
    ]
    if not totals.slots:
        return [*lines, "nothing was saved, so nothing can be freed: backward can run again"]
    states = [f"saved {counted(totals.slots, 'tensor')}"]
    if totals.held:
        states.append(f"{totals.held:,} held, {bytes_text(totals.held_bytes)}")
    if totals.foreign_bytes:
        states.append(f"{bytes_text(totals.foreign_bytes)} of other libraries' memory")
    if totals.packed:
        states.append(f"{totals.packed:,} packed (stored by saved_tensors_hooks)")
    if totals.freed:
        states.append(
            f"{totals.freed:,} freed, {freed_text(totals.freed_bytes, totals.released_bytes, totals.elsewhere_bytes)}"
        )
    lines.append("; ".join(states))
    lines += _owners(totals)
    if totals.still_held_by:
        lines.append(f"still referenced by {names_text(totals.still_held_by)}")
    lines += [f"freed by {release}" + source_text(release.place) for release in totals.releases]
    return lines


def _owners(totals: Totals) -> list[str]:
    """Who holds what is held: the graph alone, or the user's variables too."""
    lines = []
    if totals.graph_only_bytes:
        line = f"kept alive by the graph alone: {bytes_text(totals.graph_only_bytes)}"
        if totals.goes_with:
            are = "is" if len(totals.goes_with) == 1 else "are"
            line += f", freed when {names_text(totals.goes_with)} {are} freed"
        if totals.staying_bytes:
            line += f", except {bytes_text(totals.staying_bytes)} that graphs of other tensors keep, too"
        lines.append(line)
    if totals.shared_bytes:
        names = names_text(totals.shared_with)
        owners = f"your variables ({names})" if names else "other tensors"
        lines.append(f"also kept alive by {owners}: {bytes_text(totals.shared_bytes)}")
    return lines


def _note(note: Note) -> str:
    return f"  {note}" + source_text(note.place)


def _group(group: GroupRecord) -> str:
    shape = f" {group.shape}" if group.shape is not None else ""
    saved = f", saved {bytes_text(group.nbytes)}" if group.slots else ""
    place = f"  {group.made_at}{source_text(group.made_at)}" if group.made_at else ""
    return f"  {group.nodes:,} {group.name}{shape}{saved}{place}"


def _lost(cause: str, place: Place | None) -> list[str]:
    if place is None:
        return [f"  lost by {cause}"]
    return [f"  lost by {cause} at {place}{source_text(place)}"]


def _tree(nodes: tuple[NodeRecord, ...]) -> list[str]:
    children: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        if node.parent is not None:
            children[node.parent].append(number)
    lines: list[str] = []
    margins = [""] * len(nodes)  # what stands left of a node's own line
    last_place: Place | None = None
    for number, node in enumerate(nodes):
        margin, head = margins[number], margins[number]
        below = children[number]
        is_branch = node.parent is not None and number != children[node.parent][-1]
        if is_branch:
            head, margin = margin + "├─", margin + "│ "
        for child in below:
            margins[child] = margin
        lines.append(_headline(head, number, node, last_place))
        last_place = node.made_at or last_place
        details = _details(node) + _references(node, set(below), nodes)
        bar = "│" if below else " "
        lines += [f"{margin}{bar}{detail}".rstrip() for detail in details]
    return lines


def _headline(head: str, number: int, node: NodeRecord, last_place: Place | None) -> str:
    if node.leaf is not None:
        gone = ", gone: the tensor was freed, so its gradient is discarded" if node.leaf.is_gone else ""
        return f"{head}○ #{number + 1} {_title(node)} {node.leaf.shape} {node.leaf.dtype}{gone}".rstrip()
    shapes = ", ".join(str(shape) for shape, _ in node.outputs)
    nothing = "" if node.saved else ", saved nothing"
    module = f"{node.module}: " if node.module else ""
    line = f"{head}● #{number + 1} {module}{node.name} {shapes}{nothing}"
    if node.made_at is None:
        return line
    line = f"{line:<{SITE_COLUMN}}  {node.made_at}"
    # One line of the user's often makes many nodes; its text is shown with the first.
    return line if node.made_at == last_place else line + source_text(node.made_at)


def _title(node: NodeRecord) -> str:
    if node.leaf is None:
        return node.name
    return f"leaf {node.leaf.name}" if node.leaf.name else "leaf"


def _details(node: NodeRecord) -> list[str]:
    lines = [f"     saved {_slot(slot, node.released)}" for slot in node.saved]
    if node.released is not None and not node.saved:
        lines.append(f"     its saved values were freed by {_short(node.released)}")
    return lines


def _slot(slot: SavedRecord, released: ReleaseRecord | None) -> str:
    size = f"shares memory with {slot.shared_with}" if slot.shared_with else bytes_text(slot.nbytes or slot.view_nbytes)
    if not slot.shared_with and slot.view_nbytes < slot.nbytes:
        size = f"{bytes_text(slot.view_nbytes)} of a storage of {size}"
    if slot.is_foreign:
        size += " of another library's memory"
    state = slot.state
    if state == "freed" and released is not None:
        state = f"{freed_word(slot.fate)} by {_short(released)}"
        if slot.still_held_by:
            state += f", still referenced by {names_text(slot.still_held_by)}"
        elif slot.fate in _REFERENCED:
            state += f", still referenced {_REFERENCED[slot.fate]}"
    elif state == "packed":
        state = "packed (stored by saved_tensors_hooks)"
    elif slot.is_stale:
        state = f"held, but modified in place since: version {slot.current_version}, saved at {slot.version}"
    return f"{slot.name} {slot.shape} {slot.dtype}, {size}, {state}"


def _short(release: ReleaseRecord) -> str:
    return f"{release.call}() at {release.place.short}" if release.place else f"{release.call}()"


def _references(node: NodeRecord, below: set[int], nodes: tuple[NodeRecord, ...]) -> list[str]:
    """Inputs that are printed elsewhere, and those that are not printed at all."""
    lines = [
        f"  → #{number + 1} {_title(nodes[number])}"
        for number in node.inputs
        if number is not None and number not in below
    ]
    if node.hidden_inputs:
        lines.append(f"  … {counted(node.hidden_inputs, 'input')} not shown")
    return lines
