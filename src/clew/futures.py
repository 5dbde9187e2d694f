"""Results that come later, under the names of `torch.futures`, over `concurrent.futures`."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

_T = TypeVar("_T")


class Future(Generic[_T]):
    """A result that another thread sets.

    Example:
        >>> later = torch.futures.Future()
        >>> doubled = later.then(lambda done: done.wait() * 2)
        >>> later.set_result(21)
        >>> doubled.wait()
        42
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._future: concurrent.futures.Future[_T] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether there is a result, or an exception."""
        return self._future.done()

    def wait(self) -> _T:
        """The result, when it is there; raises what was set as the exception."""
        return self._future.result()

    def value(self) -> _T:
        """The result, which must be there."""
        if not self.done():
            raise RuntimeError("value: expected a future that is done, got one that is not; call wait()")
        return self._future.result()

    def then(self, callback: Callable[[Future[_T]], Any]) -> Future[Any]:
        """A future of what ``callback(self)`` returns, which runs when this is done."""
        following: Future[Any] = Future()

        def run(_: object) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        self._future.add_done_callback(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[_T]], Any]) -> None:
        """Run ``callback(self)`` when this is done."""
        self._future.add_done_callback(lambda _: callback(self))

    def set_result(self, result: _T) -> None:
        """Mark it as done.

        Raises:
            RuntimeError: it is done already.
        """
        self._set(self._future.set_result, result)

    def set_exception(self, result: BaseException) -> None:
        """Let ``wait`` raise this."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"set_exception: expected an exception, got {type(result).__name__}")
        self._set(self._future.set_exception, result)

    def _set(self, how: Callable[[Any], None], what: Any) -> None:
        try:
            how(what)
        except concurrent.futures.InvalidStateError:
            raise RuntimeError(
                "set_result: expected a future that is not done, got one with a result (Future already completed)"
            ) from None


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of all these, done when each of them is; it has the first exception of theirs, if there is one.

    Example:
        >>> first, second = torch.futures.Future(), torch.futures.Future()
        >>> both = torch.futures.collect_all([first, second])
        >>> first.set_result(1)
        >>> second.set_result(2)
        >>> [one.wait() for one in both.wait()]
        [1, 2]
    """
    together: Future[list[Future[Any]]] = Future()
    missing = {id(one) for one in futures}
    if not missing:
        together.set_result([])

    def note(one: Future[Any]) -> None:
        missing.discard(id(one))
        if not missing and not together.done():
            error = next((error for each in futures if (error := each._future.exception())), None)
            if error is None:
                together.set_result(list(futures))
            else:
                together.set_exception(error)

    for one in futures:
        one.add_done_callback(note)
    return together


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for all, and return their results; raises the first exception.

    Example:
        >>> done = torch.futures.Future()
        >>> done.set_result(3)
        >>> torch.futures.wait_all([done])
        [3]
    """
    return [one.value() for one in collect_all(futures).wait()]
