"""Damaged files: truncated, with bits turned over, spliced, with a changed pickle, and pickles of any opcodes."""

import io
import itertools
import pickle
import pickletools
import random
import zipfile

import clew as torch

OPCODES = [opcode.code.encode("latin-1") for opcode in pickletools.opcodes]
GLOBALS = (
    "torch._utils\n_rebuild_tensor_v2",
    "torch._utils\n_rebuild_parameter",
    "torch\nSize",
    "torch\nFloatStorage",
    "torch\nfloat32",
    "torch\ndevice",
    "collections\nOrderedDict",
    "builtins\nset",
    "builtins\ncomplex",
    "builtins\ngetattr",
    "os\nsystem",
    "torch\nTensor",
    "torch\nload",
    "clew.serialization._archive\nStoredType",
)
NUMBERS = (0, 1, 2, 3, 255, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -1, -(2**63), 2**64, 10**30)


def _saved(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


def _whole():
    base = torch.arange(12.0).reshape(3, 4)
    return (
        _saved(torch.arange(6.0)),
        _saved({"a": base, "b": base[1:, ::2], "c": torch.tensor(3), "d": [torch.ones(0, 3), None, 2.5, "text"]}),
        _saved(torch.nn.Linear(2, 3).state_dict()),
        _saved([torch.nn.Parameter(torch.ones(2)), torch.Size([2, 3]), torch.float64, torch.device("cpu"), {1, 2}]),
        _saved(
            [torch.ones(2, dtype=dtype) for dtype in (torch.bool, torch.uint8, torch.int32, torch.int64, torch.float64)]
        ),
    )


WHOLE = _whole()


def _records(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(records, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in records:
            archive.writestr(name, data)
    return file.getvalue()


def _turned(draw, data, count):
    data = bytearray(data)
    for _ in range(count if data else 0):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(data)


def _number(draw):
    value = draw.choice(NUMBERS)
    return pickle.dumps(value, 2)[2:-1]


def _changed_pickle(draw, data):
    """The pickle with some of its opcodes replaced, dropped, doubled or moved, and numbers exchanged."""
    positions = [position for _, _, position in pickletools.genops(data)] + [len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(positions)]
    for _ in range(draw.choice((1, 1, 2, 5))):
        place = draw.randrange(len(pieces))
        kind = draw.randrange(7)
        if kind == 0:
            pieces[place] = _number(draw)
        elif kind == 1:
            pieces[place] = b""
        elif kind == 2:
            pieces.insert(place, pieces[draw.randrange(len(pieces))])
        elif kind == 3:
            pieces[place] = draw.choice(OPCODES)
        elif kind == 4:
            pieces[place] = b"c" + draw.choice(GLOBALS).encode() + b"\n"
        elif kind == 5:
            pieces.insert(place, draw.choice((b"b", b"}b", b"(dU\x01ai\x01sb", b"R", b")R", b"Q", b"0", b"2", b"\x81")))
        else:
            numbers = [i for i, piece in enumerate(pieces) if piece[:1] in (b"K", b"M", b"J")]
            if numbers:
                pieces[draw.choice(numbers)] = _number(draw)
    return b"".join(pieces)


def _any_pickle(draw):
    """Opcodes one after the other, with arguments that fit them here and there."""
    made = [b"\x80\x02"]
    for _ in range(draw.randrange(1, 25)):
        chance = draw.random()
        if chance < 0.25:
            made.append(_number(draw))
        elif chance < 0.45:
            made.append(b"c" + draw.choice(GLOBALS).encode() + b"\n")
        elif chance < 0.6:
            made.append(
                draw.choice((b")", b"]", b"}", b"(", b"t", b"R", b"b", b"Q", b"\x85", b"\x86", b"\x87", b"0", b"2"))
            )
        else:
            made.append(draw.choice(OPCODES) + draw.choice((b"", b"\x00", b"\x01\x00\x00\x00", b"a\n", b"1\n")))
    return b"".join([*made, b"."])


def damaged_file(seed):
    """The bytes of a file that is broken in some way."""
    draw = random.Random(seed)
    data, other = draw.choice(WHOLE), draw.choice(WHOLE)
    kind = draw.randrange(8)
    if kind == 0:
        return data[: draw.randrange(len(data))]
    if kind == 1:
        return _turned(draw, data, draw.choice((1, 2, 10)))
    if kind == 2:
        return data[: draw.randrange(len(data))] + other[draw.randrange(len(other)) :]
    records = _records(data)
    compression = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    if kind == 3:
        name = draw.choice(sorted(records))
        records[name] = _turned(draw, records[name], draw.choice((1, 3)))
    elif kind == 4:
        name = draw.choice(sorted(records))
        records[name] = records[name][: draw.randrange(len(records[name]) + 1)] + draw.choice((b"", b"x", b"\0" * 1000))
    elif kind == 5:
        names = sorted(records)
        del records[draw.choice(names)]
        records.update({draw.choice(names): draw.choice((b"", b"big", b"\x80\x02N."))} if draw.random() < 0.5 else {})
    else:
        pickled = next(name for name in records if name.endswith("data.pkl"))
        records[pickled] = _changed_pickle(draw, records[pickled]) if kind == 6 else _any_pickle(draw)
    packed = list(records.items())
    if draw.random() < 0.1:
        packed.append(draw.choice(packed))
    return _packed(packed, compression)


def _use(obj):
    """Read all tensors that a file gave."""
    if isinstance(obj, torch.Tensor):
        if obj.numel() < 1 << 20:
            obj.sum()
            repr(obj)
    elif isinstance(obj, dict):
        for one in obj.values():
            _use(one)
    elif isinstance(obj, list | tuple | set | frozenset):
        for one in obj:
            _use(one)


def load_damaged(seed):
    """Load a damaged file, and read what it gave."""
    try:
        loaded = torch.load(io.BytesIO(damaged_file(seed)))
    except (torch.serialization.LoadError, NotImplementedError):
        return
    except Exception as error:
        raise SystemError(f"{type(error).__name__} for a damaged file: {error}") from error
    _use(loaded)
