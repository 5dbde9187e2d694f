"""Another conditional random field."""

from TorchCRF import CRF

from bench.drawn import filled, integers, normal, trained


def main():
    model, scores, tags = filled(CRF(4, use_gpu=False)), normal(3, 7, 4), integers(4, 3, 7)
    mask = integers(2, 3, 7) >= 0
    losses = trained(lambda: -model(scores, tags, mask).mean(), model)
    return losses, [tag for path in model.viterbi_decode(scores, mask) for tag in path]
