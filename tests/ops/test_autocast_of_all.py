"""Regions of autocast: every operation and every public function gives PyTorch's dtypes, and its values."""

import warnings

import numpy
import public_functions
import pytest
import sampling
from test_registry import SAMPLED, every

import clew

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ROUNDING = {"bfloat16": 2**-8, "float16": 2**-11}


def tensors_of(module, result):
    """The tensors in a result, in their order."""
    if isinstance(result, module.Tensor):
        yield result
    elif isinstance(result, list | tuple):
        for one in result:
            yield from tensors_of(module, one)


def array(tensor):
    tensor = tensor.detach().resolve_conj()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def outcome(module, call, region):
    """The results of a call in a region of this dtype, or in none; None if it is refused."""
    module.manual_seed(0)
    try:
        dtype = getattr(module, region or "bfloat16")
        with module.autocast("cpu", dtype=dtype, enabled=region is not None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(tensors_of(module, call()))
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError):
        return None


def compare(name, ours, theirs, region, values=True):
    if "complex32" in str([one.dtype for one in theirs]):
        pytest.skip("no-complex32 in docs/deviations.toml")
    assert ours is not None, f"{name}: refused"
    assert [str(one.dtype) for one in ours] == [str(one.dtype) for one in theirs], name
    for one, other in zip(ours, theirs, strict=True):
        if not values or not other.is_floating_point() or tuple(one.shape) != tuple(other.shape):
            continue
        a, b = array(one), array(other)
        if not numpy.isfinite(b).all():
            continue
        # One rounding of each input, and of the result, relative to the largest element.
        bound = 8 * ROUNDING[region] * max(1.0, float(numpy.abs(b).max(initial=0)))
        assert numpy.abs(a - b).max(initial=0) <= bound, name


def alike(ours, theirs):
    """Whether two calls without autocast are the same computation, where arguments have other names."""
    if ours is None or theirs is None or len(ours) != len(theirs):
        return False
    return all(
        str(one.dtype) == str(other.dtype)
        and tuple(one.shape) == tuple(other.shape)
        and numpy.allclose(array(one), array(other), 1e-3, 1e-4, equal_nan=True)
        for one, other in zip(ours, theirs, strict=True)
    )


# torch.complex(x, y) of float16 is complex32 there: no-complex32 in docs/deviations.toml.
# torch.complex of float16 is complex32 there: no-complex32 in docs/deviations.toml.
FUNCTIONS = [one for one in public_functions.functions() if not one.is_module and "complex(x, y)" not in one.text]


def evaluated(module, function, floating):
    arrays = {name: one.astype("float32") if one.dtype == "float64" else one for name, one in function.arrays().items()}
    scope = {"torch": module, "F": module.nn.functional, "nn": module.nn, "D": module.distributions}
    tensors = sampling.to_module(module, arrays, grad=False, floating=floating)
    return lambda: eval(function.text, {**scope, **tensors})


@pytest.mark.parametrize("given", ["float32", "lower"])
@pytest.mark.parametrize("region", ROUNDING)
@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_functions(oracle, function, region, given):
    floating = region if given == "lower" else given
    theirs = outcome(oracle, evaluated(oracle, function, floating), region)
    if theirs is None:
        pytest.skip("PyTorch refuses it")
    ours = outcome(clew, evaluated(clew, function, floating), region)
    compare(str(function), ours, theirs, region, values=not function.draws)


def gradients(module, function):
    """Of a weighted sum of the results, run backward in the region, by each floating input."""
    leaves = []
    arrays = {name: one.astype("float32") if one.dtype == "float64" else one for name, one in function.arrays().items()}
    scope = {"torch": module, "F": module.nn.functional, "nn": module.nn, "D": module.distributions}
    tensors = sampling.to_module(module, arrays, leaves=leaves)
    results = public_functions.results_of(module, eval(function.text, {**scope, **tensors}))
    roots = [one for one in results if one.requires_grad]
    sums = [(one * (1 + module.arange(one.numel()).reshape(one.shape) / 7)).float().sum() for one in roots]
    return [one for one in module.autograd.grad(sums, leaves, allow_unused=True) if one is not None]


@pytest.mark.parametrize("region", ROUNDING)
@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_gradients_of_functions(oracle, function, region):
    theirs = outcome(oracle, lambda: gradients(oracle, function), region)
    if theirs is None or "cholesky_inverse" in function.text or "cholesky_solve" in function.text:
        pytest.skip("PyTorch refuses it, or the factor's gradient is another one: docs/deviations.toml")
    ours = outcome(clew, lambda: gradients(clew, function), region)
    compare(str(function), ours, theirs, region, values=not function.draws)


def prepared(overload, module, sample, floating, call):
    places, named = sampling.to_module(module, sample.positional(), grad=False, floating=floating)
    return lambda: call(*places, **named)


@pytest.mark.parametrize("given", ["float32", "lower"])
@pytest.mark.parametrize("region", ROUNDING)
@every(SAMPLED)
def test_operations(oracle, overload, region, given):
    floating = region if given == "lower" else given
    own = sampling.call_of(overload, clew)
    compared = False
    for sample in sampling.samples(overload, dtype="float32"):
        for call in sampling.calls_of(overload, oracle):
            theirs = outcome(oracle, prepared(overload, oracle, sample, floating, call), region)
            if theirs is None or not alike(
                outcome(clew, prepared(overload, clew, sample, "float32", own), None),
                outcome(oracle, prepared(overload, oracle, sample, "float32", call), None),
            ):
                continue
            ours = outcome(clew, prepared(overload, clew, sample, floating, own), region)
            compare(str(overload), ours, theirs, region, values=not overload.draws)
            compared = True
            break
    if not compared:
        pytest.skip("PyTorch has no such call, or refuses it")


MODULES = [one for one in public_functions.functions() if one.is_module]


def module_call(module, function, floating):
    """The module with parameters in float32, on inputs of this dtype."""
    arrays = {name: one.astype("float32") if one.dtype == "float64" else one for name, one in function.arrays().items()}
    scope = {"nn": module.nn, "torch": module}
    made = eval(function.text, scope)
    sampler = sampling.Sampler(7)
    for _, one in made.named_parameters():
        one.data = module.from_numpy(sampler.unit(*one.shape).astype("float32"))
    tensors = sampling.to_module(module, arrays, grad=False, floating=floating)
    return lambda: made(*tensors.values())


@pytest.mark.parametrize("given", ["float32", "lower"])
@pytest.mark.parametrize("region", ROUNDING)
@pytest.mark.parametrize("function", MODULES, ids=str)
def test_modules(oracle, function, region, given):
    floating = region if given == "lower" else given
    theirs = outcome(oracle, module_call(oracle, function, floating), region)
    if theirs is None:
        pytest.skip("PyTorch refuses it")
    ours = outcome(clew, module_call(clew, function, floating), region)
    compare(str(function), ours, theirs, region)
