"""How a question is stored, run and shown."""

from __future__ import annotations

import contextlib
import inspect
import io
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the program that shows the answer, and the answer. The program asserts what it claims."""

    thread: str
    asked: str
    answer: str
    program: Callable[[], None]

    @property
    def name(self) -> str:
        return self.program.__name__

    @property
    def code(self) -> str:
        """The body of the program."""
        lines = inspect.getsource(self.program).splitlines()
        start = next(number for number, line in enumerate(lines) if line.startswith("def ")) + 1
        return textwrap.dedent("\n".join(lines[start:]))

    def run(self) -> str:
        """Run the program; returns what it printed.

        Raises:
            AssertionError: the answer is wrong.
        """
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.program()
        return printed.getvalue()


@dataclass(frozen=True, slots=True)
class Thread:
    """Where questions were asked. Its instances decorate the programs that answer them."""

    title: str
    questions: list[Question] = field(default_factory=list)

    def question(self, asked: str, answer: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
        """Make a question of a function."""

        def register(program: Callable[[], None]) -> Callable[[], None]:
            self.questions.append(Question(self.title, asked, answer, program))
            return program

        return register


@contextlib.contextmanager
def fails(kind: type[Exception], message: str) -> Iterator[None]:
    """The block must raise ``kind`` with ``message`` in its text, which is printed."""
    try:
        yield
    except kind as error:
        if message not in str(error):
            raise AssertionError(f"expected {message!r} in {error}") from error
        print(f"{type(error).__name__}: {error}")
    else:
        raise AssertionError(f"expected {kind.__name__}, nothing was raised")
