"""The float64 shadow of every operation is what the operation gives in float64, live and in a kept graph."""

import types

import numpy
import pytest
import sampling
from test_registry import SAMPLED, Prepared, every

import clew
from clew.graph.numerics.calls import Replay, watch_function
from clew.graph.numerics.precision import Gauge

pytestmark = pytest.mark.beyond

# What is in float64 another computation, and why.
OTHERWISE = {
    "quantile": "a q that is a number becomes a tensor of the input's dtype",
    "nanquantile": "a q that is a number becomes a tensor of the input's dtype",
    "rms_norm": "eps is by default that of the dtype",
    "affine_grid": "its grid is made from numbers, in the dtype of theta",
    "empty": "memory without values",
}


class Seen(Gauge):
    """Notes whether anything was drawn, too."""

    drew = False

    def look(self, call, where):
        self.drew |= call.draws
        self.shadows.look(call, where)


def gradients_of(results, leaves):
    found = [one for one in results if isinstance(one, clew.Tensor) and one.requires_grad]
    if not found:
        return []
    try:
        given = clew.autograd.grad([one.abs().sum() for one in found], leaves, allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        if "not implemented" not in str(error):
            raise
        return []
    return [one for one in given if one is not None]


def prepared(overload):
    """Its samples in float32, if it takes that."""
    for sample in sampling.samples(overload, dtype="float32"):
        own = Prepared(sample)
        try:
            own()
        except RuntimeError:
            assert overload.operation in ("view", "float_power_")
            continue
        yield sample, own


def narrow(results):
    return [one for one in results if isinstance(one, clew.Tensor) and one.dtype in (clew.float32, clew.complex64)]


@every(SAMPLED)
def test_shadows_are_what_float64_gives(overload):
    for sample, own in prepared(overload):
        wide, seen = Prepared(sample, floating="float64"), Seen()
        results = watch_function(own, (), {}, seen.look)
        watch_function(gradients_of, (results, own.leaves), {}, seen.look)
        assert not seen.shadows.opaque
        if seen.drew or any(name in overload.operation for name in OTHERWISE):
            continue
        for result, there in zip(results, wide(), strict=True):
            if narrow([result]) and there.dtype in (clew.float64, clew.complex128):
                shadow = seen.shadows._shadow(result)
                numpy.testing.assert_allclose(shadow.numpy(), there.detach().numpy(), rtol=1e-9, atol=1e-11)


@every(SAMPLED)
def test_steps_of_a_kept_graph_give_what_was_recorded(overload, monkeypatch):
    monkeypatch.setattr(clew, "default_generator", types.SimpleNamespace(manual_seed=lambda seed: None))
    for _, own in prepared(overload):
        seen = Seen()
        with clew.keep_graph(code=False) as program:
            results = own()
            results += gradients_of(results, own.leaves)
        replay = Replay(program._core)
        replay.run(seen.look)
        assert not seen.shadows.opaque
        if seen.drew or "empty" in overload.operation:
            continue
        for result in narrow(results):
            register = program._core.register_of(result)
            if register >= 0:
                again = replay.registers[register].resolve_conj().numpy()
                numpy.testing.assert_array_equal(again, result.detach().resolve_conj().numpy())
