"""Who is measured: how each is loaded, held to its threads, and which of a workload's methods it runs."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bench.workload import Run, Workload

BENT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # they would choose other kernels than a user's process has
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _as_it_is(function: Any) -> Any:
    return function


@dataclass(frozen=True, slots=True)
class Rival:
    """A library, or a way to use one. ``method`` is the method of a workload that it runs.

    ``python`` is the interpreter of its process (otherwise this one), ``path`` what its ``PYTHONPATH`` is then.
    """

    name: str
    label: str
    module: str
    method: str
    compiles: bool = False
    python: str = ""
    path: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)  # variables of its process, besides

    def takes_part(self, workload: Workload) -> bool:
        if self.name == "torch.compile" and not workload.compiled:
            return False
        if self.name == "clew.compile" and not workload.replayed:
            return False
        if self.module == "clew" and workload.beside_clew:
            return False
        if self.module != "clew" and workload.clew_alone:
            return False
        return workload.has(self.method)

    def is_installed(self) -> bool:
        if self.python:
            return True
        spec = importlib.util.find_spec(self.module)
        return spec is not None and spec.origin is not None  # without origin: just a folder of that name

    def environment(self, threads: int) -> dict[str, str]:
        """The variables of its process: the same thread settings for all, XLA's own for JAX."""
        kept = {name: value for name, value in os.environ.items() if name not in BENT}
        kept |= dict.fromkeys(THREAD_SETTINGS, str(threads)) | {"PYTHONHASHSEED": "0"}
        if self.module == "torch" and threads > 1:
            # Otherwise libgomp's threads now and then share a core for a whole run, and spin on it: 20 times slower.
            kept |= {"OMP_PROC_BIND": "true", "OMP_PLACES": "threads"}
        if self.python:  # what this process was told to find first would be found there too
            kept["PYTHONPATH"] = self.path
        if self.name == "jax":
            kept["JAX_PLATFORMS"] = "cpu"
            one = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" if threads == 1 else ""
            kept["XLA_FLAGS"] = one
        return kept | self.settings

    def load(self, threads: int) -> Any:
        module = importlib.import_module(self.module)
        if self.module in ("clew", "torch"):
            module.set_num_threads(threads)
            if hasattr(module, "set_flush_denormal"):
                # As JAX does by itself. Moments of Adam get there where a unit is dead, after 100,000 steps; an Intel
                # processor then takes a hundred cycles for each.
                module.set_flush_denormal(True)
            for part in ("nn", "optim"):  # PyTorch's are there already; they are no part of what a workload takes
                importlib.import_module(f"{self.module}.{part}")
        if self.module == "torch":
            module.set_num_interop_threads(1)
        return module

    def make(self, workload: Workload, module: Any) -> Run:
        """What is timed; raises what the library raises where it cannot do the work."""
        if self.method == "eager":
            if self.compiles:
                module.compiler.reset()  # each workload pays for its own compilation
            return self._eager(workload, module)
        run: Run = getattr(workload, self.method)(module)
        return run

    def _eager(self, workload: Workload, module: Any) -> Run:
        """torch.compile is put where the workload asks for it, clew.compile mostly around the whole call.

        What clew.compile would leave to Python is an error, so that no time of Python's stands as its own.
        """
        if self.name != "clew.compile":
            return workload.eager(module, module.compile if self.compiles else _as_it_is)
        whole = functools.partial(module.compile, fullgraph=True)
        if workload.replayed_inside:
            return workload.eager(module, whole)
        run = workload.eager(module, _as_it_is)
        return replace(run, call=whole(run.call))

    def version(self, module: Any) -> str:
        try:
            return importlib.metadata.version(self.module)
        except importlib.metadata.PackageNotFoundError:
            return str(getattr(module, "__version__", "from its sources"))


RIVALS = {
    rival.name: rival
    for rival in (
        Rival("clew", "clew", "clew", "eager"),
        Rival("clew.compile", "clew.compile", "clew", "eager", compiles=True),
        Rival("against", "the other clew", "clew", "eager"),
        Rival("torch", "PyTorch", "torch", "eager"),
        Rival("torch.compile", "torch.compile", "torch", "eager", compiles=True),
        Rival("jax", "JAX jit", "jax", "jax", compiles=True),
        Rival("numpy", "NumPy", "numpy", "numpy"),
        Rival("autograd", "autograd", "autograd", "autograd"),
        Rival("machine", "machine", "numpy", "machine"),
    )
}

OTHERS = tuple(name for name in RIVALS if name != "against")  # that one must be named by ``--against``


def choose_against(where: str) -> None:
    """Let ``against`` be the clew that an interpreter finds, or that of a checkout that has been built."""
    is_folder = os.path.isdir(where)
    if is_folder and os.path.isdir(os.path.join(where, "src")):
        where = os.path.join(where, "src")
    if is_folder and not os.path.isfile(os.path.join(where, "clew", "__init__.py")):
        raise SystemExit(f"--against: {where} holds no clew; give a checkout, or the Python in whose environment it is")
    if not is_folder and not (os.path.isfile(where) and os.access(where, os.X_OK)):
        raise SystemExit(f"--against: {where} is neither an interpreter nor a folder")
    # An interpreter's own path is kept as it is: a virtual environment is known by it, not by what it links to.
    place = os.path.abspath(where)
    chosen = {"python": sys.executable, "path": place} if is_folder else {"python": place}
    RIVALS["against"] = replace(RIVALS["against"], **chosen)
