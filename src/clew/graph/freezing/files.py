"""Write a live graph to a file, and make it again in another process: `freeze`, `thaw`, `leaves`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ... import _core
from ..._core import Node, Tensor
from ..._files import container
from ..._files.data import WRONG, from_json, mapped, to_json
from ..._files.tensors import TensorReader, TensorWriter
from ...autograd.errors import ProgramError

_KIND = "clew graph"
_LEAVES = "clew.graph.leaves"  # in the metadata of the node that thaw() made last


def freeze(result: Tensor, path: str | os.PathLike[str], names: Mapping[str, Tensor] | None = None) -> None:
    """Write `result` with its graph and everything that the graph saved to a file, which `thaw` reads.

    Args:
        result: A tensor with a history, whose graph has not been freed.
        path: The file. It is a safetensors file, whose metadata have the graph as text. It is no pickle.
        names: Names of leaves. `leaves` finds them by these names.

    Raises:
        NotImplementedError: a node is Python (an `autograd.Function`, a hook). The error names it with its line, and
            nothing is written.
        RuntimeError: `result` has no history, a part of its graph was freed, or what the graph saved was written since.
        TypeError: `result` is no tensor.
        ValueError: a name is empty, its tensor is no leaf of the graph, or its tensor has another name.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "graph.clew")
        >>> w = clew.tensor([1.0, 2.0], requires_grad=True)
        >>> clew.graph.freeze((w * w).sum(), path, names={"w": w})
        >>> y = clew.graph.thaw(path)
        >>> y.backward()
        >>> clew.graph.leaves(y)["w"].grad
        tensor([2., 4.])
    """
    if not isinstance(result, Tensor):
        raise TypeError(f"freeze: expected a tensor with a history, got {type(result).__name__}")
    nodes, output = _core.graph_to_python(result)
    known = dict(names or {})
    _check_names(result, known)
    writer = TensorWriter()
    numbers = {name: writer.number(leaf, name) for name, leaf in known.items()}
    content = {
        "nodes": mapped(nodes, lambda value: to_json(value, writer)),
        "result": writer.number(result.detach()),
        "output": output,
        "names": numbers,
        "tensors": writer.tensors,
    }
    container.write(path, _KIND, content, writer.entries)


def _check_names(result: Tensor, known: Mapping[str, Tensor]) -> None:
    found = {id(leaf) for leaf in _leaves_below(result)}
    named: dict[int, str] = {}
    for name, leaf in known.items():
        if not name:
            raise ValueError("freeze: expected names of at least one letter, got ''; take another name")
        if id(leaf) not in found:
            raise ValueError(f"freeze: expected {name!r} to be a leaf of this graph; see clew.graph.leaves(result)")
        if (other := named.setdefault(id(leaf), name)) != name:
            raise ValueError(f"freeze: expected one name for each leaf, got {other!r} and {name!r} for one")


def thaw(path: str | os.PathLike[str]) -> Tensor:
    """Read a graph that `freeze` wrote, and return its result, whose `backward()` computes the gradients.

    The graph keeps its leaves alive; `leaves` returns them. Its backward is run once here, without any effect, so that
    an inconsistent file raises now and not later.

    Raises:
        ProgramError: the file has no graph, it is damaged, or its nodes are inconsistent.
        OSError: it can't be read.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "graph.clew")
        >>> w = clew.tensor([1.0, 2.0], requires_grad=True)
        >>> clew.graph.freeze(w.exp().sum(), path)
        >>> clew.graph.thaw(path)
        tensor(10.1073, grad_fn=<SumBackward0>)
    """
    content, memories = container.read(path, _KIND)
    try:
        reader = TensorReader(content["tensors"], memories)
        nodes = mapped(content["nodes"], lambda value: from_json(value, reader))
        result = reader.tensor(content["result"])
        names = {str(name): reader.tensor(number) for name, number in content["names"].items()}
        _core.graph_from_python(result, nodes, content["output"])
        assert result.grad_fn is not None
        found = [edge[0] for node in nodes for edge in node["edges"] if _is_leaf(edge)]
        result.grad_fn.metadata[_LEAVES] = names, found
        _try(result, found)
    except ProgramError:
        raise
    except WRONG as error:
        raise ProgramError(f"thaw: the graph in this file is inconsistent: {error}") from error
    return result


def _try(result: Tensor, leaves: list[Tensor]) -> None:
    """A backward that leaves no trace."""
    from ... import ones_like

    before = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    result.backward(ones_like(result), retain_graph=True)
    for leaf, gradient in zip(leaves, before, strict=True):
        leaf.grad = gradient


def leaves(result: Tensor | Node) -> dict[str, Tensor]:
    """The leaves of the graph of `result`, by the names that `freeze` got; others are "leaf.0", "leaf.1" ...

    Example:
        >>> w, b = clew.ones(2, requires_grad=True), clew.zeros(2, requires_grad=True)
        >>> [name for name in clew.graph.leaves(w * 2 + b)]
        ['leaf.0', 'leaf.1']
    """
    names: dict[int, str] = {}
    for node in _nodes_below(result):
        names |= {id(leaf): name for name, leaf in node.metadata.get(_LEAVES, ({}, []))[0].items()}
    found = list(_leaves_below(result))
    unnamed = (f"leaf.{number}" for number in range(len(found)))
    return {names.get(id(leaf)) or next(unnamed): leaf for leaf in found}


def _is_leaf(edge: Any) -> bool:
    return isinstance(edge, list) and len(edge) == 1 and isinstance(edge[0], Tensor)


def _nodes_below(result: Tensor | Node) -> Iterator[Node]:
    """Each node once, in the order of its inputs."""
    root = result.grad_fn if isinstance(result, Tensor) else result
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(below for below, _ in reversed(node.next_functions))


def _leaves_below(result: Tensor | Node) -> Iterator[Tensor]:
    for node in _nodes_below(result):
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            yield leaf
