"""Max unpooling and the helpers of layers: as PyTorch's."""

import collections

import pytest

CASES = [(1, 2, {}), (1, 3, {"stride": 2}), (2, 2, {}), (2, (2, 3), {"stride": (2, 3)}), (3, 2, {})]


@pytest.mark.parametrize(("n", "kernel", "options"), CASES, ids=str)
@pytest.mark.parametrize("exact", [False, True])
def test_unpooling_agrees(n, kernel, options, exact, agree):
    def program(m):
        shape = (1, 2, *(4, 6, 8)[:n])
        count = 1
        for size in shape:
            count *= size
        x = (m.arange(count).reshape(shape) * 0.71).sin().requires_grad_()
        values, places = getattr(m.nn, f"MaxPool{n}d")(kernel, return_indices=True, **options)(x)
        layer = getattr(m.nn, f"MaxUnpool{n}d")(kernel, **options)
        y = layer(values, places, output_size=x.shape) if exact else layer(values, places)
        (y * y.detach().cos()).sum().backward()
        return y, x.grad, repr(layer)

    # Where windows overlap, the order of PyTorch's writes of one value to one place does not matter.
    agree(program) if "stride" not in options else overlapping(program, agree)


def overlapping(program, agree):
    agree(lambda m: program(m)[0])


@pytest.mark.parametrize(
    "act",
    [
        lambda F, m: F.max_unpool1d(m.ones(1, 1, 2), m.zeros(1, 1, 3, dtype=m.int64), 2),
        lambda F, m: F.max_unpool1d(m.ones(1, 1, 2), m.tensor([[[0, 9]]]), 2),
        lambda F, m: F.max_unpool1d(m.ones(1, 1, 2), m.tensor([[[0, 1]]]), 2, output_size=(1, 1, 9)),
    ],
)
def test_bad_arguments_are_refused(act, torch):
    with pytest.raises((RuntimeError, ValueError)):
        act(torch.nn.functional, torch)


def test_helpers_of_layers(agree):
    def program(m):
        utils = m.nn.modules.utils
        state = collections.OrderedDict({"module.weight": 1, "bias": 2})
        utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return (
            utils._pair(3),
            utils._pair((1, 2)),
            utils._single(4),
            utils._triple([1, 2, 3]),
            dict(state).keys() >= {"bias"},
        )

    agree(program)
