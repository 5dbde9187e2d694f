"""Boxes inside of frames: where each stands, and which way the lines between them go.

Each frame is laid out by itself, inner ones first, and is then one item of the frame around it. A line that enters or
leaves a frame passes a port on its upper or lower edge. All lines from one box are one net, which branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .layers import Layers, Segment, Vertex, place

MARGIN = 14.0  # between a frame and what is in it
CAPTION = 22.0  # the height of a frame's caption
RANK_GAP = 34.0
_OUTSIDE = -1  # the number of the item that a net comes from if it comes from outside


@dataclass(slots=True, eq=False)
class Item:
    """A box or a frame. ``x`` and ``y`` are its upper left corner, in the end in the picture."""

    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0


@dataclass(slots=True, eq=False)
class Frame(Item):
    """Items with a caption; without one the frame itself is not drawn."""

    caption: str = ""
    items: list[Item] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    # Where nets enter and leave, by the box that they come from: x in the frame.
    entries: dict[Item, float] = field(default_factory=dict)
    exits: dict[Item, float] = field(default_factory=dict)


@dataclass(slots=True)
class Line:
    """A piece of a net: straight down to ``turn[0]``, over to the other ``x`` until ``turn[1]``, straight down."""

    source: Item
    start: tuple[float, float]
    turn: tuple[float, float]
    end: tuple[float, float]
    is_last: bool  # whether a box follows, so that the line ends in an arrow


@dataclass(slots=True)
class _Net:
    source: Item
    producer: int
    consumers: set[int] = field(default_factory=set)
    leaves: bool = False


def lay_out(root: Frame, edges: Sequence[tuple[Item, Item]]) -> None:
    """Place all that is in ``root``, whose items stand in an order in which inputs come first."""
    nets: dict[Frame, dict[Item, _Net]] = {}
    way = dict(_ways(root, ()))
    for source, target in edges:
        _note(nets, source, way[source], way[target])
    for frame in reversed(list(frames_of(root))):
        _lay_out_one(frame, list(nets.get(frame, {}).values()))
    for frame in frames_of(root):
        for item in frame.items:
            item.x += frame.x
            item.y += frame.y


def frames_of(root: Frame) -> Iterator[Frame]:
    """``root`` and all frames in it, outer ones first."""
    found = [root]
    for frame in found:
        yield frame
        found += [item for item in frame.items if isinstance(item, Frame)]


_Way = tuple[tuple[Frame, int], ...]  # frames from the outermost on, with the number of the item there


def _ways(frame: Frame, above: _Way) -> Iterator[tuple[Item, _Way]]:
    for number, item in enumerate(frame.items):
        here = (*above, (frame, number))
        if isinstance(item, Frame):
            yield from _ways(item, here)
        else:
            yield item, here


def _note(nets: dict[Frame, dict[Item, _Net]], source: Item, start: _Way, end: _Way) -> None:
    """Write down in each frame what an edge is there."""
    depth = 0
    while start[depth] == end[depth]:
        depth += 1
    frame, number = start[depth]
    nets.setdefault(frame, {}).setdefault(source, _Net(source, number)).consumers.add(end[depth][1])
    for inner, place_in_it in start[depth + 1 :]:
        nets.setdefault(inner, {}).setdefault(source, _Net(source, place_in_it)).leaves = True
    for inner, place_in_it in end[depth + 1 :]:
        nets.setdefault(inner, {}).setdefault(source, _Net(source, _OUTSIDE)).consumers.add(place_in_it)


def _lay_out_one(frame: Frame, nets: Sequence[_Net]) -> None:
    layer_of = _layers(len(frame.items), nets)
    vertices = [Vertex(item.width, number) for number, item in enumerate(frame.items)]
    depth = max(layer_of, default=0) + 2
    layers: list[list[Vertex]] = [[] for _ in range(depth)]
    for vertex, layer in zip(vertices, layer_of, strict=True):
        layers[layer].append(vertex)
    pieces: list[tuple[_Net, Segment, int]] = []  # with the layer above
    ports: list[tuple[_Net, Vertex, bool]] = []
    for net in nets:
        _thread(net, frame, layer_of, vertices, layers, pieces, ports)
    place(layers)
    _set_coordinates(frame, layers, pieces, ports)


def _layers(count: int, nets: Sequence[_Net]) -> list[int]:
    """The layer of each item: below all its inputs; what has no inputs stands right above its first user."""
    inputs: list[list[int]] = [[] for _ in range(count)]
    for net in nets:
        for consumer in net.consumers:
            inputs[consumer].append(net.producer)
    layers = [0] * count
    for item in range(count):
        layers[item] = 1 + max((layers[one] for one in inputs[item] if one != _OUTSIDE), default=0)
    last = max(layers, default=0)
    first_user = [last + 1] * count
    for net in nets:
        if net.producer != _OUTSIDE:
            first_user[net.producer] = min([first_user[net.producer], *(layers[one] for one in net.consumers)])
    return [layer if inputs[item] else max(1, first_user[item] - 1) for item, layer in enumerate(layers)]


def _thread(
    net: _Net,
    frame: Frame,
    layer_of: Sequence[int],
    vertices: Sequence[Vertex],
    layers: Layers,
    pieces: list[tuple[_Net, Segment, int]],
    ports: list[tuple[_Net, Vertex, bool]],
) -> None:
    """Put a net's points into the layers that it passes, and its segments between them."""
    last = len(layers) - 1
    start = 0 if net.producer == _OUTSIDE else layer_of[net.producer]
    end = max([layer_of[one] for one in net.consumers] + [last] * net.leaves)
    ends: dict[int, list[int]] = {}
    for consumer in sorted(net.consumers):
        ends.setdefault(layer_of[consumer], []).append(consumer)
    if net.producer == _OUTSIDE:
        here, offset = Vertex(), 0.0
        layers[0].append(here)
        ports.append((net, here, True))
    else:
        here, offset = vertices[net.producer], _exit(frame.items[net.producer], net.source)
    for layer in range(start + 1, end + 1):
        for consumer in ends.get(layer, ()):
            entry = _entry(frame.items[consumer], net.source)
            pieces.append((net, Segment(here, vertices[consumer], offset, entry), layer - 1))
        if layer < end or net.leaves:
            point = Vertex()
            layers[layer].append(point)
            pieces.append((net, Segment(here, point, offset), layer - 1))
            here, offset = point, 0.0
    if net.leaves:
        ports.append((net, here, False))


def _entry(item: Item, source: Item) -> float:
    """Where a net enters an item, from the item's middle."""
    return item.entries[source] - item.width / 2 if isinstance(item, Frame) else 0.0


def _exit(item: Item, source: Item) -> float:
    return item.exits[source] - item.width / 2 if isinstance(item, Frame) else 0.0


def _set_coordinates(
    frame: Frame,
    layers: Layers,
    pieces: Sequence[tuple[_Net, Segment, int]],
    ports: Sequence[tuple[_Net, Vertex, bool]],
) -> None:
    margin = MARGIN if frame.caption else 0.0
    everything = [vertex for layer in layers for vertex in layer]
    left = min((vertex.x - vertex.width / 2 for vertex in everything), default=0.0) - margin
    right = max((vertex.x + vertex.width / 2 for vertex in everything), default=0.0) + margin
    frame.width = max(right - left, frame.width)  # at least as wide as its caption
    left -= (frame.width - (right - left)) / 2
    has_entries = bool(layers[0])
    y = max(CAPTION if frame.caption else 0.0, RANK_GAP / 2 if has_entries else 0.0)
    bands = [(0.0, 0.0)]
    for layer in layers[1:-1]:
        height = max((frame.items[one.item].height for one in layer if one.item >= 0), default=0.0)
        bands.append((y, y + height))
        y += height + RANK_GAP
    y -= RANK_GAP if len(bands) > 1 else 0
    frame.height = y + max(margin, RANK_GAP / 2 if layers[-1] else 0.0)
    bands.append((frame.height, frame.height))
    for (top, bottom), layer in zip(bands, layers, strict=True):
        for vertex in layer:
            if vertex.item >= 0:
                item = frame.items[vertex.item]
                item.x, item.y = vertex.x - item.width / 2 - left, (top + bottom - item.height) / 2
    for net, vertex, enters in ports:
        (frame.entries if enters else frame.exits)[net.source] = vertex.x - left
    for net, one, above in pieces:
        frame.lines.append(_line(frame, net, one, bands[above], bands[above + 1], left))


def _line(
    frame: Frame, net: _Net, one: Segment, above: tuple[float, float], below: tuple[float, float], left: float
) -> Line:
    top = frame.items[one.above.item] if one.above.item >= 0 else None
    bottom = frame.items[one.below.item] if one.below.item >= 0 else None
    return Line(
        net.source,
        (one.above.x + one.above_offset - left, top.y + top.height if top else above[1]),
        (above[1], below[0]),
        (one.below.x + one.below_offset - left, bottom.y if bottom else below[1]),
        bottom is not None and not isinstance(bottom, Frame),
    )
