"""Files of saved objects: what comes back, and that PyTorch reads and writes the same."""

import collections
import io
import pickle
import struct
import warnings
import zipfile

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
    oracle.save(oracle.ones(1, dtype=oracle.uint16), file)
    file.seek(0)
    with pytest.raises(NotImplementedError, match="uint16"):
        torch.load(file)


@pytest.mark.beyond
def test_what_cannot_be_pickled_leaves_the_file_alone(torch, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(1, path)
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        torch.save(lambda: 1, path)
    assert torch.load(path) == 1


def zipped(records, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in records.items():
            archive.writestr(f"archive/{name}", data)
    file.seek(0)
    return file


def tensor_pickle(size=4, offset=b"K\x00", sizes=b"K\x02\x85", strides=b"K\x01\x85"):
    """The pickle of a float tensor, with parts of it given as opcodes."""
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    storage += pickle.dumps(size, 2)[2:-1] + b"tQ"
    rest = b"\x89ccollections\nOrderedDict\n)RtR."
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + sizes + strides + rest


def number(value):
    return pickle.dumps(value, 2)[2:-1]


def test_a_pickle_written_by_hand_is_loaded(torch):
    file = zipped({"data.pkl": tensor_pickle(), "data/0": struct.pack("<4f", 1, 2, 3, 4), "version": "3\n"})
    assert torch.load(file).tolist() == [1.0, 2.0]


@pytest.mark.beyond
@pytest.mark.parametrize(
    "parts",
    [
        {"size": 5},
        {"size": 3},
        {"size": 2**62},
        {"offset": number(3)},
        {"offset": number(-1)},
        {"offset": number(2**64)},
        {"sizes": number(2**61 + 1) + b"\x85", "strides": number(8) + b"\x85"},
        {"sizes": number(2**32) * 2 + b"\x86", "strides": number(0) * 2 + b"\x86"},
        {"sizes": number(-1) + b"\x85"},
        {"strides": number(-1) + b"\x85"},
        {"strides": number(1) * 2 + b"\x86"},
        {"sizes": number("text")},
    ],
)
def test_sizes_must_fit_the_storage(parts, torch):
    file = zipped({"data.pkl": tensor_pickle(**parts), "data/0": bytes(16)})
    with pytest.raises(torch.serialization.LoadError):
        torch.load(file)


@pytest.mark.beyond
@pytest.mark.parametrize(
    "opcodes",
    [
        b"ctorch\nSize\n}X\x05\x00\x00\x00numelNsb.",  # attributes of a class
        b"ctorch._utils\n_rebuild_tensor_v2\n}X\x04\x00\x00\x00evilNsb.",  # of a function
        b"ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00itemsNsb.",  # a method of a dict
        b"ctorch\nFloatStorage\n}X\x04\x00\x00\x00nameNsb.",
        b"ctorch\nSize\n.",  # a type by itself
        b"ctorch\nSize\n)\x81.",  # made without its function
        b"(ctorch\nSize\no.",
        b"(ios\nsystem\n.",
        b"cbuiltins\ngetattr\n.",
        b"ctorch\nSize\nK\x01a.",  # an item for what is no list
        b"\x82\x01.",  # the registry of extensions
        b"}" + b"K\x01\x85" + b"\x85" * 40 + b"Ns.",  # a key that takes long to hash
        b"",
        b".",
        b"h\x05.",
        b"\xff",
    ],
)
def test_a_pickle_calls_and_changes_nothing(opcodes, torch):
    before = dict(vars(torch.Size))
    with pytest.raises(torch.serialization.LoadError):
        torch.load(zipped({"data.pkl": b"\x80\x02" + opcodes}))
    assert dict(vars(torch.Size)) == before


def test_the_error_is_both_that_programs_expect(torch):
    for expected in (pickle.UnpicklingError, RuntimeError):
        with pytest.raises(expected if torch.__name__ == "clew" else Exception):
            torch.load(zipped({"data.pkl": b"\x80\x02cos\nsystem\n."}))


@pytest.mark.beyond
def test_each_way_to_break_a_file_is_the_same_error(torch):
    file = io.BytesIO()
    torch.save({"a": torch.arange(6.0).reshape(2, 3), "b": [torch.tensor(1), 2.5]}, file)
    data = file.getvalue()
    broken = [data[:end] for end in range(0, len(data), 7)]
    for place in range(0, len(data), 5):
        broken.append(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
    refused = 0
    for one in broken:
        try:
            torch.load(io.BytesIO(one))
        except torch.serialization.LoadError:
            refused += 1
    assert refused > len(broken) // 2  # bytes that nothing depends on may change


@pytest.mark.beyond
def test_what_inflates_is_refused(torch):
    bomb = zipped({"data.pkl": tensor_pickle(), "data/0": bytes(1 << 24)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(torch.serialization.LoadError, match="expected 16 bytes"):
        torch.load(bomb)
    pickled = zipped({"data.pkl": b"\x80\x02N." + bytes(1 << 24)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(torch.serialization.LoadError, match="expected at most"):
        torch.load(pickled)


def test_a_compressed_file_is_loaded(torch):
    records = {"data.pkl": tensor_pickle(), "data/0": struct.pack("<4f", 1, 2, 3, 4), "version": "3\n"}
    assert torch.load(zipped(records, zipfile.ZIP_DEFLATED)).tolist() == [1.0, 2.0]


@pytest.mark.beyond
def test_other_bytes_than_0_and_1_are_true(torch):
    pickled = tensor_pickle().replace(b"FloatStorage", b"BoolStorage")
    loaded = torch.load(zipped({"data.pkl": pickled, "data/0": b"\x02\x00\x01\xff"}))
    assert loaded.tolist() == [True, False]
    assert (loaded == torch.tensor([True, False])).tolist() == [True, True]


def test_metadata_counters_and_bytes_come_back(torch):
    model = torch.nn.Linear(1, 1)
    state = model.state_dict()
    loaded = through_file([state, collections.Counter({3: 1, 5: 2})], torch.save, torch.load)
    assert list(loaded[0]) == list(state)
    assert loaded[1] == collections.Counter({3: 1, 5: 2})
    assert through_file([b"\x00\xff"], torch.save, torch.load) == [b"\x00\xff"]


class Breaks:
    def __reduce__(self):
        raise ValueError("cannot be saved")


@pytest.mark.beyond
def test_a_failed_save_leaves_the_old_file(torch, tmp_path, monkeypatch):
    path = tmp_path / "model.pt"
    torch.save([torch.ones(2)], path)
    with pytest.raises(ValueError, match="cannot be saved"):
        torch.save([torch.zeros(2), Breaks()], path)
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *given: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        torch.save([torch.zeros(2)], path)
    monkeypatch.undo()
    assert torch.load(path)[0].tolist() == [1.0, 1.0]
    assert [one.name for one in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.beyond
def test_a_save_that_is_killed_leaves_the_old_file(torch, tmp_path, run_script):
    path = tmp_path / "model.pt"
    torch.save(torch.ones(2), path)
    killed = run_script(
        "import os, sys, zipfile\n"
        "zipfile.ZipFile.writestr = lambda *given: os._exit(7)\n"
        "torch.save(torch.zeros(1000), sys.argv[1])",
        str(path),
        check=False,
    )
    assert killed.returncode == 7
    assert torch.load(path).tolist() == [1.0, 1.0]


def test_a_save_keeps_links_and_permissions(torch, tmp_path):
    path, link = tmp_path / "model.pt", tmp_path / "link.pt"
    torch.save(torch.ones(2), path)
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save(torch.zeros(2), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert torch.load(path).tolist() == [0.0, 0.0]


def contents(m):
    x = m.arange(12.0).reshape(3, 4)
    return {
        "x": x,
        "part": x[1:],
        "parameter": m.nn.Parameter(m.ones(2)),
        "half": m.tensor([1.5, -2.0], dtype=m.bfloat16),
        "truth": m.tensor([True, False]),
        "none": m.zeros(0),
        "complex": m.tensor([1 + 2j]),
        "number": 3,
    }


def numbers(obj):
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in obj.items()}


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("direction", ["from PyTorch", "to PyTorch", "both"])
def test_files_from_before_zip_archives(direction, weights_only, torch, oracle, tmp_path):
    writer = oracle if direction == "from PyTorch" else torch
    reader = oracle if direction == "to PyTorch" else torch
    path = tmp_path / "old"
    writer.save(contents(writer), path, _use_new_zipfile_serialization=False)
    made = reader.load(path, weights_only=weights_only)
    assert numbers(made) == numbers(contents(writer))
    assert made["part"].data_ptr() - made["x"].data_ptr() == 16
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        reader.load(path, mmap=True)


def test_several_old_files_in_one(torch):
    file = io.BytesIO()
    for number in range(3):
        torch.save(torch.tensor(number), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [torch.load(file).item() for _ in range(3)] == [0, 1, 2]


def test_an_old_file_may_not_run_code_and_may_not_claim_memory(torch):
    class Evil:
        def __reduce__(self):
            return print, ("ran",)

    def old(obj):
        file = io.BytesIO()
        torch.save(obj, file, _use_new_zipfile_serialization=False)
        return file.getvalue()

    with pytest.raises(torch.serialization.LoadError, match="Weights only load failed"):
        torch.load(io.BytesIO(old(Evil())))
    whole = old({"x": torch.ones(100)})
    for damaged in (whole[:-1], whole[:-401], whole[:60], whole[:1]):
        with pytest.raises(torch.serialization.LoadError):
            torch.load(io.BytesIO(damaged))
    with pytest.raises(torch.serialization.LoadError, match="in the rest of the file"):
        torch.load(io.BytesIO(whole.replace(b"Kd", b"J\xff\xff\xff\x7f")))  # of a hundred elements, two billion


@pytest.mark.parametrize("direction", ["from PyTorch", "to PyTorch", "both"])
def test_a_file_that_is_mapped(direction, torch, oracle, tmp_path):
    writer = oracle if direction == "from PyTorch" else torch
    reader = oracle if direction == "to PyTorch" else torch
    path = tmp_path / "new"
    writer.save(contents(writer), path)
    made = reader.load(path, mmap=True)
    assert numbers(made) == numbers(contents(writer))
    made["x"].fill_(7.0)
    assert made["part"].tolist() == [[7.0] * 4] * 2
    assert numbers(reader.load(path)) == numbers(contents(writer))
    with pytest.raises(ValueError, match="must be a file path"):
        torch.load(io.BytesIO(path.read_bytes()), mmap=True)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_each_protocol(protocol, torch, oracle):
    file = io.BytesIO()
    torch.save(contents(torch), file, pickle_protocol=protocol)
    for reader in (torch, oracle):
        file.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's own advice about protocols
            assert numbers(reader.load(file, weights_only=False)) == numbers(contents(torch))
    file.seek(0)
    assert numbers(torch.load(file)) == numbers(contents(torch))


def test_what_a_file_names_is_listed(torch):
    class Settings:
        pass

    file = io.BytesIO()
    torch.save([torch.ones(1), collections.OrderedDict(), collections.Counter, Settings.__name__], file)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(file) == []
    for protocol in (2, 4):
        file = io.BytesIO()
        torch.save([collections.deque(), collections.deque(), collections.ChainMap()], file, pickle_protocol=protocol)
        names = torch.serialization.get_unsafe_globals_in_checkpoint(file)
        assert names == ["collections.deque", "collections.ChainMap"]
