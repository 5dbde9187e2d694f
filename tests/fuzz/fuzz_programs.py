"""Draws programs, statement by statement: what comes next depends on the tensors that there are."""

from __future__ import annotations

import random
from typing import Any

import fuzz_catalogue
import numpy
import sampling
import torch
from fuzz_session import Difference, Session
from fuzz_values import DTYPES, Values, plain

BINARY = ["+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "<<", ">>"]
STATES = [
    *("detach()", "detach_()", "data", "clone()", "requires_grad_()", "requires_grad_(False)", "retain_grad()", "grad"),
    *("grad = None", "data = ", "view", "detach().requires_grad_()", "contiguous()", "grad.zero_()"),
]
# Forward and backward of an autograd.Function of one tensor.
FUNCTIONS = [
    ("lambda ctx, x: x", "lambda ctx, g: g * 2"),
    ("lambda ctx, x: (ctx.save_for_backward(x), x * x)[1]", "lambda ctx, g: 2 * g * ctx.saved_tensors[0]"),
    ("lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1]", "lambda ctx, g: 2 * g"),
    (
        "lambda ctx, x: (ctx.mark_dirty(x), ctx.save_for_backward(x.exp_()), x)[2]",
        "lambda ctx, g: g * ctx.saved_tensors[0]",
    ),
    ("lambda ctx, x: (ctx.save_for_backward(y := x.exp()), y)[1]", "lambda ctx, g: g * ctx.saved_tensors[0]"),
    ("lambda ctx, x: (ctx.mark_non_differentiable(y := x > 0), (x * 2, y))[1]", "lambda ctx, g, h: g * 2"),
    (
        "lambda ctx, x: (ctx.set_materialize_grads(False), (x * 2, x * 3))[1]",
        "lambda ctx, g, h: (0 if g is None else g * 2) + (0 if h is None else h * 3)",
    ),
    ("lambda ctx, x: x.reshape(-1)", "lambda ctx, g: None"),
    ("lambda ctx, x: (x.detach(), x[...])", "lambda ctx, g, h: g + h"),
]
TRIES = 6


class Refused(Exception):
    """The statement could not be drawn."""


class Program:
    """A program as it grows. `grow` runs it in both libraries at once."""

    def __init__(self, seed: str, progress: Any = None, allowed: Any = None) -> None:
        self.random = random.Random(seed)
        self.values = Values(self.random)
        self.session = Session(progress, allowed)
        self.live: list[str] = []  # expressions that are tensors
        self.count = 0
        self.found: Difference | None = None
        self.names_of_modes: list[str] = []

    # ------------------------------------------------------------------------------------------------------- growing
    def grow(self) -> Difference | None:
        try:
            self.step(f"torch.manual_seed({self.random.randrange(100)})")
            for _ in range(self.random.randint(1, 2)):
                self.make(self.values.shape(), self.values.choice(DTYPES))
            for _ in range(self.random.randint(2, 7)):
                self.draw()
            while self.names_of_modes:
                self.leave_mode()
            if self.values.chance(0.75):
                self.finish()
        except StopIteration:
            pass
        finally:
            self.session.close()
        return self.found

    def step(self, statement: str, may_refuse: bool = False) -> bool:
        """Run it. Raises StopIteration where the two differ."""
        outcome = self.session.run(statement, may_refuse)
        if isinstance(outcome, Difference):
            self.found = outcome
            raise StopIteration
        return outcome is None

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def bind(self, name: str) -> None:
        """What was assigned becomes live, if there is a tensor in it."""
        value = self.session.theirs.get(name)
        if isinstance(value, torch.Tensor):
            if value.numel() <= 400 and not any(value is self.value(other) for other in self.live):
                self.live.append(name)
        elif isinstance(value, list | tuple) and not isinstance(value, torch.Size):
            for place, one in enumerate(value[:3]):
                if isinstance(one, torch.Tensor) and one.numel() <= 400:
                    self.live.append(f"{name}[{place}]")
        del self.live[:-8]

    def value(self, expression: str) -> Any:
        name, bracket, place = expression.partition("[")
        value = self.session.theirs[name]
        return value[int(place[:-1])] if bracket else value

    def assign(self, expression: str, may_refuse: bool = False) -> bool:
        name = self.name()
        if not self.step(f"{name} = {expression}", may_refuse):
            return False
        self.bind(name)
        return True

    def make(self, shape: tuple[int, ...], dtype: str, grad: float = 0.6) -> str:
        name = self.name()
        self.step(f"{name} = {self.values.tensor(self.values.literal(shape, dtype), shape, dtype, grad)}")
        return self.made(name)

    def made(self, name: str) -> str:
        if name not in self.session.theirs:
            raise Refused
        self.bind(name)
        return name

    # ------------------------------------------------------------------------------------------------------- choosing
    def some(self, condition: Any = None) -> str:
        fitting = [one for one in self.live if condition is None or holds(condition, self.value(one))]
        if not fitting:
            raise Refused
        return self.values.choice(fitting)

    def floating(self) -> str:
        return self.some(lambda tensor: tensor.is_floating_point())

    def draw(self) -> None:
        steps = (
            (34, self.call),
            (14, self.call_of_sample),
            (8, self.operator),
            (4, self.augmented),
            (6, self.getitem),
            (5, self.setitem),
            (3, self.out),
            (2, self.property),
            (4, self.enter_mode),
            (6, self.leave_mode),
            (8, self.tensor_state),
            (4, self.convert),
            (4, self.hook),
            (7, self.backward),
            (4, self.grad),
            (3, self.another),
            (3, self.function),
        )
        for _ in range(4):
            chosen = self.random.choices([one for _, one in steps], [weight for weight, _ in steps])[0]
            try:
                chosen()
            except Refused:
                continue
            return

    def another(self) -> None:
        self.make(self.values.shape(), self.values.choice(DTYPES))

    # ---------------------------------------------------------------------------------------------------- operations
    def call(self) -> None:
        call = self.values.choice(self.values.choice(fuzz_catalogue.catalogue()))
        if call.overload is not None and call.overload.domain and self.values.chance(0.5):
            self.sample(call)
            return
        for _ in range(TRIES):
            text = self.text_of(call)
            keep = (
                call.in_place or "inplace=True" in text or self.values.chance(0.12)
            )  # what fails has written, perhaps
            if self.assign(text, may_refuse=not keep):
                return
        raise Refused

    def text_of(self, call: fuzz_catalogue.Call) -> str:
        first: Any = None
        owner = ""
        if "{}" in call.text:
            owner = self.some()
            first = self.value(owner)
        given = []
        by_name = False
        for parameter in call.parameters:
            if parameter.has_default and self.values.chance(0.6):
                by_name = True
                continue
            if parameter.optional and not parameter.has_default and self.values.chance(0.4):
                text = "None"
            elif parameter.kind in ("tensor", "operand"):
                text = self.operand(parameter, first, call)
                if first is None and text in self.live:
                    first = self.value(text)
            elif parameter.kind == "tensors":
                text = self.operands(first, starred=call.starred)
            else:
                text = self.values.argument(parameter.kind, parameter.name, first)
            if (by_name or parameter.keyword_only) and parameter.name.isidentifier() and parameter.name != "from":
                text = f"{parameter.name}={text}"
            given.append(text)
        return f"{call.text.format(owner)}({', '.join(given)})"

    def operand(self, parameter: fuzz_catalogue.Parameter, first: Any, call: fuzz_catalogue.Call) -> str:
        if first is None:
            return self.some()
        if parameter.kind == "operand" and self.values.chance(0.3):
            return self.values.scalar(str(first.dtype).rpartition(".")[2])
        shape = tuple(first.shape)
        name = parameter.name
        if name in ("index", "indices"):
            return self.indices(first)
        if name in ("mask", "condition"):
            return f"torch.tensor({self.values.literal(shape, 'bool')}, dtype=torch.bool)"
        if self.values.chance(0.6):
            fitting = [one for one in self.live if fits(shape, tuple(self.value(one).shape))]
            if fitting:
                return self.values.choice(fitting)
        sizes = tuple(1 if self.values.chance(0.2) else size for size in shape)
        if self.values.chance(0.2):
            sizes = sizes[self.random.randint(0, len(sizes)) :]
        same = str(first.dtype).rpartition(".")[2]
        return self.make(sizes, same if self.values.chance(0.75) else self.values.choice(DTYPES))

    def indices(self, first: Any) -> str:
        shape = tuple(first.shape)
        below = min(shape) if shape and 0 not in shape else 1
        if not shape or self.values.chance(0.4):
            return f"torch.tensor({[self.random.randrange(below) for _ in range(self.random.randint(1, 3))]})"
        values = numpy.array([self.random.randrange(below) for _ in range(first.numel())]).reshape(shape)
        return f"torch.tensor({values.tolist()}, dtype=torch.int64)"

    def operands(self, first: Any, starred: bool) -> str:
        chosen = [self.some()]
        shape = tuple(self.value(chosen[0]).shape)
        for _ in range(self.random.randint(0, 2)):
            fitting = [one for one in self.live if tuple(self.value(one).shape) == shape]
            chosen.append(self.values.choice(fitting) if fitting and self.values.chance(0.8) else self.some())
        return ", ".join(chosen) if starred else f"[{', '.join(chosen)}]"

    def call_of_sample(self) -> None:
        choices = [
            call
            for _ in range(8)
            for call in self.values.choice(fuzz_catalogue.catalogue())
            if call.overload is not None and call.overload.domain and not call.overload.unsampled
        ]
        if not choices:
            raise Refused
        self.sample(self.values.choice(choices))

    def sample(self, call: fuzz_catalogue.Call) -> None:
        """A call whose arguments fit by what its domain says, some of them replaced by tensors of the program."""
        overload = call.overload
        assert overload is not None
        sizes = {letter: self.values.choice([1, 2, 2, 3, 3, 4, 5]) for letter in "abcde"}
        if self.values.chance(0.05):
            sizes[self.values.choice("abcde")] = self.values.choice([0, 9, 17])
        dtype = self.values.choice(["float32", "float32", "float64"])
        try:
            samples = sampling.samples(overload, sizes, self.random.randrange(2**31), dtype)
        except ValueError:
            samples = []
        if not samples:
            raise Refused
        places, named = self.values.choice(samples).positional()
        texts = [self.text_of_value(value) for value in places]
        keywords = {key: self.text_of_value(value) for key, value in named.items()}
        for parameter in call.parameters:
            if parameter.has_default and parameter.keyword_only and self.values.chance(0.15):
                first = next((self.value(one) for one in texts if one in self.live), None)
                keywords[parameter.name] = self.values.argument(parameter.kind, parameter.name, first)
        owner = ""
        if "{}" in call.text:
            owner, texts = texts[0], texts[1:]
            if not isinstance(places[0], numpy.ndarray):
                raise Refused
            if call.in_place and holds(is_leaf_with_gradient, self.value(owner)) and self.values.chance(0.8):
                name = self.name()
                self.step(f"{name} = {owner}{self.values.choice(['.clone()', ' * 1', '.detach()'])}")
                owner = self.made(name)
        arguments = [*texts, *(f"{key}={value}" for key, value in keywords.items())]
        self.assign(f"{call.text.format(owner)}({', '.join(arguments)})")

    def text_of_value(self, value: Any) -> str:
        if isinstance(value, list | tuple):
            inner = [self.text_of_value(one) for one in value]
            opening, closing = "[]" if isinstance(value, list) else "()"
            return opening + ", ".join(inner) + ("," if len(inner) == 1 and closing == ")" else "") + closing
        if not isinstance(value, numpy.ndarray):
            return plain(value)
        if value.dtype.kind == "f" and self.values.chance(0.35):
            fitting = [
                one
                for one in self.live
                if tuple(self.value(one).shape) == value.shape and self.value(one).is_floating_point()
            ]
            if fitting:
                return self.values.choice(fitting)
        constant = isinstance(value, sampling.Constant)
        name = self.name()
        self.step(f"{name} = {self.values.of_array(value, 0.0 if constant else 0.7)}")
        return self.made(name)

    def operator(self) -> None:
        symbol = self.values.choice(BINARY)
        a = self.some()
        first = self.value(a)
        if self.values.chance(0.15):
            self.assign(f"{self.values.choice(['-', '~', 'abs'])}({a})", may_refuse=self.values.chance(0.9))
            return
        other = self.operand(fuzz_catalogue.Parameter("other", "operand", False, False, False), first, None)
        pair = (a, other) if self.values.chance(0.7) else (other, a)
        if not self.assign(f"{pair[0]} {symbol} {pair[1]}", may_refuse=self.values.chance(0.9)):
            raise Refused

    def augmented(self) -> None:
        a = self.some(lambda tensor: not is_leaf_with_gradient(tensor) or self.values.chance(0.2))
        other = self.operand(fuzz_catalogue.Parameter("other", "operand", False, False, False), self.value(a), None)
        self.step(f"{a} {self.values.choice(BINARY[:8])}= {other}".replace("@=", "+="))
        self.bind(a.partition("[")[0])

    def getitem(self) -> None:
        a = self.some(lambda tensor: tensor.dim() > 0)
        if not self.assign(f"{a}[{self.values.index(tuple(self.value(a).shape))}]", may_refuse=self.values.chance(0.9)):
            raise Refused

    def setitem(self) -> None:
        a = self.some(lambda tensor: tensor.dim() > 0)
        tensor = self.value(a)
        key = self.values.index(tuple(tensor.shape))
        try:
            part = eval(f"t[{key}]", {"t": tensor.detach(), "torch": torch})
        except Exception as error:
            raise Refused from error
        other = self.operand(fuzz_catalogue.Parameter("other", "operand", False, False, False), part, None)
        self.step(f"{a}[{key}] = {other}")

    def function(self) -> None:
        forward, backward = self.values.choice(FUNCTIONS)
        body = f"{{'forward': staticmethod({forward}), 'backward': staticmethod({backward})}}"
        self.assign(f"type('F', (torch.autograd.Function,), {body}).apply({self.floating()})")

    def out(self) -> None:
        choices = [call for _ in range(20) for call in self.values.choice(fuzz_catalogue.catalogue()) if call.takes_out]
        if not choices:
            raise Refused
        text = self.text_of(self.values.choice(choices))
        if "inplace=True" in text:
            raise Refused
        try:
            result = eval(text, dict(self.session.theirs))
        except Exception as error:
            raise Refused from error
        if not isinstance(result, torch.Tensor):
            raise Refused
        dtype = str(result.dtype).rpartition(".")[2]
        shape = tuple(result.shape) if self.values.chance(0.9) else self.values.shape()
        if dtype not in DTYPES:
            raise Refused
        name = self.name()
        self.step(f"{name} = torch.zeros({shape}, dtype=torch.{dtype if self.values.chance(0.9) else 'float64'})")
        self.bind(name)
        self.assign(f"{text[:-1]}, out={name})".replace("(, ", "("))

    def property(self) -> None:
        self.assign(f"{self.some()}.{self.values.choice(fuzz_catalogue.properties())}", self.values.chance(0.9))

    # -------------------------------------------------------------------------------------------------- modes, states
    def enter_mode(self) -> None:
        if len(self.names_of_modes) > 1:
            raise Refused
        name = f"mode{self.count}_{len(self.names_of_modes)}"
        manager = self.values.choice(["no_grad()"] * 4 + ["enable_grad()", "set_grad_enabled(False)"])
        self.step(f"{name} = torch.{manager}")
        self.step(f"{name}.__enter__()")
        self.names_of_modes.append(name)

    def leave_mode(self) -> None:
        if not self.names_of_modes:
            raise Refused
        self.step(f"{self.names_of_modes.pop()}.__exit__(None, None, None)")

    def tensor_state(self) -> None:
        a = self.some()
        way = self.values.choice(STATES)
        if way in ("detach_()", "requires_grad_()", "requires_grad_(False)", "retain_grad()", "grad.zero_()"):
            self.step(f"{a}.{way}", may_refuse=self.values.chance(0.5))
        elif way == "grad = None":
            if not holds(lambda tensor: tensor.is_leaf, self.value(a)):
                raise Refused
            self.step(f"{a}.grad = None")
        elif way == "data = ":
            self.step(f"{a}.data = {self.some(lambda t: t.dtype == self.value(a).dtype)}.detach().clone()")
        elif way == "view":
            self.assign(f"{a}.detach()[{self.values.index(tuple(self.value(a).shape))}].requires_grad_()", True)
        elif way == "grad":
            tensor = self.value(a)
            if not holds(lambda t: (t.is_leaf or t.retains_grad) and t.grad is not None, tensor):
                raise Refused
            self.assign(f"{a}.grad")
        else:
            self.assign(f"{a}.{way}")

    def convert(self) -> None:
        a, dtype = self.some(), self.values.choice(DTYPES)
        short = {"float32": "float()", "float64": "double()", "int64": "long()", "int32": "int()", "bool": "bool()"}
        ways = [f"to(torch.{dtype})", f"type_as({self.some()})", f"to({self.some()})", short.get(dtype, "float()")]
        self.assign(f"{a}.{self.values.choice(ways)}")

    def hook(self) -> None:
        a = self.some(lambda tensor: tensor.requires_grad)
        body = self.values.choice(["log.append(g.clone())", "g * 2", "None", "g.detach().abs()"])
        owner = a
        if self.values.chance(0.2) and holds(lambda tensor: tensor.grad_fn is not None, self.value(a)):
            if self.values.chance(0.5):
                self.step(f"{a}.grad_fn.register_hook(lambda i, o: log.append(o[0].clone()))")
            else:
                self.step(f"{a}.grad_fn.register_prehook(lambda o: log.append(o[0].clone()))")
            return
        if holds(lambda tensor: tensor.is_leaf, self.value(a)) and self.values.chance(0.3):
            self.step(f"{a}.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.clone()))")
            return
        self.step(f"{owner}.register_hook(lambda g: {body})")

    # ------------------------------------------------------------------------------------------------------ backward
    def root(self) -> str:
        return self.some(lambda tensor: tensor.requires_grad and tensor.is_floating_point())

    def backward(self) -> None:
        root = self.root()
        options = []
        if self.values.chance(0.5):
            options.append("retain_graph=True")
        if self.values.chance(0.2):
            options.append("create_graph=True")
        if self.values.chance(0.12):
            options.append(f"inputs=[{', '.join(self.some(lambda t: t.requires_grad) for _ in range(2))}]")
        way = self.random.random()
        if way < 0.5:
            self.step(f"{root}.sum().backward({', '.join(options)})")
        elif way < 0.75:
            self.step(f"{root}.backward({', '.join([f'torch.ones_like({root})', *options])})")
        elif way < 0.85:
            self.step(f"{root}.backward({', '.join(options)})")
        elif way < 0.93:
            self.step(f"({root} * {root}).sum().backward({', '.join(options)})")
        else:
            other = self.root()
            pair = f"[{root}, {other}], [torch.ones_like({root}), torch.ones_like({other})]"
            self.step(f"torch.autograd.backward({', '.join([pair, *options])})")

    def grad(self) -> None:
        root = self.root()
        inputs = [self.some(lambda t: t.requires_grad) for _ in range(self.random.randint(1, 2))]
        options = ["allow_unused=True"] if self.values.chance(0.85) else []
        if self.values.chance(0.5):
            options.append("create_graph=True")
        if self.values.chance(0.3):
            options.append("retain_graph=True")
        if self.values.chance(0.1):
            options.append("materialize_grads=True")
        self.assign(f"torch.autograd.grad({', '.join([f'{root}.sum()', '[' + ', '.join(inputs) + ']', *options])})")

    def finish(self) -> None:
        """Gradients of what there is with respect to the leaves, and of their sum."""
        roots = [one for one in self.live if holds(lambda t: t.grad_fn is not None, self.value(one))]
        leaves = [one for one in self.live if holds(is_leaf_with_gradient, self.value(one))]
        if not roots or not leaves:
            return
        root = roots[-1]
        name = self.name()
        seed = f"torch.linspace(0.5, 1.5, {self.value(root).numel()}, dtype={self.value(root).dtype})"
        seed = f"{seed}.reshape({tuple(self.value(root).shape)})"
        listed = ", ".join(leaves)
        self.step(f"{name} = torch.autograd.grad({root}, [{listed}], {seed}, create_graph=True, allow_unused=True)")
        gradients = self.session.theirs.get(name)
        if gradients is None:
            return
        again = [
            f"{name}[{place}].sum()" for place, one in enumerate(gradients) if one is not None and one.requires_grad
        ]
        if again:
            self.step(f"{self.name()} = torch.autograd.grad({' + '.join(again)}, [{listed}], allow_unused=True)")


def is_leaf_with_gradient(tensor: torch.Tensor) -> bool:
    return tensor.requires_grad and tensor.is_leaf


def holds(condition: Any, tensor: torch.Tensor) -> bool:
    """The condition; False where the tensor's history may not be asked for."""
    try:
        return bool(condition(tensor))
    except RuntimeError:
        return False


def fits(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether the other broadcasts with the shape."""
    return all(1 in (a, b) or a == b for a, b in zip(shape[::-1], other[::-1], strict=False))
