"""One program under both libraries, statement by statement, and what differs after each.

A program is a list of statements in which `torch` is the library and `log` a list that hooks write to. A statement that
raises is noted and the program goes on: both must raise, and the same type.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from unittest import mock

import fuzz_deviations
import fuzz_precision
import numpy
import sampling
import torch

import clew

DTYPE_NAMES = {
    getattr(module, str(one).removeprefix("torch.")): str(one).removeprefix("torch.")
    for module in (torch, clew)
    for one in vars(clew).values()
    if isinstance(one, clew.dtype)
}
EPSILON = {"f2": 2.0**-10, "f4": 2.0**-23, "f8": 2.0**-52, "c8": 2.0**-23, "c16": 2.0**-52}
ULPS = 64
Found = tuple[str, str, str]  # aspect, name, text
WALK = 40  # nodes of a graph that are compared


@dataclass
class Difference:
    aspect: str
    operation: str
    text: str  # what was got
    statement: str
    where: int  # the statement's place
    program: list[str] = field(default_factory=list)
    memory: str = ""  # of the tensor that the statement writes: Session.written

    def key(self) -> str:
        return f"{self.operation}: {self.aspect}"


# What PyTorch refuses when it has saved more than the gradient reads, too.
SAVED_TOO_MUCH = re.compile(
    "only PyTorch raises RuntimeError: (one of the variables needed for gradient computation has been modified"
    "|Trying to backward through the graph a second time)"
)
AGREES = "; with nothing freed and what is written over kept, it gives the same"


@contextlib.contextmanager
def everything_kept() -> Iterator[None]:
    """PyTorch frees nothing in a backward, and clones saved values before they are written over."""
    engine = torch.autograd._engine_run_backward

    def keeping(outputs: Any, gradients: Any, _: bool, *rest: Any, **options: Any) -> Any:
        return engine(outputs, gradients, True, *rest, **options)

    with (
        mock.patch.object(torch.autograd, "_engine_run_backward", keeping),
        torch.autograd.graph.allow_mutation_on_saved_tensors(),
    ):
        yield


class Unsupported(Exception):
    """clew says that it does not have this; the program ends."""


@functools.lru_cache(maxsize=4096)
def compiled(statement: str) -> Any:
    return compile(statement, "<program>", "exec")


def writes(statement: str) -> bool:
    operation = operation_of(statement)
    if operation.startswith("__i") and operation != "__invert__":
        return True
    in_place = operation.endswith("_") and not operation.endswith("__")
    named = re.search("out=|inplace=True|max_norm=|mark_dirty", statement)
    return in_place or operation.endswith(("__setitem__", "=")) or named is not None


def operation_of(statement: str) -> str:
    """What the statement calls: "mul", "nn.functional.gelu", "__setitem__", "backward"."""
    tree = ast.parse(statement).body[0]
    if isinstance(tree, ast.AugAssign):
        return f"__i{type(tree.op).__name__.lower()}__"
    if isinstance(tree, ast.Assign) and not isinstance(tree.targets[0], ast.Name):
        target = tree.targets[0]
        return "__setitem__" if isinstance(target, ast.Subscript) else f"{getattr(target, 'attr', 'tuple')}="
    node: Any = tree.value if isinstance(tree, ast.Assign | ast.Expr) else tree
    if isinstance(node, ast.Call):
        path = ast.unparse(node.func)
        if path.startswith("torch.") and "(" not in path:
            return path.removeprefix("torch.")
        return path.rpartition(".")[2]
    if isinstance(node, ast.Subscript):
        return "__getitem__"
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return f"__{type(node.op).__name__.lower()}__"
    if isinstance(node, ast.Compare):
        return f"__{type(node.ops[0]).__name__.lower()}__"
    if isinstance(node, ast.Attribute):
        return node.attr
    return type(node).__name__


# Aspects of a tensor that those computed from it inherit.
SPREADING = {"strides", "view", "node", "node type", "version", "leaf"}
# What the layout decides: whether it is copied, and in which order numbers are drawn.
READS_STRIDES = re.compile(
    "contiguous|ravel|reshape|flatten|as_strided|_like$|dropout|rrelu|bernoulli|normal|random|exponential|"
    "(group|instance|batch|layer|rms)_norm"
)
# How PyTorch refuses a form of a call. What clew takes besides is no mistake.
PARSED = re.compile(
    r"invalid combination of arguments|positional arguments but|"
    r"unexpected keyword|must be .*, not |missing \d required|multiple values"
)
# Tests call these with matrices that are far from singular.
INVERSES = {
    one.operation
    for one in (*sampling.overloads(), *sampling.compositions())
    if re.search("dominant|definite", one.domain) or "inverse" in one.operation
}
ELEMENTWISE = {one.operation for one in sampling.overloads() if one.has(sampling.ELEMENTWISE)}
BACKWARD = ("backward", "autograd.grad", "autograd.backward")


class Session:
    """Two namespaces in which a program runs."""

    def __init__(self, progress: Any = None, allowed: Any = None) -> None:
        self.theirs: dict[str, Any] = {"torch": torch, "log": []}
        self.ours: dict[str, Any] = {"torch": clew, "log": []}
        self.program: list[str] = []
        self.progress = progress  # told what is about to run, so that a crash has a name
        self.second = False
        self.logged = 0
        self.excused: set[tuple[str, str]] = set()  # deviations that were seen: (name, aspect)
        self.lost: set[str] = set()  # aspects in which the two went apart
        self.derivatives: set[str] = set()  # names of gradients
        self.first_versions: dict[str, tuple[int, int]] = {}
        self.allowed = allowed or fuzz_deviations.allowed
        for package in (torch, clew):
            package.manual_seed(0)  # also of a program that was shrunk to less than its seed

    # ------------------------------------------------------------------------------------------------------ running
    def run(self, statement: str, may_refuse: bool = False) -> Difference | bool | None:
        """Run in both. The difference, or None; False where PyTorch refused a statement that may be dropped.

        Raises:
            Unsupported: clew does not have it.
        """
        code = compiled(statement)
        if operation_of(statement) in ("median", "nanmedian") and self.reads_expanded(statement):
            raise Unsupported("PyTorch reads beyond the memory")
        inside = statement if operation_of(statement) == "apply" else operation_of(statement)
        if "strides" in self.lost and READS_STRIDES.search(inside):
            raise Unsupported("strides that differ")
        if self.progress:
            self.progress(self.program, statement, "PyTorch")
        their_error = our_error = None
        memory = self.written(statement) if writes(statement) else ""
        drawn = torch.get_rng_state() if may_refuse else None
        try:
            exec(code, self.theirs)
        except Exception as error:
            if drawn is not None:
                torch.set_rng_state(drawn)  # it may have drawn before it raised
                return False
            their_error = error
        self.program.append(statement)
        if "max_pool" in statement and their_error is None and self.has_empty_window(statement):
            raise Unsupported("PyTorch writes beyond the memory")
        if self.progress:
            self.progress(self.program, statement, "clew")
        try:
            exec(code, self.ours)
        except Exception as error:
            our_error = error
        if self.progress:
            self.progress(self.program, statement, "comparison")
        if "create_graph=True" in statement:
            self.second = True
        if "autograd.grad(" in statement:
            self.derivatives.add(statement.partition(" = ")[0])
        moves = writes(statement) or operation_of(statement) in BACKWARD
        if our_error is not None and their_error is not None and moves:
            raise Unsupported("both refuse a write, or a backward")  # of which PyTorch may have done a part
        for aspect, name, text in chain(self.errors(our_error, their_error), self.differences(statement)):
            if aspect in self.lost or (name, aspect) in self.excused:
                continue
            if SAVED_TOO_MUCH.search(text) and self.agrees_with_everything_kept():
                text += AGREES
            operation = operation_of(statement)
            if aspect == "value" and any(self.hangs_on_rounding(operation_of(one), text) for one in self.program):
                raise Unsupported("a result that rounding decides")
            if aspect in ("value", "gradient", "second") and self.rounding_decides(text.partition(" is ")[0]):
                self.excused.add((name, aspect))
                continue
            of_gradient = name.startswith("log[") or name.partition("[")[0] in self.derivatives
            if aspect == "value" and (operation in BACKWARD or of_gradient):
                aspect = "second" if self.second else "gradient"
            found = Difference(aspect, operation, text, statement, len(self.program) - 1, list(self.program), memory)
            if not self.allowed(found):
                return found
            if aspect in ("raises", "requires_grad", "shape", "dtype"):  # what follows differs, too
                raise Unsupported("a deviation")
            if aspect in SPREADING:
                self.lost.add(aspect)
            self.excused.add((name, aspect))
        return None

    def hangs_on_rounding(self, operation: str, text: str) -> bool:
        """Whether the matrix of an inverse, determinant or QR decomposition is singular but for rounding."""
        rounding = torch.finfo(torch.float64 if self.widths(self.theirs) == {torch.float64} else torch.float32).eps
        numbers = [abs(float(one)) for one in re.findall(r"-?\d+\.\d*(?:e[+-]?\d+)?", text)]
        if operation in ("logdet", "slogdet"):
            return max(numbers, default=0.0) > -0.8 * math.log(rounding)
        if operation in INVERSES:
            return max(numbers, default=0.0) * rounding > 1e-3
        if operation not in ELEMENTWISE and re.search("inf|nan", text) and "1e+30" in "; ".join(self.program):
            return True  # partial sums overflow
        if operation == "qr":
            for name in re.findall(r"(v\d+) = [^;]*\bqr\(", "; ".join(self.program)):
                if name not in self.theirs:  # it was refused
                    continue
                triangle = self.theirs[name][1].detach().diagonal(dim1=-2, dim2=-1).abs()
                if (triangle < 100 * rounding * triangle.amax(-1, keepdim=True)).any():
                    return True
        return False

    def rounding_decides(self, path: str) -> bool:
        """Whether errors of rounding may make the difference."""
        whole = "; ".join(self.program)
        if fuzz_precision.INCOMPARABLE.search(whole):
            return False
        grad = torch.is_grad_enabled()
        try:
            return fuzz_precision.rounding_decides(path, self.ours, self.theirs, self.program, compiled, values_agree)
        finally:
            torch.set_grad_enabled(grad)

    def agrees_with_everything_kept(self) -> bool:
        """Whether PyTorch computes what clew does, where it does not refuse."""

        def allowed(found: Difference) -> object:  # PyTorch's graph is another where its results are copied
            return found.where < len(self.program) - 1 or self.allowed(found)

        with everything_kept():
            return run_program(self.program, self.progress, allowed) is None

    def written(self, statement: str) -> str:
        """Of the memory that a statement is about to write, in PyTorch: "expanded", "read" or "read in part"."""
        node: Any = ast.parse(statement).body[0]
        named = [one.arg for one in getattr(getattr(node, "value", None), "keywords", ())]
        if "out" in named:
            target = next(one.value for one in node.value.keywords if one.arg == "out")
        elif isinstance(getattr(node, "targets", [node])[0], ast.Name | ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            of_torch = ast.unparse(function).startswith("torch.") and node.value.args
            target = node.value.args[0] if of_torch else getattr(function, "value", function)
        else:
            target = getattr(node, "target", None) or getattr(node.targets[0], "value", node.targets[0])
        try:
            to = eval(ast.unparse(target), dict(self.theirs))
        except Exception:
            return ""
        if not isinstance(to, torch.Tensor) or to._is_zerotensor():  # which has no memory
            return ""
        both = [eval(ast.unparse(target), dict(names)) for names in (self.theirs, self.ours)]
        overlaps = any(s == 0 and n > 1 for x in both for n, s in zip(x.shape, x.stride(), strict=True))
        found = ["expanded"] if overlaps else []
        for other in self.named(statement.replace(ast.unparse(target), "", 1)):
            if not other._is_zerotensor() and other.untyped_storage().data_ptr() == to.untyped_storage().data_ptr():
                places = [(x.shape, x.stride(), x.storage_offset()) for x in (other, to)]
                found.append("read" if places[0] == places[1] else "read in part")
        return ", ".join(found)

    def has_empty_window(self, statement: str) -> bool:
        """Whether a window of pooling lies in the padding as a whole; PyTorch's gradient then goes anywhere."""
        return any(bool(x.isneginf().any()) for x in self.named(statement.partition(" = ")[0]) if not x.is_complex())

    def reads_expanded(self, statement: str) -> bool:
        return any(0 in strides_of(x) for x in self.named(statement))

    def named(self, text: str) -> list[torch.Tensor]:
        """PyTorch's tensors that are named in a text, also in tuples."""
        values = [self.theirs.get(name) for name in re.findall(r"\bv\d+\b", text)]
        flat = [one for x in values for one in (x if isinstance(x, list | tuple) else [x])]
        return [x for x in flat if isinstance(x, torch.Tensor)]

    def close(self) -> None:
        """Grad mode as before, whatever the program left open."""
        torch.set_grad_enabled(True)
        clew.set_grad_enabled(True)

    def errors(self, ours: Exception | None, theirs: Exception | None) -> Iterator[Found]:
        if ours is None and theirs is None:
            return
        if "is not resizable" in str(theirs) or PARSED.search(str(theirs)):
            raise Unsupported("what PyTorch does not take")  # the first is NumPy's doing: it looks at the memory here
        if theirs is None:
            if isinstance(ours, NotImplementedError):
                raise Unsupported(str(ours).partition(":")[0])
            yield "raises", "", f"clew raises {type(ours).__name__}: {ours}"
        elif ours is None:
            yield "raises", "", f"only PyTorch raises {type(theirs).__name__}: {first_line(theirs)}"
        else:
            kind = type(theirs).__name__.lstrip("_")  # PyTorch's LinAlgError
            if any(base.__name__ == kind for base in type(ours).__mro__):
                return
            if isinstance(ours, NotImplementedError) or kind in ("NotImplementedError", "OutOfMemoryError"):
                return
            yield "exception", "", f"clew raises {type(ours).__name__}: {ours}; PyTorch {kind}: {first_line(theirs)}"

    # ---------------------------------------------------------------------------------------------------- comparing
    def differences(self, statement: str) -> Iterator[Found]:
        """All that differs in what the names hold now."""
        theirs, ours = self.theirs, self.ours
        if len(theirs) != len(ours):
            for name in set(theirs) ^ set(ours):
                if not name.startswith("__"):  # __warningregistry__
                    yield "raises", name, f"{name} exists in one only"
                    return
        seen: dict[int, str] = {}
        our_names: dict[int, str] = {}
        memory: dict[int, str] = {}
        our_memory: dict[int, str] = {}
        assigned = statement.partition(" = ")[0]
        for name, their in theirs.items():
            if name in ("torch", "log") or name.startswith("__"):
                continue
            our = ours[name]
            if isinstance(their, torch.Tensor):
                first, our_first = seen.setdefault(id(their), name), our_names.setdefault(id(our), name)
                if first != our_first:
                    yield "view", name, f"{name} is the tensor {our_first}, in PyTorch {first}"
            yield from self.compare(our, their, name, name == assigned)
            if isinstance(their, torch.Tensor) and their.numel() and isinstance(our, clew.Tensor):
                if their._is_zerotensor():  # has no memory
                    continue
                first = memory.setdefault(their.untyped_storage().data_ptr(), name)
                our_first = our_memory.setdefault(our.untyped_storage().data_ptr(), name)
                if first != our_first:
                    yield "view", name, f"{name} shares the memory of {our_first}, in PyTorch of {first}"
        if len(theirs["log"]) != len(ours["log"]):
            yield "hooks", "log", f"hooks were called {len(ours['log'])} times, in PyTorch {len(theirs['log'])}"
            return
        for place in range(self.logged, len(theirs["log"])):
            yield from self.compare(ours["log"][place], theirs["log"][place], f"log[{place}]", False)
        self.logged = len(theirs["log"])

    def compare(self, our: Any, their: Any, name: str, is_new: bool) -> Iterator[Found]:
        if isinstance(their, torch.Tensor):
            if isinstance(our, clew.Tensor):
                yield from self.compare_tensors(our, their, name, is_new)
            else:
                yield "value", name, f"{name}: {our!r} is no tensor"
        elif isinstance(their, list | tuple) and not isinstance(their, torch.Size):
            if not isinstance(our, list | tuple) or len(our) != len(their):
                yield "shape", name, f"{name}: {our!r} instead of {their!r}"
                return
            if isinstance(their, list) != isinstance(our, list):
                yield "container", name, f"{name} is a {type(our).__name__}, in PyTorch a {type(their).__name__}"
            for place, (a, b) in enumerate(zip(our, their, strict=True)):
                yield from self.compare(a, b, f"{name}[{place}]", is_new)
        elif isinstance(their, torch.dtype):
            if DTYPE_NAMES.get(our) != DTYPE_NAMES.get(their, str(their)):
                yield "dtype", name, f"{name}: {our} instead of {their}"
        elif isinstance(their, float) and isinstance(our, float):
            a, b = numpy.float32(our), numpy.float32(their)
            if not values_agree(a.reshape(1), b.reshape(1)):
                yield "value", name, f"{name}: {our} instead of {their}"
        elif isinstance(their, bool | int | str | None | torch.Size) and (
            type(our).__name__ != type(their).__name__ or our != their
        ):
            yield "value", name, f"{name}: {our!r} instead of {their!r}"

    def compare_tensors(self, our: Any, their: Any, name: str, is_new: bool) -> Iterator[Found]:
        if our.is_sparse and their.is_sparse:  # a gradient, of embedding(sparse=True) and the like
            our, their = our.to_dense(), their.to_dense()
        if DTYPE_NAMES[our.dtype] != DTYPE_NAMES.get(their.dtype):
            yield "dtype", name, f"{name}.dtype is {our.dtype}, in PyTorch {their.dtype}"
            return
        if tuple(our.shape) != tuple(their.shape):
            yield "shape", name, f"{name}.shape is {tuple(our.shape)}, in PyTorch {tuple(their.shape)}"
            return
        if name.partition("[")[0] in self.derivatives or name.endswith(".grad") or name.startswith("log["):
            yield from self.compare_derivatives(our, their, name)
            return
        ours, theirs = facts(our), facts(their)
        # What an operation wrote while it made its result is no concern of others.
        first = self.first_versions.setdefault(name, (ours[0], theirs[0]))
        ours, theirs = (ours[0] - first[0], *ours[1:]), (theirs[0] - first[1], *theirs[1:])
        if ours != theirs:
            for (aspect, what), a, b in zip(FACTS, ours, theirs, strict=True):
                if a != b:
                    of = f"{name} ({DTYPE_NAMES[our.dtype]} tensor)" if aspect == "requires_grad" else name
                    yield aspect, name, f"{of}.{what} is {a}, in PyTorch {b}"
        if "RuntimeError" in theirs or "RuntimeError" in ours:
            return  # a view whose history is lost
        if strides_of(our) != strides_of(their):
            yield "strides", name, f"{name}.stride() is {our.stride()}, in PyTorch {their.stride()}"
        a, b = array_of(our), array_of(their)
        if a.tobytes() != b.tobytes():
            if not values_agree(a, b, self.magnitude(b), self.coarse):
                yield "value", name, told(name, a, b)
            a[...] = b  # the next step starts from the same bits
        if is_new and their.requires_grad and our.requires_grad:
            yield from self.compare_graphs(our.grad_fn, their.grad_fn, name)
        if their.is_leaf or their.retains_grad:
            x, y = our.grad, their.grad
            if (x is None) != (y is None):
                yield "gradient", name, f"{name}.grad is {x}, in PyTorch {y}"
            elif y is not None:
                for aspect, where, text in self.compare_tensors(x, y, f"{name}.grad", is_new):
                    of_gradient = "second" if self.second else "gradient"
                    yield (of_gradient if aspect == "value" else f"grad.{aspect}"), where, text
        if is_new and their._is_view() and our._is_view():
            yield from self.compare_bases(our._base, their._base, name)

    def compare_derivatives(self, our: Any, their: Any, name: str) -> Iterator[Found]:
        """Of a gradient: what is promised of it, not how it was made."""
        if our.requires_grad != their.requires_grad:
            yield (
                "requires_grad",
                name,
                f"{name}.requires_grad is {our.requires_grad}, in PyTorch {their.requires_grad}",
            )
        if strides_of(our) != strides_of(their):
            if name.endswith(".grad"):
                yield "strides", name, f"{name}.stride() is {our.stride()}, in PyTorch {their.stride()}"
            self.lost.add("strides")
        if our.storage_offset() != their.storage_offset():
            self.lost.add("strides")
        if our._is_view() or their._is_view() or our._version != their._version:
            self.lost |= {"view", "version"}
        if their.requires_grad:
            self.lost.add("node")
        a, b = array_of(our), array_of(their)
        if a.tobytes() != b.tobytes():
            if not values_agree(a, b, max(self.magnitude(), 1.0), self.coarse or self.of_two_widths):
                yield "value", name, told(name, a, b)
            a[...] = b

    def magnitude(self, result: numpy.ndarray | None = None) -> float:
        """The largest number that may have gone into a sum; for an inverse also what its condition makes of errors."""
        largest = 0.0
        for value in self.theirs.values():
            if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
                array = array_of(value)
                array = array[numpy.isfinite(array)]
                largest = max(largest, float(abs(array).max(initial=0.0)))
                if self.second:  # divided by its square
                    largest = max(largest, 1 / max(float(abs(array[array != 0]).min(initial=1.0)) ** 2, 1e-3))
        largest = min(largest, 1e3)
        if "_norm" in operation_of(self.program[-1]):  # which divides by the square root of 1e-5, perhaps
            largest *= 316
        if result is not None and operation_of(self.program[-1]) in INVERSES:
            largest *= float(abs(result[numpy.isfinite(result)]).max(initial=0.0))
        return largest

    @property
    def coarse(self) -> bool:
        """Whether float64 may hold numbers that were computed in float32."""
        names = set(re.findall(r"\bv\d+\b", self.program[-1]))
        return "out=" in self.program[-1] or self.widths(names) == {torch.float32, torch.float64}

    @property
    def of_two_widths(self) -> bool:
        """Whether a gradient of float64 may have come through float32."""
        return self.widths(self.theirs.keys()) == {torch.float32, torch.float64}

    def widths(self, names: Iterable[str]) -> set[torch.dtype]:
        """The dtypes that these are computed in, which for integers is float32."""
        values = [self.theirs.get(name) for name in names]
        return {torch.result_type(x, 1.0).to_real() for x in values if isinstance(x, torch.Tensor)}

    def compare_bases(self, our: Any, their: Any, name: str) -> Iterator[Found]:
        for other, value in self.theirs.items():
            if value is their:
                if self.ours.get(other) is not our:
                    yield "view", name, f"{name}._base is {other} in PyTorch, not in clew"
                return
        if tuple(our.shape) != tuple(their.shape):
            yield "view", name, f"{name}._base has shape {tuple(our.shape)}, in PyTorch {tuple(their.shape)}"

    def compare_graphs(self, our: Any, their: Any, name: str) -> Iterator[Found]:
        """Names and edges, breadth first."""
        queue = [(our, their, f"{name}.grad_fn")]
        seen: dict[Any, Any] = {}
        while queue and len(seen) < WALK:
            a, b, path = queue.pop(0)
            if (a is None) != (b is None):
                yield "node", name, f"{path} is {name_of(a)}, in PyTorch {name_of(b)}"
                return
            if b is None:
                continue
            if b in seen:
                if seen[b] is not a:
                    yield "node", name, f"{path} is another node than in PyTorch"
                continue
            seen[b] = a
            if a.name().rpartition("::")[2] != b.name().rpartition("::")[2]:
                yield "node", name, f"{path} is {name_of(a)}, in PyTorch {name_of(b)}"
                return
            if a.name() != b.name() or type(a).__name__ != type(b).__name__:
                yield "node type", name, f"{path} is {name_of(a)}, in PyTorch {name_of(b)}"
            ours, theirs = a.next_functions, b.next_functions
            if len(ours) != len(theirs):
                yield "node", name, f"{path} ({b.name()}) has {len(ours)} edges, in PyTorch {len(theirs)}"
                return
            for place, ((x, i), (y, j)) in enumerate(zip(ours, theirs, strict=True)):
                if i != j:
                    yield "node", name, f"edge {place} of {path} ({b.name()}) has index {i}, in PyTorch {j}"
                queue.append((x, y, f"{path}.next_functions[{place}][0]"))


# Aspect and text of what `facts` gives.
FACTS = (
    ("version", "_version"),
    ("requires_grad", "requires_grad"),
    ("view", "_is_view()"),
    ("strides", "storage_offset()"),
    ("leaf", "is_leaf"),
    ("retains_grad", "retains_grad"),
)


def facts(tensor: Any) -> tuple[Any, ...]:
    """What is asked of every tensor after every step. Questions for the history of a view may be refused."""
    offset = tensor.storage_offset() if tensor.numel() else 0  # into nothing
    known = (tensor._version, tensor.requires_grad, tensor._is_view(), offset)
    try:
        return (*known, tensor.is_leaf, tensor.retains_grad)
    except RuntimeError:
        return (*known, "RuntimeError", "RuntimeError")


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:160]


def name_of(node: Any) -> str:
    return "None" if node is None else f"{node.name()} ({type(node).__name__})"


def strides_of(tensor: Any) -> list[int]:
    """Strides of the axes that are walked; those of others say nothing."""
    if tensor.numel() == 0:
        return []
    return [step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def array_of(tensor: Any) -> numpy.ndarray:
    """The numbers; those of a tensor of clew are written through it."""
    tensor = tensor.detach()
    if isinstance(tensor, torch.Tensor):
        if tensor._is_zerotensor():  # has no memory
            tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
        tensor = tensor.resolve_conj().resolve_neg()
    array: numpy.ndarray = tensor.numpy()
    return array


def told(name: str, a: numpy.ndarray, b: numpy.ndarray) -> str:
    """What differs; and whether that is so only where `a` is NaN."""
    rest = a == a
    only_nan = not rest.all() and values_agree(a[rest], b[rest])
    return f"{name} is {a.tolist()}, in PyTorch {b.tolist()}" + " (NaN, the rest agrees)" * only_nan


def values_agree(a: numpy.ndarray, b: numpy.ndarray, scale: float = 0.0, coarse: bool = False) -> bool:
    if a.dtype.kind not in "fc":
        return a.tobytes() == b.tobytes()
    if not numpy.array_equal(numpy.isnan(a), numpy.isnan(b)):
        return False
    with numpy.errstate(all="ignore"):
        finite = numpy.isfinite(b)
        if not numpy.array_equal(finite, numpy.isfinite(a)) or not numpy.array_equal(
            a[~finite], b[~finite], equal_nan=True
        ):
            return False
        x, y = (one[finite].astype("c16" if one.dtype.kind == "c" else "f8") for one in (a, b))
        if not y.size:
            return True
        epsilon = EPSILON["f4" if coarse else a.dtype.str[1:]]
        bound = ULPS * epsilon * (numpy.maximum(abs(x), abs(y)) + max(abs(y).max(), scale))
        return bool((abs(x - y) <= bound + 1e-300).all())


# ------------------------------------------------------------------------------------------------------ whole programs
def run_program(statements: list[str], progress: Any = None, allowed: Any = None) -> Difference | None:
    """The first difference of a whole program."""
    session = Session(progress, allowed)
    try:
        for statement in statements:
            found = session.run(statement)
            if isinstance(found, Difference):
                return found
    except (Unsupported, SyntaxError):
        return None
    finally:
        session.close()
    return None


def split(line: str) -> list[str]:
    """The statements of a program of one line."""
    return [ast.unparse(statement) for statement in ast.parse(line).body]
