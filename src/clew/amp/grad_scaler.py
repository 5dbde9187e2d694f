"""Scaling of a loss so that gradients of half precision do not vanish, and the steps that infinities forbid."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import _core
from .._core import Tensor
from .._device import strided


class GradScaler:
    """Multiplies the loss, divides the gradients, and skips a step where one of them is not finite.

    Args:
        device: "cpu"; for "cuda" it does nothing and says so.
        init_scale: the first scale.
        growth_factor, growth_interval: the scale is multiplied by this after so many steps without an infinity.
        backoff_factor: it is multiplied by this after one.
        enabled: False makes all methods pass things through.

    Example:
        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu")
        >>> scaler.scale((w * 2).sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w
        tensor([0.], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device != "cpu":
            warnings.warn(f"GradScaler is enabled, but {device.upper()} is not available. Disabling.", stacklevel=2)
            enabled = False
        if enabled and not growth_factor > 1:
            raise AssertionError(f"GradScaler: The growth factor must be > 1.0, got {growth_factor}")
        if enabled and not backoff_factor < 1:
            raise AssertionError(f"GradScaler: The backoff factor must be < 1.0, got {backoff_factor}")
        self._device, self._enabled = device, enabled
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._found: dict[int, bool] = {}  # optimizers whose gradients are unscaled: was one of them infinite?
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """The tensor, or each in a list or tuple, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            made = [self.scale(one) for one in outputs]
            return type(outputs)(*made) if hasattr(outputs, "_fields") else type(outputs)(made)
        raise ValueError(f"GradScaler.scale: outputs must be a Tensor or an iterable of Tensors, got {type(outputs)}")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters, once before each step: to clip them, for example."""
        if not self._enabled:
            return
        key = id(optimizer)
        if key in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if key in self._found:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(gradient.dtype is _core.dtypes["float16"] for gradient in gradients):
            raise ValueError("Attempting to unscale FP16 gradients. To do: keep parameters in float32")
        recording = _core.set_grad_enabled(False)
        try:
            for gradient in gradients:
                gradient.mul_(1 / self._scale)
            values = (one if one.layout is strided else one.coalesce().values() for one in gradients)
            self._found[key] = any(not bool(one.isfinite().all()) for one in values)
        finally:
            _core.set_grad_enabled(recording)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(*args, **kwargs)`, unless a gradient is not finite; None then."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        key = id(optimizer)
        if key in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if key not in self._found:
            self.unscale_(optimizer)
        self._stepped.add(key)
        return None if self._found[key] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Set the scale for the next iteration, to be called once at the end of each.

        Args:
            new_scale: the scale to go on with, instead of what the steps suggest.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found:
            raise AssertionError("GradScaler.update: No inf checks were recorded prior to update; call step() before.")
        elif any(self._found.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale, self._growth_tracker = grown if math.isfinite(grown) else self._scale, 0
        self._found.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale; 1 if it is not enabled."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an infinity."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after an infinity."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without an infinity the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps without an infinity the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes; empty if it is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale, self._growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
