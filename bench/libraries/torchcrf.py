"""A conditional random field: likelihood and the best path."""

from torchcrf import CRF

from bench.drawn import filled, integers, normal, trained


def main():
    model, scores, tags = filled(CRF(4, batch_first=True)), normal(3, 7, 4), integers(4, 3, 7)
    mask = integers(2, 3, 7).bool()
    mask[:, 0] = True
    mask, _ = mask.sort(1, descending=True)
    losses = trained(lambda: -model(scores, tags, mask=mask), model)
    return losses, [tag for path in model.decode(scores, mask) for tag in path]
