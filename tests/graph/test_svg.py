"""Pictures without a browser: every node has a box, every edge arrives, modules are frames, nothing overlaps."""

import itertools
import re
import runpy
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

import clew
from clew import nn
from clew.graph import draw

pytestmark = pytest.mark.beyond

RESNET = Path(__file__).parents[1] / "browser" / "programs" / "resnet18.py"
SPACE = "{http://www.w3.org/2000/svg}"


def resnet18():
    """That of the program whose report tests/browser looks at; narrow, as a picture shows no width."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", clew)
        return runpy.run_path(str(RESNET))["ResNet18"](width=4)


class Unrolled(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, steps):
        state = (clew.zeros(2, 4), clew.zeros(2, 4))
        for step in steps:
            state = self.cell(step, state)
        return state[0]


def transformer():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)


MODELS = {
    "ResNet-18": (resnet18, (2, 3, 32, 32)),
    "transformer of 6 layers": (transformer, (2, 5, 16)),
    "RNN of 30 steps": (Unrolled, (30, 2, 3)),
}


def picture_of(name):
    make, shape = MODELS[name]
    model = make()
    with clew.graph.record_modules():
        return draw(model(clew.ones(shape)).sum(), dict(model.named_parameters()))


@pytest.fixture(params=MODELS)
def picture(request):
    return picture_of(request.param)


def read(svg):
    """The boxes, as ``(class, title, x, y, width, height)``; the frames with their captions; the ends of arrows."""
    root = xml.etree.ElementTree.fromstring(svg)
    boxes = []
    for group in root.findall(f"{SPACE}g"):
        card = group.findall(f"{SPACE}rect")[0]
        size = [float(card.get(name)) for name in ("x", "y", "width", "height")]
        boxes.append((group.get("class"), group.find(f"{SPACE}text").text, *size))
    frames = [
        [float(one.get(name)) for name in ("x", "y", "width", "height")]
        for one in root.iter(f"{SPACE}rect")
        if one.get("class") == "frame"
    ]
    captions = [one.text for one in root.iter(f"{SPACE}text") if one.get("class") == "caption"]
    arrows = [one.get("d") for one in root.iter(f"{SPACE}path") if one.get("class") == "arrows"]
    ends = [tuple(map(float, end)) for d in arrows for end in re.findall(r"M([-\d.]+),([-\d.]+)l", d)]
    return boxes, list(zip(frames, captions, strict=True)), ends


def test_no_node_is_hidden(picture):
    boxes, _, _ = read(picture.svg)
    assert [(state, title) for state, title, *_ in boxes] == [(row.state, row.title) for row in picture.rows()]


def test_every_edge_arrives_at_its_box(picture):
    boxes, _, ends = read(picture.svg)
    above = {number: len(set(row.inputs)) for number, row in enumerate(picture.rows()) if row.inputs}
    arrived = {}
    for end in ends:
        (number,) = (
            at for at, (_, _, x, y, width, _) in enumerate(boxes) if abs(y - end[1]) < 0.2 and x < end[0] < x + width
        )
        arrived[number] = arrived.get(number, 0) + 1
    assert arrived == above


def test_boxes_do_not_overlap_and_frames_contain_or_exclude(picture):
    boxes, frames, _ = read(picture.svg)
    sizes = [tuple(size) for _, _, *size in boxes]
    for (x, y, w, h), (x2, y2, w2, h2) in itertools.combinations(sizes, 2):
        assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
    outlines = [frame for frame, _ in frames]
    for (x, y, w, h), (x2, y2, w2, h2) in itertools.product(outlines, sizes + outlines):
        apart = x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
        inside = x <= x2 and y <= y2 and x2 + w2 <= x + w and y2 + h2 <= y + h
        around = x2 <= x and y2 <= y and x + w <= x2 + w2 and y + h <= y2 + h2
        assert apart or inside or around


def test_lines_pass_no_box(picture):
    boxes, _, _ = read(picture.svg)
    root = xml.etree.ElementTree.fromstring(picture.svg)
    paths = [one.get("d") for one in root.iter(f"{SPACE}path") if one.get("class") == "edge"]
    points = []
    for d in paths:
        for x0, y0, top, rest, bottom in re.findall(r"M([-\d.]+),([-\d.]+)V([-\d.]+)C(.*?)V([-\d.]+)", d):
            (a, b), (c, e), (x1, y1) = [tuple(map(float, one.split(","))) for one in rest.split()]
            x0, y0, top, bottom = float(x0), float(y0), float(top), float(bottom)
            points += [(x0, y0 + (top - y0) * k / 8) for k in range(9)]
            points += [(x1, y1 + (bottom - y1) * k / 8) for k in range(9)]
            for k in range(17):
                t = k / 16
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
                points.append(
                    tuple(
                        sum(w * p for w, p in zip(weights, axis, strict=True))
                        for axis in ((x0, a, c, x1), (top, b, e, y1))
                    )
                )
    assert points
    for _, title, x, y, width, height in boxes:
        assert not [p for p in points if x + 0.2 < p[0] < x + width - 0.2 and y + 0.2 < p[1] < y + height - 0.2], title


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ResNet-18", {f"layer{layer}.{block} · BasicBlock" for layer in range(1, 5) for block in range(2)}),
        ("transformer of 6 layers", {f"layers.{layer} · TransformerEncoderLayer" for layer in range(6)}),
        ("RNN of 30 steps", {"cell · LSTMCell"}),
    ],
)
def test_modules_are_framed(name, expected):
    picture = picture_of(name)
    boxes, frames, _ = read(picture.svg)
    assert expected <= {caption for _, caption in frames}
    rows = list(picture.rows())
    for (x, y, width, height), caption in frames:
        path, _, kind = caption.partition(" · ")
        if not kind or path.startswith("loop"):
            continue
        inside = {
            row.title
            for row, (_, _, left, top, *_) in zip(rows, boxes, strict=True)
            if row.kind == "leaf" and x <= left <= x + width and y <= top <= y + height
        }
        expected_inside = {row.title for row in rows if row.kind == "leaf" and row.title.startswith(f"{path}.")}
        assert inside == expected_inside, caption


def test_graphs_that_are_not_connected():
    leaves = [clew.ones(2, requires_grad=True) for _ in range(4)]
    picture = draw({f"r{at}": (x.exp() * x.sin() + x).sum() for at, x in enumerate(leaves)})
    test_boxes_do_not_overlap_and_frames_contain_or_exclude(picture)
    test_no_node_is_hidden(picture)


def test_svg_folds_what_is_too_large():
    y = clew.ones(1, requires_grad=True)
    for _ in range(5000):
        y = y.exp()
    svg = draw(y).svg
    assert svg.count("<g ") < 10
    assert "5,000 operations" in svg
