"""What to do about a backward through a freed graph: the value that two passes share, and the smallest repair.

The engine knows the node that was freed and the call that freed it. Only the whole graph of the backward that failed
shows where it enters the freed part, and only the frames that are running know what the user calls the value there.
"""

from __future__ import annotations

import sys
from collections import deque
from types import FrameType

from ..._cells import place_text
from ..._core import AccumulateGrad, Node, Tensor, is_filled_again, live_tensors
from ...autograd.errors import GraphFreedError, InplaceError
from ..model.records import Site, Write
from ..model.walk import walk
from ..program.frames import scopes_of, user_frames
from ..program.loops import Loop, assigned_at, loops_around, step_called_at
from ..program.names import find_tensors, names_of
from .carried import Carried, carried_over

_MOST_OBJECTS = 20_000  # a search for a name that takes longer is not worth it


def tell_what_to_do(
    error: BaseException, roots: tuple[Node, ...], inputs: tuple[Node, ...], began: int, keeps_graph: bool
) -> None:
    """Fill in the fields that only the running code can tell: names, and what to do about a freed graph.

    Args:
        error: any exception; others than `GraphFreedError` and `InplaceError` are left alone, and so is one that an
            inner backward told.
        roots: the nodes that the backward started from.
        inputs: those whose gradients it was asked for; none if for those of all leaves.
        began: what the graph's clock was when it began.
        keeps_graph: whether it was to retain the graph.
    """
    if isinstance(error, InplaceError) and error.tensor_name is None:
        error._writer = _optimizer_at(error.written_by or "", error.written_at) or ""
        _tell_name_of_saved(error)
        _tell_carried_over(error, roots, began)
    if isinstance(error, GraphFreedError) and "advice" not in vars(error):
        _tell_repair(error, roots, inputs, began, keeps_graph)


def name_of(tensor: Tensor) -> str | None:
    """What the running code calls a tensor."""
    return names_of([tensor], user_frames(sys._getframe()), _MOST_OBJECTS).tensors.get(id(tensor))


def _sharing(error: InplaceError) -> list[Tensor]:
    """Living tensors that have the memory which was modified."""
    if error.node is None:
        return []
    storages = {slot.storage for slot in error.node.saved if slot.name == error.saved_name and slot.storage}
    return [tensor for tensor in live_tensors() if tensor._storage_id in storages]


def _tell_name_of_saved(error: InplaceError) -> None:
    """The name of a tensor that has the memory; of a leaf before others."""
    sharing = _sharing(error)
    found = names_of(sharing, user_frames(sys._getframe()), _MOST_OBJECTS).tensors
    named = [tensor for tensor in sharing if id(tensor) in found]
    named.sort(key=lambda tensor: (not tensor.is_leaf, len(found[id(tensor)])))
    error.tensor_name = found[id(named[0])] if named else None


def _tell_carried_over(error: InplaceError, roots: tuple[Node, ...], began: int) -> None:
    """Where the loss was computed after a step of training, and leads through that value into the graph before it."""
    sharing = _sharing(error)
    writes = (tensor._last_write for tensor in sharing)
    write = max((one for one in writes if one is not None), key=lambda one: one.serial, default=None)
    if error.node is None or write is None:
        return
    by_optimizer = _optimizer_at(write.op, write.site) is not None
    if not by_optimizer and not any(tensor.is_leaf and tensor.requires_grad for tensor in sharing):
        return
    path = _path_to(error.node, roots)
    position = next((at for at, node in enumerate(path) if node._sequence_nr() < write.serial), 0)
    if position == 0:
        return  # all of it is older: the backward comes too late
    frames = user_frames(sys._getframe())
    user, shared = path[position - 1], path[position]
    names = _names_of(path[position:], frames)
    named = next((node for node in path[position:] if node in names), None)
    made, used = shared.made_at, user.made_at
    name = names[named] if named is not None else assigned_at(made.file, made.line) if made else None
    carried = carried_over(shared, _outputs_used(user, shared), frames, _MOST_OBJECTS)
    if not by_optimizer and carried is None:
        return
    error.shared_at, error.shared_name, error.used_at = made, carried.name if carried else name, used
    if made is None or used is None:
        return
    if not _have_history_without(shared, roots, (), began):
        what = f"{_called(name, 'a value')} was created at {_line(made)} before the step and used at {_line(used)}"
        error._advice = f"{what} after it: run every backward before the optimizer's step, or compute it again after it"
        return
    error._carried = carried
    if carried or ((used.file, used.function) == (made.file, made.function) and used.line <= made.line):
        what = _carried_text(name, carried, made, used)
    else:
        what = f"{_called(name, 'a value')} was created at {_line(made)} before the step and used at {_line(used)}"
        what += " after it"
    detach = f"detach it in between{_assignment(name, carried, frames)}"
    error._advice = f"{what}: {detach}, and leave retain_graph out where it was given for this"


def _optimizer_at(op: str, site: Site | None) -> str | None:
    """The call of the optimizer's step that made a write, as the user's line has it; None if none did."""
    called = step_called_at(site.file, site.line) if site else None
    return called or ("optimizer.step()" if op.endswith("_step") else None)


def _outputs_used(user: Node | None, shared: Node) -> set[int]:
    return {number for node, number in user.next_functions if node == shared} if user else set()


def _carried_text(name: str | None, carried: Carried | None, made: Site, used: Site) -> str:
    around = loops_around(made.file, made.line)
    head = carried.head if carried else around[-1].head if around else None
    earlier = f"an earlier iteration of the loop at line {head}" if head else f"an earlier call of {made.function}"
    what = _called(carried.name if carried else name, "a value")
    verb = "were" if carried and "," in carried.name else "was"
    return f"{what} {verb} created at {_line(made)} in {earlier} and carried over to {_line(used)}"


def _assignment(name: str | None, carried: Carried | None, frames: list[FrameType]) -> str:
    """How a value is detached; an element of a tuple can't be assigned to."""
    if carried:
        return f" (`{carried.detach}` after {place_text(carried.file, carried.last)})"
    if not name:
        return ""
    values = (scope[name] for scope in scopes_of(frames) if name in scope)
    if isinstance(next(values, None), tuple):
        return f" (`{name} = tuple(one.detach() for one in {name})`)"
    return f" (`{name}.detach()`)" if name.endswith("]") else f" (`{name} = {name}.detach()`)"


def _tell_repair(
    error: GraphFreedError, roots: tuple[Node, ...], inputs: tuple[Node, ...], began: int, keeps_graph: bool
) -> None:
    if error.node is None:
        return
    path = _path_to(error.node, roots)
    if not path or error.freed_at is None:
        return
    if error.freed_by == "load_program":
        error._may_be_retained = False
        error.advice = (
            "call `forward()` of the result, or `run()` of the program, before each backward: a file has the graph "
            "without saved values, and these calls compute them"
        )
        return
    written = _written_since(error.node, path)
    by_verb = error.freed_by in ("clew.graph.free", "clew.graph.cut")
    error._may_be_retained = written is None and not by_verb
    if by_verb:
        retain = f", or call {error.freed_by} after the last backward that needs it, not at {_line(error.freed_at)}"
    elif written is None:
        retain = f", or retain the graph: retain_graph=True at {_line(error.freed_at)}"
        if keeps_graph:
            retain += " (the earlier call frees the graph, so here it comes too late)"
    else:
        retain = (
            f"; retain_graph=True would not help, as {_optimizer_at(written.op, written.site) or written.op} at "
            f"{_line(written.site)} has written to a leaf of that graph since"
        )
    frames = user_frames(sys._getframe())
    if path[0]._sequence_nr() == error._youngest:
        name = _names_of(path[:1], frames).get(path[0])
        kept = _kept(path[0], error.node, name or "it", "each backward")
        said = f"{_called(name, 'the value')} {'lost its graph' if by_verb else 'had a backward before'}"
        error.advice = f"{said}: compute it again before each backward{retain}{kept}"
        return
    user, shared, name = _entrance(path, error, frames)
    error.shared_at, error.shared_name = shared.made_at, name
    error.used_at = user.made_at if user else None
    error._may_be_detached = _have_history_without(shared, roots, inputs, began)
    carried = carried_over(shared, _outputs_used(user, shared), frames, _MOST_OBJECTS)
    if carried:
        error._carried, error.shared_name = carried if error._may_be_detached else None, carried.name
    kept = _kept(shared, error.node, name or "that value", "it is used again")
    error.advice = _repair(error, carried, frames) + retain + kept


def _kept(node: Node, freed: Node, name: str, when: str) -> str:
    """The other way, where a block of `keep_graph` made the value: it fills the graph again."""
    if not any(tensor._held_node == node and is_filled_again(tensor, freed) for tensor in live_tensors()):
        return ""
    return f"; or, because clew.keep_graph recorded it, call `{name}.forward()` before {when}"


def _written_since(freed: Node, path: list[Node]) -> Write | None:
    """A write, as an optimizer's step is, to a leaf of the freed part since: had it been retained, it were stale."""
    serial = freed.released.serial if freed.released else 0
    top = next((node for node in path if node.released is not None and node.released.serial == serial), freed)
    leaves = (node.variable for node in walk([top]) if isinstance(node, AccumulateGrad))
    writes = (leaf._last_write for leaf in leaves if leaf is not None)
    return next((write for write in writes if write is not None and write.serial > serial), None)


def _path_to(target: Node, roots: tuple[Node, ...]) -> list[Node]:
    """A shortest way down from a root to the node, both included; empty if there is none."""
    above: dict[Node, Node | None] = dict.fromkeys(roots)
    queue = deque(roots)
    while queue:
        node: Node | None = queue.popleft()
        if node == target:
            path = []
            while node is not None:
                path.append(node)
                node = above[node]
            return path[::-1]
        assert node is not None
        for below, _ in node.next_functions:
            if below is not None and below not in above:
                above[below] = node
                queue.append(below)
    return []


def _entrance(
    path: list[Node], error: GraphFreedError, frames: list[FrameType]
) -> tuple[Node | None, Node, str | None]:
    """Where the path enters the part that was run before: the last new node, the first old one, and its name.

    A node is new if it is younger than all that the earlier backward ran, or if it saved something that not this
    backward has freed. One that saved nothing may be either; of those, the one that the user has a name for is what the
    user has to change.
    """
    serial = path[-1].released.serial if path[-1].released else 0
    old = [node.released is not None and node.released.serial == serial for node in path]
    new = [
        position
        for position, node in enumerate(path)
        if not old[position] and (node._sequence_nr() > error._youngest or node.saved)
    ]
    first = min(new[-1] + 1 if new else 0, len(path) - 1)
    last = next((position for position in range(first, len(path)) if old[position]), len(path) - 1)
    names = _names_of(path[first : last + 1], frames)
    position = next((position for position in range(first, last + 1) if path[position] in names), first)
    name = names.get(path[position])
    if name is None:
        made = path[position].made_at
        name = assigned_at(made.file, made.line) if made else None  # the name has another value by now
    return (path[position - 1] if position else None), path[position], name


def _have_history_without(shared: Node, roots: tuple[Node, ...], inputs: tuple[Node, ...], began: int) -> bool:
    """Whether a backward can run, and give what was asked for, when the shared value is detached.

    What else was freed before the backward began is taken to be detached as well: it would be the next to fail.
    """
    before = set(walk(roots))
    cut = {node for node in before if node.released is not None and node.released.serial <= began} | {shared}
    left = [walk([root], set(cut)) for root in roots]
    if not all(any(isinstance(node, AccumulateGrad) for node in nodes) for nodes in left):
        return False
    return before.intersection(inputs) <= {node for nodes in left for node in nodes}


def _names_of(nodes: list[Node], frames: list[FrameType]) -> dict[Node, str]:
    """What the running code calls the tensors that these nodes made; names of inner functions come first."""
    wanted = set(nodes)
    found: dict[Node, str] = {}
    for path, tensor in find_tensors(scopes_of(frames), most_objects=_MOST_OBJECTS):
        if tensor._held_node in wanted:
            found.setdefault(tensor._held_node, path)
    return found


def _called(name: str | None, otherwise: str) -> str:
    return f"`{name}`" if name else otherwise


def _line(site: Site | None) -> str:
    return place_text(site.file, site.line) if site else "an unknown line"


def _repair(error: GraphFreedError, carried: Carried | None, frames: list[FrameType]) -> str:
    """What is shared, where it was made and used, and what to change; a detach only where history is left."""
    made, used, name = error.shared_at, error.used_at, error.shared_name
    what = f"{_called(name, 'a value')} was created at {_line(made)}"
    again = f"used again at {_line(used)}" if used else "used again"
    detach = f"detach it (`{name}.detach()`)" if name else "detach() it"
    or_detach = f", or {detach}" if error._may_be_detached else ""
    if made is None:
        return f"{what} and {again}: compute it again{or_detach}"
    outside = _loop_without(made, error.freed_at, frames)
    if outside is not None:
        return f"{what}, outside the loop at line {outside.head}, and {again}: compute it inside the loop{or_detach}"
    is_later = used is not None and (used.file, used.function) == (made.file, made.function) and used.line <= made.line
    if used is not None and (carried or is_later):
        what = _carried_text(name, carried, made, used)
        if not error._may_be_detached:
            after = ", after the loop" if carried or loops_around(made.file, made.line) else ""
            return f"{what}: add the losses and call backward once{after}"
        return f"{what}: detach it in between{_assignment(name, carried, frames)}"
    return (
        f"{what}, is part of the freed graph, and is {again}: add the losses and call backward once, or compute it "
        f"again{or_detach}"
    )


def _loop_without(made: Site, freed: Site | None, frames: list[FrameType]) -> Loop | None:
    """The innermost loop, in the function that made the value, that runs now and did not run when it was made."""
    here = [freed] if freed is not None and (freed.file, freed.function) == (made.file, made.function) else []
    lines = [site.line for site in here] + [
        frame.f_lineno
        for frame in frames
        if (frame.f_code.co_filename, frame.f_code.co_name) == (made.file, made.function)
    ]
    for line in lines:
        for loop in reversed(loops_around(made.file, line)):
            if not loop.contains(made.line):
                return loop
    return None
