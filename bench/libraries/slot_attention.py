"""Slots that compete for inputs."""

from slot_attention import MultiHeadSlotAttention, SlotAttention

from bench.drawn import filled, normal, trained


def main():
    x, found = normal(2, 12, 16), []
    for model in (
        SlotAttention(num_slots=3, dim=16, iters=2),
        MultiHeadSlotAttention(num_slots=3, dim=16, heads=2, iters=2),
    ):
        filled(model)
        found.append(trained(lambda: model(x).square().mean(), model, steps=3))
    return found
