"""Messages from one rank to another. A header goes ahead of each, so that the receiver knows whether it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._core import Tensor
from ._check import DistError, described, header
from ._groups import ProcessGroup, group_of
from ._memory import check_tensor, readable, writable
from ._ranks import peer
from ._work import Work, progress

_TAGS = 32768  # that every MPI has


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work:
    """Begin to send the tensor to a rank; it must not be written before the work has finished.

    Raises:
        ValueError: no such rank, or this one itself.
    """
    chosen = group_of(group)
    check_tensor("isend", "tensor", tensor)
    target = _other("isend", "dst", chosen, dst, group_dst)
    number = chosen.sent[target] = chosen.sent.get(target, 0) + 1
    head = header("send", tensor, root=number)

    def steps() -> Iterator[Any]:
        array = readable(tensor)
        first = chosen.messages.Isend(head, target, tag)
        yield chosen.comm.Isend(array, target, number % _TAGS)
        yield first

    return _begin(Work(chosen, "send", steps()), [target])


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work:
    """Begin to receive a tensor from a rank, by default from any.

    Raises:
        ValueError: no such rank, or this one itself.
        DistError: when it is waited for: what comes has another shape or dtype.
    """
    chosen = group_of(group)
    check_tensor("irecv", "tensor", tensor)
    from mpi4py import MPI

    anyone = src is None and group_src is None
    source = MPI.ANY_SOURCE if anyone else _other("irecv", "src", chosen, src, group_src)
    head, status = header("recv", tensor), MPI.Status()
    wanted = head.copy()

    def steps() -> Iterator[Any]:
        request = chosen.messages.Irecv(head, source, tag)
        yield _WithStatus(request, status)
        number, head[3] = int(head[3]), -1
        work._source = chosen.ranks[status.source]
        if (head[1:] != wanted[1:]).any():
            raise DistError(
                f"recv: expected a tensor as it was sent, got {described(wanted)} for the {described(head)} from rank "
                f"{work._source}"
            )
        array, store = writable(tensor)
        yield chosen.comm.Irecv(array, status.source, number % _TAGS)
        store()

    work = Work(chosen, "recv", steps(), [tensor])
    work._from_any = anyone
    return _begin(work, range(chosen.size()) if anyone else [source])


class _WithStatus:
    """A request of which one wants to know whose message it got."""

    def __init__(self, request: Any, status: Any) -> None:
        self._request, self._status = request, status

    def Test(self) -> bool:
        return bool(self._request.Test(self._status))


def _other(call: str, name: str, group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    found = peer(call, name, group, rank, group_rank)
    if found == group.rank():
        raise ValueError(f"{call}: expected {name} to be another rank, got this one's ({found}); copy the tensor")
    return found


def _begin(work: Work, peers: Sequence[int]) -> Work:
    work._peers = peers
    work._group.transfers.append(work)
    progress()
    return work


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send the tensor to a rank; return when it may be written again.

    Raises:
        ValueError: no such rank, or this one itself.
        DistError: nobody received it in time.
    """
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from a rank, by default from any.

    Returns:
        The rank that sent it.

    Raises:
        ValueError: no such rank, or this one itself.
        DistError: what comes has another shape or dtype, or nothing comes in time.
    """
    work = irecv(tensor, src, group, tag, group_src)
    work.wait()
    return work.source_rank()


class P2POp:
    """One of the messages of a `batch_isend_irecv`: `op` is `isend` or `irecv`.

    Raises:
        ValueError: `op` is neither.
    """

    def __init__(
        self,
        op: Callable[..., Work],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(f"P2POp: expected op to be distributed.isend or distributed.irecv, got {op!r}")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several messages.

    Raises:
        ValueError: there is none, or not all are `P2POp`.
    """
    if not p2p_op_list or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ValueError("batch_isend_irecv: expected a list of P2POp, got another or an empty one")
    return [one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in p2p_op_list]
