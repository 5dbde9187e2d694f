"""Which rank is which: in a group, and among all processes."""

from __future__ import annotations

from typing import Any, ClassVar

from ._groups import GroupMember, ProcessGroup, group_of


def get_rank(group: Any = None) -> int:
    """The number of this process in the group; -1 if it is not in it."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else group_of(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many processes are in the group; -1 if this one is not in it."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else group_of(group).size()


class Backend(str):
    """The name of a backend, in lower case.

    Example:
        >>> clew.distributed.Backend("MPI") == clew.distributed.Backend.MPI
        True
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]

    def __new__(cls, name: str) -> Backend:
        """Raises ValueError if it is no string."""
        if not isinstance(name, str):
            raise ValueError(f"Backend: expected a string, got {name!r}")
        return str.__new__(cls, name.lower())


def get_backend(group: Any = None) -> str:
    """ "mpi"."""
    group_of(group)
    return "mpi"


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks of a group's members among all processes."""
    return list(group_of(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank among all processes of a member of the group.

    Raises:
        ValueError: the group has no such rank.
    """
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group!r}")
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in the group of a process.

    Raises:
        ValueError: it is not in the group.
    """
    ranks = group_of(group).ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group!r}")
    return ranks.index(global_rank)


def peer(call: str, name: str, group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    """The rank in the group of the process that a call names, by its rank among all or in the group."""
    if (rank is None) == (group_rank is None):
        raise ValueError(f"{call}: expected either {name} or group_{name}, got " + ("none" if rank is None else "both"))
    if rank is not None:
        return get_group_rank(group, rank)
    assert group_rank is not None
    get_global_rank(group, group_rank)
    return group_rank


def root_of(call: str, name: str, group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    """As `peer`; by default rank 0 of all."""
    return peer(call, name, group, 0 if rank is None and group_rank is None else rank, group_rank)
