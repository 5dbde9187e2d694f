"""Counts of floating-point operations against PyTorch's."""

import pytest
import torch
import torch.utils.flop_counter

import clew


def net(library):
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.ReLU(), nn.ConvTranspose2d(3, 4, 2, stride=2), nn.Flatten(), nn.Linear(576, 5)
    )


@pytest.mark.parametrize("backward", [False, True])
def test_counts_are_pytorchs(backward):
    found = []
    for library in (clew, torch):
        model = net(library)
        with library.utils.flop_counter.FlopCounterMode(display=False) as counter:
            loss = model(library.ones(2, 2, 8, 8)).sum() + (library.ones(2, 3, 4) @ library.ones(2, 4, 5)).sum()
            if backward:
                loss.backward()
        counts = {name: sum(one.values()) for name, one in counter.get_flop_counts().items() if sum(one.values())}
        found.append((counter.get_total_flops(), counts))
    if backward:
        assert found[0][0] == found[1][0]
    else:
        assert found[0] == found[1]


def test_attention_and_the_table(capsys):
    q = clew.ones(2, 3, 8, 4)
    with clew.utils.flop_counter.FlopCounterMode() as counter:
        clew.nn.functional.scaled_dot_product_attention(q, q, q)
    assert counter.get_total_flops() == 2 * (2 * 2 * 3 * 8 * 8 * 4)  # two products for each head
    assert "Global" in capsys.readouterr().out
    with pytest.raises(NotImplementedError, match="custom_mapping"):
        clew.utils.flop_counter.FlopCounterMode(custom_mapping={"x": 1})
