"""The summary of a network: sizes, parameters and operations."""

import torch
import torchinfo


def main():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 2)
    )
    found = torchinfo.summary(model, input_size=(2, 3, 8, 8), verbose=0)
    return (
        found.total_params,
        found.total_mult_adds,
        found.total_output_bytes,
        [len(layer.output_size) for layer in found.summary_list],
    )
