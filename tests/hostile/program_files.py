"""Program files that say anything: mutated at random, with a digest that is right again."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clew
from clew._files import container

NUMBERS = (0, 1, 2, 3, 5, 7, 8, 16, 31, 64, 255, 4096, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**200)
OTHERS = (None, True, False, "", "x", [], {}, 0.5, -0.0, 1e300, [0], {"float": "nan"}, {"dtype": "int64"})


def train(model: Any, x: clew.Tensor, loss_of: Callable[[clew.Tensor], clew.Tensor]) -> clew.keep.Program:
    """The second training step of a model, kept."""
    optimizer = clew.optim.AdamW(model.parameters(), lr=0.01)

    def step() -> clew.Tensor:
        optimizer.zero_grad()
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()
        return loss

    step()
    with clew.keep_graph() as program:
        loss = step()
    program.name(x=x, loss=loss)
    return program


class Tokens(clew.nn.Module):
    """Embedding, attention, normalization and a window of them."""

    def __init__(self) -> None:
        super().__init__()
        self.table = clew.nn.Embedding(7, 8)
        self.layer = clew.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.1, activation="gelu", batch_first=True)

    def forward(self, x: clew.Tensor) -> clew.Tensor:
        return self.layer(self.table(x))[:, 1:]


class Recurrent(clew.nn.Module):
    """A layer of each kind, and a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = clew.nn.LSTM(3, 4), clew.nn.GRU(4, 4)
        self.cell = clew.nn.LSTMCell(4, 4)

    def forward(self, x: clew.Tensor) -> clew.Tensor:
        return self.cell(self.gru(self.lstm(x)[0])[0][-1])[0]


def shifted() -> clew.keep.Program:
    """Indices, scatters, views, writes through views, a random draw and a value that Python reads."""
    x = clew.randn(4, 5, requires_grad=True)
    index = clew.tensor([[0, 2, 1], [3, 3, 0]])
    with clew.keep_graph() as program:
        h = (x * 2).sigmoid().clone()
        h[1].mul_(3)
        picked = h.gather(0, index.T.contiguous()[:2, :2]) + x[index[0]][:2, :2]
        put = clew.zeros(4, 5).index_add(0, index[0], h[:3]).scatter(1, index[:, :2], picked)
        if put.sum().item() > -1e9:
            y = (put.cumsum(1).amax(0).sort().values * clew.rand(5)).std() + clew.cat([h, put]).median()
    program.name(x=x, y=y, h=h)
    return program


def models() -> dict[str, tuple[Any, clew.Tensor, Callable[[clew.Tensor], clew.Tensor]]]:
    """Models, what goes in, and a loss of what comes out."""
    nn = clew.nn
    clew.manual_seed(1)
    pictures = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.SiLU(), nn.MaxPool2d(2), nn.GroupNorm(2, 4),
        nn.BatchNorm2d(4, track_running_stats=False), nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(0.2),
        nn.Linear(4, 3), nn.LogSoftmax(1),
    )  # fmt: skip
    target = clew.tensor([0, 2])
    return {
        "pictures": (pictures, clew.randn(2, 2, 4, 4), lambda y: clew.nn.functional.nll_loss(y, target)),
        "tokens": (Tokens(), clew.tensor([[1, 2, 6], [0, 4, 4]]), lambda y: y.square().mean()),
        "recurrent": (Recurrent(), clew.randn(3, 2, 3), lambda y: y.norm() + y.abs().amax()),
    }


def specimens() -> dict[str, clew.keep.Program]:
    """Programs of many kinds."""
    return {name: train(*one) for name, one in models().items()} | {"shifted": shifted()}


def graphs() -> dict[str, clew.Tensor]:
    """Results with graphs of many kinds."""
    found = {name: loss_of(model(x)) for name, (model, x, loss_of) in models().items()}
    return found | {"shifted": shifted()["y"]}


def take_apart(path: Path) -> tuple[Any, dict[str, memoryview], Any]:
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    kind = header.pop("__metadata__")["format"]
    content, memories = container.read(path, kind)
    return content, memories, header


def put_together(path: Path, kind: str, content: Any, memories: dict[str, bytearray], header: Any) -> None:
    """A file with that content and a digest that is right."""
    entries = [
        container.Entry(name, header[name]["dtype"], tuple(header[name]["shape"]), memoryview(data))
        for name, data in memories.items()
    ]
    container.write(path, kind, content, entries)


def places(value: Any) -> list[tuple[Any, Any]]:
    """(list or dict, key) of all that is in it."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        one = stack.pop()
        keys = range(len(one)) if isinstance(one, list) else list(one) if isinstance(one, dict) else ()
        for key in keys:
            found.append((one, key))
            stack.append(one[key])
    return found


def mutate(content: Any, memories: dict[str, bytearray], draw: random.Random) -> None:
    """Change a few things in place."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if draw.random() < 0.1:
            change_bytes(memories, draw)
            continue
        all_places = places(content)
        owner, key = draw.choice(all_places)
        value = owner[key]
        how = draw.random()
        if isinstance(value, bool) and how < 0.5:
            owner[key] = not value
        elif isinstance(value, bool) or value is None or how < 0.08:
            owner[key] = draw.choice(OTHERS)
        elif isinstance(value, int):
            owner[key] = draw.choice(
                (value + 1, value - 1, -value, -1, value * 2, draw.choice(NUMBERS), draw.randrange(60))
            )
        elif isinstance(value, str):
            like = [other[at] for other, at in all_places if at == key and isinstance(other[at], str)]
            owner[key] = draw.choice((*like, *like, value + "x", "_" + value, ""))
        elif isinstance(value, list) and value:
            change_list(value, draw)
        elif isinstance(value, dict) and value:
            like = [
                other[at]
                for other, at in all_places
                if isinstance(other[at], dict) and other[at].keys() == value.keys()
            ]
            owner[key] = json.loads(json.dumps(draw.choice(like)))
        else:
            owner[key] = draw.choice(OTHERS)


def change_list(value: list[Any], draw: random.Random) -> None:
    at, other = draw.randrange(len(value)), draw.randrange(len(value))
    how = draw.randrange(4)
    if how == 0:
        del value[at]
    elif how == 1:
        value.insert(at, json.loads(json.dumps(value[other])))
    elif how == 2:
        value[at], value[other] = value[other], value[at]
    else:
        value[at] = json.loads(json.dumps(value[other]))


def change_bytes(memories: dict[str, bytearray], draw: random.Random) -> None:
    data = memories[draw.choice(list(memories))]
    if not data:
        return
    begin = draw.randrange(len(data))
    if draw.random() < 0.3:
        del data[begin:]
    else:
        for at in range(begin, min(begin + 8, len(data))):
            data[at] = draw.choice((0, 1, 127, 128, 255, draw.randrange(256)))


def damage(raw: bytes, draw: random.Random) -> bytes:
    """Bytes changed, cut off, left out or put in, as by a bad disk: the digest is wrong then."""
    at = draw.randrange(len(raw))
    how = draw.randrange(4)
    if how == 0:
        return raw[:at]
    if how == 1:
        return raw[:at] + bytes([raw[at] ^ 1 << draw.randrange(8)]) + raw[at + 1 :]
    if how == 2:
        return raw[:at] + raw[at + draw.randrange(1, 9) :]
    return raw[:at] + draw.randbytes(draw.randrange(1, 9)) + raw[at:]


def use(path: Path) -> str:
    """Load a file and do all that can be done with a program; what became of it."""
    try:
        program = clew.load_program(path)
    except clew.ProgramError:
        return "refused"
    outcome = "ran"
    for _ in range(2):
        try:
            program.run()
        except clew.ProgramError:
            outcome = "failed"
    for tensor in program._names.values():
        try:
            tensor.forward()
        except RuntimeError:  # ProgramError, or an input, which has no forward()
            continue
        if tensor.requires_grad and not tensor.is_leaf:
            try:
                tensor.sum().backward()
            except RuntimeError:
                outcome += ", backward failed"
    str(program)
    return outcome


def use_graph(path: Path) -> str:
    """Thaw a file and run its backward; what became of it."""
    try:
        result = clew.graph.thaw(path)
    except clew.ProgramError:
        return "refused"
    clew.graph.leaves(result)
    result.sum().backward()
    return "ran"


def check(path: Path, count: int, seed: str = "") -> dict[str, int]:
    """So many mutated files of all specimens: what became of them."""
    files = {}
    for name, program in specimens().items():
        program.save(path)
        files[name] = path.read_bytes()
    return _check(path, "clew program", files, use, range(count), seed)


def check_graphs(path: Path, count: int, seed: str = "") -> dict[str, int]:
    """The same of frozen graphs."""
    files = {}
    for name, result in graphs().items():
        clew.graph.freeze(result, path)
        files[name] = path.read_bytes()
    return _check(path, "clew graph", files, use_graph, range(count), seed)


def _check(
    path: Path, kind: str, files: dict[str, bytes], use_file: Callable[[Path], str], numbers: range, seed: str
) -> dict[str, int]:
    outcomes: dict[str, int] = {}
    for number in numbers:
        draw = random.Random(f"{seed}{number}")
        raw = files[draw.choice(list(files))]
        if draw.random() < 0.1:
            path.write_bytes(damage(raw, draw))
        else:
            path.write_bytes(raw)
            content, memories, header = take_apart(path)
            copies = {name: bytearray(data) for name, data in memories.items()}
            mutate(content, copies, draw)
            put_together(path, kind, content, copies, header)
        try:
            outcome = use_file(path)
        except BaseException as error:
            error.add_note(f"file {seed}{number}")
            raise
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes
