"""Runs calls in a forked child that may die: shared memory tells its parent which call killed it."""

import contextlib
import faulthandler
import gc
import importlib
import mmap
import os
import pickle
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
import warnings
from dataclasses import dataclass, field

import clew as torch

from . import values

CPU_SECONDS = 3.0  # for one call
CPU_SECONDS_OF_LARGE = 0.3  # for one that asks for much: what takes long is stopped and is no finding
WALL_SECONDS = 30.0  # without progress: for what waits without computing
MEMORY = 3 << 30  # of address space beyond what the parent has
GROWTH = 256 << 20  # of resident memory by one call that asks for nothing large

RAISED, RETURNED = 1, 2

# What a call may raise. Python's own rules say which of them; that they fit is asked in tests/bad_input.
EXPECTED = (
    TypeError,
    ValueError,
    RuntimeError,
    IndexError,
    KeyError,
    AttributeError,
    OverflowError,
    ZeroDivisionError,
    MemoryError,
    BufferError,
    StopIteration,
    OSError,
    pickle.PickleError,
    EOFError,
    Warning,
    torch.multiprocessing.ProcessException,
    values.Refused,
)


def under_sanitizer():
    """Whether the core is built with a sanitizer, which needs a large address space for itself."""
    with open("/proc/self/maps") as maps:
        return "libasan" in maps.read()


SANITIZED = under_sanitizer()

with contextlib.suppress(ImportError):  # its first import lists the fonts of the machine: longer than one call may take
    importlib.import_module("matplotlib.font_manager")


@dataclass
class Outcome:
    """What became of a batch of calls."""

    statuses: list[
        tuple[int, int]
    ]  # for each call that ended: whether it raised or returned, and the number of its type
    reports: list[tuple[int, str]] = field(default_factory=list)  # calls that ended as none should, and how
    died: str = ""  # what ended the child early
    errors: str = ""  # what it wrote to stderr


def limit_memory():
    """Let allocations fail that the machine may not be able to bear."""
    if not SANITIZED:
        with open("/proc/self/statm") as statm:
            size = int(statm.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))


def training_still_works():
    """What no call may have broken: a step of training, in a state of its own."""
    torch.set_default_dtype(torch.float32)
    weight = torch.ones(3, requires_grad=True)
    data = torch.arange(6.0).reshape(2, 3)
    loss = (data @ weight).square().sum()
    loss.backward()
    assert loss.item() == 153.0, f"a loss of 153 became {loss.item()}"
    assert weight.grad.tolist() == [72.0, 102.0, 132.0], f"a gradient became {weight.grad.tolist()}"
    counters = torch._core.graph_counters()
    assert all(count >= 0 for count in counters.values()), f"negative counts: {counters}"
    assert torch.memory.stats().live >= 0, f"negative memory: {torch.memory.stats()}"
    for tensor in torch._core.live_tensors():
        assert isinstance(tensor, torch.Tensor), f"no tensor among the living ones: {type(tensor)}"


def saying(error):
    """Its message; an object that is damaged may be in it."""
    try:
        return str(error)
    except Exception as damage:
        return f"(its text raised {type(damage).__name__})"


def asks_for_much(text):
    """Whether a call's text names a large size: it may then take time and memory."""
    cubed = re.search(r"Conv(Transpose)?3d", text) and re.search(r"\b6[45]\b", text)
    return bool(cubed) or any(sign in text for sign in ("**", "00000", "e1", "e3", "1000"))


class Child:
    """Runs batches of calls, each in a new child."""

    def __init__(self, type_numbers):
        self.type_numbers = type_numbers
        self.slower = 8 if SANITIZED else 1

    def run(self, texts):
        """Run the calls; a child that dies leaves the later ones undone."""
        shared = mmap.mmap(-1, 8 + 4 * len(texts))
        struct.pack_into("q", shared, 0, -1)
        folder = tempfile.mkdtemp(prefix="hostile-")
        read_end, write_end = os.pipe()
        process = os.fork()
        if process == 0:
            self._live(texts, shared, folder, write_end)
        os.close(write_end)
        try:
            reports, died = self._watch(process, shared, read_end)
            with open(os.path.join(folder, "stderr"), errors="replace") as stream:
                errors = stream.read()
        finally:
            os.close(read_end)
            with contextlib.suppress(ProcessLookupError):  # what its calls have started, too
                os.killpg(process, signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)
        last = struct.unpack_from("q", shared, 0)[0]
        done = last if died else len(texts)
        statuses = [struct.unpack_from("hh", shared, 8 + 4 * i) for i in range(max(done, 0))]
        return Outcome(statuses, reports, died, errors)

    def _watch(self, process, shared, read_end):
        """Wait for the child's end; kill it when it makes no progress."""
        os.set_blocking(read_end, False)
        collected, seen, since = b"", None, time.monotonic()
        pause = 0.0002
        while True:
            with contextlib.suppress(BlockingIOError):
                collected += os.read(read_end, 1 << 20)
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                break
            now = struct.unpack_from("q", shared, 0)[0]
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > WALL_SECONDS:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                return self._parse(collected), "hang (waits without computing)"
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)
        with contextlib.suppress(BlockingIOError):
            collected += os.read(read_end, 1 << 20)
        died = ""
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            died = "hang" if number == signal.SIGPROF else f"killed by {signal.Signals(number).name}"
        elif os.WEXITSTATUS(status):
            died = f"exit with status {os.WEXITSTATUS(status)}"
        return self._parse(collected), died

    @staticmethod
    def _parse(collected):
        found = []
        for line in collected.decode(errors="replace").split("\0"):
            number, separator, message = line.partition("\1")
            if separator:
                found.append((int(number), message))
        return found

    def _live(self, texts, shared, folder, write_end):
        """The child's life. It never returns."""
        status = 1
        try:
            os.setpgrp()
            os.chdir(folder)
            self._redirect()
            warnings.simplefilter("ignore")
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            faulthandler.disable()
            limit_memory()
            self._call_all(texts, shared, write_end)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(BaseException):
                sys.stderr.flush()
            os._exit(status)

    @staticmethod
    def _redirect():
        nothing = os.open(os.devnull, os.O_RDWR)
        errors = os.open("stderr", os.O_WRONLY | os.O_CREAT)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.dup2(errors, 2)

    def _call_all(self, texts, shared, write_end):
        def report(number, message):
            os.write(write_end, f"{number}\1{message[:3000]}\0".encode(errors="replace"))

        usage, itimer, clock = resource.getrusage, signal.setitimer, signal.ITIMER_PROF
        pack, call, numbers = struct.pack_into, values.call, self.type_numbers
        peak = usage(resource.RUSAGE_SELF).ru_maxrss
        for number, text in enumerate(texts):
            pack("q", shared, 0, number)
            itimer(clock, (CPU_SECONDS_OF_LARGE if asks_for_much(text) else CPU_SECONDS) * self.slower)
            torch.set_grad_enabled(True)
            status, kind = RAISED, 0
            try:
                result = call(text)
                status, kind = RETURNED, numbers.get(type(result), 0)
                del result
            except EXPECTED as error:
                if isinstance(error, MemoryError) and not asks_for_much(text):
                    report(number, "MemoryError for a call that asks for nothing large")
            except BaseException as error:
                trail = traceback.extract_tb(error.__traceback__)[-3:]
                # PyTorch's own checks have a message; what needs another package says which.
                is_told = isinstance(error, AssertionError) and saying(error)
                is_told = is_told or (isinstance(error, ImportError) and "needs the package" in saying(error))
                is_dead = isinstance(error, ReferenceError) and "weakref.proxy" in text  # what it was given went
                if not is_told and not is_dead:
                    places = "; ".join(f"{frame.filename}:{frame.lineno}" for frame in trail)
                    report(number, f"{type(error).__name__}: {saying(error)} at {places}")
            if (now := usage(resource.RUSAGE_SELF).ru_maxrss) > peak:
                if now - peak > GROWTH >> 10 and not asks_for_much(text):
                    report(number, f"memory grew by {(now - peak) >> 10} MiB for a call that asks for nothing large")
                peak = now
            pack("hh", shared, 8 + 4 * number, status, kind)
        pack("q", shared, 0, len(texts))
        itimer(clock, 10 * CPU_SECONDS * self.slower)
        values.w = None
        gc.collect()

        def check():  # in a thread of its own: modes that a call left switched on belong to this one
            try:
                training_still_works()
            except BaseException as error:
                report(len(texts), f"invariant: {type(error).__name__}: {error}")

        thread = threading.Thread(target=check)
        thread.start()
        thread.join()
        itimer(clock, 0)
