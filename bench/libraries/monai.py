"""A small UNet for volumes with the Dice loss, and metrics of overlap."""

import torch
from monai.losses import DiceCELoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, GaussianSmooth, ScaleIntensity

from bench.drawn import filled, integers, normal, trained


def main():
    volumes = torch.stack([Compose([GaussianSmooth(1.0), ScaleIntensity()])(normal(1, 16, 16, 16)) for _ in range(2)])
    volumes, labels = torch.as_tensor(volumes), integers(2, 2, 1, 16, 16, 16)
    model = filled(
        UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1)
    )
    loss = DiceCELoss(to_onehot_y=True, softmax=True)
    losses = trained(lambda: loss(model(volumes), labels), model, steps=3)
    metric = DiceMetric(include_background=True)
    metric((model(volumes).softmax(1) > 0.5).float(), torch.cat([1 - labels, labels], 1))
    return losses, metric.aggregate()
