"""The parameters of a convolutional network, layer by layer."""

import contextlib
import io
import re

import torch
from torchsummary import summary


def main():
    model, text = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()), io.StringIO()
    with contextlib.redirect_stdout(text):
        summary(model, (3, 8, 8), device="cpu")
    return [float(number) for number in re.findall(r"\b\d+\b", text.getvalue())]
