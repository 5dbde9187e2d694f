"""Packed and padded sequences, and recurrent networks on them: as PyTorch's, forward, backward, errors."""

import pytest


def batch(m, lengths, features=3):
    return [(m.arange(length * features).reshape(length, features) * 0.37 + length).cos() for length in lengths]


def fields(packed):
    return [one for one in packed]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("lengths", [[4, 4, 2, 1], [2, 5, 1, 3], [3]])
def test_packing_and_padding_agree(lengths, batch_first, agree):
    def program(m):
        rnn, sequences = m.nn.utils.rnn, batch(m, lengths)
        leaves = [one.requires_grad_() for one in sequences]
        padded = rnn.pad_sequence(leaves, batch_first, padding_value=-1.0)
        packed = rnn.pack_padded_sequence(padded, m.tensor(lengths), batch_first, enforce_sorted=False)
        again, counted = rnn.pad_packed_sequence(packed, batch_first, padding_value=-2.0, total_length=6)
        (again * again.detach().cos()).sum().backward()
        left = rnn.pad_sequence(sequences, padding_side="left")
        back = rnn.unpad_sequence(padded.clone(), m.tensor(lengths), batch_first)  # PyTorch's transposes it
        unpacked = rnn.unpack_sequence(rnn.pack_sequence(sequences, enforce_sorted=False))
        grads = [one.grad for one in leaves]
        return (
            padded,
            fields(packed),
            again,
            counted,
            grads,
            left,
            back,
            unpacked,
            repr(rnn.pack_sequence([sequences[0].detach()])),
        )

    agree(program)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False, "num_layers": 2}])
@pytest.mark.parametrize("lengths", [[4, 4, 2, 1], [2, 5, 1, 3]])
@pytest.mark.parametrize("with_state", [False, True])
def test_recurrent_networks_take_packed_sequences(kind, options, lengths, with_state, agree):
    def program(m):
        rnn, sequences = m.nn.utils.rnn, [one.requires_grad_() for one in batch(m, lengths)]
        net = getattr(m.nn, kind)(3, 4, **options)
        packed = rnn.pack_sequence(sequences, enforce_sorted=lengths == sorted(lengths, reverse=True))
        layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
        state = (m.arange(layers * 4 * 4).reshape(layers, 4, 4) * 0.1).sin().requires_grad_()
        given = ((state, state.cos()) if kind == "LSTM" else state) if with_state else None
        output, last = net(packed, given)
        ends = list(last) if kind == "LSTM" else [last]
        ((output.data**2).sum() + sum((one * one.detach().cos()).sum() for one in ends)).backward()
        grads = [one.grad for one in [*sequences, *net.parameters()]]
        return fields(output), ends, grads, state.grad, rnn.pad_packed_sequence(output)[1]

    agree(program)


def test_a_packed_sequence_is_converted(agree):
    def program(m):
        packed = m.nn.utils.rnn.pack_sequence(batch(m, [2, 1]))
        assert packed.float() is packed
        assert packed.to("cpu") is packed
        double = packed.double()
        assert isinstance(double, m.nn.utils.rnn.PackedSequence)
        order = m.nn.utils.rnn.invert_permutation(m.tensor([2, 0, 1]))
        return double.data, packed.is_cuda, order, m.nn.utils.rnn.invert_permutation(None)

    agree(program)


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (
            lambda m, r: r.pack_padded_sequence(m.zeros(3, 2), [1, 2]),
            RuntimeError,
            "must be sorted in decreasing order",
        ),
        (lambda m, r: r.pack_padded_sequence(m.zeros(3, 2), [2, 0]), RuntimeError, "has to be greater than 0"),
        (lambda m, r: r.pack_padded_sequence(m.zeros(3, 2), [2]), RuntimeError, "equal to batch_size"),
        (lambda m, r: r.pack_padded_sequence(m.zeros(3, 2), [5, 2]), RuntimeError, None),
        (
            lambda m, r: r.pad_packed_sequence(r.pack_sequence([m.zeros(3)]), total_length=2),
            ValueError,
            "Expected total_length to be at least the length of the longest",
        ),
        (lambda m, r: r.pad_sequence([m.zeros(3)], padding_side="up"), (RuntimeError, ValueError), None),
        (lambda m, r: m.nn.LSTM(3, 2)(r.pack_sequence([m.zeros(3, 4)])), RuntimeError, "Expected 3, got 4"),
    ],
)
def test_bad_arguments_are_refused(act, error, text, torch):
    with pytest.raises(error, match=text):
        act(torch, torch.nn.utils.rnn)
