"""Correct training loops of many kinds, beside those of tests/graph/growth: an observer must find nothing in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clew
from clew import nn

STEPS = 20
LOOPS: list[Callable[[], None]] = []

mse = nn.functional.mse_loss


def correct(loop: Callable[[], None]) -> Callable[[], None]:
    LOOPS.append(loop)
    return loop


def batch() -> tuple[Any, Any]:
    x = clew.randn(8, 4)
    return x, x.sum(dim=1, keepdim=True)


def network() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def sgd(model: Any, lr: float = 0.01) -> Any:
    return clew.optim.SGD(model.parameters(), lr=lr)


def losses(model: Any) -> Any:
    for _ in range(STEPS):
        x, y = batch()
        yield mse(model(x), y)


@correct
def gradients_accumulated_over_four_batches() -> None:
    optimizer = sgd(model := network())
    for number, loss in enumerate(losses(model)):
        (loss / 4).backward()
        if number % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


@correct
def gradients_from_grad_with_noise() -> None:
    """As in differentially private training: `.grad` is assigned, nothing adds to it."""
    optimizer = sgd(model := network())
    parameters = list(model.parameters())
    for loss in losses(model):
        for parameter, gradient in zip(parameters, clew.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient + 0.01 * clew.randn(*gradient.shape)
        optimizer.step()


@correct
def gradients_from_grad_copied() -> None:
    optimizer = sgd(model := network())
    parameters = list(model.parameters())
    for parameter in parameters:
        parameter.grad = clew.zeros_like(parameter)
    for loss in losses(model):
        for parameter, gradient in zip(parameters, clew.autograd.grad(loss, parameters), strict=True):
            parameter.grad.copy_(gradient)
        optimizer.step()


@correct
def gradients_of_a_local_copy() -> None:
    """As in Hogwild: the shared parameters get the gradients of a local network."""
    shared, local = network(), network()
    optimizer = sgd(shared)
    for _ in range(STEPS):
        local.load_state_dict(shared.state_dict())
        local.zero_grad()
        x, y = batch()
        mse(local(x), y).backward()
        for parameter, own in zip(shared.parameters(), local.parameters(), strict=True):
            parameter.grad = own.grad
        optimizer.step()


@correct
def gradients_set_to_zero() -> None:
    optimizer = sgd(model := network())
    for loss in losses(model):
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()


@correct
def gradients_zeroed_through_the_model() -> None:
    optimizer = sgd(model := network())
    for loss in losses(model):
        model.zero_grad()
        loss.backward()
        optimizer.step()


@correct
def gradients_taken_away_by_hand() -> None:
    optimizer = sgd(model := network())
    for loss in losses(model):
        loss.backward()
        optimizer.step()
        for parameter in model.parameters():
            parameter.grad = None


@correct
def gradients_zeroed_by_hand() -> None:
    optimizer = sgd(model := network())
    for loss in losses(model):
        loss.backward()
        optimizer.step()
        for parameter in model.parameters():
            parameter.grad.zero_()


@correct
def gradients_clipped() -> None:
    optimizer = sgd(model := network())
    for loss in losses(model):
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@correct
def learning_rate_warmed_up_from_zero() -> None:
    optimizer = sgd(model := network())
    scheduler = clew.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: min(1.0, epoch / 10))
    for loss in losses(model):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


@correct
def two_optimizers_for_two_parts() -> None:
    encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
    optimizers = sgd(encoder), clew.optim.Adam(decoder.parameters())
    for _ in range(STEPS):
        x, _ = batch()
        for optimizer in optimizers:
            optimizer.zero_grad()
        mse(decoder(encoder(x)), x).backward()
        for optimizer in optimizers:
            optimizer.step()


@correct
def adversaries_in_turn() -> None:
    generator, discriminator = nn.Linear(2, 4), nn.Linear(4, 1)
    of_generator, of_discriminator = sgd(generator), sgd(discriminator)
    for _ in range(STEPS):
        real, _ = batch()
        fake = generator(clew.randn(8, 2))
        of_discriminator.zero_grad()
        (discriminator(fake.detach()).mean() - discriminator(real).mean()).backward()
        of_discriminator.step()
        of_generator.zero_grad()
        (-discriminator(fake).mean()).backward()
        of_generator.step()


@correct
def frozen_backbone() -> None:
    backbone, head = nn.Linear(4, 8), nn.Linear(8, 1)
    backbone.requires_grad_(False)
    optimizer = sgd(head)
    for _ in range(STEPS):
        x, y = batch()
        optimizer.zero_grad()
        mse(head(backbone(x)), y).backward()
        optimizer.step()


@correct
def network_as_a_fixed_loss() -> None:
    model, measure = nn.Linear(4, 4), network().requires_grad_(False)
    optimizer = sgd(model)
    for _ in range(STEPS):
        x, _ = batch()
        optimizer.zero_grad()
        measure(model(x)).square().mean().backward()
        optimizer.step()


@correct
def slope_of_a_network_that_is_not_trained() -> None:
    model, energy = nn.Linear(4, 4), network()  # autograd.grad leaves no gradient in it
    optimizer = sgd(model)
    for _ in range(STEPS):
        x, _ = batch()
        (force,) = clew.autograd.grad(energy(x.requires_grad_()).sum(), x)
        optimizer.zero_grad()
        mse(model(x.detach()), force).backward()
        optimizer.step()


@correct
def one_part_updated_by_hand() -> None:
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = sgd(second)
    for _ in range(STEPS):
        x, y = batch()
        optimizer.zero_grad()
        first.zero_grad()
        mse(second(first(x)), y).backward()
        optimizer.step()
        with clew.no_grad():
            for parameter in first.parameters():
                parameter -= 0.01 * parameter.grad


@correct
def one_part_updated_through_data() -> None:
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = sgd(second)
    for _ in range(STEPS):
        x, y = batch()
        optimizer.zero_grad()
        first.zero_grad()
        mse(second(first(x)), y).backward()
        optimizer.step()
        for parameter in first.parameters():
            parameter.data.sub_(parameter.grad, alpha=0.01)


@correct
def closure_that_is_called_often() -> None:
    model = network()
    optimizer = clew.optim.LBFGS(model.parameters(), max_iter=4)
    x, y = batch()

    def closure() -> Any:
        optimizer.zero_grad()
        loss = mse(model(x), y)
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)


@correct
def penalty_on_a_gradient() -> None:
    optimizer = sgd(model := nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    for _ in range(STEPS):
        x, y = batch()
        x.requires_grad_()
        out = model(x)
        (slope,) = clew.autograd.grad(out.sum(), x, create_graph=True)
        penalty = slope.square().mean()
        optimizer.zero_grad()
        (mse(out, y) + penalty).backward()
        optimizer.step()


@correct
def norm_of_a_gradient_written_down() -> None:
    optimizer = sgd(model := network())
    norms = []
    for loss in losses(model):
        optimizer.zero_grad()
        loss.backward()
        norm = sum(parameter.grad.square().sum() for parameter in model.parameters())
        norms.append(float(norm))
        optimizer.step()


@correct
def expert_that_is_chosen_now_and_then() -> None:
    experts = nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
    optimizer = sgd(experts)
    for number in range(STEPS):
        x, y = batch()
        optimizer.zero_grad()
        mse(experts[number % 5 == 2](x), y).backward()
        optimizer.step()


@correct
def evaluation_between_steps() -> None:
    optimizer = sgd(model := network())
    best = float("inf")
    for loss in losses(model):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with clew.no_grad():
            x, y = batch()
            best = min(best, mse(model(x), y).item())


@correct
def derivative_as_the_model() -> None:
    optimizer = sgd(model := nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)))
    for _ in range(STEPS):
        x = clew.rand(8, 1).requires_grad_()
        (slope,) = clew.autograd.grad(model(x).sum(), x, create_graph=True)
        optimizer.zero_grad()
        mse(slope, x.detach()).backward()  # the last bias has no part in it
        optimizer.step()


@correct
def layers_frozen_after_some_steps() -> None:
    optimizer = sgd(model := network())
    for number, loss in enumerate(losses(model)):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if number == 10:
            model[0].requires_grad_(False)


@correct
def groups_of_which_one_rests_at_first() -> None:
    model = network()
    optimizer = clew.optim.Adam([{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.0}])
    for number, loss in enumerate(losses(model)):
        optimizer.param_groups[1]["lr"] = 0.01 if number > 3 else 0.0
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
