"""The transformer family: the same seed gives PyTorch's weights, outputs, gradients, names and text."""

import pytest


def ramp(m, *sizes):
    count = 1
    for size in sizes:
        count *= size
    return (m.arange(count).reshape(sizes) * 0.61).sin()


def results(m, model, *inputs, **masks):
    leaves = [one.requires_grad_() for one in inputs]
    output = model(*leaves, **masks)
    (output * output.detach().cos()).sum().backward()
    gradients = {name: one.grad for name, one in model.named_parameters()}
    return output, [one.grad for one in leaves], gradients, list(model.state_dict()), repr(model)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    "options", [{}, {"norm_first": True, "batch_first": True}, {"bias": False, "activation": "gelu"}]
)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_transformer_agrees(options, causal, dropout, agree):
    def program(m):
        model = m.nn.Transformer(8, 2, 2, 1, 12, dropout, **options)
        mask = m.nn.Transformer.generate_square_subsequent_mask(4) if causal else None
        hidden = m.tensor([[False, False, False, False, True]] * 3)
        first = options.get("batch_first", False)
        src, tgt = (ramp(m, *((3, n, 8) if first else (n, 3, 8))) for n in (5, 4))
        return results(m, model, src, tgt, tgt_mask=mask, memory_key_padding_mask=None if causal else hidden)

    agree(program, absolute=5e-5)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("training", [False, True])
def test_encoders_and_decoders_agree(training, agree):
    def program(m):
        encoder = m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True), 2)
        decoder = m.nn.TransformerDecoder(m.nn.TransformerDecoderLayer(8, 2, 12, 0.0), 2, m.nn.LayerNorm(8))
        causal = m.nn.Transformer.generate_square_subsequent_mask(5)
        encoder.train(training), decoder.train(training)
        return [
            results(m, encoder, ramp(m, 3, 5, 8), mask=causal),
            results(m, encoder, ramp(m, 3, 5, 8), mask=causal, is_causal=True),
            results(m, decoder, ramp(m, 4, 3, 8), ramp(m, 5, 3, 8)),
        ]

    agree(program, absolute=5e-5)


def test_copies_of_a_layer_start_alike_and_are_apart(torch):
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), 2)
    first, second = (layer.linear1.weight for layer in encoder.layers)
    assert first is not second
    assert first.equal(second)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("shapes", [((5, 2, 8), (4, 3, 8)), ((5, 3, 6), (4, 3, 6))])
def test_what_does_not_fit_is_refused(shapes, torch):
    with pytest.raises(RuntimeError, match="of src and tgt must be equal"):
        torch.nn.Transformer(8, 2, 1, 1, 8)(*(torch.zeros(shape) for shape in shapes))
