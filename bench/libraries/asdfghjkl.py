"""Fisher information of a network, whole and by layers."""

import torch
from asdl import FISHER_EXACT, LOSS_CROSS_ENTROPY, SHAPE_FULL, SHAPE_LAYER_WISE, FisherConfig, get_fisher_maker

from bench.drawn import integers, normal, perceptron


def main():
    points, classes, found = normal(8, 4), integers(2, 8), []
    for shape in (SHAPE_FULL, SHAPE_LAYER_WISE):
        model = perceptron()
        config = FisherConfig(
            fisher_type=FISHER_EXACT, fisher_shapes=[shape], loss_type=LOSS_CROSS_ENTROPY, data_size=8
        )
        maker = get_fisher_maker(model, config)
        maker.setup_loss_call(torch.nn.functional.cross_entropy, maker.setup_model_call(model, points), classes)
        maker.forward_and_backward()
        found += [module.fisher.data for module in model.modules() if hasattr(module, "fisher")]
    return found
