"""Attributions: integrated gradients, DeepLift, saliency, occlusion, layers."""

from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    IntegratedGradients,
    LayerConductance,
    Occlusion,
    Saliency,
)

from bench.drawn import normal, perceptron


def main():
    model, points, base = perceptron(), normal(3, 4), normal(1, 4)
    found = [IntegratedGradients(model).attribute(points, target=1, n_steps=20)]
    found += [kind(model).attribute(points.clone(), target=1) for kind in (Saliency, DeepLift, FeatureAblation)]
    found.append(GradientShap(model).attribute(points, base.expand(4, 4), target=1))
    found.append(LayerConductance(model, model[1]).attribute(points, target=1, n_steps=20))
    found.append(Occlusion(model).attribute(points, sliding_window_shapes=(2,), target=1))
    return found
