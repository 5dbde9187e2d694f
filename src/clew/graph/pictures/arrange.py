"""Nodes in groups by module, function and loop, written down in that order: what a picture is made of."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ... import _core
from ..explanations.describe import StorageKey, leaf_key
from ..model.module_guess import ModuleOf, fill_modules, function_of, modules_by_parameters
from ..model.places import Place
from ..model.protocol import Node, is_tensor
from ..program.modules import module_label
from .columns import INPUT, LEAF, OPERATION, Columns, Entry, name_of
from .data_inputs import DataInput, data_inputs
from .folding import Component, fold
from .groups import Groups


@dataclass(frozen=True, slots=True)
class Naming:
    """What things in a graph are called."""

    leaves: Mapping[int, str]  # by `leaf_key`
    data: Mapping[StorageKey, str]
    module_of: ModuleOf
    attribute_width: int = 0  # 0: attributes are left out


def arrange(operations: Sequence[Node], leaves: Sequence[Node], naming: Naming) -> tuple[Groups, Columns]:
    """Fold the nodes into groups, and write them down in the order of the groups.

    Args:
        operations: in the order in which they ran.
        leaves: the nodes of leaves.
        naming: names of leaves, data and modules.
    """
    columns = Columns()
    modules, roots = _modules(operations, naming)
    users = _users(operations, leaves)
    data = data_inputs(operations, naming.data)
    signatures, lines = [], []
    for node in operations:
        place = Place.of(node.made_at)
        signatures.append(columns.text.add(f"{name_of(node)} {place and (place.file, place.line)}"))
        lines.append("" if place is None else place.short)
    columns.text = type(columns.text)()
    used = [(leaf, its_users) for leaf, its_users in zip(leaves, users, strict=True) if its_users]
    sources = [its_users for _, its_users in used] + [one.users for one in data]
    groups = fold(signatures, lines, _paths(operations, modules, roots), sources, columns.text)
    everything: list[Node | DataInput] = [*operations, *(leaf for leaf, _ in used), *data]
    feeds = _feeds(data)
    row: dict[Any, int] = {}
    for at in groups.order:
        one = everything[at]
        if isinstance(one, DataInput):
            row[id(one)] = columns.add(Entry(INPUT, None, title=one.title, shape=one.shape))
        elif at >= len(operations):
            row[one] = columns.add(leaf_entry(one, naming.leaves))
        else:
            below = [row[node] for node, _ in one.next_functions if node is not None]
            below += [row[id(each)] for each in feeds.get(at, ())]
            module = module_label(modules[at], roots[at]) if modules[at] else ""
            entry = Entry(OPERATION, one, tuple(below), module=module)
            row[one] = columns.add(entry, _attributes(one, naming.attribute_width) if naming.attribute_width else "")
    for leaf, its_users in zip(leaves, users, strict=True):
        if not its_users:  # its node was drawn itself
            groups.append(columns.add(leaf_entry(leaf, naming.leaves)))
    return groups, columns


def leaf_entry(node: Node, names: Mapping[int, str]) -> Entry:
    """The row of a leaf."""
    key = leaf_key(node)
    if not key:
        return Entry(LEAF, node, title="leaf", remark="the leaf was freed, so its gradient is discarded")
    return Entry(LEAF, node, title=names.get(key, "leaf"))


def _modules(operations: Sequence[Node], naming: Naming) -> tuple[list[str], list[str]]:
    """The module of each operation, empty where neither a log nor the parameters tell, and what its root is called."""
    guessed = fill_modules(
        operations, modules_by_parameters(operations, lambda node: naming.leaves.get(leaf_key(node) or 0))
    )
    logged = [naming.module_of(node) or "" for node in operations]
    roots: list[str] = []
    for _, run in groupby(range(len(operations)), lambda at: logged[at].partition(".")[0]):
        numbers = list(run)
        names = {
            _root_name(logged[at], naming.leaves.get(leaf_key(below) or 0, ""))
            for at in numbers
            for below, _ in operations[at].next_functions
            if below is not None and logged[at]
        } - {""}
        roots += [names.pop() if len(names) == 1 else ""] * len(numbers)
    return [path or guessed.get(node) or "" for path, node in zip(logged, operations, strict=True)], roots


def _root_name(path: str, parameter: str) -> str:
    """What the root is called: the log has the path from its class on, a parameter's name that from a variable on.

    Example:
        >>> _root_name("Sequential.2", "model.2.bias"), _root_name("GRU", "net.rnn.weight_ih_l0")
        ('model', 'net.rnn')
    """
    below, module = path.partition(".")[2], parameter.rpartition(".")[0]
    return module.removesuffix(below).removesuffix(".") if module.endswith(below) else ""


def _users(operations: Sequence[Node], leaves: Sequence[Node]) -> list[list[int]]:
    """For each leaf the operations that use it."""
    number = {leaf: at for at, leaf in enumerate(leaves)}
    users: list[list[int]] = [[] for _ in leaves]
    for at, node in enumerate(operations):
        for below, _ in node.next_functions:
            leaf = -1 if below is None else number.get(below, -1)
            if leaf >= 0:
                users[leaf].append(at)
    return users


def _feeds(data: Sequence[DataInput]) -> dict[int, list[DataInput]]:
    """For each operation the data that it reads."""
    feeds: dict[int, list[DataInput]] = {}
    for one in data:
        for user in one.users:
            feeds.setdefault(user, []).append(one)
    return feeds


def _paths(operations: Sequence[Node], modules: Sequence[str], roots: Sequence[str]) -> list[tuple[Component, ...]]:
    # The function that made both the first and the last node is where all of it happens: to fold it says nothing.
    around = {function_of(node) for node in operations[:1]} & {function_of(node) for node in operations[-1:]}
    label: Callable[[str, str], str] = functools.cache(module_label)
    paths = []
    for node, module, root in zip(operations, modules, roots, strict=True):
        function = function_of(node)
        parts = module.split(".") if module else []
        path: list[Component] = [("module", label(".".join(parts[: depth + 1]), root)) for depth in range(len(parts))]
        is_module_itself = bool(module) and function[1].rpartition(".")[2] == "forward"
        if function[1] not in ("", "<module>") and function not in around and not is_module_itself:
            path.append(("function", f"{function[1]}()"))
        paths.append(tuple(path))
    return paths


@functools.cache
def _attribute_names(op: str) -> tuple[str, ...]:
    """Names of an operation's arguments that may be attributes, from its schemas in the registry."""
    operation = getattr(_core.ops, op, None)
    schemas = [] if operation is None else [overload["schema"] for overload in operation.overloads]
    found = [name for schema in schemas for name in re.findall(r"(\w+)(?=\s*[,=)])", schema)]
    return tuple(dict.fromkeys(found))


def _attributes(node: Any, width: int) -> str:
    """``dim=(1,), keepdim=False``: what the operation was told besides its inputs."""
    saved = {slot.name for slot in node.saved}
    found = []
    for name in _attribute_names(node.op):
        if name in saved:
            continue
        try:
            value = getattr(node, f"_saved_{name}")
        except (AttributeError, RuntimeError):  # none of that name, or freed
            continue
        if value is not None and not is_tensor(value):
            found.append(f"{name}={value!r}"[:width])
    return ", ".join(found)
