"""6.10: damaged, truncated and hostile files lead to a ProgramError, and to nothing else."""

import json
import pickle
import random
import resource
import sys
from collections import Counter
from pathlib import Path

import pytest

import clew

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent / "fuzz"))

import fuzz_files
from hostile import program_files

pytestmark = [pytest.mark.beyond, pytest.mark.filterwarnings("ignore"), pytest.mark.may_leak]


def header_of(path):
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "program.clew"


@pytest.fixture
def parts(path):
    """The content of a program's file, and what else is in it."""
    w = clew.ones(3, requires_grad=True)
    with clew.keep_graph() as program:
        y = (w.reshape(1, 3).exp() * 2).sum(1)
    program.name(w=w, y=y)
    program.save(path)
    return program_files.take_apart(path)


def refuses(path, match=None):
    with pytest.raises(clew.ProgramError, match=match) as caught:
        clew.load_program(path)
    assert type(caught.value) is clew.ProgramError


def test_the_file_is_a_safetensors_file(path):
    x, w = clew.arange(6.0).reshape(2, 3), clew.randn(3, dtype=clew.float64)
    with clew.keep_graph() as program:
        y = (x * w).sum()
    program.name(x=x, w=w, y=y)
    program.save(path)
    header, data = header_of(path)
    assert all(isinstance(value, str) for value in header["__metadata__"].values())
    for name, tensor, dtype in (("x", x, "F32"), ("w", w, "F64")):
        begin, end = header[name]["data_offsets"]
        assert (header[name]["dtype"], header[name]["shape"]) == (dtype, list(tensor.shape))
        assert data[begin:end] == tensor.numpy().tobytes()
    ends = sorted(tuple(one["data_offsets"]) for name, one in header.items() if name != "__metadata__")
    assert [begin for begin, _ in ends] == [0, *[end for _, end in ends[:-1]]]
    assert ends[-1][1] == len(data)


def test_each_cut_and_each_changed_byte_is_seen(path, parts):
    raw = path.read_bytes()
    draw = random.Random(4)
    for end in (0, 1, 7, 8, 9, len(raw) // 2, len(raw) - 1):
        path.write_bytes(raw[:end])
        refuses(path)
    for _ in range(100):
        path.write_bytes(program_files.damage(raw, draw))
        if path.read_bytes() != raw:
            refuses(path)


def test_another_file_is_no_program(path):
    for raw in (
        b"",
        b"\0" * 100,
        b"\xff" * 100,
        pickle.dumps({"a": 1}),
        b"\x02\0\0\0\0\0\0\0{}",
        b"\x02" + b"\0" * 7 + b"[]",
    ):
        path.write_bytes(raw)
        refuses(path)
    deep = b"[" * 100_000
    path.write_bytes(len(deep).to_bytes(8, "little") + deep)
    refuses(path)
    with pytest.raises(OSError, match="No such file"):
        clew.load_program(path.parent / "none")


def changed(path, parts, change):
    content, memories, header = parts
    change(content)
    program_files.put_together(
        path, "clew program", content, {name: bytearray(one) for name, one in memories.items()}, header
    )


def test_the_file_of_another_program_is_called_so(path):
    path.write_text('"""A script."""\nimport clew\n')
    refuses(path, "^not a clew program: expected a file that clew wrote, got another one$")
    clew.save({"w": clew.ones(2)}, path)
    refuses(path, "^not a clew program: .* got a zip archive, as torch.save writes it: clew.load reads those$")


def test_a_size_that_is_only_claimed_takes_no_memory(path, parts):
    def claim(content):
        content["program"]["memories"] = [2**45] * len(content["program"]["memories"])
        for one in content["tensors"]:
            one["shape"], one["stride"] = [2**40], [1]

    changed(path, parts, claim)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refuses(path, "out of bounds")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**15  # kilobytes


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda program: program["steps"][0].update(op="no such operation"), "isn't known here"),
        (lambda program: program["steps"][0].update(inputs=[10**6]), "expected a number below"),
        (lambda program: program["steps"][0].update(inputs=[]), "operands"),
        (lambda program: program["steps"][0].update(outputs=[]), "number of results"),
        (lambda program: program["steps"].reverse(), "nothing has made"),
        (lambda program: program["registers"][-1].__setitem__(0, 0), "on other memory"),
        (lambda program: program["nodes"][1].update(slots=[]), "misses a saved result"),
        (lambda program: program["nodes"][-1].update(edges=[None, None]), "inputs"),
        (lambda program: program["nodes"][0].update(edges=[[5, 0]]), "expected a number below"),
        (lambda program: program["steps"][-1].update(writes=[[0, 1, 0]]), "writes"),
        (lambda program: program["inputs"].append(program["inputs"][0]), "two inputs"),
        (lambda program: program["living"].append(program["living"][0]), "one tensor"),
    ],
)  # fmt: skip
def test_a_program_that_does_not_hold_together(path, parts, change, match):
    changed(path, parts, lambda content: change(content["program"]))
    refuses(path, match)


def test_what_a_loaded_program_fails_with_is_a_program_error(path):
    table, places = clew.randn(5, 2), clew.tensor([0, 4])
    with clew.keep_graph() as program:
        y = table.index_select(0, places)
    program.name(places=places, y=y)
    program.save(path)
    loaded = clew.load_program(path)
    loaded["places"].fill_(5)
    for run in (loaded.run, loaded["y"].forward):
        with pytest.raises(clew.ProgramError, match="index"):
            run()


def test_mutated_files_have_one_kind_of_error(path):
    outcomes = program_files.check(path, 150, "suite ")
    assert outcomes["refused"] > 50
    assert sum(count for outcome, count in outcomes.items() if outcome.startswith("ran")) > 5


@pytest.mark.slow
def test_two_thousand_mutated_files(path):
    outcomes = program_files.check(path, 2000)
    assert sum(outcomes.values()) == 2000


@pytest.mark.unsanitized("it starts one process after the other")
def test_random_programs_do_the_same_from_their_files(tmp_path):
    counts = Counter()
    for place in range(60):
        assert not fuzz_files.check(f"k:{place}", tmp_path, counts), fuzz_files.fuzz_kept.statements_of(f"k:{place}")
    assert counts["saved"] > 15
    assert counts["runs"] > 30
    assert counts["forwards"] > 20
