"""What a writer does with images, sound and meshes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import images, summary


class MediaWriter:
    """The part of `SummaryWriter` for what is seen and heard."""

    def _add(self, found: Any, global_step: Any = None, walltime: float | None = None) -> None:
        raise NotImplementedError

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image: bytes, or numbers from 0 to 1.

        Args:
            dataformats: what the axes are: "CHW", "HWC", "HW" and so on.
        """
        self._add(images.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Add several images as one grid, with eight in a row."""
        self._add(images.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
        """Add an image with rectangles.

        Args:
            box_tensor: a row (left, top, right, bottom) in pixels for each.
            rescale: by what to enlarge the image.
            labels: a text for each; left out if there are not as many as boxes.
        """
        names = [labels] if isinstance(labels, str) else labels
        if names is not None and len(names) != len(box_tensor):
            names = None
        found = images.image_with_boxes(tag, img_tensor, box_tensor, dataformats, rescale, names)
        self._add(found, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Add a figure of matplotlib's, or a list of them as a grid.

        Args:
            close: close the figure afterwards.
        """
        pixels = images.figure_pixels(figure, close)
        self._add(images.image(tag, pixels, "NHWC"[4 - pixels.ndim :]), global_step, walltime)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """Add a video of shape (batch, time, channels, height, width) as an animated GIF.

        Args:
            fps: frames a second.
        """
        self._add(images.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Add sound: samples between -1 and 1.

        Args:
            sample_rate: samples a second.
        """
        self._add(images.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add a cloud of points or a mesh.

        Args:
            vertices: shape (batch, points, 3).
            colors: of the same shape, from 0 to 255.
            faces: shape (batch, triangles, 3), the numbers of their points.
            config_dict: settings of the camera, the light and the material, as three.js has them.
        """
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)
