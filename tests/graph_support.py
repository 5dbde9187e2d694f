"""Small functions that tests of several rows share."""

import contextlib
import gc
import re
import sys

import numpy

SECOND_TIME = "Trying to backward through the graph a second time"
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def line_here():
    """The line this call stands on."""
    return sys._getframe(1).f_lineno


def values(tensor):
    """A copy of the tensor's values as a NumPy array, whatever its history."""
    return tensor.detach().numpy().copy()


def assert_close(tensor, expected, relative=1e-5, absolute=1e-6):
    numpy.testing.assert_allclose(values(tensor), numpy.asarray(expected), rtol=relative, atol=absolute)


def assert_equal(tensor, expected):
    numpy.testing.assert_array_equal(values(tensor), numpy.asarray(expected))


def nodes_of(tensor_or_node):
    """All nodes below, each once, nearest first."""
    start = getattr(tensor_or_node, "grad_fn", None) or tensor_or_node
    found, queue = [], [start]
    while queue:
        node = queue.pop(0)
        if node is not None and node not in found:
            found.append(node)
            queue.extend(below for below, _ in node.next_functions)
    return found


def node_named(tensor, name):
    """The only node below the tensor that has this name."""
    (node,) = [node for node in nodes_of(tensor) if re.fullmatch(rf"{name}\d*", node.name())]
    return node


@contextlib.contextmanager
def collector_off():
    """Whatever is freed inside is freed by reference counts alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def live_bytes(torch):
    return torch.memory.stats().live


def nodes_alive(torch):
    return torch._core.graph_counters()["nodes_alive"]


class Token:
    """An object whose end can be watched through a weak reference, and that can be called as a hook."""

    def __call__(self, *arguments):
        return None
