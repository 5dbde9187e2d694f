"""fold and unfold beside PyTorch's: the modules, and what is refused."""

import pytest

import clew


@pytest.mark.unsanitized("comparisons with PyTorch are made without sanitizers")
def test_modules_are_pytorchs(oracle):
    results, shown = [], []
    for module in (clew, oracle):
        image = module.arange(2.0 * 3 * 6 * 7).reshape(2, 3, 6, 7)
        unfold = module.nn.Unfold((2, 3), dilation=2, padding=(1, 2), stride=(2, 1))
        columns = unfold(image)
        fold = module.nn.Fold((6, 7), (2, 3), dilation=2, padding=(1, 2), stride=(2, 1))
        results.append((columns.tolist(), fold(columns).tolist(), fold(columns[0]).tolist(), unfold(image[0]).tolist()))
        shown.append((repr(unfold), repr(fold)))
    assert results[0] == results[1]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.nn.functional.unfold(m.ones(2, 3), 2),
        lambda m: m.nn.functional.unfold(m.ones(1, 2, 3, 3), 4),
        lambda m: m.nn.functional.unfold(m.ones(1, 2, 3, 3), 0),
        lambda m: m.nn.functional.unfold(m.ones(1, 2, 3, 3), 2, stride=0),
        lambda m: m.nn.functional.fold(m.ones(1, 5, 4), (3, 3), 2),
        lambda m: m.nn.functional.fold(m.ones(1, 4, 5), (3, 3), 2),
        lambda m: m.nn.functional.fold(m.ones(4), (3, 3), 2),
        lambda m: m.nn.functional.fold(m.ones(1, 4, 4), (3, 3), 5),
    ],
)
def test_what_does_not_fit_is_refused(oracle, call):
    for module in (oracle, clew):
        with pytest.raises((RuntimeError, IndexError)):
            call(module)
