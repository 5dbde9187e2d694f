"""Grad modes as decorators and contexts: the corners."""

import pytest


def generator(torch, mode):
    @mode
    def numbers():
        """Document."""
        seen = [torch.is_grad_enabled()]
        try:
            got = yield 1
            seen += [torch.is_grad_enabled(), got]
            yield 2
        except ValueError:
            seen.append(torch.is_grad_enabled())
            yield 3
        finally:
            seen.append(("end", torch.is_grad_enabled()))
        return seen

    return numbers


def test_generators_can_be_sent_to(torch):
    numbers = generator(torch, torch.no_grad())
    assert numbers.__name__ == "numbers"
    running = numbers()
    assert next(running) == 1
    assert torch.is_grad_enabled()
    assert running.send("x") == 2
    with pytest.raises(StopIteration) as end:
        next(running)
    assert end.value.value == [False, False, "x", ("end", False)]


def test_generators_can_be_thrown_into_and_closed(torch):
    running = generator(torch, torch.no_grad())()
    next(running)
    assert running.throw(ValueError()) == 3
    running.close()
    running = generator(torch, torch.no_grad())()
    next(running)
    with pytest.raises(KeyError):
        running.throw(KeyError())
    assert torch.is_grad_enabled()


def test_decorated_methods(torch):
    class Model:
        @torch.no_grad()
        def quiet(self, x):
            return x * 2

        @staticmethod
        @torch.no_grad()
        def still(x):
            return x * 2

    x = torch.ones(1, requires_grad=True)
    assert not Model().quiet(x).requires_grad
    assert not Model.still(x).requires_grad


def test_a_decorated_function_may_call_itself(torch):
    @torch.no_grad()
    def down(depth):
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            return down(depth - 1) if depth else torch.is_grad_enabled()

    assert down(3) is True
    assert torch.is_grad_enabled()


def test_set_grad_enabled_as_decorator_switches_nothing_where_it_stands(torch):
    @torch.set_grad_enabled(False)
    def quiet():
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled()
    assert quiet() is False
    assert torch.is_grad_enabled()


def test_inference_mode_is_undone_by_its_false(torch):
    with torch.inference_mode(), torch.inference_mode(mode=False):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()

    @torch.inference_mode
    def plain():
        return torch.is_inference_mode_enabled()

    assert plain()


def test_detect_anomaly_warns_and_nests(torch):
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = torch.autograd.detect_anomaly()
    with mode:
        assert torch.is_anomaly_enabled()
        assert torch.is_anomaly_check_nan_enabled()
        with torch.autograd.set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


def test_detect_anomaly_without_the_check(torch):
    x = torch.zeros(1, requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly"):
        mode = torch.autograd.detect_anomaly(check_nan=False)
    with mode:
        assert not torch.is_anomaly_check_nan_enabled()
        (x.sqrt() * 0).backward()
    assert x.grad.isnan().item()
