"""``clew.graph.why_grad``: why a gradient is None, zero, not finite, so large or so small."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ... import _core
from ..model.notebook import Shown
from ..model.places import Place
from ..model.protocol import is_tensor
from ..model.walk import walk
from ..model.wording import counted, dtype_name, names_text, source_text
from ..notes.finding import Finding, listed
from ..program.frames import user_frames
from ..program.names import MOST_FOR_LEAVES, names_of
from .calls import Replay, kept_program, watch_function
from .flow import ANOTHER_LEAF, Cut, Flow
from .remedies import TO_PYTHON, cut_remedy, rule_remedy
from .rules import Backward, Hop, norm, saved

SMALL, LARGE = 1e-7, 1e4
"""A gradient is small if its norm is less than this, and less than this part of the tensor's; large likewise."""
_MOST_HOPS = 20
_MOST_REASONS = 6


@dataclass(frozen=True, slots=True)
class PathStep(Shown):
    """One node on the way from the loss to the tensor, and the norm of the gradient before and after it.

    Example:
        >>> x = clew.ones(4, requires_grad=True)
        >>> told = clew.graph.why_grad((x * 3).sum(), x)
        >>> [(step.node, step.norm, step.factor) for step in told.path]
        [('SumBackward0', 2.0, 2.0), ('MulBackward0', 6.0, 3.0)]
    """

    node: str
    place: Place | None
    norm: float
    factor: float
    """The norm that the node sends on, divided by the norm that came to it."""


@dataclass(frozen=True, slots=True)
class WhyGrad(Shown):
    """The answer of :func:`why_grad`.

    Example:
        >>> x = clew.tensor([-1.0], requires_grad=True)
        >>> told = clew.graph.why_grad(x.relu().sum(), x)
        >>> told.verdict, [reason.place is not None for reason in told.reasons]
        ('zero', [True])
    """

    subject: str
    verdict: str
    """``none``, ``zero``, ``not finite``, ``large``, ``small`` or ``fine``."""
    norm: float | None
    reasons: tuple[Finding, ...]
    path: tuple[PathStep, ...]
    """The heaviest path: at each node the edge that brings most of the gradient."""
    needs: str
    """What has to be recorded for a better answer; empty: nothing."""

    def __str__(self) -> str:
        has_size = self.norm is not None and 0 < self.norm < math.inf
        size = f", norm {self.norm:.3g}" if has_size else ""
        lines = [f"gradient of {self.subject}: {self.verdict}{size}"]
        lines += [f"  {reason}" for reason in self.reasons[:_MOST_REASONS]]
        if (more := len(self.reasons) - _MOST_REASONS) > 0:
            lines.append(f"  … {more:,} more")
        if self.needs:
            lines.append(f"  {self.needs}")
        if self.path:
            lines += ["", "the heaviest path from the loss: norm of the gradient, and the factor of each node"]
        last = None
        for step in self.path[:_MOST_HOPS]:
            place = "" if step.place is None else f"  {step.place}" + source_text(step.place) * (step.place != last)
            lines.append(f"  {step.norm:>9.3g}  x {step.factor:<9.3g} {step.node}{place}")
            last = step.place
        if (more := len(self.path) - _MOST_HOPS) > 0:
            lines.append(f"  … {counted(more, 'node')} more")
        return "\n".join(lines)


def why_grad(loss: Any, x: Any, /, *args: Any, **kwargs: Any) -> WhyGrad:
    """Say why the gradient of ``loss`` with respect to ``x`` is None, zero, not finite, so large or so small.

    The rules of the nodes between the two are run once more. No hook runs, no ``.grad`` is touched, nothing is freed.
    So it can be asked before ``backward()``, and after ``backward(retain_graph=True)``.

    Args:
        loss: a tensor; a tensor that ``keep_graph()`` kept; or a function, which is called once with ``args`` and
            ``kwargs`` and returns the loss. Of the last two it is known, too, what was computed without history, and
            where a value that is not finite appeared first.
        x: the tensor, such as a parameter.

    Raises:
        TypeError: ``loss`` or ``x`` is something else.
        RuntimeError: a backward has freed what the graph had saved.

    Example:
        >>> x = clew.tensor([1.0, 2.0], requires_grad=True)
        >>> def loss():
        ...     scale = x.detach().norm()
        ...     return scale * 3
        >>> told = clew.graph.why_grad(loss, x)
        >>> told.verdict, told.reasons[0].kind
        ('none', 'detach')
    """
    frames = user_frames(sys._getframe(1))
    if not isinstance(x, _core.Tensor):
        raise TypeError(f"why_grad: expected the tensor whose gradient is asked for, got {type(x).__name__}; pass x")
    flow: Flow | None = None
    replay: Replay | None = None
    if not is_tensor(loss):
        if not callable(loss):
            got = type(loss).__name__
            raise TypeError(f"why_grad: expected a tensor, or a function that returns one, got {got}; pass the loss")
        flow = Flow()
        loss = watch_function(loss, args, kwargs, flow.look)
    elif args or kwargs:
        raise TypeError("why_grad: expected a function before its arguments, got a tensor; pass why_grad(loss, x)")
    elif (core := kept_program(loss)) is not None:
        core.check()
        replay = Replay(core)
    if not isinstance(loss, _core.Tensor):
        raise TypeError(f"why_grad: expected the function to return the loss, got {type(loss).__name__}; return it")
    return _Question(loss, x, flow, replay, frames).answer()


class _Question:
    def __init__(self, loss: Any, x: Any, flow: Flow | None, replay: Replay | None, frames: list[FrameType]) -> None:
        self.loss, self.x, self.flow, self.replay, self.frames = loss, x, flow, replay, frames
        self.nodes = walk([loss.grad_fn]) if loss.grad_fn is not None else []
        leaves = [node for node in self.nodes if isinstance(node, _core.AccumulateGrad)]
        self.leaves = {node.variable: node for node in leaves if node.variable is not None}
        self.names = names_of([x, *self.leaves], frames, MOST_FOR_LEAVES).tensors

    def answer(self) -> WhyGrad:
        x = self.x
        node = x.grad_fn if x.grad_fn is not None else self.leaves.get(x)
        if node is None or node not in self.nodes:
            if x is self.loss and x.requires_grad:
                return self._told("fine", (), 1.0)
            return self._none()
        run = Backward(self.loss, (node, x.output_nr if x.grad_fn is not None else 0))
        path = tuple(
            PathStep(type(hop.node).__name__, Place.of(hop.node.made_at), edge.norm, _ratio(edge.norm, hop.norm))
            for hop, edge in run.path()
        )
        if run.gradient is None:
            why = "its backward gives no gradient of this input"
            return self._told("none", [self._at(hop, "returns None", why) for hop in run.hops if hop.returns_none])
        size = norm(run.gradient)
        verdict = _verdict(size, norm(x.detach()))
        is_finite = bool(self.loss.detach().isfinite().all())
        reasons = [] if is_finite else self._births()
        if verdict == "not finite":
            reasons += self._not_finite(run)
        elif verdict == "zero":
            reasons += self._zeros(run)
        elif verdict != "fine":
            reasons += self._factors(run, verdict)
        if not x.is_leaf and not x.retains_grad:
            reasons.append(self._not_a_leaf())
        if not reasons and not is_finite:
            reasons.append(Finding("not finite", None, "the loss is not finite", "look at what it is computed from"))
        return self._told(verdict, reasons, size, path)

    # ------------------------------------------------------------------------------------------------- None
    def _none(self) -> WhyGrad:
        """The graph does not lead to the tensor."""
        x, loss = self.x, self.loss
        reasons = self._own_reasons()
        recorded = self._recorded_cuts()
        reasons += [_cut_finding(cut) for cut in recorded]
        if not recorded and not self.nodes and loss._lost is not None:
            reasons.append(_cut_finding(_cut(loss._lost)))
        is_plain, is_asked = self.flow is None and self.replay is None, x.requires_grad and bool(self.nodes)
        if is_plain and is_asked:
            reasons += self._lost_beside()
        if all(cut.cause != ANOTHER_LEAF for cut in recorded):
            reasons += self._other_leaves()
        if not reasons and not (is_plain and is_asked):
            text = "the loss was not computed from it"
            reasons.append(Finding("unused", None, text, f"use it; {self._has_leaves()}"))
        needs = (
            f"the graph does not lead to it: {self._has_leaves()}{self._entrances()}. A plain graph has no record of "
            "what was computed without history. To do: why_grad(f, x, *args) with the function that computes the loss"
        )
        return self._told("none", list(dict.fromkeys(reasons)), needs=needs if is_plain and is_asked else "")

    def _own_reasons(self) -> list[Finding]:
        """What the tensor itself is."""
        x = self.x
        if x.requires_grad:
            return []
        if x._lost is not None:
            return [_cut_finding(_cut(x._lost))]
        if not (x.dtype.is_floating_point or x.dtype.is_complex):
            text = f"it holds {dtype_name(x.dtype)}, and only floating-point values have gradients"
            return [Finding("integer", None, text, "make it a floating-point tensor, and ask for the gradient of that")]
        text = "it does not require a gradient"
        return [Finding("requires_grad", None, text, "call requires_grad_() before it is used")]

    def _recorded_cuts(self) -> list[Cut]:
        if self.flow is not None:
            return self.flow.cuts(self.x, self.loss)
        if self.replay is None:
            return []
        core, flow = self.replay.core, Flow()
        of_x, of_loss = core.register_of(self.x), core.register_of(self.loss)
        self.replay.run(flow.look)
        if of_x < 0 or of_loss < 0:
            return []
        tracked = {(node.op, str(Place.of(node.made_at))) for node in self.nodes}
        registers = self.replay.registers
        return self._with_causes(flow.cuts_beside(registers[of_x], registers[of_loss], tracked))

    def _with_causes(self, cuts: list[Cut]) -> list[Cut]:
        """Cuts of a kept graph, named by living tensors that lost their history between the same lines."""
        lost = [one._lost for one in _core.live_tensors()]
        by_place: dict[Place | None, Cut] = {cut.place: cut for cut in map(_cut, filter(None, lost))}
        by_place.pop(None, None)
        return [by_place.get(cut.place) or by_place.get(cut.used_at) or cut for cut in cuts]

    def _lost_beside(self) -> list[Finding]:
        """Living tensors without history whose memory the graph reads: they may have been computed from it."""
        storages = {slot.storage for node in self.nodes for slot in node.saved if slot.storage}
        beside = [one for one in _core.live_tensors() if one._storage_id in storages and not one.requires_grad]
        return [_cut_finding(_cut(one._lost)) for one in beside if one._lost is not None]

    def _other_leaves(self) -> list[Finding]:
        """Leaves that look like it: copies, or what has its name by now."""
        x = self.x
        alike = [
            leaf
            for leaf in self.leaves
            if leaf is not x and leaf.shape == x.shape and leaf.dtype == x.dtype and x.numel() > 0
            and (leaf._storage_id == x._storage_id or bool((leaf.detach() == x.detach()).all()))
        ]  # fmt: skip
        found = []
        for leaf in alike:
            name = names_text([self.names[id(leaf)]]) if id(leaf) in self.names else "one without a name"
            text = f"the loss was computed from another leaf with the same values: {name}"
            found.append(Finding(ANOTHER_LEAF, None, text, "ask for the gradient of that leaf, or use this one"))
        return found

    def _has_leaves(self) -> str:
        names = [self.names.get(id(leaf), f"one of shape {tuple(leaf.shape)}") for leaf in self.leaves]
        return f"the leaves of the loss are {listed(names)}" if names else "the loss has no leaves"

    def _entrances(self) -> str:
        """Lines at which the graph reads what has no history."""
        open_nodes = (node for node in self.nodes if any(below is None for below, _ in node.next_functions))
        places = dict.fromkeys(place.short for node in open_nodes if (place := Place.of(node.made_at)) is not None)
        return f", and it reads values without history at {', '.join([*places][:_MOST_REASONS])}" if places else ""

    def _not_a_leaf(self) -> Finding:
        text = "it is no leaf, so that backward() leaves its .grad None"
        return Finding("not a leaf", Place.of(self.x.grad_fn.made_at), text, "call retain_grad() before backward()")

    # ------------------------------------------------------------------------------------------------- values
    def _zeros(self, run: Backward) -> list[Finding]:
        """Nodes to which a gradient comes, and which send nothing on."""
        return [
            self._at(hop, "passes nothing on", *rule_remedy("zero", hop.node.op), evidence=_ranges(hop.node))
            for hop in run.hops
            if hop.norm != 0 and any(edge.norm == 0 for edge in hop.edges)
        ]

    def _not_finite(self, run: Backward) -> list[Finding]:
        hop = next((hop for hop in run.hops if hop.is_finite and hop.at_wrong), None)
        if hop is None:
            return [Finding("not finite", None, "what came from the loss is not finite already", "look at the loss")]
        values = ", ".join(f"{name} {value:.4g}" for name, value in hop.at_wrong.items())
        op = "where" if hop.at_wrong.get("gradient") == 0 else hop.node.op
        _, todo = rule_remedy("not finite", op, [*hop.at_wrong.values()][:-1])
        return [self._at(hop, "makes a value that is not finite", "", todo, evidence=values)]

    def _births(self) -> list[Finding]:
        """Where the forward made values that are not finite."""
        flow = self.flow
        if self.replay is not None:
            flow = Flow()
            self.replay.run(flow.look)
        found = []
        for birth in flow.births.values() if flow is not None else ():
            of = ", ".join(f"{value:.4g}" for value in birth.inputs)
            text = f"{birth.op} gives {birth.value:.4g} of {of or 'other values'} in the forward"
            _, todo = rule_remedy("not finite", birth.op, birth.inputs)
            found.append(Finding("not finite", birth.where.place, text, todo))
        return found

    def _factors(self, run: Backward, verdict: str) -> list[Finding]:
        """The lines that make it so, those with the most extreme factors first."""
        groups: dict[tuple[str, Place | None], list[float]] = {}
        for hop, edge in run.path():
            key = hop.node.op, Place.of(hop.node.made_at)
            groups.setdefault(key, []).append(_ratio(edge.norm, hop.norm))
        sign = 1 if verdict == "small" else -1
        weights = {key: sum(math.log10(one) for one in factors if one > 0) for key, factors in groups.items()}
        found: list[Finding] = []
        for (op, place), factors in sorted(groups.items(), key=lambda one: sign * weights[one[0]]):
            weight = weights[op, place]
            if sign * weight > -1 and found:
                break
            times = f" in {counted(len(factors), 'node')}" if len(factors) > 1 else ""
            text = f"{op} multiplies the gradient by {10**weight:.2g}{times}"
            found.append(Finding(verdict, place, text, rule_remedy(verdict, op)[1]))
        return found

    def _at(self, hop: Hop, what: str, why: str, todo: str = "", evidence: str = "") -> Finding:
        node = hop.node
        text = f"{type(node).__name__} {what}" + "".join(f": {one}" for one in (why, evidence) if one)
        return Finding(what, Place.of(node.made_at), text, todo or "look at its inputs")

    def _told(
        self,
        verdict: str,
        reasons: Iterable[Finding],
        size: float | None = None,
        path: tuple[PathStep, ...] = (),
        needs: str = "",
    ) -> WhyGrad:
        name = f"`{self.names[id(self.x)]}` " if id(self.x) in self.names else ""
        subject = f"{name}{tuple(self.x.shape)} {dtype_name(self.x.dtype)}"
        return WhyGrad(subject, verdict, size, tuple(reasons), path, needs)


def _verdict(size: float, own: float) -> str:
    if not math.isfinite(size):
        return "not finite"
    if size == 0:
        return "zero"
    return "small" if size < SMALL * min(1, own or 1) else "large" if size > LARGE * max(1, own) else "fine"


def _cut(lost: Any) -> Cut:
    return Cut(lost.cause, Place.of(lost.site), None)


def _cut_finding(cut: Cut) -> Finding:
    used = f", used at {cut.used_at.short}" if cut.used_at is not None and cut.used_at != cut.place else ""
    what = "values go to Python here" if cut.cause in TO_PYTHON else "the history ends here"
    text = f"{what}, by {cut.cause}{used}{source_text(cut.place)}"
    return Finding(cut.cause, cut.place, text, cut_remedy(cut.cause))


def _ranges(node: Any) -> str:
    """What a node saved, in short."""
    told = []
    for name, value in saved(node).items():
        if value.numel() == 0 or value.dtype.is_complex:
            continue
        low, high = float(value.min()), float(value.max())
        told.append(f"{name} is {low:.4g} everywhere" if low == high else f"{name} lies in [{low:.4g}, {high:.4g}]")
    return ", ".join(told)


def _ratio(after: float, before: float) -> float:
    return after / before if before else math.inf if after else 0.0
