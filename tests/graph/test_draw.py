"""`clew.graph.draw` and `film`: what a picture says of a graph, and the formats that it comes in."""

import base64
import builtins
import doctest
import gc
import importlib
import json
import re
import xml.etree.ElementTree
import zlib

import numpy
import pytest

import clew
from clew.graph import draw, film, walk
from clew.graph.columns import Table
from clew.graph.folding import KINDS, MOST_CHILDREN, first_unfolded, fold
from clew.graph.page import Page, bars, table
from clew.graph.repeats import find_repeats

pytestmark = pytest.mark.beyond

TYPES = {"B": "u1", "I": "<u4", "i": "<i4", "d": "<f8"}


def embedded(page):
    """What a page knows of its graph, decoded here and not by the code under test."""
    head = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL).group(1))
    block = zlib.decompress(base64.b64decode(head["columns"]))
    columns = {
        name: numpy.frombuffer(block, TYPES[code], count, offset) for name, code, offset, count in head["layout"]
    }
    return head, columns


@pytest.mark.parametrize("name", ["columns", "dot", "draw", "module_guess", "page.charts", "page.page", "repeats"])
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(f"clew.graph.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.fixture
def mlp():
    clew.manual_seed(0)
    return clew.nn.Sequential(clew.nn.Linear(4, 8), clew.nn.ReLU(), clew.nn.Linear(8, 1))


@pytest.fixture
def loss(mlp):
    return (mlp(clew.ones(3, 4)) ** 2).mean()


class Double(clew.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


# What is in it


def test_a_picture_has_each_node_of_the_walk_once_and_the_result(mlp, loss):
    nodes = walk([loss.grad_fn])
    rows = list(draw(loss).rows())
    operations = sorted(node.name() for node in nodes if node.name() != "AccumulateGrad")
    assert sorted(row.title for row in rows if row.kind == "operation") == operations
    assert sum(row.kind == "leaf" for row in rows) == len(list(mlp.parameters()))
    assert [row.title for row in rows if row.kind == "result"] == ["result"]
    edges = sum(below is not None for node in nodes for below, _ in node.next_functions)
    assert sum(len(row.inputs) for row in rows) == edges + 1


def test_inputs_come_before_what_uses_them(loss):
    for number, row in enumerate(draw(loss).rows()):
        assert all(below < number for below in row.inputs)


def test_the_edges_are_those_of_the_graph():
    x = clew.ones(2, requires_grad=True)
    rows = list(draw((x.exp() * x.sin()).sum(), {"x": x}).rows())
    found = sorted((rows[below].title, row.title) for row in rows for below in row.inputs)
    assert found == [
        ("ExpBackward0", "MulBackward0"),
        ("MulBackward0", "SumBackward0"),
        ("SinBackward0", "MulBackward0"),
        ("SumBackward0", "result"),
        ("x", "ExpBackward0"),
        ("x", "SinBackward0"),
    ]


def test_params_name_the_leaves(mlp, loss):
    named = draw(loss, params=dict(mlp.named_parameters()))
    assert sorted(row.title for row in named.rows() if row.kind == "leaf") == sorted(dict(mlp.named_parameters()))
    assert {row.title for row in draw(loss).rows() if row.kind == "leaf"} == {"leaf"}


def test_a_row_says_line_shape_and_what_was_saved():
    x = clew.ones(3, 4, requires_grad=True)
    y = x.exp()  # the line that is named
    (row,) = [row for row in draw(y).rows() if row.kind == "operation"]
    assert row.place.file == __file__
    assert row.place.source == "y = x.exp()  # the line that is named"
    assert row.shape == "(3, 4) float32"
    (slot,) = row.saved
    assert (slot.name, slot.shape, slot.nbytes, slot.state) == ("result", "(3, 4) float32", 48, "held")


def test_memory_that_two_slots_share_is_marked_once():
    x = clew.ones(5, requires_grad=True)
    (row,) = [row for row in draw(x * x).rows() if row.kind == "operation"]
    assert [slot.is_shared for slot in row.saved] == [False, True]


def test_attributes_are_written_and_cut():
    x = clew.ones(2, 3, requires_grad=True)
    y = (x**3).sum(dim=1)
    by_title = {row.title: row.attributes for row in draw(y, show_attrs=True).rows()}
    assert by_title["SumBackward1"] == "dim=(1,), keepdim=False"
    assert by_title["PowBackward0"] == "exponent=3"
    assert not any(row.attributes for row in draw(y).rows())
    cut = {row.title: row.attributes for row in draw(y, show_attrs=True, max_attr_chars=5).rows()}
    assert cut["PowBackward0"] == "expon"


# What can be drawn


@pytest.mark.parametrize("wrap", [list, tuple, lambda two: dict(zip(("a", "b"), two, strict=True))])
def test_several_tensors_share_one_picture(wrap):
    x = clew.ones(2, requires_grad=True)
    h = x.exp()
    rows = list(draw(wrap([h.sum(), h.mean()])).rows())
    assert [row.title for row in rows].count("ExpBackward0") == 1
    assert sum(row.kind == "result" for row in rows) == 2


def test_the_keys_of_a_dict_are_the_names():
    x = clew.ones(2, requires_grad=True)
    titles = [row.title for row in draw({"loss": x.sum(), "penalty": x.exp()}).rows() if row.kind == "result"]
    assert titles == ["loss", "penalty"]


def test_a_node_can_be_drawn(loss):
    rows = list(draw(loss.grad_fn).rows())
    assert len(rows) == len(walk([loss.grad_fn]))
    assert not any(row.kind == "result" for row in rows)


@pytest.mark.parametrize(
    ("make", "kind", "remark"),
    [
        (lambda: clew.ones(2, requires_grad=True), "leaf", "a leaf"),
        (lambda: clew.tensor([1, 2]), "result", "int64 values have no gradient"),
        (lambda: clew.ones(2, requires_grad=True).exp().detach(), "result", "lost on the way: detach at test_draw.py"),
    ],
)
def test_a_tensor_without_history_is_one_box_with_the_reason(make, kind, remark):
    picture = draw(make())
    (row,) = picture.rows()
    assert row.kind == kind
    assert remark in row.remark
    head, columns = embedded(picture.html)
    assert len(columns["kind"]) == 1
    assert remark in head["remarks"]["0"]
    assert picture.dot.count("->") == 0


def test_the_node_of_a_leaf_can_be_drawn():
    x = clew.ones(2, requires_grad=True)
    node = x.exp().grad_fn.next_functions[0][0]
    (row,) = draw(node, {"x": x}).rows()
    assert (row.kind, row.title) == ("leaf", "x")


def test_a_custom_function_is_drawn_with_what_it_saved():
    x = clew.ones(3, requires_grad=True)
    y = Double.apply(x)
    (row,) = [row for row in draw(y).rows() if row.kind == "operation"]
    assert row.title == "DoubleBackward"
    assert [(slot.shape, slot.state) for slot in row.saved] == [("(3,) float32", "held")]
    assert row.place.file == __file__


def test_a_freed_graph_says_who_freed_it():
    x = clew.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    rows = {row.title: row for row in draw(y).rows()}
    assert rows["MulBackward0"].state == "freed"
    assert {slot.state for slot in rows["MulBackward0"].saved} == {"freed"}
    assert rows["MulBackward0"].released.place.source == "y.backward()"
    assert draw(y).snapshots[0].label == "now"


def test_packed_tensors_are_packed():
    x = clew.ones(3, requires_grad=True)
    with clew.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), clew.from_numpy):
        y = x.exp()
    (row,) = [row for row in draw(y).rows() if row.kind == "operation"]
    assert row.state == "packed"


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (3, TypeError, "got int"),
        (None, TypeError, "got NoneType"),
        ([], ValueError, "at least one tensor"),
        ({}, ValueError, "at least one tensor"),
        ([1.0], TypeError, "in the list, got float"),
        (clew.nn.Linear(1, 1), TypeError, "got Linear; call the module"),
    ],
)
def test_what_cannot_be_drawn_is_refused(wrong, error, words):
    with pytest.raises(error, match=re.escape(words)) as raised:
        draw(wrong)
    assert str(raised.value).startswith("draw: expected")


def test_params_must_map_names_to_tensors(mlp, loss):
    with pytest.raises(TypeError, match=r"draw: expected params .* pass dict\(model.named_parameters\(\)\)"):
        draw(loss, params=mlp.named_parameters())


# Its life


def test_a_film_shows_what_each_backward_frees():
    x = clew.ones(3, requires_grad=True)
    y = x.exp()
    with film(y, {"x": x}) as picture:
        y.sum().backward(retain_graph=True)
        y.sum().backward()
    states = [[slot.state for row in picture.rows(moment) for slot in row.saved] for moment in range(3)]
    assert states == [["held"], ["held"], ["freed"]]
    labels = [snapshot.label for snapshot in picture.snapshots]
    assert labels[:2] == ["built", "after backward(), graph kept"]
    assert labels[2].startswith("after backward() at test_draw.py:")
    norms = [[row.gradient_norm for row in picture.rows(moment) if row.kind == "leaf"] for moment in range(3)]
    expected = numpy.sqrt(3) * numpy.e
    assert norms[0] == [None]
    assert norms[1] == pytest.approx([expected], rel=1e-6)
    assert norms[2] == pytest.approx([2 * expected], rel=1e-6)


def test_a_film_notes_no_backward_of_another_graph():
    x, other = clew.ones(3, requires_grad=True), clew.ones(3, requires_grad=True)
    y = x.exp()
    with film(y) as picture:
        other.exp().sum().backward()
    assert [snapshot.label for snapshot in picture.snapshots] == ["built"]


def test_a_film_ends_when_its_block_does():
    x = clew.ones(3, requires_grad=True)
    y = x.exp()
    with film(y) as picture:
        pass
    y.sum().backward()
    assert len(picture.snapshots) == 1


def test_a_picture_keeps_no_graph_alive():
    before = clew._core.graph_counters()["nodes_alive"]
    x = clew.ones(3, requires_grad=True)
    y = x.exp()
    picture = draw(y)
    del y
    gc.collect()
    assert clew._core.graph_counters()["nodes_alive"] <= before + 1  # the leaf's own node
    picture.snapshot("later")
    assert [row.state for row in picture.rows() if row.kind == "operation"] == ["gone"]
    assert [row.state for row in picture.rows(0) if row.kind == "operation"] == ["held"]


def test_a_norm_that_is_no_number_reaches_the_page():
    x = clew.zeros(1, requires_grad=True)
    y = x.sqrt()
    y.sum().backward()
    head, _ = embedded(draw(y).html)
    assert list(head["snapshots"][0]["gradients"].values()) == ["inf"]


# Folding


def groups_of(picture, kind):
    groups = picture.groups
    return {
        picture.columns.text.values[groups.label[number]]
        for number in range(1, len(groups))
        if KINDS[groups.kind[number]] == kind
    }


def square(x):
    y = x * x
    return y + x


def test_a_function_is_a_group():
    x = clew.ones(2, requires_grad=True)
    picture = draw(square(x.exp()).sum())
    assert groups_of(picture, "function") == {"square()"}


def test_the_same_lines_again_and_again_are_a_loop():
    x = clew.ones(2, requires_grad=True)
    y = x
    for _ in range(7):
        y = y.exp()
        y = y * x
    first = draw(y).groups
    (label,) = groups_of(draw(y), "loop")
    assert re.fullmatch(r"test_draw\.py:\d+-\d+ × 7", label)  # noqa: RUF001
    assert sum(KINDS[kind] == "step" for kind in first.kind) == 7


def test_what_consumes_a_parameter_belongs_to_its_module(mlp, loss):
    picture = draw(loss, dict(mlp.named_parameters()))
    assert groups_of(picture, "module") == {"0", "2"}
    label = {number: picture.columns.text.values[label] for number, label in enumerate(picture.groups.label)}
    homes = {row.title: label[picture.groups.node_group[at]] for at, row in enumerate(picture.rows())}
    assert homes["0.weight"] == "0"
    assert homes["2.bias"] == "2"
    assert homes["ReluBackward0"] == ""


def test_module_of_is_believed(loss):
    picture = draw(loss, module_of=lambda node: "head.out" if node.name().startswith("Addmm") else None)
    assert groups_of(picture, "module") == {"head.out"}


def test_every_group_is_an_unbroken_piece_and_none_is_long():
    x = clew.ones(2, requires_grad=True)
    generator = numpy.random.default_rng(3)
    made = [x]
    for _ in range(700):
        one, other = (made[-1 - int(number)] for number in generator.integers(0, min(9, len(made)), 2))
        made.append(one * other if generator.random() < 0.5 else one + other)
    groups = draw(made[-1]).groups
    children = [0] * len(groups)
    for number in range(1, len(groups)):
        parent = groups.parent[number]
        children[parent] += 1
        assert groups.first[parent] <= groups.first[number] < groups.end[number] <= groups.end[parent]
    for number, group in enumerate(groups.node_group):
        children[group] += 1
        assert groups.first[group] <= number < groups.end[group]
    assert max(children[1:]) <= MOST_CHILDREN
    assert children[0] <= MOST_CHILDREN + 1  # and the result


def test_a_long_graph_is_folded_at_first_and_a_short_one_is_not():
    def chain(length):
        y = clew.ones(1, requires_grad=True)
        for _ in range(length):
            y = y.exp()
        return draw(y)

    short, long = chain(8), chain(2000)
    assert len(first_unfolded(short.groups)) == len(short.groups)
    assert first_unfolded(long.groups) == [0]


@pytest.mark.parametrize(
    ("sequence", "repeats"),
    [
        ([], []),
        ([1, 2, 3], []),
        ([1, 1, 1], []),
        ([1] * 5, [(0, 1, 5)]),
        ([1, 2] * 3, [(0, 2, 3)]),
        ([7, 1, 1, 2, 1, 1, 2, 9], [(1, 3, 2)]),
        ([1, 1, 1, 1, 2] * 50, [(0, 5, 50)]),
        ([1, 2, 1, 2, 5, 3, 4, 3, 4], [(0, 2, 2), (5, 2, 2)]),
    ],
)
def test_repeats(sequence, repeats):
    assert find_repeats(sequence) == repeats


def test_a_loop_around_loops_of_different_length_is_found():
    sequence = [1, *[2] * 5, 3, 1, *[2] * 9, 3, 1, *[2] * 6, 3]
    groups = fold(sequence, ["f.py:1"] * len(sequence), [()] * len(sequence), [], Table())
    kinds = [KINDS[kind] for kind in groups.kind]
    assert kinds.count("loop") == 1 + 3
    assert kinds.count("step") == 3
    assert groups.order == list(range(len(sequence)))


# Formats


def test_the_page_has_the_walk_in_its_columns(mlp, loss):
    picture = draw(loss, dict(mlp.named_parameters()))
    head, columns = embedded(picture.html)
    rows = list(picture.rows())
    assert [head["text"][number] for number in columns["title"]] == [row.title for row in rows]
    assert [("operation", "leaf", "result")[number] for number in columns["kind"]] == [row.kind for row in rows]
    edges = list(zip(columns["edge_from"].tolist(), columns["edge_to"].tolist(), strict=True))
    assert sorted(edges) == sorted((below, number) for number, row in enumerate(rows) for below in row.inputs)
    assert columns["slot_bytes"].sum() == sum(slot.nbytes for row in rows for slot in row.saved)
    assert head["places"][columns["place"][-2]][3] == "return (mlp(clew.ones(3, 4)) ** 2).mean()"


def test_the_page_loads_nothing(loss):
    page = draw(loss).html
    markup = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:)", markup)
    assert "default-src 'none'" in markup


HOSTILE = "</script><script>alert(1)</script><b>&\"'\\ \u2028"


def test_hostile_names_stay_text():
    x = clew.ones(2, requires_grad=True)
    picture = draw({HOSTILE: x.exp()}, {HOSTILE + "x": x})
    page = picture.html
    assert "alert(1)</script>" not in page
    head, _ = embedded(page)
    assert {HOSTILE, HOSTILE + "x"} <= set(head["text"])
    framed = Page(HOSTILE, HOSTILE)
    framed.add(HOSTILE, bars([HOSTILE], {HOSTILE: [1]}, label=HOSTILE) + table([HOSTILE], [[HOSTILE]]))
    framed.add("second", "")
    assert "alert(1)</script>" not in framed.html
    quoted = re.findall(r'label="((?:[^"\\]|\\.)*)"', picture.dot)
    assert any(one.replace('\\"', '"').replace("\\\\", "\\").startswith(HOSTILE + "\\n") for one in quoted)


def test_dot_has_nodes_edges_and_torchviz_colours(mlp, loss):
    picture = draw(loss, dict(mlp.named_parameters()), show_saved=True)
    rows = list(picture.rows())
    text = picture.dot
    assert len(re.findall(r"^  n\d+ \[", text, re.MULTILINE)) == len(rows)
    arrows = re.findall(r"^  n(\d+) -> n(\d+)$", text, re.MULTILINE)
    assert sorted((int(a), int(b)) for a, b in arrows) == sorted(
        (below, number) for number, row in enumerate(rows) for below in row.inputs
    )
    assert text.count("fillcolor=orange") == sum(len(row.saved) for row in rows) > 0
    assert text.count("fillcolor=lightblue") == 4
    assert text.count("fillcolor=darkolivegreen1") == 1
    assert "orange" not in draw(loss).dot


def test_svg_has_a_box_for_each_row_and_a_line_for_each_edge(mlp, loss):
    pytest.importorskip("igraph", reason="needs the extra [viz]")
    picture = draw({"<loss>": loss}, dict(mlp.named_parameters()))
    root = xml.etree.ElementTree.fromstring(picture.svg)
    space = "{http://www.w3.org/2000/svg}"
    groups = root.findall(f"{space}g")
    rows = list(picture.rows())
    assert [group.get("class") for group in groups] == [row.state for row in rows]
    assert [group.find(f"{space}text").text for group in groups] == [row.title for row in rows]
    assert len(root.findall(f"{space}path")) == sum(len(set(row.inputs)) for row in rows)
    corners = [(float(box.get("x")), float(box.get("y"))) for box in (group.find(f"{space}rect") for group in groups)]
    assert len(set(corners)) == len(rows)
    assert picture._repr_svg_() == picture.svg


def test_svg_folds_what_is_large():
    pytest.importorskip("igraph", reason="needs the extra [viz]")
    y = clew.ones(1, requires_grad=True)
    for _ in range(5000):
        y = y.exp()
    svg = draw(y).svg
    assert svg.count("<g ") < 10
    assert "5,000 operations" in svg


def test_png_is_a_picture(loss):
    pytest.importorskip("igraph", reason="needs the extra [viz]")
    pytest.importorskip("resvg_py", reason="needs the extra [viz]")
    png = draw(loss).png
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    assert width > 200
    assert height > 400
    assert len(set(zlib.decompress(b"".join(chunks(png, b"IDAT"))))) > 20  # not one colour


def chunks(png, wanted):
    at = 8
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] == wanted:
            yield png[at + 8 : at + 8 + length]
        at += 12 + length


@pytest.mark.parametrize(("kind", "module"), [("svg", "igraph"), ("png", "resvg_py")])
def test_a_missing_library_is_named(monkeypatch, loss, kind, module):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name == module:
            raise ImportError(name)
        if name == "igraph" and kind == "png":
            pytest.importorskip("igraph", reason="needs the extra [viz]")
        return real(name, *arguments, **options)

    picture = draw(loss)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=rf"{module}.*pip install 'clew\[viz\]'"):
        getattr(picture, kind)
    if kind == "svg":
        assert picture._repr_svg_() is None


@pytest.mark.parametrize("suffix", [".html", ".dot", ".gv", ".svg", ".png"])
def test_save_writes_the_format_of_the_suffix(tmp_path, loss, suffix):
    if suffix in (".svg", ".png"):
        pytest.importorskip("igraph", reason="needs the extra [viz]")
        pytest.importorskip("resvg_py", reason="needs the extra [viz]")
    picture = draw(loss)
    path = picture.save(tmp_path / f"graph{suffix}")
    kind = {".gv": "dot"}.get(suffix, suffix[1:])
    content = getattr(picture, kind)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())


def test_save_refuses_another_suffix(tmp_path, loss):
    with pytest.raises(ValueError, match=r"Picture.save: expected .*\.html.*got 'graph\.jpg'"):
        draw(loss).save(tmp_path / "graph.jpg")


# Too large


def test_a_graph_beyond_the_limit_is_summarised_by_line():
    x = clew.ones(4, requires_grad=True)
    y = x
    for _ in range(60):
        y = y.exp()  # sixty results of sixteen bytes
    picture = draw(y.sum(), most_nodes=50)
    assert picture.summary.nodes == 62
    lines = {line.name: line for line in picture.summary.lines}
    assert (lines["ExpBackward0"].nodes, lines["ExpBackward0"].held_bytes) == (60, 60 * 16)
    assert lines["ExpBackward0"].place.source.startswith("y = y.exp()")
    assert picture.summary.lines[0].name == "ExpBackward0"
    page = picture.html
    assert "62 nodes: too many to be drawn" in page
    assert "<td>ExpBackward0</td>" in page
    assert "62 nodes" in picture.dot
    assert "ExpBackward0" in picture.svg
    picture.snapshot("later")
    assert picture.snapshots == []


# The frame


def test_bars_need_a_value_for_each_x():
    with pytest.raises(ValueError, match="bars: expected 2 values in 'a'"):
        bars([1, 2], {"a": [1]})


def test_bars_stack_to_the_height_of_their_sum():
    chart = bars(["t0", "t1"], {"low": [1024, 2048], "high": [0, 2048]})
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', chart).group(1))
    assert data["totals"] == [1024, 4096]
    outlines = re.findall(r'<path fill="[^"]+" d="M([^Z]+)Z"', chart)
    heights = [[float(point.split(",")[1]) for point in outline.split()] for outline in outlines]
    bottom, top = max(heights[0]), min(heights[1])
    assert min(heights[0]) == pytest.approx((top + bottom) / 2)
    assert heights[1][0] == pytest.approx(bottom - (bottom - top) / 4)
    assert "4.0 KiB" in chart


def test_sections_are_tabs_when_there_are_several(loss):
    page = Page("report")
    page.add("Summary", "<p>one</p>")
    assert 'role="tab"' not in page.html
    page.add_graph(draw(loss))
    page.add_graph(draw(loss), "Again")
    page.add_bars("Timeline", [1, 2], {"a": [1, 2]})
    text = page.html
    assert text.count('role="tab"') == 4
    assert len(set(re.findall(r'id="(arrow-\d+)"', text))) == 2
