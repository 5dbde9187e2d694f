"""Losses, miners and distances of metric learning."""

from pytorch_metric_learning import distances, losses, miners

from bench.drawn import integers, normal


def main():
    points, classes, found = normal(16, 8).requires_grad_(), integers(3, 16), []
    kinds = [
        losses.TripletMarginLoss(),
        losses.ContrastiveLoss(),
        losses.NTXentLoss(),
        losses.MultiSimilarityLoss(),
        losses.CircleLoss(),
    ]
    kinds += [losses.SupConLoss(), losses.TripletMarginLoss(distance=distances.CosineSimilarity())]
    for loss in kinds:
        found.append(loss(points, classes))
    found.append(kinds[0](points, classes, miners.MultiSimilarityMiner()(points, classes)))
    sum(found).backward()
    return found, points.grad
