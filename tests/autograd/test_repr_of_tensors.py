"""1.6 A tensor prints as it does in PyTorch."""

import math
import subprocess
import sys

import pytest

PRINTED = {
    "scalar": lambda torch: torch.tensor(1.5),
    "whole number": lambda torch: torch.tensor(3.0),
    "integer": lambda torch: torch.tensor(3),
    "int32": lambda torch: torch.tensor([1, -20], dtype=torch.int32),
    "uint8": lambda torch: torch.tensor([1, 20], dtype=torch.uint8),
    "bool": lambda torch: torch.tensor([[True, False]]),
    "bool scalar": lambda torch: torch.tensor(True),
    "float64": lambda torch: torch.tensor([1.0, 2.5], dtype=torch.float64),
    "mixed": lambda torch: torch.tensor([1.0, 2.25, -3.125]),
    "thirds": lambda torch: torch.tensor([1 / 3, 2 / 3]),
    "small": lambda torch: torch.tensor([1e-5, 1.0]),
    "tiny": lambda torch: torch.tensor([1e-20, 1e20]),
    "large": lambda torch: torch.tensor([1e8, 1.0]),
    "large whole": lambda torch: torch.tensor([1e10, 2e10]),
    "thousand": lambda torch: torch.tensor([1000.5, 0.001]),
    "infinite": lambda torch: torch.tensor([math.inf, -math.inf, math.nan, 1.0]),
    "only nan": lambda torch: torch.tensor([math.nan]),
    "negative zero": lambda torch: torch.tensor([-0.0, 0.0]),
    "matrix": lambda torch: torch.arange(6.0).reshape(2, 3) - 2.5,
    "cube": lambda torch: torch.arange(24).reshape(2, 3, 4),
    "long row": lambda torch: torch.arange(50.0),
    "summary": lambda torch: torch.arange(2000.0),
    "summary of a matrix": lambda torch: torch.arange(4000).reshape(40, 100),
    "empty": lambda torch: torch.tensor([]),
    "empty matrix": lambda torch: torch.zeros(0, 3),
    "empty integers": lambda torch: torch.zeros(2, 0, dtype=torch.int64),
    "leaf": lambda torch: torch.ones(2, requires_grad=True),
    "float64 leaf": lambda torch: torch.ones(2, dtype=torch.float64, requires_grad=True),
    "scalar leaf": lambda torch: torch.tensor(2.0, requires_grad=True),
    "result": lambda torch: torch.ones(2, requires_grad=True) * 3,
    "sum": lambda torch: torch.ones(2, requires_grad=True).sum(),
    "unbound": lambda torch: torch.ones(2, 2, requires_grad=True).unbind()[1],
    "in-place": lambda torch: torch.ones(2, requires_grad=True).clone().mul_(3),
    "parameter": lambda torch: torch.nn.Parameter(torch.ones(2, 2)),
    "frozen parameter": lambda torch: torch.nn.Parameter(torch.ones(2), requires_grad=False),
    "transposed": lambda torch: torch.arange(6.0).reshape(2, 3).t(),
    "expanded": lambda torch: torch.ones(1, 3).expand(2, 3),
    "dtype": lambda torch: torch.float32,
    "size": lambda torch: torch.ones(2, 3).shape,
    "device": lambda torch: torch.ones(1).device,
}


@pytest.mark.parametrize("name", PRINTED)
def test_repr_is_pytorchs(torch, oracle, name):
    ours, theirs = PRINTED[name](torch), PRINTED[name](oracle)
    for text in (repr, str):
        assert text(ours) == text(theirs)


def test_the_example_of_the_table(torch):
    x = torch.tensor([3.0], requires_grad=True)
    assert repr(x) == "tensor([3.], requires_grad=True)"
    assert repr(x * 2) == "tensor([6.], grad_fn=<MulBackward0>)"
    assert repr((x * 2).detach()) == "tensor([6.])"


def test_printing_does_not_touch_the_graph(torch):
    x = torch.tensor([3.0], requires_grad=True)
    y = x * x
    first = repr(y)
    y.backward()
    assert repr(y) == first
    assert repr(x.grad) == "tensor([6.])"


def test_a_view_written_in_place_prints_its_new_history(torch):
    y = torch.zeros(3, requires_grad=True) * 1
    y[0] = 2.0
    assert repr(y) == "tensor([2., 0., 0.], grad_fn=<CopySlices>)"


def test_format_of_a_scalar(torch):
    assert f"{torch.tensor(1.23456):.2f}" == "1.23"
    assert f"{torch.tensor(7):d}" == "7"
    assert f"{torch.tensor([1.0])}" == "tensor([1.])"


IMPORTS = ("import clew as torch", "import clew; torch = clew", "import clew; clew.as_torch(); import torch")


@pytest.mark.parametrize("imported", IMPORTS)
def test_values_print_as_pytorchs_where_the_program_says_torch(oracle, imported):
    program = f"{imported}\nx = torch.ones(2, dtype=torch.float64)\nprint(x, x.dtype, x.shape, x.device, x.layout)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    x = oracle.ones(2, dtype=oracle.float64)
    assert ran.stdout == f"{x} {x.dtype} {x.shape} {x.device} {x.layout}\n"


@pytest.mark.parametrize(
    ("imported", "name"),
    [("import clew", "clew"), ("import clew as torch", "torch"), ("import clew, clew as torch", "torch")],
)
def test_a_program_reads_the_name_that_it_uses(imported: str, name: str) -> None:
    program = f"{imported}\nx = {name}.ones(2, dtype={name}.float64)\nprint(x.dtype, [x.shape], x.layout, x, sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    expected = [
        f"{name}.float64", f"[{name}.Size([2])]", f"{name}.strided", f"tensor([1., 1.], dtype={name}.float64)"
    ]  # fmt: skip
    assert ran.stdout.splitlines() == expected
