"""The examples in the docstrings of modules, optimizers and helpers run as they stand."""

import doctest
import importlib
import pkgutil

import pytest

ROOTS = ["nn", "optim", "utils"]


@pytest.mark.beyond
def test_examples_run(torch):
    names = [f"{torch.__name__}.serialization"]
    for root in ROOTS:
        package = importlib.import_module(f"{torch.__name__}.{root}")
        names.append(package.__name__)
        names += [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    failed, tried = 0, 0
    for name in names:
        torch.manual_seed(0)
        result = doctest.testmod(
            importlib.import_module(name),
            extraglobs={"torch": torch, "clew": torch},
            optionflags=doctest.NORMALIZE_WHITESPACE,
        )
        failed, tried = failed + result.failed, tried + result.attempted
    assert failed == 0
    assert tried > 50
