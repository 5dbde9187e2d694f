"""What PyTorch gives for the samples of the registry, in a file: for machines that have no PyTorch, as an emulated one.

python tests/stored_values.py FILE     writes it, where PyTorch is

Where CLEW_STORED_VALUES names such a file, tests that compare with PyTorch's values read them there (tools/aarch64.py).
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pickle
import sys
import warnings
from pathlib import Path

PATH = os.environ.get("CLEW_STORED_VALUES")


@dataclasses.dataclass(frozen=True)
class NoTensor:
    """What a result that is no tensor is compared by."""

    text: str

    def __repr__(self):
        return self.text


def _stored(value):
    """A tensor as its numbers and the name of its dtype."""
    if value is None or not hasattr(value, "detach"):
        return value if value is None else NoTensor(repr(value))
    plain = value.detach().resolve_conj().resolve_neg().clone()
    numbers = plain.float() if str(value.dtype) == "torch.bfloat16" else plain
    return numbers.numpy(), str(value.dtype).removeprefix("torch.")


def write(path):
    """Computes all of them."""
    tests = Path(__file__).resolve().parent
    sys.path[:0] = [str(tests / "ops"), str(tests.parent / "src")]
    import sampling
    import stored_values  # not __main__, so that its class is found by name
    import test_registry
    import torch

    warnings.simplefilter("ignore")  # of what is deprecated
    torch.set_num_threads(1)
    found = {}
    for overload in test_registry.SAMPLED:
        for number, sample in enumerate(sampling.samples(overload) if overload.is_public else ()):
            expected = test_registry.pytorchs(sample, torch)
            found[overload.schema, number] = expected and [
                part and list(map(stored_values._stored, part)) for part in expected
            ]
    Path(path).write_bytes(pickle.dumps(found))
    known = sum(value is not None for value in found.values())
    print(f"{path}: {known} samples of {torch.__version__}, {Path(path).stat().st_size} bytes")


@functools.cache
def _read():
    return pickle.loads(Path(PATH).read_bytes())


def _opened(value, module):
    if not isinstance(value, tuple):
        return value
    return module.from_numpy(value[0]).to(getattr(module, value[1]))


def of(overload, number, module):
    """Results and gradients of a sample, as tensors of `module`; None if PyTorch has no such operation."""
    parts = _read()[overload.schema, number]
    return parts and [part and [_opened(value, module) for value in part] for part in parts]


if __name__ == "__main__":
    write(sys.argv[1])
