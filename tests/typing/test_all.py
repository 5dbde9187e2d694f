"""`__all__` of each public module is all: its names are there, and none that a user can see is missing.

What `clew._placeholders` makes in a module is not in its `__all__`: it is there to be imported, not used.
"""

import importlib
import sys

import pytest

import clew

MODULES = (
    "autograd", "autograd.errors", "autograd.functional", "autograd.graph", "distributions", "fft", "func", "graph",
    "keep", "library", "linalg", "memory", "nn", "nn.functional", "nn.init", "nn.utils", "ops", "optim",
    "optim.lr_scheduler", "special", "utils.data", "utils.hooks",
)  # fmt: skip


def placeholders(module):
    """The names that the module has from the table of placeholders only; they were all asked for."""
    made = importlib.import_module("clew._placeholders")
    place = module.__name__.partition(".")[2]
    for one in made.table().get(place, ()):
        getattr(module, one, None)  # which puts it into the module; some modules give them as `torch` only
    modules = [one.rpartition(".")[2] for one in made.table() if one and one.rpartition(".")[0] == place]
    loaded = {one: importlib.import_module(f"{module.__name__}.{one}").__spec__.loader for one in modules}
    return {*made.table().get(place, ()), *(one for one, how in loaded.items() if isinstance(how, made.Loader))}


@pytest.mark.beyond
@pytest.mark.parametrize("name", ["", *MODULES])
def test_placeholders_are_not_named(name):
    module = importlib.import_module(f"clew.{name}".rstrip("."))
    assert placeholders(module) & set(module.__all__) == set()


@pytest.mark.beyond
@pytest.mark.parametrize("name", MODULES)
def test_names_are_there_and_none_twice(name):
    module = importlib.import_module(f"clew.{name}")
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, one) for one in module.__all__)


@pytest.mark.beyond
@pytest.mark.parametrize("name", MODULES)
def test_classes_and_functions_that_are_defined_there_are_named(name):
    module = importlib.import_module(f"clew.{name}")
    made = placeholders(module)
    own = {one for one, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
    public = {one for one in own if not one.startswith("_") and not one.isupper()}
    assert public - made - set(module.__all__) - INNER.get(name, set()) == set()


# What other modules of clew use, and users do not.
INNER = {"autograd.functional": {"call", "call_scalar", "check_vector", "finish", "gradients", "prepare"}}


@pytest.mark.beyond
def test_of_clew_itself():
    # Loaded by others, or imported as PyTorch's; `functorch` is a module of that name there.
    not_named = {"annotations", "pytest_as_torch", "functorch"} | placeholders(clew)
    assert set(clew.__all__) == {name for name in dir(clew) if not name.startswith("_")} - not_named
    assert {"tensor", "nn", "explain", "float32", "Tensor", "compile"} <= set(clew.__all__)
    names: dict[str, object] = {}
    exec("from clew import *", names)
    assert set(clew.__all__) <= set(names)


@pytest.mark.beyond
def test_asking_for_it_loads_nothing(tmp_path):
    import subprocess

    code = "import sys, clew; clew.__all__; print('clew.distributed' in sys.modules, 'clew.cli' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False False\n"
