"""The examples in docstrings run, and print what they say. Those that speak of `torch` do so in PyTorch, too.

So the numbers in them come from PyTorch. `torch` is clew in the one run, and PyTorch in the other.
"""

import doctest
import functools
import inspect
import re
import sys
import warnings

import pytest
from test_signatures import public_callables

import clew
from clew import _core
from clew._operation_docs import parts_of
from clew._operation_dtypes import of_two_dtypes, outcome, samples_of

PACKAGES = {"clew.keep.Program.to_jax": "jax", "clew.keep.Program.to_onnx": "onnx"}  # which the example needs
HIDDEN = 64  # kHidden of core/ops/registry.h
CHECKER = doctest.OutputChecker()


def described():
    """(name, text): all docstrings with examples of public callables, of their methods and of operations, each once."""
    found = {}
    for name, value in public_callables():
        members = vars(value).items() if inspect.isclass(value) and value is not clew.Tensor else ()
        members = [(key, member) for key, member in members if not key.startswith("_") and is_code(member)]
        for path, one in ((name, value), *((f"{name}.{key}", member) for key, member in members)):
            text = getattr(one, "__doc__", None)
            if isinstance(text, str) and ">>> " in text:
                found.setdefault(text, path)
    for name, operation in sorted(vars(_core.ops).items()):
        if not operation.overloads[0]["flags"] & HIDDEN and ">>> " in operation.__doc__:
            found.setdefault(operation.__doc__, f"clew.Tensor.{name}")
    return [(path, text) for text, path in found.items()]


def is_code(member):
    return callable(member) or isinstance(member, property | classmethod | staticmethod)


DESCRIBED = described()
OPERATIONS = [name for name, one in sorted(vars(_core.ops).items()) if not one.overloads[0]["flags"] & HIDDEN]


def run(text, names):
    """What went wrong in the examples of a docstring: a line for each that printed something else."""
    failed = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), dict(names), "docstring", None, 0)
    runner.run(test, out=failed.append)
    assert not failed, "".join(failed)


def names_for(path, text):
    """What an example may name: `torch`, or `clew` for what PyTorch has not; else what the callable's module has."""
    if re.search(r"\b(torch|clew)\.", text):
        return {"torch": clew, "clew": clew}
    value = functools.reduce(getattr, path.split(".")[1:], clew)
    return dict(vars(sys.modules[value.__module__]))


@pytest.fixture(autouse=True)
def state_of_the_libraries(torch, oracle):
    """Examples may seed generators."""
    states = clew.random.get_rng_state(), oracle.random.get_rng_state()
    yield
    clew.random.set_rng_state(states[0])
    oracle.random.set_rng_state(states[1])


@pytest.mark.beyond
@pytest.mark.parametrize(("path", "text"), DESCRIBED, ids=[path for path, _ in DESCRIBED])
def test_it_prints_what_it_says(path, text):
    if package := PACKAGES.get(path):
        pytest.importorskip(package)
    run(text, names_for(path, text))


def runs_in_pytorch(path, text):
    """Examples of operations, and of whatever has its name in PyTorch; they say `torch`, not `clew`."""
    import torch

    examples = "".join(one.source for one in doctest.DocTestParser().get_examples(text))
    if "torch." not in examples or re.search(r"\bclew\b", examples):
        return False
    if path.startswith("clew.jit."):  # there it reads source files, of which examples have none
        return False
    try:
        functools.reduce(getattr, path.split(".")[1:], torch)
    except AttributeError:
        return path.rpartition(".")[2] in OPERATIONS
    return True


IN_PYTORCH = [one for one in DESCRIBED if runs_in_pytorch(*one)]


@pytest.mark.beyond
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # weak references of PyTorch's compiler
@pytest.mark.parametrize(("path", "text"), IN_PYTORCH, ids=[path for path, _ in IN_PYTORCH])
def test_pytorch_prints_the_same(path, text, oracle):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is deprecated there
        run(text, {"torch": oracle})


@pytest.mark.beyond
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_an_example_and_a_text(name):
    overloads = vars(_core.ops)[name].overloads
    assert all(parts_of(one)[0] for one in overloads)
    assert any(">>> " in parts_of(one)[1] for one in overloads)


@pytest.mark.beyond
@pytest.mark.parametrize("name", [name for name in OPERATIONS if "Dtype: " in vars(_core.ops)[name].__doc__])
def test_dtypes_are_as_told(name):
    """What the docstring says of dtypes comes from inference; calls give them."""
    operation = vars(_core.ops)[name]
    for sample in samples_of(operation):
        for arguments in filter(None, (*sample.values(), of_two_dtypes(operation, sample))):
            told = outcome(operation, arguments)
            for one in arguments:
                if isinstance(one, clew.Tensor):
                    one.fill_(1)  # an index, too, of axes of size 2
            try:
                results = operation(*arguments)
                got = ", ".join(str(one.dtype) for one in (results if isinstance(results, tuple) else (results,)))
            except Exception as error:
                got = f"!{type(error).__name__}"
            assert told in ("?", got.replace("torch.", "")), arguments


@pytest.mark.beyond
def test_nothing_is_assembled_at_import():
    import subprocess

    modules = "sys, clew, clew.fft, clew.linalg, clew.special, clew.nn, clew.optim"
    program = f"import {modules}; assert 'clew._operation_docs' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
