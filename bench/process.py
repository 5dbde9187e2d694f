"""A rival's process: started, asked one thing at a time, and stopped in between."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from typing import IO, Any

from bench.rivals import Rival

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# This bench runs in every process. Its root then goes behind everything installed: an installed clew is what is
# measured, if there is one.
_START = (
    f"import sys; sys.path.insert(0, {ROOT!r}); from bench.worker import main; "
    f"sys.path.remove({ROOT!r}); sys.path.append({ROOT!r}); main()"
)
# What is on the path is found before what an editable installation's finder knows.
_PATH_FIRST = "import sys; from importlib.machinery import PathFinder; sys.meta_path.insert(0, PathFinder); "
_LIMIT = 240.0  # seconds for a request: compilers are slow


class RivalError(Exception):
    """What a rival could not do, in its own words."""


def cpus_for(threads: int) -> list[int]:
    """Which processors to use: one of each core first, the last of them (the first serve most interrupts)."""
    allowed = sorted(os.sched_getaffinity(0), reverse=True)
    seen: dict[str, int] = {}
    for cpu in allowed:
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
                siblings = file.read()
        except OSError:
            siblings = str(cpu)
        seen.setdefault(siblings, cpu)
    cores = list(seen.values())
    return (cores + [cpu for cpu in allowed if cpu not in cores])[:threads]


class Process:
    """A rival's process; started at the first request, and again after it has died.

    It is stopped while nothing is asked of it: threads that wait for work keep a processor busy for up to 20 ms
    (OpenBLAS), which is longer than the next one's turn.
    """

    def __init__(self, rival: Rival, threads: int) -> None:
        self.rival, self.threads = rival, threads
        self.scratch = tempfile.gettempdir()  # its logs, and what compilers leave
        self.hello: dict[str, str] = {}
        self._unusable = ""
        self._popen: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._log: IO[bytes] | None = None

    def ask(self, *request: Any) -> Any:
        """Do it there. RivalError with what was raised, or with how the process ended."""
        self.start()
        return self._exchange(request)

    def start(self) -> dict[str, str]:
        """Start it if it isn't running; what it says of itself."""
        if self._unusable:
            raise RivalError(self._unusable)
        if self._connection is None:
            self._start()
        return self.hello

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        environment = self.rival.environment(self.threads)
        environment["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(self.scratch, f"inductor-{self.threads}")
        cpus = ",".join(map(str, cpus_for(self.threads)))
        arguments = [self.rival.name, str(self.threads), cpus, str(theirs.fileno())]
        start = _PATH_FIRST + _START if self.rival.path else _START
        command = [self.rival.python or sys.executable, "-P", "-c", start, *arguments]
        self._log = open(self._log_name(), "ab")  # noqa: SIM115
        self._popen = subprocess.Popen(
            command, env=environment, pass_fds=[theirs.fileno()], stdout=self._log, stderr=self._log, cwd=self.scratch
        )
        theirs.close()
        self._connection = Connection(ours.detach())
        try:
            self.hello = self._exchange(None)
        except RivalError as error:  # it cannot be imported: it will not be next time
            self._unusable = str(error)
            self.end()
            raise

    def _exchange(self, request: Any) -> Any:
        assert self._connection is not None
        try:
            self._signal(signal.SIGCONT)
            if request is not None:
                self._connection.send(request)
            if not self._connection.poll(_LIMIT):
                self.end(kill=True)
                raise RivalError(f"no answer for {_LIMIT:.0f} s")
            kind, value = self._connection.recv()
        except (EOFError, ConnectionError):
            raise RivalError(self._how_it_ended()) from None
        self._signal(signal.SIGSTOP)
        if kind == "error":
            raise RivalError(value)
        return value

    def _signal(self, number: signal.Signals) -> None:
        if self._popen is not None and self._popen.poll() is None:
            self._popen.send_signal(number)

    def _how_it_ended(self) -> str:
        assert self._popen is not None
        code = self._popen.wait()
        self.end()
        if code < 0:
            return f"its process died of {signal.Signals(-code).name}"
        with open(self._log_name(), errors="replace") as file:
            last = file.read().strip().rpartition("\n")[2]
        return f"its process ended with {code}" + (f": {last}" if last else "")

    def _log_name(self) -> str:
        return os.path.join(self.scratch, f"{self.rival.name}-{self.threads}.log")

    def end(self, kill: bool = False) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._popen is not None:
            if kill:
                self._popen.kill()
            self._signal(signal.SIGCONT)
            self._popen.wait()
            self._popen = None
        if self._log is not None:
            self._log.close()
            self._log = None
