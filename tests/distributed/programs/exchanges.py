"""Gathering, scattering, all to all, messages, objects and groups, compared with NumPy over the data of all ranks."""

import numpy
from common import DTYPES, SHAPES, array, clew, dist, raises, rank, run, same, size, strided, tensor

MAKERS = (tensor, lambda values, name: strided(values, name)[0])
everyone = range(size)


def blank(shape, name, make=tensor):
    return make(numpy.zeros(shape), name)


def check_all_gather():
    for name in DTYPES:
        for shape in SHAPES:
            parts = [array(one, shape, name) for one in everyone]
            for make in MAKERS:
                found = [blank(shape, name, make) for _ in everyone]
                dist.all_gather(found, make(parts[rank], name))
                assert all(map(same, found, parts)), (name, shape)
                stacked = blank((size, *shape), name, make)
                dist.all_gather_into_tensor(stacked, make(parts[rank], name))
                assert same(stacked, numpy.stack(parts))
                if shape:
                    joined = blank((size * shape[0], *shape[1:]), name, make)
                    dist.all_gather_into_tensor(joined, make(parts[rank], name))
                    assert same(joined, numpy.concatenate(parts))


def check_gather_and_scatter():
    for name in DTYPES:
        for root, shape in enumerate(SHAPES):
            root %= size
            parts = [array(one, shape, name) for one in everyone]
            for make in MAKERS:
                found = [blank(shape, name, make) for _ in everyone] if rank == root else None
                dist.gather(make(parts[rank], name), found, dst=root)
                assert found is None or all(map(same, found, parts))
                mine = blank(shape, name, make)
                dist.scatter(mine, [make(one, name) for one in parts] if rank == root else None, src=root)
                assert same(mine, parts[rank])


def check_all_to_all():
    for name in DTYPES:
        table = [[array(one, (2, 3), name, other) for other in everyone] for one in everyone]  # from, to
        expected = [one[rank] for one in table]
        for make in MAKERS:
            found = [blank((2, 3), name, make) for _ in everyone]
            dist.all_to_all(found, [make(one, name) for one in table[rank]])
            assert all(map(same, found, expected))
            whole = blank((2 * size, 3), name, make)
            dist.all_to_all_single(whole, make(numpy.concatenate(table[rank]), name))
            assert same(whole, numpy.concatenate(expected))


def check_all_to_all_of_different_sizes():
    """Rank i sends i + j + 1 rows to rank j."""
    rows = [[array(one, (one + other + 1, 2), "float32", other) for other in everyone] for one in everyone]
    out = clew.zeros(sum(one + rank + 1 for one in everyone), 2)
    sizes = [one + rank + 1 for one in everyone]
    dist.all_to_all_single(out, tensor(numpy.concatenate(rows[rank]), "float32"), sizes, sizes)
    assert same(out, numpy.concatenate([one[rank] for one in rows]))
    wrong = dist.all_to_all_single
    text = "rank 1 sends 3 elements to rank 0, which expects 2"
    mine = [2] + [2] * (size - 1)
    sent = [3] + [2] * (size - 1) if rank == 1 else mine
    raises(dist.DistError, text, lambda: wrong(clew.ones(sum(mine)), clew.ones(sum(sent)), mine, sent))
    raises(ValueError, "add up to 4", lambda: wrong(clew.ones(4), clew.ones(4), [1] * size, [9] * size))


def check_wrong_arguments():
    x = clew.ones(2)
    raises(ValueError, f"a list of {size} tensors", lambda: dist.all_gather([x], x))
    raises(ValueError, "of shape (2,) and clew.float32", lambda: dist.all_gather([clew.ones(3)] * size, x))
    raises(ValueError, "alone" if rank else "to be a list", lambda: dist.gather(x, [x] * size if rank else None))
    raises(TypeError, "to be a tensor, got list", lambda: dist.all_reduce([1.0]))
    raises(TypeError, "one of ReduceOp", lambda: dist.all_reduce(x, "sum"))
    raises(ValueError, "not part of group", lambda: dist.broadcast(x, size))
    raises(ValueError, "expected either src or group_src", lambda: dist.broadcast(x))
    raises(ValueError, "another rank", lambda: dist.send(x, rank))
    raises(ValueError, "twice", dist.init_process_group)


def check_messages():
    before, after = (rank - 1) % size, (rank + 1) % size
    for name in DTYPES:
        for make in MAKERS:
            mine, found = make(array(rank, (2, 3), name), name), blank((2, 3), name, make)
            works = [dist.irecv(found, before), dist.isend(mine, after)]
            assert all(one.wait() for one in works)
            assert same(found, array(before, (2, 3), name))
            assert works[0].source_rank() == before
    large, found = clew.full((300_000,), float(rank)), [clew.empty(300_000) for _ in range(3)]
    sends = [dist.isend(large + one, after, tag=one) for one in range(3)]
    for one in (2, 0, 1):  # tags, not the order, say what belongs together
        dist.recv(found[one], before, tag=one)
    assert all(same(x, numpy.full(300_000, before + one)) for one, x in enumerate(found))
    assert all(one.wait() for one in sends)


def check_messages_from_anyone():
    if rank:
        dist.send(clew.full((2,), float(rank)), 0)
        return
    found = {}
    for _ in range(size - 1):
        x = clew.empty(2)
        found[dist.recv(x)] = x
    assert all(same(x, numpy.full(2, one)) for one, x in found.items())
    assert sorted(found) == list(range(1, size))


def check_a_message_that_does_not_fit():
    if rank == 0:
        dist.send(clew.ones(3), 1)
    if rank == 1:
        x = clew.zeros(2)
        raises(dist.DistError, "float32 (2,) for the send of float32 (3,) from rank 0", lambda: dist.recv(x, 0))
        assert same(x, numpy.zeros(2))
        dist.irecv(clew.zeros(3), 0)  # the next message has its own number
    if rank == 0:
        dist.send(clew.ones(3), 1)


def check_objects():
    mine = {"rank": rank, "text": "x" * rank * 1000}
    everyones = [{"rank": one, "text": "x" * one * 1000} for one in everyone]
    found = [None] * size
    dist.all_gather_object(found, mine)
    assert found == everyones
    found = [None] * size if rank == 1 else None
    dist.gather_object(mine, found, dst=1)
    assert found is None or found == everyones
    found = [mine, rank]
    dist.broadcast_object_list(found, src=1)
    assert found == [everyones[1], 1]
    out = [None, "left alone"]
    dist.scatter_object_list(out, everyones if rank == 0 else None)
    assert out == [mine, "left alone"]


def check_groups():
    ranks = [0, size - 1]
    group = dist.new_group(ranks)
    if rank in ranks:
        assert dist.get_world_size(group) == 2
        assert dist.get_rank(group) == ranks.index(rank)
        assert dist.get_global_rank(group, 1) == size - 1
        assert dist.get_process_group_ranks(group) == ranks
        x = clew.full((2,), float(rank))
        dist.all_reduce(x, group=group)
        assert same(x, numpy.full(2, size - 1))
        dist.broadcast(x, src=size - 1, group=group)
        dist.destroy_process_group(group)
        raises(ValueError, "destroyed", lambda: dist.barrier(group))
    else:
        assert group == dist.GroupMember.NON_GROUP_MEMBER
        assert dist.get_rank(group) == -1
        raises(ValueError, "that this rank is in", lambda: dist.barrier(group))
    dist.barrier()
    raises(dist.DistError, "new_group of (0, 1)", lambda: dist.new_group([0, 1] if rank else [1]))


class Counting:
    """A communicator that notes what is called of it."""

    def __init__(self, comm):
        self._comm, self.called = comm, []

    def __getattr__(self, name):
        found = getattr(self._comm, name)
        if callable(found):
            self.called.append(name)
        return found


def check_without_the_check():
    dist.set_debug_level(dist.DebugLevel.OFF)
    x = clew.ones(3)
    dist.all_reduce(x)
    assert same(x, numpy.full(3, size))
    group = dist.GroupMember.WORLD
    group.comm, comm = Counting(group.comm), group.comm
    parts = [clew.full((one + rank,), float(rank)) for one in everyone]
    found = [clew.zeros(one + rank) for one in everyone]
    dist.all_to_all(found, parts)
    assert all(same(part, numpy.full(one + rank, one)) for one, part in enumerate(found))
    assert group.comm.called == ["Ialltoallv"]
    group.comm = comm
    dist.set_debug_level(dist.DebugLevel.DETAIL)


run(globals())
