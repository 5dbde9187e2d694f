"""Running one program on the module under test and on PyTorch, and comparing what it returns."""

import numpy


def plain(value):
    """`value` with tensors as arrays, in containers of any depth."""
    if hasattr(value, "detach"):
        return value.detach().numpy().copy()
    if hasattr(value, "items"):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def assert_same(ours, theirs, relative=1e-5, absolute=1e-5):
    """Both have the same structure and, up to rounding, the same numbers."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, relative, absolute)
    elif isinstance(ours, (numpy.ndarray, float)):
        if isinstance(ours, numpy.ndarray):
            assert ours.dtype == theirs.dtype
            assert ours.shape == theirs.shape
        numpy.testing.assert_allclose(ours, theirs, rtol=relative, atol=absolute)
    else:
        assert ours == theirs


def agreement(torch, oracle):
    """A function that runs a program on both modules, from the same seed, and asserts that the results agree."""

    def agree(program, relative=1e-5, absolute=1e-5):
        results = []
        for module in (torch, oracle):
            module.manual_seed(0)
            results.append(plain(program(module)))
        assert_same(*results, relative, absolute)

    return agree
