"""Which of PyTorch's backends there are (none but the CPU), with switches that scripts set."""

from __future__ import annotations

from typing import Any


class _Absent:
    """A backend that is not there. Its switches can be set, to no effect."""

    def __init__(self, name: str) -> None:
        self._name = name

    def is_available(self) -> bool:
        """False."""
        return False

    def is_built(self) -> bool:
        """False."""
        return False

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return False  # a switch that nobody has set

    def __repr__(self) -> str:
        return f"<backend {self._name}: not there>"


cuda = _Absent("cuda")
cudnn = _Absent("cudnn")
mkl = _Absent("mkl")
mps = _Absent("mps")
openmp = _Absent("openmp")
cuda.matmul = _Absent("cuda.matmul")
