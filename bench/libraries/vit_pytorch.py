"""A vision transformer, and two relatives of it, learn to classify."""

import torch
from vit_pytorch import ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.deepvit import DeepViT

from bench.drawn import filled, integers, normal, trained


def main():
    sizes = {"image_size": 16, "patch_size": 4, "num_classes": 3, "dim": 16, "depth": 2, "heads": 2, "mlp_dim": 32}
    images, classes, found = normal(2, 3, 16, 16), integers(3, 2), []
    for model in (ViT(**sizes), DeepViT(**sizes), CaiT(**sizes, cls_depth=1)):
        filled(model)
        found.append(trained(lambda: torch.nn.functional.cross_entropy(model(images), classes), model))
    return found
