"""autocast and GradScaler on the CPU: the switch, and the protocol of scaled steps, beside PyTorch's."""

import warnings

import pytest

import clew


def trained(module, losses, **options):
    """Parameters, scales and states over steps whose losses are multiplied by these."""
    w = module.tensor([1.0, 2.0], requires_grad=True)
    optimizer = module.optim.SGD([w], lr=0.1)
    scaler = module.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2, **options)
    seen = []
    for factor in losses:
        optimizer.zero_grad()
        with module.autocast("cpu", enabled=False):
            loss = (w * w).sum() * factor
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        seen.append((w.tolist(), scaler.get_scale(), scaler.state_dict()))
    return seen


@pytest.mark.parametrize("options", [{}, {"growth_factor": 3.0, "backoff_factor": 0.25}, {"enabled": False}])
def test_scaled_steps_are_pytorchs(oracle, options):
    losses = [1.0, 1.0, float("inf"), 1.0, float("nan"), 1.0, 1.0]
    if options.get("enabled", True):
        assert repr(trained(clew, losses, **options)) == repr(trained(oracle, losses, **options))
    else:
        assert repr(trained(clew, losses[:2], **options)) == repr(trained(oracle, losses[:2], **options))


def test_the_protocol_is_kept():
    w = clew.ones(1, requires_grad=True)
    optimizer, scaler = clew.optim.SGD([w], lr=0.1), clew.GradScaler("cpu")
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.update()
    first, (second,) = scaler.scale((w.sum(), [w.sum()]))
    (first + second).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert w.item() == pytest.approx(0.8)
    with pytest.raises(RuntimeError, match="already been called since"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update(8.0)
    assert scaler.get_scale() == 8
    other = clew.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        other.load_state_dict({})


@pytest.mark.filterwarnings("ignore:torch.is_autocast_cpu_enabled:DeprecationWarning")
def test_autocast_is_a_switch(oracle):
    for module in (clew, oracle):
        assert not module.is_autocast_enabled("cpu")
        with module.autocast("cpu") as outer:
            assert outer is not None
            assert module.is_autocast_enabled("cpu")
            assert str(module.get_autocast_dtype("cpu")) == "torch.bfloat16"
            with module.amp.autocast("cpu", enabled=False):
                assert not module.is_autocast_cpu_enabled()
            assert module.is_autocast_cpu_enabled()
        assert not module.is_autocast_enabled("cpu")

        @module.autocast("cpu")
        def enabled(module):
            return module.is_autocast_enabled("cpu")

        assert enabled(module)
        with pytest.raises(RuntimeError, match="toaster"):
            module.autocast("toaster")


def test_cuda_is_switched_off_with_a_warning():
    with pytest.warns(UserWarning, match="not available"):
        assert not clew.GradScaler().is_enabled()
    with pytest.warns(UserWarning, match="not available"), clew.autocast("cuda"):
        assert not clew.is_autocast_enabled()
    with pytest.warns(UserWarning, match="not available"):
        assert not clew.cuda.amp.GradScaler().is_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with clew.cuda.amp.autocast(enabled=False):
            pass
