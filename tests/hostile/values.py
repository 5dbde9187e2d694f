"""What the arguments of hostile calls are made of. A call is a line of Python that is evaluated among these names."""

import copy
import ctypes
import functools
import gc
import io
import math
import operator
import pickle
import weakref
from collections import OrderedDict, namedtuple

import numpy
import numpy as np

import clew
import clew as torch

from .files import load_damaged

__all__ = [
    "Array",
    "Function",
    "Label",
    "Liar",
    "Number",
    "OrderedDict",
    "Real",
    "Refused",
    "Row",
    "Series",
    "Sub",
    "Thing",
    "Torchlike",
    "Whole",
    "World",
    "call",
    "clew",
    "copy",
    "ctypes",
    "damaged",
    "deep",
    "effect",
    "functools",
    "gc",
    "graph",
    "io",
    "itself",
    "load_damaged",
    "math",
    "namedtuple",
    "np",
    "numpy",
    "operator",
    "pickle",
    "released",
    "torch",
    "touch",
    "weakref",
]


class Refused(Exception):
    """Raised by arguments themselves: it may come out of any call."""


class World:
    """The things that one call's arguments share, each made when it is first asked for."""

    def __getattr__(self, name):
        made = MAKERS[name](self)
        setattr(self, name, made)
        return made


def _no_grad(make):
    with torch.no_grad():
        return make()


def _inference(make):
    with torch.inference_mode():
        return make()


MAKERS = {
    "leaf": lambda w: torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True),
    "result": lambda w: w.leaf * 2,
    "loss": lambda w: w.result.exp().sum(),
    "view": lambda w: w.result.view(3, 2),
    "row": lambda w: w.result[1],
    "blind": lambda w: _no_grad(lambda: w.result.view(3, 2)),
    "part": lambda w: _no_grad(lambda: w.result.split(1))[0],
    "frozen": lambda w: _inference(lambda: torch.ones(2, 3)),
    "base": lambda w: torch.arange(6.0).reshape(2, 3),
    "slice": lambda w: w.base[:, 1],
    "shadow": lambda w: w.leaf.detach(),
    "array": lambda w: w.base.numpy(),
    "list": lambda w: [1.0, 2.0, 3.0],
    "rows": lambda w: [[1, 2], [3, 4], [5, 6]],
    "tensors": lambda w: [torch.ones(2, 3), w.leaf, w.result],
    "dict": lambda w: {"a": w.leaf, "b": 2},
    "node": lambda w: w.result.grad_fn,
    "leaf_node": lambda w: w.node.next_functions[0][0],
    "module": lambda w: torch.nn.Linear(3, 2),
    "model": lambda w: torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)),
    "optimizer": lambda w: torch.optim.SGD(w.model.parameters(), lr=0.1, momentum=0.9),
    "handle": lambda w: w.result.register_hook(lambda gradient: gradient),
    "bytes": lambda w: bytearray(24),
    "file": lambda w: io.BytesIO(),
}

w = World()  # of the call that is running; `call` renews it


def call(source):
    """Evaluate one line, in a world of its own."""
    global w
    w = World()
    return eval(source, globals())


def effect(source):
    """Do something to what the call's arguments share."""
    exec(source, globals())


# -------------------------------------------------------------------------------- numbers and sequences with effects
class Number:
    """Says that it is a number, and does something whenever it is asked for its value."""

    def __init__(self, value, source="pass"):
        self.value, self.source = value, source

    def ask(self):
        effect(self.source)
        return self.value

    def __index__(self):
        return self.ask()

    def __int__(self):
        return self.ask()

    def __float__(self):
        return self.ask()

    def __bool__(self):
        return self.ask()

    def __eq__(self, other):
        return self.ask() == other

    def __hash__(self):
        return hash(self.ask())


class Whole(int):
    """An int whose conversions have effects."""

    source = "pass"

    def __index__(self):
        effect(self.source)
        return int.__index__(self)

    __int__ = __float__ = __index__


class Real(float):
    """A float whose conversions have effects."""

    source = "pass"

    def __float__(self):
        effect(self.source)
        return float.__float__(self)


class Series:
    """A sequence that does something whenever it is read."""

    def __init__(self, items, source="pass"):
        self.items, self.source = items, source

    def __len__(self):
        effect(self.source)
        return len(self.items)

    def __getitem__(self, index):
        effect(self.source)
        return self.items[index]

    def __iter__(self):
        effect(self.source)
        return iter(self.items)


class Row(list):
    """A list that does something whenever it is read through Python."""

    source = "pass"

    def __len__(self):
        effect(self.source)
        return list.__len__(self)

    def __getitem__(self, index):
        effect(self.source)
        return list.__getitem__(self, index)

    def __iter__(self):
        effect(self.source)
        return list.__iter__(self)


class Liar:
    """A sequence of a length that it says, whatever it holds."""

    def __init__(self, length, items=(1, 2)):
        self.length, self.items = length, items

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return self.items[index]


class Label(str):
    """A string that compares and hashes as it likes."""

    __slots__ = ()

    def __eq__(self, other):
        effect("gc.collect()")
        return True

    def __hash__(self):
        return 7


class Array:
    """Gives an array, or something else, by NumPy's protocols."""

    def __init__(self, made, source="pass"):
        self.made, self.source = made, source

    def __array__(self, dtype=None, copy=None):
        effect(self.source)
        return self.made

    @property
    def __array_interface__(self):
        effect(self.source)
        return self.made

    @property
    def __dlpack__(self):
        effect(self.source)
        return self.made

    @property
    def base(self):
        return self


class Torchlike:
    """Answers for every operation."""

    def __init__(self, answer=None, source="pass"):
        self.answer, self.source = answer, source

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        effect("gc.collect()")
        return NotImplemented


class Sub(torch.Tensor):
    """A subclass with effects in what it is asked."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        effect("w.list.clear()")
        return super().__torch_function__(function, types, args, kwargs or {})


class Thing:
    """Has every attribute, and each is another of its kind, up to a depth."""

    def __init__(self, depth=3):
        self.depth = depth

    def __getattr__(self, name):
        if name.startswith("__") or not self.depth:
            raise AttributeError(name)
        return Thing(self.depth - 1)

    def __call__(self, *args, **kwargs):
        return Thing(self.depth - 1) if self.depth else None


class Function:
    """A callable that does something and gives back something."""

    def __init__(self, source="pass", answer="args[0] if args else None"):
        self.source, self.answer = source, answer

    def __call__(self, *args, **kwargs):
        effect(self.source)
        return eval(self.answer, globals(), {"args": args, "kwargs": kwargs})


def deep(depth, kind=list):
    """A sequence in a sequence in a sequence."""
    made = kind()
    for _ in range(depth):
        made = kind([made])
    return made


def itself():
    """A list that holds itself."""
    made = []
    made.append(made)
    return made


def damaged(kind, *skipped):
    """An object of the type that no constructor has seen."""
    return kind.__new__(kind)


def graph(depth=3, width=2):
    """The loss of a small graph with shared parts."""
    x = torch.ones(width, requires_grad=True)
    for _ in range(depth):
        x = x * x + x
    return x.sum()


def released():
    """A loss whose graph has been gone through and freed."""
    loss = graph()
    loss.backward()
    return loss


# ------------------------------------------------------------------------------------------- what is done to a result
def _write(result):
    with torch.no_grad():
        result.add_(1)


def _backward(result):
    result.double().sum().backward()


TOUCHES = (
    lambda result: None,
    repr,
    lambda result: result.sum().item(),
    lambda result: result.clone(),
    lambda result: result.numpy().copy(),
    lambda result: result.tolist(),
    _write,
    _backward,
    copy.deepcopy,
    lambda result: torch.save(result, io.BytesIO()),
    lambda result: (result.grad_fn.next_functions, result.grad_fn.saved, repr(result.grad_fn)),
    lambda result: torch.autograd.grad(result.sum(), [result, w.leaf], allow_unused=True),
    lambda result: (hash(result), bool(result == result), list(result)),
    lambda result: (weakref.ref(result), gc.collect()),
    lambda result: (result.t().contiguous(), result.reshape(-1)[0]),
    lambda result: [getattr(result, name, None) for name in dir(result)],
)


def touch(result, how):
    """Use what a call gave: wrong geometry shows only when it is read. What that raises is no concern here."""
    if isinstance(result, torch.Tensor) and result.numel() > 1 << 20:
        how = 0  # large results have been made; to read them takes long
    if isinstance(result, tuple | list) and result and how % 2 and len(result) < 100:
        for one in result:
            touch(one, how)
        return result
    if how:
        try:
            TOUCHES[how](result)
        except (SystemError, NameError):
            raise
        except Exception:
            return result
    return result
