"""What PyTorch's functions, classes and methods take by name, ours take: `inspect.signature` of both, side by side."""

import inspect
import types

import numpy
import pytest

import clew
from clew._unsupported import refuses

NAMESPACES = [
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.rnn",
    "nn.utils.parametrize",
    "nn.utils.parametrizations",
    "optim",
    "optim.lr_scheduler",
    "optim.swa_utils",
    "linalg",
    "fft",
    "special",
    "autograd",
    "autograd.functional",
    "autograd.forward_ad",
    "autograd.graph",
    "func",
    "distributions",
    "utils.data",
    "utils.checkpoint",
    "random",
    "serialization",
    "amp",
    "testing",
    "overrides",
]
# Of PyTorch's own machinery, or of devices; and where a subclass in PyTorch renames what its base class names.
NOT_TAKEN = {
    "compile": {"name", "recompile_limit", "isolate_recompiles", "shapes_spec"},
    "enable_grad": {"orig_func"},
    "sym_float": {"a"},  # Python's own float and math.sqrt
    "sym_sqrt": {"a"},
    "autograd.enable_grad": {"orig_func"},
    "utils.data.default_convert": {"data"},
    "nn.Sequential.extend": {"sequential"},
    "distributions.CorrCholeskyTransform.log_abs_det_jacobian": {"intermediates"},
    "distributions.HalfCauchy.icdf": {"prob"},
    "distributions.HalfNormal.icdf": {"prob"},
    "distributions.MixtureSameFamily.cdf": {"x"},
    "distributions.MixtureSameFamily.log_prob": {"x"},
}
NO_METHODS = {
    "nn.DataParallel.gather",
    "nn.DataParallel.parallel_apply",
    "nn.DataParallel.replicate",
    "nn.DataParallel.scatter",
    "nn.MultiheadAttention.merge_masks",
    "optim.lr_scheduler.SequentialLR.recursive_undo",
    "utils.data.DataLoader.check_worker_number_rationality",
}


def at(module, path):
    for name in path.split(".") if path else ():
        module = getattr(module, name)
    return module


def parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None


def lacking(name, ours, theirs):
    """Of PyTorch's parameters those that are missing, and whether the others have another order."""
    mine, other = parameters(ours), parameters(theirs)
    if mine is None or other is None or any(one.kind is one.VAR_KEYWORD for one in mine.values()):
        return []
    named = [one for one, given in other.items() if given.kind not in (given.VAR_KEYWORD, given.VAR_POSITIONAL)]
    missing = [one for one in named if one not in mine and one != "self" and one not in NOT_TAKEN.get(name, ())]
    by_place = [one for one, given in other.items() if given.kind is given.POSITIONAL_OR_KEYWORD and one in mine]
    places = [one for one, given in mine.items() if given.kind is given.POSITIONAL_OR_KEYWORD and one in other]
    differs = [one for one in by_place if one in places] != [one for one in places if one in by_place]
    return [*missing, *(["another order"] if differs else [])]


def pairs(namespace, oracle):
    """(name, ours, PyTorch's) of what both have; not what only stands for something of PyTorch's, and refuses."""
    ours, theirs = at(clew, namespace), at(oracle, namespace)
    for name in sorted(dir(theirs)):
        other = getattr(theirs, name, None)
        if name.startswith("_") or isinstance(other, types.ModuleType) or not callable(other):
            continue
        if isinstance(other, type) and issubclass(other, BaseException):
            continue
        try:
            mine = getattr(ours, name)
        except (AttributeError, ImportError):  # what is missing says so elsewhere
            continue
        if not refuses(mine):
            yield f"{namespace}.{name}".lstrip("."), mine, other


@pytest.mark.parametrize("namespace", ["", *NAMESPACES])
def test_functions_and_constructors(namespace, oracle):
    found = {name: lacking(name, ours, theirs) for name, ours, theirs in pairs(namespace, oracle)}
    found = {name: missing for name, missing in found.items() if missing and not name.endswith("Storage")}
    assert found == {}


@pytest.mark.parametrize("namespace", ["nn", "optim", "distributions", "utils.data", "optim.lr_scheduler", "autograd"])
def test_methods(namespace, oracle):
    found = {}
    for path, ours, theirs in pairs(namespace, oracle):
        if not (isinstance(ours, type) and isinstance(theirs, type)):
            continue
        for method, other in vars(theirs).items():
            if method.startswith("_") or not isinstance(other, types.FunctionType):
                continue
            name = f"{path}.{method}"
            if not hasattr(ours, method):
                missing = [] if name in NO_METHODS else ["all"]
            else:
                missing = lacking(name, getattr(ours, method), other)
            if missing:
                found[name] = missing
    assert found == {}


@pytest.mark.parametrize("namespace", ["", "linalg", "fft", "special", "nn.functional", "Tensor"])
def test_numpys_names_of_arguments(namespace, oracle):
    """`axis=`, `keepdims=`, `x=`, `x1=` and `x2=`, as PyTorch's parser takes them for all that is written in C++."""
    numpys = {"dim": "axis", "keepdim": "keepdims"}
    refused = []
    for name, ours, theirs in pairs(namespace, oracle):
        mine = parameters(ours)
        native = isinstance(theirs, types.BuiltinFunctionType | types.MethodDescriptorType)
        wanted = [one for one in numpys if mine and one in mine]
        if not native or not wanted or any(one.kind is one.VAR_KEYWORD for one in mine.values()):
            continue
        for one in wanted:
            try:
                ours(**{numpys[one]: object()})
            except (TypeError, ValueError) as error:
                if "unexpected keyword" in str(error):
                    refused.append((name, numpys[one]))
            except Exception:
                continue
    assert refused == []


def test_numpys_names_give_the_same(torch, oracle):
    def program(m):
        x = m.arange(6.0).reshape(2, 3)
        made = [
            m.linalg.norm(x, axis=1, keepdims=True),
            m.linalg.vector_norm(x=x, axis=0),
            m.fft.fft(x, axis=0).real,
            m.quantile(x, 0.5, axis=1, keepdims=True),
            m.nansum(x, axis=0),
            x.diff(axis=1),
            m.sum(a=x, axis=1, keepdims=True),
            m.exp(x=x),
            m.add(x1=x, x2=x),
            m.cosine_similarity(x, x, axis=1),
        ]
        return [one.numpy() for one in made]

    for ours, theirs in zip(program(torch), program(oracle), strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6, strict=True)
