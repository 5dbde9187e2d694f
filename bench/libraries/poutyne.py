"""A model with epochs, metrics and callbacks."""

import torch
from poutyne import LambdaCallback, Model

from bench.drawn import array, perceptron


def main():
    losses = []
    points = array(32, 4)
    classes = (points[:, 0] > 0).astype("int64")
    network = perceptron()
    model = Model(network, torch.optim.SGD(network.parameters(), lr=0.1), "cross_entropy", batch_metrics=["accuracy"])
    callback = LambdaCallback(on_train_batch_end=lambda batch, logs: losses.append(logs["loss"]))
    model.fit(points, classes, epochs=2, batch_size=8, verbose=False, callbacks=[callback])
    return (
        losses,
        model.evaluate(points, classes, batch_size=16, verbose=False),
        model.predict(points, batch_size=16, verbose=False),
    )
