"""Files of saved objects: what comes back, and that PyTorch reads and writes the same."""

import collections
import io
import pickle

import pytest


def through_file(obj, save, load, **options):
    file = io.BytesIO()
    save(obj, file)
    file.seek(0)
    return load(file, **options)


def test_tensors_come_back(torch, agree):
    def program(m):
        tensors = {
            "float32": m.tensor([1.0, 2.0]),
            "float64": m.tensor([[1.0], [2.0]], dtype=m.float64),
            "int64": m.tensor(3),
            "int32": m.tensor([1, 2], dtype=m.int32),
            "uint8": m.tensor([1, 2], dtype=m.uint8),
            "bool": m.tensor([True, False]),
            "empty": m.zeros(0, 3),
            "transposed": m.arange(6.0).reshape(2, 3).t(),
        }
        loaded = through_file(tensors, m.save, m.load)
        return loaded, [tuple(tensor.stride()) for tensor in loaded.values()]

    agree(program)


def test_structure_comes_back(torch):
    obj = collections.OrderedDict(
        a=[1, 2.5, "text", None, True], b=(torch.ones(1), {"c": {1, 2}}), size=torch.Size([2])
    )
    loaded = through_file(obj, torch.save, torch.load)
    assert list(loaded) == ["a", "b", "size"]
    assert loaded["a"] == obj["a"]
    assert loaded["b"][1] == {"c": {1, 2}}
    assert loaded["size"] == (2,)


def test_dtypes_and_devices_come_back(torch):
    assert through_file([torch.float64, torch.device("cpu")], torch.save, torch.load) == [
        torch.float64,
        torch.device("cpu"),
    ]


def test_parameters_and_gradients_flags_come_back(torch):
    loaded = through_file(
        [torch.nn.Parameter(torch.ones(2), requires_grad=False), torch.ones(1, requires_grad=True)],
        torch.save,
        torch.load,
    )
    assert type(loaded[0]) is torch.nn.Parameter
    assert not loaded[0].requires_grad
    assert loaded[1].requires_grad


def test_shared_memory_stays_shared(torch):
    base = torch.arange(6.0)
    loaded = through_file([base[1:3], base, base[4:]], torch.save, torch.load)
    loaded[1].fill_(7)
    assert loaded[0].tolist() == [7.0, 7.0]
    assert loaded[2].tolist() == [7.0, 7.0]


def test_a_view_is_saved_with_what_it_needs(torch):
    part = torch.arange(10.0)[6:8]
    assert through_file(part, torch.save, torch.load).tolist() == [6.0, 7.0]


@pytest.mark.parametrize("direction", ["to PyTorch", "from PyTorch"])
def test_files_are_pytorchs(direction, torch, oracle):
    source, target = (torch, oracle) if direction == "to PyTorch" else (oracle, torch)
    model = source.nn.Sequential(source.nn.Linear(2, 3), source.nn.LayerNorm(3))
    optimizer = source.optim.Adam(model.parameters())
    model(source.ones(1, 2)).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    source.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, file)
    file.seek(0)
    loaded = target.load(file)
    twin = target.nn.Sequential(target.nn.Linear(2, 3), target.nn.LayerNorm(3))
    twin.load_state_dict(loaded["model"])
    other = target.optim.Adam(twin.parameters())
    other.load_state_dict(loaded["optimizer"])
    assert loaded["epoch"] == 3
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert ours.tolist() == theirs.tolist()
        assert optimizer.state[ours]["exp_avg"].tolist() == other.state[theirs]["exp_avg"].tolist()


def test_paths_are_taken(torch, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(torch.ones(2), path)
    assert torch.load(str(path), map_location="cpu").tolist() == [1.0, 1.0]


def test_other_objects_are_refused_unless_trusted(torch):
    model = torch.nn.Linear(2, 2)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        through_file(model, torch.save, torch.load)
    twin = through_file(model, torch.save, torch.load, weights_only=False)
    assert (twin.weight == model.weight).all()


@pytest.mark.beyond
def test_files_of_another_kind_are_refused(torch, tmp_path):
    path = tmp_path / "weights.pt"
    path.write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match="load: expected a file that save wrote"):
        torch.load(path)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "absent.pt")
    with pytest.raises(NotImplementedError, match="map_location"):
        torch.load(path, map_location="cuda")


@pytest.mark.beyond
def test_types_that_are_not_supported_say_so(torch, oracle):
    file = io.BytesIO()
    oracle.save(oracle.ones(1, dtype=oracle.float16), file)
    file.seek(0)
    with pytest.raises(NotImplementedError, match="HalfStorage"):
        torch.load(file)


@pytest.mark.beyond
def test_what_cannot_be_pickled_leaves_the_file_alone(torch, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(1, path)
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        torch.save(lambda: 1, path)
    assert torch.load(path) == 1
