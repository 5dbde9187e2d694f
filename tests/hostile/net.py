"""The net: draws calls, runs them in children, and finds the fewest lines that show what went wrong."""

import gc
import random
import re
import time
from dataclasses import dataclass, field

from .callables import find
from .children import RETURNED, Child, asks_for_much
from .drawing import Drawing

BATCH = 400
WORKS_KEPT = 24
MUTED_AFTER = 12  # deaths of one target: what it dies of is known by then

# A file is broken in more ways than a call; what is written in Python alone cannot crash by itself.
WEIGHTS = (
    ("load_damaged", 50.0),
    ("torch.graph.", 0.25),
    ("torch.utils.data", 0.25),
    ("torch.cli", 0.25),
    ("torch.testing", 0.25),
)


@dataclass
class Finding:
    """Something that no call may do."""

    target: str
    what: str
    lines: list[str]
    detail: str = ""

    def script(self):
        """A program that shows it."""
        return "\n".join(["from tests.hostile.values import *", *(f"call({line!r})" for line in self.lines)])


@dataclass
class Net:
    """A run of the net: the same seed draws the same calls."""

    seed: int
    only: str = ""  # a part of the names of the targets to call
    show: object = print
    findings: list[Finding] = field(default_factory=list)
    calls: int = 0
    returned: int = 0
    slow: int = 0

    def __post_init__(self):
        self.targets, self.classes = find()
        self.targets = [target for target in self.targets if self.only in target.name]
        self.paths = ["", *sorted(self.classes)]
        self.child = Child({self.classes[path]: number for number, path in enumerate(self.paths) if path})
        self.random = random.Random(self.seed)
        self.drawing = Drawing(self.random)
        self.weights = [self._weight(target) for target in self.targets]
        self.known = set()
        gc.collect()
        gc.freeze()  # or each child's collector would copy all pages

    @staticmethod
    def _weight(target):
        for start, weight in WEIGHTS:
            if target.name.startswith(start):
                return weight * (0.3 if target.kind == "write" else 1)
        return 0.3 if target.kind == "write" else 1.0

    def run(self, seconds=None, calls=None):
        """Call until the time is over or as many calls were made."""
        start = time.monotonic()
        while (seconds is None or time.monotonic() - start < seconds) and (calls is None or self.calls < calls):
            self.batch()
        return self.findings

    def batch(self):
        """Draw a batch of calls and make them, however many children it takes."""
        targets = self.random.choices(self.targets, self.weights, k=BATCH)
        drawn = [(target, self.drawing.call(target)) for target in targets if target.deaths < MUTED_AFTER]
        while drawn:
            texts = [call.text() for _, call in drawn]
            outcome = self.child.run(texts)
            for (target, call), (status, kind) in zip(drawn, outcome.statuses, strict=False):
                if status == RETURNED:
                    self._learn(target, call, kind)
            for number, message in outcome.reports:
                if number < len(drawn):
                    self._report(drawn[number][0], message, texts[: number + 1], single=True)
                else:
                    self._report(None, message, texts)
            done = len(outcome.statuses)
            self.calls += done + bool(outcome.died)
            if not outcome.died:
                break
            if done >= len(drawn):
                self._report(None, outcome.died, texts, outcome.errors)
            else:
                self._died(*drawn[done], outcome, texts[: done + 1])
            drawn = drawn[done + 1 :]

    def _learn(self, target, call, kind):
        self.returned += 1
        works = target.works
        if len(works) < WORKS_KEPT:
            works.append(call)
        elif self.random.random() < 0.05:
            works[self.random.randrange(WORKS_KEPT)] = call
        path = self.paths[kind]
        text = call.plain()
        if path and path != "torch.Tensor" and len(text) < 200:
            made = self.drawing.makers.setdefault(path, [])
            if text not in made:
                if len(made) < WORKS_KEPT:
                    made.append(text)
                else:
                    made[self.random.randrange(WORKS_KEPT)] = text

    def _died(self, target, call, outcome, texts):
        target.deaths += 1
        if outcome.died.startswith("hang") and asks_for_much(texts[-1]):
            self.slow += 1  # it was asked for much, and does it
            return
        if outcome.died.startswith("hang") and not self._fails(texts, outcome.died, whole=False):
            self.slow += 1  # the machine was busy
            return
        self._report(target, outcome.died, texts, outcome.errors)

    def _report(self, target, what, texts, errors="", single=False):
        """Keep a finding, unless the same target did the same before."""
        name = target.name if target else "a batch"
        key = (name, re.sub(r"0x[0-9a-f]+|\d+", "#", what)[:80])
        if key in self.known:
            return
        self.known.add(key)
        lines = self._shortest(texts, what, target is None)
        finding = Finding(name, what, lines, self._essence(errors))
        self.findings.append(finding)
        self.show(
            f"--- finding {len(self.findings)} after {self.calls} calls: {name}: {what}\n"
            f"{finding.script()}\n{finding.detail}"
        )

    @staticmethod
    def _essence(errors):
        """The lines of a sanitizer's or runtime's report that name the fault."""
        kept = [line for line in errors.splitlines() if re.search(r"ERROR|runtime error|SUMMARY|^\s+#\d+ ", line)]
        return "\n".join(kept[:14]) if kept else errors[-400:]

    def _fails(self, lines, what, whole):
        """Whether the calls alone end the same way."""
        outcome = self.child.run(lines)
        if outcome.died:
            return outcome.died.split()[0] == what.split()[0]
        return any(
            message[:24] == what[:24] for number, message in outcome.reports if whole or number == len(lines) - 1
        )

    def _shortest(self, texts, what, whole):
        """As few of the calls as show it."""
        last = [] if whole else texts[-1:]
        before = texts if whole else texts[:-1]
        if last and self._fails(last, what, whole):
            return last
        if not self._fails(before + last, what, whole):
            return ["# does not happen again alone; the last calls were:", *texts[-3:]] if whole else texts[-1:]
        size, tries = max(1, len(before) // 2), 0
        while tries < 80:
            for start in range(0, len(before), size):
                tries += 1
                fewer = before[:start] + before[start + size :]
                if fewer + last and self._fails(fewer + last, what, whole):
                    before = fewer
                    break
            else:
                if size == 1:
                    break
                size = max(1, size // 2)
        return before + last
