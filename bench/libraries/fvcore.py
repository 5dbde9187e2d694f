"""Losses of detection, their gradients, and smooth schedules of rates."""

import torch
from fvcore.common.param_scheduler import CompositeParamScheduler, CosineParamScheduler, LinearParamScheduler
from fvcore.nn import giou_loss, sigmoid_focal_loss, smooth_l1_loss

from bench.drawn import integers, normal, uniform


def main():
    scores, classes = normal(8, 3).requires_grad_(), integers(2, 8, 3).float()
    boxes = torch.cat([uniform(4, 2), 1 + uniform(4, 2)], 1).requires_grad_()
    found = [sigmoid_focal_loss(scores, classes, 0.25, 2.0, "sum"), smooth_l1_loss(scores, classes, 0.5, "mean")]
    found.append(giou_loss(boxes, boxes.flip(0).detach(), "sum"))
    sum(found).backward()
    schedule = CompositeParamScheduler(
        [LinearParamScheduler(0, 1), CosineParamScheduler(1, 0)], [0.3, 0.7], ["rescaled", "rescaled"]
    )
    return found, scores.grad, boxes.grad, [schedule(i / 10) for i in range(10)]
