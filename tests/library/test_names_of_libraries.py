"""Names that libraries reach for behind PyTorch's public ones, and that do something."""

import importlib
import io
import pickle

import pytest


def test_loaders_may_set_the_kind_of_their_data(torch):
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(3)))
    assert loader._dataset_kind == 0
    loader._dataset_kind = 1
    assert loader._dataset_kind == 1


def test_a_library_of_kernels_is_a_file_that_can_not_be_loaded(torch):
    with pytest.raises(OSError, match="load_library"):
        torch.ops.load_library("kernels.so")


def test_serialization_has_pickle(torch):
    assert torch.serialization.pickle is pickle


def test_the_line_search_finds_what_pytorchs_finds(torch, oracle):
    def found(m):
        search = importlib.import_module(f"{m.__name__}.optim.lbfgs")._strong_wolfe
        start, direction = m.tensor([2.0, -1.0]), m.tensor([-1.0, 3.0])

        def at(x, t, d):
            y = (x + t * d).requires_grad_()
            loss = ((y - 0.5) ** 4).sum()
            return float(loss.detach()), m.autograd.grad(loss, y)[0]

        loss, grad = at(start, 0.0, direction)
        loss, grad, t, calls = search(at, start, 1.0, direction, loss, grad, grad.dot(direction))
        return [loss, *grad.tolist(), t, calls]

    assert found(torch) == pytest.approx(found(oracle), rel=1e-5)


@pytest.mark.parametrize("bounds", [None, (0.2, 0.3)])
@pytest.mark.parametrize("ends", [(0.0, 1.0, -2.0, 1.0, 0.5, 1.0), (1.0, 0.5, 1.0, 0.0, 1.0, -2.0)])
def test_the_cubic_is_least_where_pytorchs_is(ends, bounds, torch, oracle):
    found, wanted = (
        float(importlib.import_module(f"{m.__name__}.optim.lbfgs")._cubic_interpolate(*map(m.tensor, ends), bounds))
        for m in (torch, oracle)
    )
    assert found == pytest.approx(wanted, rel=1e-6)


def test_a_factorization_that_stops_leaves_what_lapack_leaves(torch, oracle):
    rows = [[4.0, 2.0, 1.0], [2.0, 3.0, 1.0], [1.0, 1.0, -5.0]], [[4.0, 2.0, 1.0], [2.0, -3.0, 1.0], [1.0, 1.0, 9.0]]
    for upper in (False, True):
        (found, at), (wanted, at_theirs) = (
            m.linalg.cholesky_ex(m.tensor(rows, dtype=m.float64), upper=upper) for m in (torch, oracle)
        )
        assert at.tolist() == at_theirs.tolist() == [3, 2]
        assert found.flatten().tolist() == pytest.approx(wanted.flatten().tolist())


def test_a_storage_on_a_file_is_cut_into_tensors(torch, oracle, tmp_path):
    file = tmp_path / "numbers"
    found = []
    for m in (torch, oracle):
        file.write_bytes(bytes(range(32)))
        storage = m.UntypedStorage.from_file(str(file), False, 32).untyped()
        part = storage[8:24]
        values = m.asarray(part, dtype=m.uint8)
        values[0] = 200  # which the file does not get
        wide = m.asarray(part, dtype=m.int64)
        shared = m.UntypedStorage.from_file(str(file), True, 34)
        m.asarray(shared[32:], dtype=m.uint8).fill_(7)
        found.append([part.nbytes(), part[4:6].tolist(), part.tolist(), storage[8], wide.tolist(), file.read_bytes()])
        with pytest.raises(RuntimeError, match="step of"):
            storage[::2]
        with pytest.raises(RuntimeError, match="35"):
            m.UntypedStorage.from_file(str(file), False, 35)
    assert found[0] == found[1]


def test_pytorchs_plain_pickles_are_read(torch, oracle):
    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            where = module.replace("torch", torch.__name__, 1) if module.startswith("torch") else module
            return super().find_class(where, name)

    base = oracle.arange(6.0)
    given = [base[1:].view(5), oracle.ones(2, 3).t(), oracle.ones(2, dtype=oracle.bfloat16), oracle.eye(2)]
    given.append(given[-1].clone().requires_grad_())
    found = Unpickler(io.BytesIO(pickle.dumps(given))).load()
    for ours, theirs in zip(found, given, strict=True):
        assert type(ours) is torch.Tensor
        assert ours.tolist() == theirs.tolist()
        assert ours.stride() == theirs.stride()
        assert (str(ours.dtype), ours.requires_grad) == (str(theirs.dtype), theirs.requires_grad)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("batch_size", [2, None])
def test_a_pass_through_a_loader_may_be_derived_from(stream, batch_size, torch, oracle):
    def found(m):
        data = importlib.import_module(f"{m.__name__}.utils.data.dataloader")

        class Stream(m.utils.data.IterableDataset):
            def __iter__(self):
                return iter(range(5))

        ours = m is torch  # where the name is there for programs that run as PyTorch's
        place = importlib.import_module("clew.utils.data.iterators") if ours else data

        class Pass(place._BaseDataLoaderIter):
            def __init__(self, loader):
                super().__init__(loader)
                self._fetcher = data._DatasetKind.create_fetcher(
                    self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
                )

            def _next_data(self):
                return self._fetcher.fetch(self._next_index())

        loader = m.utils.data.DataLoader(Stream() if stream else list(range(5)), batch_size=batch_size)
        loader.check_worker_number_rationality()
        once = Pass(loader)
        seen = [[one.tolist() if hasattr(one, "tolist") else one for one in once], once._num_yielded]
        if stream:
            return [*seen, once._fetcher.ended, list(once._fetcher.dataset_iter)]
        once._reset(loader)
        again = next(once)
        return [*seen, again.tolist() if hasattr(again, "tolist") else again, len(once), once._fetcher.dataset]

    assert found(torch) == found(oracle)
