"""Which is freed, which is not? The questions people ask about graphs, each answered by running it.

    python examples/which_is_freed.py             # all of them
    python examples/which_is_freed.py retain      # those whose name or text has this word in it

For each: the question as it was asked, a program, what the program printed, and why.
"""

from __future__ import annotations

import sys
import textwrap

from questions import created, freed, kept, tutorial
from questions.asking import Question

QUESTIONS = [asked for page in (freed, created, kept, tutorial) for asked in page.THREAD.questions]


def show(number: int, asked: Question) -> None:
    """Run one question and print it."""
    print(f"\n── {number}. {asked.name.replace('_', ' ')} ".ljust(100, "─"))
    print(f"asked in: {asked.thread}\n{textwrap.fill(asked.asked, 100)}")
    print(f"\n{textwrap.indent(asked.code, '    ')}\n")
    print("\n".join(f"  > {line}".rstrip() for line in asked.run().splitlines()))
    print(f"\n{textwrap.fill(asked.answer, 100)}")


def main(words: list[str]) -> int:
    """Show the questions that contain all ``words``; returns the exit code."""
    chosen = [
        (number, asked)
        for number, asked in enumerate(QUESTIONS, 1)
        if all(word.lower() in f"{asked.name} {asked.asked} {asked.answer}".lower() for word in words)
    ]
    if not chosen:
        print(f"no question contains {' '.join(words)!r}; there are {len(QUESTIONS)}", file=sys.stderr)
        return 1
    for number, asked in chosen:
        show(number, asked)
    print(f"\n{len(chosen)} of {len(QUESTIONS)} questions, each answer checked by running it.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
