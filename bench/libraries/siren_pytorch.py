"""Networks of sines learn an image."""

from siren_pytorch import SirenNet, SirenWrapper

from bench.drawn import normal, trained, uniform


def main():
    network = SirenNet(dim_in=2, dim_hidden=16, dim_out=3, num_layers=2)
    wrapper, image = SirenWrapper(network, image_width=8, image_height=8), uniform(1, 3, 8, 8)
    return trained(lambda: wrapper(image), wrapper), network(normal(5, 2))
