"""Files for TensorBoard's projector: points in many dimensions, their labels and pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
from google.protobuf import text_format
from PIL import Image
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

from .arrays import Array, as_array
from .images import to_bytes, to_grid


class Projector:
    """The embeddings of one log directory, and the file that lists them."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._config = ProjectorConfig()

    def add(self, points: Any, metadata: Sequence[Any] | None, pictures: Any, step: int, tag: str, header: Any) -> None:
        """Write the points, and what is known of each, into a folder of their own."""
        points = as_array(points)
        if points.ndim != 2:
            raise AssertionError(f"add_embedding: expected a matrix, a row for each point, got shape {points.shape}")
        for name, given in (("metadata", metadata), ("label_img", pictures)):
            if given is not None and len(given) != len(points):
                raise AssertionError(f"add_embedding: expected {name} for {len(points)} points, got {len(given)}")
        name = f"{step:05}/{_as_file_name(tag)}"
        place = self._folder / name
        if place.exists() and not place.is_dir():
            raise NotADirectoryError(f"add_embedding: expected {place} to be a folder, but it is a file")
        place.mkdir(parents=True, exist_ok=True)
        entry = self._config.embeddings.add(tensor_name=f"{tag}:{step:05}", tensor_path=f"{name}/tensors.tsv")
        _write_table(place / "tensors.tsv", points.tolist())
        if metadata is not None:
            entry.metadata_path = f"{name}/metadata.tsv"
            _write_table(place / "metadata.tsv", _labels(metadata, header))
        if pictures is not None:
            entry.sprite.image_path = f"{name}/sprite.png"
            entry.sprite.single_image_dim.extend(_write_sprite(place / "sprite.png", as_array(pictures)))
        (self._folder / "projector_config.pbtxt").write_text(
            text_format.MessageToString(self._config), encoding="utf-8"
        )


def _as_file_name(tag: str) -> str:
    """The tag with the signs that end a name in a path written as %25, %2f and %5c."""
    for sign in "%/\\":
        tag = tag.replace(sign, f"%{ord(sign):02x}")
    return tag


def _labels(metadata: Sequence[Any], header: Any) -> list[Any]:
    if not header:
        return [[label] for label in metadata]
    if len(header) != len(metadata[0]):
        raise AssertionError(
            f"add_embedding: expected metadata_header for {len(metadata[0])} columns, got {len(header)}"
        )
    return [header, *metadata]


def _write_table(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


def _write_sprite(path: Path, pictures: Array) -> tuple[int, int]:
    """All pictures (number, channels, height, width) in one that is square, as the projector wants it.

    Returns:
        The width and height of each.
    """
    columns = math.ceil(len(pictures) ** 0.5)
    grid = to_bytes(to_grid(pictures.transpose(0, 2, 3, 1), columns))
    side = grid.shape[1]
    square = numpy.zeros((max(side, grid.shape[0]), side, 3), numpy.uint8)
    square[: grid.shape[0]] = grid
    Image.fromarray(square).save(path, format="PNG")
    return pictures.shape[3], pictures.shape[2]
