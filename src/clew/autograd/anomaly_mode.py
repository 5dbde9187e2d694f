"""Looking for the first gradient that is infinite or not a number."""

from __future__ import annotations

import threading
import warnings

from .. import _core


class _Anomaly(threading.local):
    enabled = False
    check_nan = True


_anomaly = _Anomaly()


def _set(enabled: bool, check_nan: bool) -> None:
    _anomaly.enabled, _anomaly.check_nan = enabled, check_nan
    _core.set_mode("anomaly", enabled and check_nan)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread.

    Example:
        >>> torch.is_anomaly_enabled()
        False
    """
    return _anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether it looks at the gradients.

    Example:
        >>> torch.is_anomaly_check_nan_enabled()
        True
    """
    return _anomaly.check_nan


class set_detect_anomaly:
    """Switch anomaly detection on or off, from the call on; as a context, until its end.

    Args:
        mode: on or off.
        check_nan: look at each gradient that a node returns. Without it the mode does nothing: the line that made a
            node is always known.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"), torch.autograd.set_detect_anomaly(True):
        ...     torch.is_anomaly_enabled()
        True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _anomaly.enabled, _anomaly.check_nan
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        _set(*self._before)


class detect_anomaly:
    """A backward inside fails at the first node whose gradient is infinite or not a number, and names its line.

    It costs a look at every gradient: use it to find an error.

    Raises:
        NonFiniteError: from `backward()` or `grad()`; its `node` and `made_at` tell which operation it was.

    Example:
        >>> import warnings
        >>> x = clew.zeros(1, requires_grad=True)
        >>> with warnings.catch_warnings(action="ignore"), clew.autograd.detect_anomaly():
        ...     try:
        ...         x.sqrt().backward()
        ...     except clew.autograd.errors.NonFiniteError as error:
        ...         error.node.name()
        'SqrtBackward0'
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = _anomaly.enabled, _anomaly.check_nan
        _set(True, self._check_nan)

    def __exit__(self, *exc_info: object) -> None:
        _set(*self._before)
