"""A scikit-learn classifier with cross-validation over a module."""

import torch
from sklearn.model_selection import cross_val_score
from skorch import NeuralNetClassifier

from bench.drawn import array, perceptron


def main():
    points = array(60, 4)
    classes = (points[:, 0] + points[:, 1] > 0).astype("int64")
    settings = {"criterion": torch.nn.CrossEntropyLoss, "lr": 0.1, "max_epochs": 3, "verbose": 0, "train_split": None}
    net = NeuralNetClassifier(perceptron(), **settings)
    net.fit(points, classes)
    return net.history[:, "train_loss"], net.predict_proba(points), cross_val_score(net, points, classes, cv=3)
