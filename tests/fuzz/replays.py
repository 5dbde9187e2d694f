"""Random programs, replayed three times with new data: values, gradients and state must be eager's, to the bit.

    python -m tests.fuzz.replays --programs 10000 --seed X
    python -m tests.fuzz.replays --programs 2000 --kept
    CLEW_CODE=now python -m tests.fuzz.replays --programs 2000

Draws until so many were replayed three times; others, that stay eager, are compared, too. Prints what differs, and how
many of the programs had what. Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import fuzz_compiled  # noqa: E402
import fuzz_kept  # noqa: E402

# What is counted, and the statements that it is.
KINDS = {
    "views": r"= v\S*\[|\.(?:view|reshape|t|T|transpose|permute|expand|narrow|select|unfold|diagonal|chunk|split)\b",
    "writes in place": r"\w_\(|\] = |[-+*/]= |out=|\.data = ",
    "reductions": r"\b(?:sum|mean|prod|amax|amin|max|min|norm|var|std|logsumexp|cumsum)\(",
    "products": r"\b(?:\w*mm|\w*mv|matmul|dot|einsum|bilinear|linear|tensordot|kron|outer|inner)\(| @ ",
    "convolutions": r"\bconv\w*\(",
    "random draws": r"rand|bernoulli|normal|dropout|rrelu|multinomial|uniform_|exponential_",
    "a backward": r"backward\(|autograd\.grad\(",
    "second order": r"create_graph=True",
    "Functions": r"\bapply\(",
}
TURNS = 3
# What a program gets more of: v, a new tensor, of a and b, tensors of the program. What raises is left out again.
MORE = [
    "v = torch.nn.functional.dropout(a, 0.4)",
    "v = a * torch.rand_like(a)",
    "v = a + torch.randn(a.shape)",
    "v = torch.bernoulli(a.sigmoid()) * b",
    "v = a.clone().normal_() * b",
    "v = a[torch.randperm(a.shape[0])]",
    "v = a.reshape(-1, 1) @ b.reshape(1, -1)",
    "v = a.reshape(1, -1) @ a.reshape(-1, 1)",
    "v = torch.einsum('i,j->ij', a.reshape(-1), b.reshape(-1)).T",
    "v = torch.nn.functional.conv1d(a.reshape(1, 1, -1), b.reshape(1, 1, -1)[..., :2], padding=1)",
    "v = torch.nn.functional.conv2d(a.reshape(1, 1, 1, -1), b.reshape(-1, 1, 1, 1)[:3])",
    "v = torch.nn.functional.conv_transpose1d(a.reshape(1, 1, -1), b.reshape(1, 1, -1), stride=2)",
    "v = (a * a).logsumexp(0) + b.mean()",
    "v = (a - a.amax(-1, keepdim=True)).exp().sum(-1)",
    "v = (a * 1.5).clone(); v.reshape(-1)[1:].mul_(b.sum())",
    "v = a * 1; v.t()[0] = b.sum()",
    "v = torch.autograd.grad((a * a.sigmoid()).square().sum(), a, create_graph=True)[0]; (v * b).sum().backward()",
    "v = torch.autograd.grad(a.tanh().sum(), a, create_graph=True)[0]; v = torch.autograd.grad(v.square().sum(), a)[0]",
]
TENSOR = re.compile(r"^(v\d+) = (?!torch\.(?:tensor\(.*int|autograd))")


@dataclass
class Tally:
    drawn: int = 0  # that had something to run
    replayed: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    finds: list[str] = field(default_factory=list)  # a program and what differs, each

    def __str__(self) -> str:
        had = ", ".join(f"{name} {self.kinds[name]}" for name in KINDS)
        return f"{self.replayed} of {self.drawn} programs replayed {TURNS} times; with {had}; {len(self.finds)} differ"


def enriched(statements: list[str], seed: str) -> list[str]:
    """The program with some more statements in it."""
    chosen, longer = random.Random(seed), list(statements)
    for number in range(chosen.choice([0, 1, 2, 3])):
        at = chosen.randint(1, len(longer))
        names = [found[1] for one in longer[:at] if (found := TENSOR.match(one))]
        if not names:
            continue
        meant = {"v": f"v{9000 + number}", "a": chosen.choice(names), "b": chosen.choice(names)}
        more = re.sub(r"\b[vab]\b", lambda found, meant=meant: meant[found[0]], chosen.choice(MORE))
        longer[at:at] = more.split("; ")
    return longer


def compiled_turns(statements: list[str], seed: str) -> tuple[int, list[str]] | None:
    """How often it was replayed, and what differed; None: there is nothing to run."""
    outcome = fuzz_compiled.check_statements(statements, seed)
    return outcome and (outcome.hits, outcome.differences)


def kept_turns(statements: list[str], seed: str) -> tuple[int, list[str]] | None:
    outcome = fuzz_kept.check_statements(statements, seed)
    return outcome and (outcome.replays, outcome.differences)


def draw(
    turns_of: Callable[[list[str], str], tuple[int, list[str]] | None], seed: str, wanted: int, say: bool = False
) -> Tally:
    tally, place, began = Tally(), 0, time.monotonic()
    while tally.replayed < wanted:
        name = f"{seed}:{place}"
        place += 1
        statements = fuzz_kept.statements_of(name)
        if statements is None:
            continue
        statements = enriched(statements, name)
        outcome = turns_of(statements, name)
        if outcome is None:
            continue
        turns, differences = outcome
        tally.drawn += 1
        if differences:
            tally.finds.append(f"{name}: {differences[0]}\n  {'; '.join(statements)}")
            if say:
                print(tally.finds[-1], flush=True)
        if turns >= TURNS:
            tally.replayed += 1
            text = "\n".join(statements)
            tally.kinds.update(kind for kind, pattern in KINDS.items() if re.search(pattern, text))
            if say and tally.replayed % 1000 == 0:
                print(f"after {time.monotonic() - began:.0f} s: {tally}", flush=True)
    return tally


def main() -> int:
    import torch

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.replays", description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=1000, help="how many are to be replayed")
    parser.add_argument("--seed", default="0", help="a text; the same seed draws the same programs")
    parser.add_argument("--kept", action="store_true", help="by keep_graph() and run(), not by compile()")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    tally = draw(kept_turns if given.kept else compiled_turns, given.seed, given.programs, say=True)
    print(tally)
    return 1 if tally.finds else 0


if __name__ == "__main__":
    sys.exit(main())
