"""The formats that a picture comes in, and the frame of its page."""

import builtins
import json
import re
import zlib

import pytest

import clew
from clew.graph import draw
from clew.graph.page import Page, bars, table

pytestmark = pytest.mark.beyond

SPACE = "{http://www.w3.org/2000/svg}"


def test_the_page_has_the_walk_in_its_columns(embedded, mlp, loss):
    picture = draw(loss, dict(mlp.named_parameters()))
    head, columns = embedded(picture.html)
    rows = list(picture.rows())
    assert [head["text"][number] for number in columns["title"]] == [row.title for row in rows]
    assert [("operation", "leaf", "result", "input")[number] for number in columns["kind"]] == [
        row.kind for row in rows
    ]
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


def test_hostile_names_stay_text(embedded):
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


def test_dot_has_a_cluster_for_each_module():
    model = clew.nn.Sequential(clew.nn.Sequential(clew.nn.Linear(2, 3), clew.nn.Tanh()), clew.nn.Linear(3, 1))
    with clew.graph.record_modules():
        picture = draw(model(clew.ones(1, 2)), dict(model.named_parameters()))
    text = picture.dot
    assert text.count("{") == text.count("}")
    (inner,) = re.findall(r'label="0 · Sequential".*?^  }', text, re.DOTALL | re.MULTILINE)
    assert 'label="0.0.weight' in inner or 'label="0.0 · Linear"' in inner
    assert 'label="1.weight' not in inner
    assert len(re.findall(r"subgraph cluster_\d+", text)) == len(set(re.findall(r"subgraph cluster_\d+", text))) >= 3


def test_png_is_a_picture(loss):
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


def test_a_missing_library_is_named(monkeypatch, loss):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name == "resvg_py":
            raise ImportError(name)
        return real(name, *arguments, **options)

    picture = draw(loss)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"resvg_py.*pip install 'clew\[viz\]'"):
        _ = picture.png
    assert picture.svg.startswith("<svg")  # needs nothing
    assert "srcdoc" in picture._repr_html_()


@pytest.mark.parametrize("suffix", [".html", ".dot", ".gv", ".svg", ".png"])
def test_save_writes_the_format_of_the_suffix(tmp_path, loss, suffix):
    if suffix in (".svg", ".png"):
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
