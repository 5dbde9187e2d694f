"""An elementwise operation is one definition in one file: functions, methods, forms, tests, stubs and docs follow."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

DEFINITION = '''
import numpy

from clew._operation import ELEMENT_BY_ELEMENT, FUNCTION, IN_PLACE, METHOD, OUT, operation


@operation(
    "gudermannian(Tensor self)",
    rules=(lambda g, self: g / self.cosh(),),
    flags=FUNCTION | METHOD | IN_PLACE | OUT | ELEMENT_BY_ELEMENT,
    domain="real",
)
def gudermannian(self):
    """2 arctan(tanh(x / 2)) of each element."""
    return 2 * numpy.arctan(numpy.tanh(self / 2))
'''

USE = """
import sys

import defined  # what makes it one of the registry
import numpy
import pytest

sys.path[:0] = [{root!r}, {root!r} + "/tests", {root!r} + "/tests/ops"]
import test_registry as registry

import clew
from tools import make_stubs

(overload,) = [one for one in registry.SAMPLED if one.operation == "gudermannian"]

# The generated tests take it in.
registry.test_it_has_a_domain(overload)
registry.test_it_runs(overload)
registry.test_derivatives_of_first_and_second_order(overload)
registry.test_the_derived_form_writes_what_the_plain_one_gives(overload)
registry.test_a_view_that_is_written_has_the_derivatives_of_the_plain_form(overload)
registry.test_rules_are_linear_in_the_gradient(overload)
registry.test_out_holds_what_the_plain_form_gives(overload)

# Functions, methods and forms.
x = clew.tensor([0.5, -1.0], dtype=clew.float64)
expected = numpy.arcsin(numpy.tanh(x.numpy()))  # the same function by another formula
out = clew.empty(2, dtype=clew.float64)
for result in (
    clew._core.functions["gudermannian"](x),
    x.gudermannian(),
    clew._core.functions["gudermannian"](x, out=out),
    x.clone().gudermannian_(),
):
    numpy.testing.assert_allclose(result.numpy(), expected, rtol=1e-14)

# Names in graphs and errors, what is saved, documentation and stubs.
node = x.requires_grad_().gudermannian().grad_fn
assert type(node).__name__ == "GudermannianBackward0"
assert node._saved_self is x
with pytest.raises(TypeError, match="gudermannian"):
    clew._core.functions["gudermannian"]("no tensor")
assert "arctan" in clew._core.functions["gudermannian"].__doc__
assert "def gudermannian(self" in make_stubs.core_stub()
assert "def gudermannian(" in make_stubs.functions_stub()
assert "gudermannian" in make_stubs.operations_page()
"""


@pytest.mark.beyond
def test_an_operation_from_a_string(tmp_path):
    (tmp_path / "defined.py").write_text(DEFINITION)
    script = tmp_path / "use.py"
    script.write_text(USE.format(root=str(ROOT)))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
