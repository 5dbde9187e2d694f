"""Summaries of images, videos, figures and sound."""

from __future__ import annotations

import io
import math
import wave
from collections.abc import Sequence
from typing import Any

import numpy
from PIL import Image, ImageDraw, ImageFont
from tensorboard.compat.proto.summary_pb2 import Summary

from .arrays import Array, as_array

_COLUMNS = 8  # of the grid that shows several images


# --------------------------------------------------------------------------------------------------------------- images
def image(tag: str, tensor: Any, dataformats: str, rescale: float = 1) -> Summary:
    """One image, or several as a grid.

    Args:
        tensor: bytes (0 to 255), or numbers from 0 to 1; what lies beyond is cut.
        dataformats: what its axes are: the letters N (number), C (channels), H (height) and W (width), in their order.
    """
    return _summary(tag, Image.fromarray(to_bytes(to_hwc(as_array(tensor), dataformats))), rescale)


def image_with_boxes(
    tag: str, tensor: Any, boxes: Any, dataformats: str, rescale: float = 1, labels: Sequence[str] | None = None
) -> Summary:
    """An image with rectangles drawn on it, each given by its left, top, right and bottom in pixels."""
    picture = Image.fromarray(to_bytes(to_hwc(as_array(tensor), dataformats)))
    for number, box in enumerate(as_array(boxes).tolist()):
        _draw_box(picture, box, None if labels is None else labels[number])
    return _summary(tag, picture, rescale)


def _summary(tag: str, picture: Any, rescale: float) -> Summary:
    width, height = picture.size
    resized = picture.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    resized.save(file, format="PNG")
    return _encoded(tag, (height, width, len(picture.getbands())), file.getvalue())


def _encoded(tag: str, size: Sequence[int], data: bytes) -> Summary:
    height, width, channels = size
    found = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=data)
    return Summary(value=[Summary.Value(tag=tag, image=found)])


def to_bytes(array: Array) -> Array:
    """Pixels from 0 to 255; what is not bytes is taken to lie between 0 and 1."""
    if array.dtype == numpy.uint8:
        return array
    return (array.astype(numpy.float32) * 255).clip(0, 255).astype(numpy.uint8)


def to_hwc(array: Array, dataformats: str) -> Array:
    """The image (or the grid of them) with axes height, width, channels; of one channel three are made."""
    axes = dataformats.upper()
    if len(set(axes)) != len(axes) or len(axes) != array.ndim or {*axes} not in ({*"NCHW"}, {*"CHW"}, {*"HW"}):
        raise AssertionError(
            f"add_image: expected dataformats to name each of the {array.ndim} axes of shape {tuple(array.shape)} once "
            f"by N, C, H and W, got {dataformats!r}"
        )
    if len(axes) == 4:
        return to_grid(array.transpose([axes.index(one) for one in "NHWC"]))
    array = array.transpose([axes.index(one) for one in "HWC" if one in axes])
    return _in_colour(array if array.ndim == 3 else array[..., None])


def _in_colour(array: Array) -> Array:
    return array.repeat(3, axis=-1) if array.shape[-1] == 1 else array


def to_grid(images: Array, columns: int = _COLUMNS) -> Array:
    """Images (number, height, width, channels) in rows and columns, on black."""
    images = _in_colour(images)
    count, height, width, channels = images.shape
    columns = max(min(columns, count), 1)
    rows = math.ceil(count / columns)
    cells = numpy.zeros((rows * columns, height, width, channels), images.dtype)
    cells[:count] = images
    return _tiled(cells.reshape(rows, columns, height, width, channels))


def _tiled(cells: Array) -> Array:
    """(..., rows, columns, height, width, channels) as one image each."""
    *lead, rows, columns, height, width, channels = cells.shape
    return cells.swapaxes(-4, -3).reshape(*lead, rows * height, columns * width, channels)


def _draw_box(picture: Any, box: Sequence[float], label: str | None) -> None:
    draw = ImageDraw.Draw(picture)
    left, top, right, bottom = box
    corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    draw.line(corners, width=2, fill="Red")
    if label:
        font = ImageFont.load_default()
        x, y, to_x, to_y = font.getbbox(label)
        width, height = to_x - x, to_y - y
        margin = math.ceil(0.05 * height)
        draw.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
        draw.text((left + margin, bottom - height - margin), label, fill="black", font=font)


def figure_pixels(figure: Any, close: bool) -> Array:
    """A figure of matplotlib's, or a list of them, as (height, width, 3) bytes with the list's axis before."""
    if isinstance(figure, list):
        return numpy.stack([figure_pixels(one, close) for one in figure])
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = numpy.asarray(canvas.buffer_rgba())[..., :3]
    if close:
        pyplot.close(figure)
    return pixels


# ---------------------------------------------------------------------------------------------------------------- video
def video(tag: str, tensor: Any, fps: float) -> Summary:
    """Frames (batch, time, channels, height, width) as an animated GIF; the batch is a grid of pictures."""
    array = as_array(tensor)
    if array.ndim != 5:
        raise ValueError(f"add_video: expected shape (batch, time, channels, height, width), got {tuple(array.shape)}")
    batch = array.shape[0]
    together = 1 << (batch - 1).bit_length()  # the next power of two, so that rows times columns fit
    rows = 1 << ((batch.bit_length() - 1) // 2)
    cells = numpy.zeros((together, *array.shape[1:]), array.dtype)
    cells[:batch] = array
    cells = cells.reshape(rows, together // rows, *array.shape[1:]).transpose(2, 0, 1, 4, 5, 3)
    frames = to_bytes(_in_colour(_tiled(cells)))
    first, *rest = [Image.fromarray(frame) for frame in frames]
    file = io.BytesIO()
    first.save(file, format="GIF", save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)
    return _encoded(tag, frames.shape[1:], file.getvalue())


# ---------------------------------------------------------------------------------------------------------------- sound
def audio(tag: str, tensor: Any, sample_rate: int) -> Summary:
    """A wave between -1 and 1 as 16-bit WAV of one channel; what lies beyond is cut."""
    array = as_array(tensor).squeeze()
    if array.ndim != 1:
        raise AssertionError(
            f"add_audio: expected one axis of samples, got shape {tuple(array.shape)}; write channels apart"
        )
    if not isinstance(sample_rate, int) or sample_rate <= 0:
        raise ValueError(f"add_audio: expected a positive whole number of samples a second, got {sample_rate!r}")
    samples = (array.clip(-1, 1) * numpy.iinfo(numpy.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes(samples.tobytes())
    found = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=found)])
