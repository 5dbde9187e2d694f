"""Banks of filters: learned, short-time Fourier, and back."""

from asteroid_filterbanks import STFTFB, Decoder, Encoder, FreeFB, ParamSincFB, transforms

from bench.drawn import filled, normal


def main():
    sound, found = normal(2, 1, 1000), []
    for bank in (FreeFB(16, 32, stride=8), STFTFB(32, 32, stride=8), ParamSincFB(16, 33, stride=8)):
        encoder = filled(Encoder(bank))
        found.append(encoder(sound))
    found += [transforms.mag(found[1]), filled(Decoder(FreeFB(16, 32, stride=8)))(found[0])]
    return found
