"""A small UNet learns the noise of DDPM, and DDIM samples from it."""

import torch
from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

from bench.drawn import filled, integers, normal, trained


def main():
    blocks = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
    channels = {"block_out_channels": (16, 32), "norm_num_groups": 4, "attention_head_dim": 8}
    model = filled(UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, **blocks, **channels))
    images, noise, times = normal(4, 1, 8, 8), normal(4, 1, 8, 8), integers(100, 4)
    noisy = DDPMScheduler(num_train_timesteps=100).add_noise(images, noise, times)
    losses = trained(lambda: (model(noisy, times).sample - noise).square().mean(), model)
    scheduler, sample = DDIMScheduler(num_train_timesteps=100), normal(1, 1, 8, 8)
    scheduler.set_timesteps(4)
    with torch.no_grad():
        for time in scheduler.timesteps:
            sample = scheduler.step(model(sample, time).sample, time, sample).prev_sample
    return losses, sample
