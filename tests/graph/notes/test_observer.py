"""What the observer finds: nothing in correct loops, and in wrong ones the bug, its line and the names."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from correct_loops import LOOPS, batch, losses, mse, network, sgd

import clew
from clew import nn
from clew.graph.model import events
from clew.graph.notes import observer as observer_module
from clew.graph.notes.finding import Finding
from clew.graph.notes.observer import Observer
from clew.graph.program.optimizers import made_listeners
from clew.optim import optimizer as optimizers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "growth"))

import correct_derivatives  # noqa: F401
import correct_recurrent  # noqa: F401
import correct_reinforcement  # noqa: F401
import correct_training  # noqa: F401
from small_training import CORRECT

ALL = [*CORRECT, *LOOPS]


def findings(loop: Callable[[], None]) -> list[Finding]:
    clew.manual_seed(0)
    with Observer(optimizers.watchers) as observer:
        loop()
    assert observer.failure is None
    return observer.findings()


@pytest.mark.beyond
@pytest.mark.parametrize("loop", ALL, ids=[loop.__name__ for loop in ALL])
def test_silence(loop: Any) -> None:
    assert findings(loop) == []


def test_there_are_enough() -> None:
    assert len(LOOPS) >= 20
    assert len({loop.__name__ for loop in ALL}) == len(ALL)


def only(loop: Callable[[], None]) -> Finding:
    """The one finding, whose line must be the one that is marked."""
    (found,) = findings(loop)
    source, first = inspect.getsourcelines(loop)
    marked = [number for number, line in enumerate(source, first) if line.rstrip().endswith("# here")]
    assert found.place is not None
    assert [found.place.line] == marked
    return found


def test_parameters_without_a_gradient() -> None:
    def loop() -> None:
        body, head, spare = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = sgd(nn.ModuleList([body, head, spare]))
        for _ in range(5):
            x, y = batch()
            optimizer.zero_grad()
            mse(head(body(x).detach()), y).backward()
            optimizer.step()  # here

    found = only(loop)
    assert found.kind == "no gradient"
    assert "`body.weight`, `body.bias`, `spare.weight` and `spare.bias` got no gradient" in found.text


def test_an_encoder_that_no_optimizer_has() -> None:
    def loop() -> None:
        encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 1)
        optimizer = sgd(decoder)
        for _ in range(6):
            x, y = batch()
            optimizer.zero_grad()
            mse(decoder(encoder(x)), y).backward()  # here
            optimizer.step()

    found = only(loop)
    assert found.kind == "no optimizer"
    assert "`encoder.bias`" in found.text
    assert "`encoder.weight`" in found.text
    assert "decoder" not in found.text


def test_a_head_that_no_optimizer_has() -> None:
    def loop() -> None:
        model = network()
        optimizer = sgd(model[0])
        for loss in losses(model):
            optimizer.zero_grad()
            loss.backward()  # here
            optimizer.step()

    found = only(loop)
    assert found.kind == "no optimizer"
    assert "model.2.weight" in found.text
    assert "model.0" not in found.text


def test_a_network_behind_the_trained_one_that_no_optimizer_has() -> None:
    def loop() -> None:
        generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        optimizer = sgd(generator)
        for _ in range(6):
            x, _ = batch()
            optimizer.zero_grad()
            critic(generator(x)).square().mean().backward()  # here
            optimizer.step()

    found = only(loop)
    assert found.kind == "no optimizer"
    assert "`critic.weight`" in found.text
    assert "generator" not in found.text


def test_an_optimizer_that_was_given_the_parameters_of_another_model() -> None:
    """The cause is told first: that the generator gets no gradient before this step follows from it."""

    def loop() -> None:
        generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
        of_generator, of_critic = sgd(generator), sgd(generator)
        for _ in range(6):
            real, _ = batch()
            fake = generator(clew.randn(8, 2))
            of_critic.zero_grad()
            (critic(fake.detach()).mean() - critic(real).mean()).backward()
            of_critic.step()
            of_generator.zero_grad()
            (-critic(fake).mean()).backward()
            of_generator.step()

    first, *others = findings(loop)
    assert first.kind == "no optimizer"
    assert {"`critic.weight`", "`critic.bias`"} <= set(first.text.split(" get ")[0].split(" and "))
    assert [found.kind for found in others] == ["no gradient"]


@pytest.mark.parametrize("clips", [False, True])
def test_gradients_that_nobody_zeroes(clips: bool) -> None:
    def loop() -> None:
        optimizer = sgd(model := network())
        for loss in losses(model):
            loss.backward()
            if clips:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()  # here

    assert only(loop).kind == "not zeroed"


def test_a_loss_without_history() -> None:
    def loop() -> None:
        optimizer = sgd(model := network())
        for loss in losses(model):
            optimizer.zero_grad()
            again = clew.tensor(loss.item(), requires_grad=True)
            again.backward()  # here
            optimizer.step()

    kinds = {found.kind: found for found in findings(loop)}
    assert set(kinds) == {"leaf loss", "no gradient"}
    assert kinds["leaf loss"].place is not None
    assert kinds["leaf loss"].place.source == "again.backward()  # here"


def test_a_penalty_that_is_a_constant() -> None:
    def loop() -> None:
        optimizer = sgd(model := network())
        for _ in range(4):
            x, y = batch()
            x.requires_grad_()
            out = model(x)
            (slope,) = clew.autograd.grad(out.sum(), x, retain_graph=True)
            penalty = (slope.norm() - 1) ** 2
            optimizer.zero_grad()
            loss = mse(out, y) + 10 * penalty  # here
            loss.backward()
            optimizer.step()

    found = only(loop)
    assert found.kind == "create_graph"
    assert found.text.startswith("`penalty` was computed from a gradient that has no graph")


def test_dead_units() -> None:
    def loop() -> None:
        model = network()
        nn.init.constant_(model[0].bias, -100.0)
        optimizer = clew.optim.SGD(model[2].parameters(), lr=0.01)
        model[0].requires_grad_(False)
        x = clew.ones(8, 4).requires_grad_()
        for _ in range(6):
            out = nn.functional.relu(model[0](x))  # here
            optimizer.zero_grad()
            mse(model[2](out), clew.ones(8, 1)).backward()
            optimizer.step()

    found = only(loop)
    assert found.kind == "dead units"
    assert "8 of 8 units" in found.text


def test_a_learning_rate_of_zero() -> None:
    def loop() -> None:
        optimizer = sgd(model := network(), lr=0.0)
        for loss in losses(model):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()  # here

    assert only(loop).kind == "zero step"


def test_what_goes_wrong_in_the_observer_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.graph.notes.passes.nearest", None)
    with Observer(optimizers.watchers) as observer:
        clew.ones(2, requires_grad=True).exp().sum().backward()
    assert "not callable" in str(observer.failure)
    assert optimizers.watchers == []


@pytest.mark.parametrize("loop", ALL, ids=[loop.__name__ for loop in ALL])
def test_silence_of_one_that_sleeps_most_of_the_time(loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer_module, "_FIRST_PASSES", 2)
    monkeypatch.setattr(observer_module, "_MOST_PASSES", 4)
    assert findings(loop) == []


def train(model: Any, optimizer: Any, steps: int, *, zeroes: bool = True) -> None:
    x, y = batch()
    for _ in range(steps):
        if zeroes:
            optimizer.zero_grad()
        mse(model(x), y).backward()
        optimizer.step()


def is_asleep(observer: Observer) -> bool:
    return observer._after_step not in optimizers.watchers


def test_an_observer_of_a_long_run_is_called_at_few_steps() -> None:
    model = network()
    optimizer = sgd(model)
    with Observer(optimizers.watchers) as observer:
        train(model, optimizer, 499)
        assert not is_asleep(observer)
        train(model, optimizer, 2)
        assert is_asleep(observer)
        assert observer._before_backward not in events._before
        assert observer._after_backward not in events._listeners
        awake = 0
        for _ in range(8_000):
            awake += not is_asleep(observer)
            train(model, optimizer, 1)
        assert 4 <= awake <= 20
    assert is_asleep(observer)
    assert observer._optimizer_made not in made_listeners
    assert observer.failure is None


def test_what_is_always_wrong_is_found_in_a_long_run() -> None:
    def loop() -> None:
        model = network()
        unused = nn.Parameter(clew.ones(2))
        optimizer = clew.optim.SGD([*model.parameters(), unused], lr=0.0)
        train(model, optimizer, 3_000, zeroes=False)

    found = {one.kind: one.text for one in findings(loop)}
    assert set(found) == {"no gradient", "zero step", "not zeroed"}
    assert "in each step that was observed (" in found["zero step"]
    assert " of more than 50" in found["zero step"]


def test_what_is_right_most_of_the_time_is_not_found() -> None:
    """The gradients of the first steps add up, those of later ones do not."""

    def loop() -> None:
        model = network()
        optimizer = sgd(model)
        train(model, optimizer, 500, zeroes=False)
        train(model, optimizer, 3_000)

    assert findings(loop) == []


def test_an_optimizer_made_late_is_observed_from_its_first_step() -> None:
    def loop() -> None:
        first = network()
        train(first, sgd(first), 2_000)
        second = network()
        train(second, sgd(second, lr=0.0), 20)

    (found,) = findings(loop)
    assert found.kind == "zero step"
    assert "in each step that was observed (17 of 20)" in found.text


def test_a_closure_that_runs_while_it_sleeps() -> None:
    model = network()
    optimizer = clew.optim.LBFGS(model.parameters(), max_iter=2)
    x, y = batch()

    def closure() -> Any:
        optimizer.zero_grad()
        loss = mse(model(x), y)
        loss.backward()
        return loss

    with Observer(optimizers.watchers) as observer:
        for _ in range(1_200):
            optimizer.step(closure)
    assert observer.failure is None
    assert observer.findings() == []
    assert optimizers.watchers == []
