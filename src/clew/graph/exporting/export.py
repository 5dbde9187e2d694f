"""``clew.graph.export``: a live graph as a file that other viewers open."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..explanations.describe import leaf_key
from ..model.module_guess import fill_modules, modules_by_parameters
from ..model.protocol import Node, Tensor
from ..model.subjects import parts, roots_of
from ..model.walk import walk
from ..pictures.columns import ordered
from ..program.frames import user_frames
from ..program.modules import module_label, module_of
from ..program.names import names_of_leaves
from .model_explorer import as_model_explorer
from .nodes import ExportedNode, exported
from .onnx import as_onnx
from .tensorboard import as_graph_def

Writer = Callable[[Sequence[ExportedNode], str], str | bytes]
FORMATS: dict[str, Writer] = {
    ".json": as_model_explorer,
    ".onnx": lambda nodes, _: as_onnx(nodes),
    ".pbtxt": lambda nodes, _: str(as_graph_def(nodes)),
}


def export(x: Any, path: str | os.PathLike[str], params: Mapping[str, Tensor] | None = None) -> Path:
    """Write the graph of ``x`` for another viewer: operations, edges, shapes, lines, and modules as scopes.

    The suffix chooses the format. ``.onnx`` is for Netron; the file has the structure and can't be run (``to_onnx`` of
    a kept program writes one that can). ``.json`` is for Model Explorer. ``.pbtxt`` is for the upload of TensorBoard's
    graph tab; ``SummaryWriter.add_graph`` writes the same into its log.

    Args:
        x: a tensor, a node, or a container of these.
        path: the file to write.
        params: names of leaves, such as ``dict(model.named_parameters())``. By default, leaves get names from the
            variables of the calling functions.

    Returns:
        The path.

    Raises:
        TypeError: there is no tensor or node in ``x``.
        ValueError: another suffix, or a tensor without a graph.
        ImportError: onnx or tensorboard is needed and not installed.

    Example:
        >>> import pathlib, tempfile
        >>> weight = clew.ones(3, requires_grad=True)
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = clew.graph.export((weight * 2).sum(), pathlib.Path(folder.name, "graph.json"), {"weight": weight})
        >>> "MulBackward0" in path.read_text(), '"mul"' in path.read_text()
        (False, True)
        >>> folder.cleanup()
    """
    target = Path(path)
    write = FORMATS.get(target.suffix.lower())
    if write is None:
        raise ValueError(f"export: expected a name that ends in one of {', '.join(FORMATS)}, got {target.name!r}")
    found = parts(x)
    if not found:
        raise TypeError(f"export: expected a tensor, a node or a container of them, got {type(x).__name__}")
    roots = roots_of(found)
    if not roots:
        raise ValueError("export: expected a tensor with a graph, got one without; pass what was computed, as the loss")
    results = {f"result{name}": one for name, one in found}
    nodes = walk(roots)
    if params is None:
        names = names_of_leaves(nodes, user_frames(sys._getframe(1)))
    else:
        names = {id(tensor): name for name, tensor in params.items()}
    content = write(exported(results, *_names(nodes, names)), target.stem)
    if isinstance(content, bytes):
        target.write_bytes(content)
    else:
        target.write_text(content, encoding="utf-8")
    return target


def _names(nodes: Sequence[Node], names: Mapping[int, str]) -> tuple[Callable[[Node], str], Callable[[Any], str]]:
    """What tells the scope of an operation, and what the name of a leaf, whose names are given by their identity."""
    operations = ordered(nodes)
    guessed = fill_modules(operations, modules_by_parameters(operations, lambda one: names.get(leaf_key(one) or 0)))
    root = next((path.partition(".")[0] for path in map(module_of, operations) if path), "")

    def scope_of(node: Node) -> str:
        return scope(module_of(node) or guessed.get(node) or "")

    def leaf_name(leaf: Any) -> str:
        path, _, name = names.get(id(leaf), "leaf").rpartition(".")
        module = ".".join(filter(None, (root, path))) if leaf is not None and id(leaf) in names else ""
        return "/".join(filter(None, (scope(module), name)))

    return scope_of, leaf_name


def scope(path: str) -> str:
    """The scope of a module's path.

    Example:
        >>> scope("blocks.0.attn")
        'blocks/0/attn'
        >>> model = clew.nn.Sequential(clew.nn.Linear(3, 4), clew.nn.ReLU())
        >>> with clew.graph.record_modules():
        ...     y = model(clew.ones(2, 3))
        >>> scope("Sequential.1")
        'Sequential/ReLU[1]'
    """
    names = path.split(".") if path else []
    found = names[:1]
    for depth in range(1, len(names)):
        kind = module_label(".".join(names[: depth + 1])).partition(" · ")[2]
        found.append(f"{kind}[{names[depth]}]" if kind else names[depth])
    return "/".join(found)
