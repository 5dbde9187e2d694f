"""What goes wrong with the last rank, and what the others do then: the argument says what."""

import os
import sys
import time
from datetime import timedelta

from common import clew, dist, rank, size

case, last, soon = sys.argv[1], size - 1, timedelta(seconds=0.5)


def told(call):
    """Print the error, and give the others time to print theirs before all are ended by it."""
    try:
        call()
    except dist.DistError as error:
        print(f"rank {rank}: {error}", flush=True)
        time.sleep(1.5)
        raise


if rank == last and case == "raises":
    raise LookupError("this rank fails")
if rank == last and case == "dies":
    os._exit(3)
if case in ("exits", "leaves", "exits in a call"):
    dist.all_reduce(clew.ones(2))
    if rank == last and case == "leaves":
        dist.destroy_process_group()
    if rank == last and case == "exits in a call":
        dist.all_reduce(clew.ones(2), async_op=True)
    if rank == last:
        sys.exit(3 if case == "exits" else 0)
if rank == last and case == "late":
    time.sleep(1.5)
elif rank == last and case != "all there":
    time.sleep(60)

if case == "collective":
    told(lambda: dist.all_reduce(clew.ones(2), async_op=True).wait(soon))
elif case == "exits":
    told(lambda: dist.all_reduce(clew.ones(2)) if rank else dist.recv(clew.ones(2), last))
elif case in ("leaves", "exits in a call"):
    time.sleep(1)  # so that the call under way of the other can't end with this one
    told(lambda: dist.all_reduce(clew.ones(2)))
elif case == "receive":
    told(lambda: dist.irecv(clew.ones(2), last).wait(soon))
elif case == "elsewhere" and rank == 0:
    told(lambda: dist.monitored_barrier(timeout=soon))
else:
    dist.all_reduce(clew.ones(2))
    print("all came")
