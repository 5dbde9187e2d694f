"""The complexity of a network."""

import torch
from ptflops import get_model_complexity_info


def main():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2)
    )
    quiet = {"as_strings": False, "print_per_layer_stat": False, "verbose": False, "backend": "pytorch"}
    return get_model_complexity_info(model, (3, 8, 8), **quiet)
