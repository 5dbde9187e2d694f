"""`clew xray` of what is not a script."""

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.beyond, pytest.mark.unsanitized("it starts one process after the other")]


@pytest.fixture
def xray(script_environment, tmp_path):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "clew.cli", "xray", *map(str, arguments)],
            capture_output=True, text=True, timeout=60, env=script_environment, cwd=tmp_path,
        )  # fmt: skip

    return run


def assert_refused(done, *words):
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert done.stderr.startswith(("clew xray: ", "usage: clew"))


def test_a_file_that_is_missing(xray, tmp_path):
    assert_refused(xray(tmp_path / "missing.py"), "missing.py", "no such file")


def test_a_folder(xray, tmp_path):
    (tmp_path / "package").mkdir()
    assert_refused(xray(tmp_path / "package"), "package", "folder")


@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02\x7fELF", bytes(range(256)), b"\xff\xfe\x00a", b"PK\x03\x04\x00\x00"]
)
def test_a_binary_file(xray, tmp_path, content):
    path = tmp_path / "binary.py"
    path.write_bytes(content)
    assert_refused(xray(path), "binary.py", "expected a Python script")


@pytest.mark.parametrize(
    "content", ["x = = 1\n", "def f(:\n", "  indented\n", "print 'hello'\n", "x = (1,\n", "# Title\n\nSome prose.\n"]
)
def test_a_syntax_error(xray, tmp_path, content):
    path = tmp_path / "wrong.py"
    path.write_text(content)
    assert_refused(xray(path), "wrong.py", "expected a Python script")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(xray, tmp_path):
    path = tmp_path / "secret.py"
    path.write_text("x = 1\n")
    path.chmod(0)
    assert_refused(xray(path), "secret.py", "permission")


def test_no_script_at_all(xray):
    assert_refused(xray(), "SCRIPT")


def test_an_unknown_option_and_a_bad_line(xray, tmp_path):
    path = tmp_path / "fine.py"
    path.write_text("x = 1\n")
    assert_refused(xray("--bananas", path), "bananas")
    assert_refused(xray("--at", "last", path), "last")


def test_an_empty_script_is_a_script(xray, tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("")
    assert xray(path).returncode == 0


def test_a_script_that_fails_fails_as_it_would(xray, tmp_path):
    path = tmp_path / "fails.py"
    path.write_text("import clew as torch\nx = torch.ones(3)\nx + torch.ones(4)\n")
    done = xray(path)
    assert done.returncode == 1
    assert "fails.py" in done.stderr
    assert "line 3" in done.stderr
    assert "RuntimeError" in done.stderr
