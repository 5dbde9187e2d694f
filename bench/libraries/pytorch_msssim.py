"""Structural similarity at several scales, as a loss."""

from pytorch_msssim import MS_SSIM, ms_ssim, ssim

from bench.drawn import trained, uniform


def main():
    image, other = uniform(1, 3, 176, 176), uniform(1, 3, 176, 176).requires_grad_()
    return (
        ssim(image, other, data_range=1),
        ms_ssim(image, other, data_range=1),
        trained(lambda: 1 - MS_SSIM(data_range=1)(image, other), [other], 2),
    )
