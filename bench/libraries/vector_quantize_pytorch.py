"""Vector quantization with straight-through gradients: plain, residual and finite scalar."""

from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

from bench.drawn import filled, normal


def main():
    x, found = normal(2, 12, 8).requires_grad_(), []
    layers = [VectorQuantize(dim=8, codebook_size=16, decay=0.8), ResidualVQ(dim=8, num_quantizers=2, codebook_size=16)]
    for layer in layers:
        quantized, indices, loss = layer(x)
        found += [quantized, indices.float(), loss]
        quantized.square().sum().backward()
    quantized, indices = filled(FSQ(levels=[8, 5, 5], dim=8))(x)
    return found, quantized, indices.float(), x.grad
