"""What the source says about a line."""

import pytest

from clew.graph.program.loops import Loop, assigned_at, loops_around

SOURCE = """\
x = 1
for i in range(3):
    self.y = f(
        i,
    )
    while True:
        a, b = g()
        break
    def inner():
        return [
            i for i in range(3)
        ]
else:
    x += 1
z[0] = 2
w: int = 3
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.mark.parametrize(
    ("line", "loops"),
    [
        (1, []),
        (2, []),
        (4, [Loop(2, 3, 12)]),
        (6, [Loop(2, 3, 12), Loop(6, 6, 8)]),
        (7, [Loop(2, 3, 12), Loop(6, 6, 8)]),
        (11, []),
        (14, []),
        (15, []),
    ],
)
def test_the_loops_around_a_line(file, line, loops):
    assert loops_around(file, line) == loops


@pytest.mark.parametrize(
    ("line", "name"),
    [(1, "x"), (2, None), (3, "self.y"), (4, "self.y"), (7, None), (8, None), (14, "x"), (15, None), (16, "w")],
)
def test_what_a_line_assigns_to(file, line, name):
    assert assigned_at(file, line) == name


def test_source_that_is_no_python(tmp_path):
    path = tmp_path / "template.txt"
    path.write_text("for {{ x }}\n")
    assert loops_around(str(path), 1) == []
    assert assigned_at(str(path), 1) is None


def test_lines_that_do_not_exist(file):
    assert loops_around(file, 99) == []
    assert loops_around("no such file", 1) == []
