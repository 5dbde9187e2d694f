"""Loading in other processes: the same batches, seeds and errors as PyTorch's."""

import gc
import importlib
import os
import random
import signal
import subprocess
import sys
import time

import numpy
import pytest

MODULE_NAME = "torch" if os.environ.get("CLEW_TEST_ORACLE") == "1" else "clew"
data = importlib.import_module(f"{MODULE_NAME}.utils.data")
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning", "ignore:.*worker processes.*:UserWarning"
)


def module():
    return importlib.import_module(MODULE_NAME)


class Rows(data.Dataset):
    """Samples of every kind that a batch may hold, with a draw of each generator that a worker seeds."""

    def __init__(self, m, size=20):
        self.name, self.size = m.__name__, size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        m = importlib.import_module(self.name)
        draws = [numpy.random.randint(10**6), random.randint(0, 10**6), m.rand(2)]
        return {"row": m.full((3,), float(index)), "array": numpy.arange(4) * index, "text": str(index), "draws": draws}


class Large(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        image = module().full((64, 1024), index)
        return image, image, numpy.full(9000, index)


class Failing(data.Dataset):
    def __init__(self, act):
        self.act = act

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 3:
            self.act()
        return index


def raise_key_error():
    raise KeyError("one\ntwo")


def kill_oneself():
    os.kill(os.getpid(), signal.SIGKILL)


def sleep_long():
    time.sleep(30)


def raise_what_cannot_be_pickled():
    raise type("Local", (ValueError,), {})("from a class that no other process knows")


def initialise(number):
    numpy.random.seed(number)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": True, "persistent_workers": True},
        {"batch_size": None, "prefetch_factor": 1},
        {"worker_init_fn": initialise, "drop_last": True},
        {"timeout": 60, "multiprocessing_context": "fork", "pin_memory": False},
    ],
    ids=["plain", "persistent", "no batches", "initialised", "forked"],
)
def test_batches_of_workers_are_pytorchs(options, agree):
    def program(m):
        loader = importlib.import_module(f"{m.__name__}.utils.data").DataLoader(
            as_dataset_of(m, Rows(m)), num_workers=2, **{"batch_size": 6, **options}
        )
        return [list(loader) for _ in range(2)], len(loader), m.rand(1)

    agree(program)


def as_dataset_of(m, rows):
    """The same samples as a dataset of this library."""
    base = importlib.import_module(f"{m.__name__}.utils.data").Dataset
    if not isinstance(rows, base):
        rows.__class__ = type("Rows", (Rows, base), {})
    return rows


@pytest.mark.parametrize("batch_size", [None, 2, 4])
@pytest.mark.parametrize("workers", [1, 3])
def test_each_worker_goes_through_its_own_stream(batch_size, workers, agree):
    def program(m):
        d = importlib.import_module(f"{m.__name__}.utils.data")

        class Numbers(d.IterableDataset):
            def __iter__(self):
                number = d.get_worker_info().id
                return iter(range(100 * number, 100 * number + 5 + 3 * number))

        return [list(d.DataLoader(Numbers(), num_workers=workers, batch_size=batch_size)) for _ in range(2)]

    agree(program)


def test_workers_may_be_spawned(torch):
    loader = data.DataLoader(Large(), num_workers=1, multiprocessing_context="spawn", batch_size=2)
    assert [int(image.sum()) for image, _, _ in loader] == [64 * 1024, 64 * 1024 * 5]


def test_large_batches_share_memory_and_keep_identity(torch):
    for number, (image, same, array) in enumerate(data.DataLoader(Large(), num_workers=2, batch_size=None)):
        assert image.dtype == torch.int64
        assert torch.equal(image, torch.full((64, 1024), number))
        assert int(array.sum()) == 9000 * number
        image.add_(1)  # it is memory like any other
        assert torch.equal(image, same)


def test_a_worker_knows_who_it_is(torch):
    def tell(samples):
        info = data.get_worker_info()
        return info.id, info.num_workers, info.seed - torch.initial_seed(), len(info.dataset), torch.get_num_threads()

    assert data.get_worker_info() is None
    assert list(data.DataLoader(range(4), num_workers=2, batch_size=2, collate_fn=tell)) == [
        (0, 2, 0, 4, 1),
        (1, 2, 0, 4, 1),
    ]


def test_an_error_in_a_worker_carries_its_traceback(torch):
    with pytest.raises(KeyError, match=r"Caught KeyError in DataLoader worker process 1\.\nOriginal Traceback"):
        list(data.DataLoader(Failing(raise_key_error), num_workers=2, batch_size=2))


@pytest.mark.beyond  # PyTorch waits for ever
def test_an_error_that_cannot_travel_is_told_of(torch):
    with pytest.raises(Exception, match=r"in DataLoader worker process 1\.\n(.*\n)*.*Local"):
        list(data.DataLoader(Failing(raise_what_cannot_be_pickled), num_workers=2, batch_size=2))


def test_persistent_workers_go_on_after_an_error_and_after_a_pass_was_left(torch):
    loader = data.DataLoader(range(40), num_workers=2, batch_size=2, persistent_workers=True)
    first = iter(loader)
    pids = [process.pid for process in processes_of(first)]
    next(first)
    assert [batch.tolist() for batch in loader] == [[2 * i, 2 * i + 1] for i in range(20)]
    assert [process.pid for process in processes_of(iter(loader))] == pids


def processes_of(iterator):
    return iterator._workers._processes if hasattr(iterator._workers, "_processes") else iterator._workers


@pytest.mark.beyond
def test_a_killed_worker_is_named(torch):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid \d+\) is killed by signal: Killed"):
        list(data.DataLoader(Failing(kill_oneself), num_workers=2))


def test_a_slow_worker_is_told_of(torch):
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
        list(data.DataLoader(Failing(sleep_long), num_workers=1, timeout=0.5))


@pytest.mark.beyond
def test_no_process_is_left_behind(torch):
    iterator = iter(data.DataLoader(range(100), num_workers=2))
    processes = processes_of(iterator)
    next(iterator)
    assert all(process.is_alive() for process in processes)
    del iterator
    gc.collect()
    assert not any(process.is_alive() for process in processes)


def test_workers_leave_with_a_killed_loader(torch, script_environment, tmp_path):
    """They look after the process that asks, every few seconds."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import os, time\nfrom {MODULE_NAME}.utils.data import DataLoader\n"
        "def collate(batch):\n    return os.getpid()\n"
        "iterator = iter(DataLoader(range(100), num_workers=1, collate_fn=collate))\n"
        "print(next(iterator), flush=True)\ntime.sleep(60)\n"
    )
    main = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=script_environment, text=True)
    worker = int(main.stdout.readline())
    main.kill()
    main.wait()
    main.stdout.close()
    deadline = time.monotonic() + 30
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(worker)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_interrupt_ends_all(torch, script_environment, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        f"import os, time\nfrom {MODULE_NAME}.utils.data import DataLoader\n"
        "def collate(batch):\n    time.sleep(0.2)\n    return os.getpid()\n"
        "for pid in DataLoader(range(1000), num_workers=2, collate_fn=collate):\n    print(pid, flush=True)\n"
    )
    main = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=script_environment,
        text=True,
        start_new_session=True,
    )
    worker = int(main.stdout.readline())
    os.killpg(main.pid, signal.SIGINT)
    _, errors = main.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert not is_running(worker)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, ValueError, "prefetch_factor option could only be specified in multiprocessing"),
        ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
        ({"multiprocessing_context": "fork"}, ValueError, "can only be used with multi-process loading"),
        ({"num_workers": 1, "multiprocessing_context": "no"}, ValueError, "should specify a valid start method"),
        ({"num_workers": 1, "multiprocessing_context": 3}, TypeError, "should be a valid context object"),
    ],
)
def test_options_for_workers_are_checked(options, error, text, torch):
    with pytest.raises(error, match=text):
        data.DataLoader(range(3), **options)


def test_a_loader_is_not_changed_once_made(torch):
    loader = data.DataLoader(range(3))
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3


@pytest.mark.beyond
def test_a_batch_with_history_is_refused(torch):
    def collate(batch):
        return torch.ones(2, requires_grad=True) * 2

    with pytest.raises(RuntimeError, match="expected batches without history"):
        list(data.DataLoader(range(2), num_workers=1, collate_fn=collate))


def test_the_other_samplers_and_datasets_are_pytorchs(agree):
    def program(m):
        d = importlib.import_module(f"{m.__name__}.utils.data")

        class Numbers(d.IterableDataset):
            def __init__(self, count):
                self.count = count

            def __iter__(self):
                return iter(range(self.count))

            def __len__(self):
                return self.count

        weighted = [
            d.WeightedRandomSampler([0.1, 0.0, 3.0, 2.0], 9),
            d.WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False, generator=m.Generator().manual_seed(1)),
        ]
        shared = [
            d.DistributedSampler(range(7), 3, rank, shuffle=shuffle, drop_last=drop)
            for rank in range(3)
            for shuffle in (False, True)
            for drop in (False, True)
        ]
        shared[2].set_epoch(4)
        chain = Numbers(3) + Numbers(2)
        stacked = d.StackDataset(m.arange(4), list("abcd")), d.StackDataset(x=m.arange(4.0), y=m.ones(4, 2))
        return (
            [[list(s), len(s)] for s in [*weighted, *shared]],
            [list(chain), len(chain), list(d.DataLoader(chain, batch_size=2))],
            [[s[1], len(s), list(d.DataLoader(s, batch_size=3))] for s in stacked],
            list(d.RandomSampler(range(3), replacement=True, num_samples=7)),
        )

    agree(program)


def test_many_draws_need_no_list_of_them(torch):
    sampler = data.RandomSampler(range(5), replacement=True, num_samples=10**10)
    drawn = iter(sampler)
    assert len(sampler) == 10**10
    assert all(0 <= next(drawn) < 5 for _ in range(100))
