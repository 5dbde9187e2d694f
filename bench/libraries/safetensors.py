"""Tensors of several dtypes, saved and loaded."""

import os
import tempfile

from safetensors import safe_open
from safetensors.torch import load, load_file, save, save_file, save_model

from bench.drawn import integers, normal, perceptron


def main():
    tensors = {
        "a": normal(3, 4),
        "b": integers(9, 5),
        "c": normal(2).bfloat16(),
        "d": normal(2, 2).half(),
        "e": normal(3) > 0,
    }
    found = [load(save(tensors))[name].double() for name in sorted(tensors)]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "x.safetensors")
        save_file(tensors, file, metadata={"kind": "test"})
        found.append(load_file(file)["a"])
        with safe_open(file, framework="pt") as opened:
            found.append(opened.get_slice("a")[1:, :2])
        save_model(perceptron(), file)
        found += [value for _, value in sorted(load_file(file).items())]
    return found
