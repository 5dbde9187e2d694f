"""What every test may ask for.

The body of a test is written once and runs on clew or, with CLEW_TEST_ORACLE=1, on PyTorch itself: a test that plain
PyTorch does not pass is wrong, unless it carries the mark `beyond` (behaviour that PyTorch does not have).
"""

import gc
import importlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

ON_ORACLE = os.environ.get("CLEW_TEST_ORACLE") == "1"
MODULE_NAME = "torch" if ON_ORACLE else "clew"


def pytest_configure(config):
    config.addinivalue_line("markers", "beyond: behaviour that PyTorch does not have; skipped on the oracle")
    config.addinivalue_line("markers", "slow: exhaustive, or on a large scale; only `.ci/full` and `-m slow` run it")
    config.addinivalue_line("markers", "browser: opens a page in chromium; skipped where there is none")
    config.addinivalue_line("markers", "records_calls: needs a Python whose calls are recorded; skipped on others")
    config.addinivalue_line("markers", "may_leak: the test leaves tensors behind on purpose")
    config.addinivalue_line(
        "markers", "unsanitized(reason, cases=None): left out under the sanitizers, where `cases` matches its name"
    )
    # What a shell started in the background ignores interrupts, and so would the programs that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if ON_ORACLE:
        config.addinivalue_line("filterwarnings", "ignore:Using backward.. with create_graph=True:UserWarning")
        config.addinivalue_line("filterwarnings", "ignore:Full backward hook is firing:UserWarning")


def is_left_out_under_sanitizers(item):
    return any(re.search(mark.kwargs.get("cases", ""), item.name) for mark in item.iter_markers("unsanitized"))


def pytest_collection_modifyitems(config, items):
    if os.environ.get("CLEW_SANITIZED") and not os.environ.get("CLEW_CI_FULL"):
        left = [item for item in items if is_left_out_under_sanitizers(item)]
        config.hook.pytest_deselected(items=left)
        gone = set(left)
        items[:] = [item for item in items if item not in gone]
    left_out = {"beyond": "beyond PyTorch"} if ON_ORACLE else {}
    if not (ON_ORACLE or importlib.import_module("clew._core").records_calls):
        left_out["records_calls"] = "calls are not recorded on this Python"
    for item in items:
        for mark, reason in left_out.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


def keep_what_is_there_out_of_collections():
    """Modules and their caches stay: the collector need not look at them again before and after each test."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish(session):
    if importlib.util.find_spec("torch"):
        importlib.import_module("torch")
    keep_what_is_there_out_of_collections()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    result = yield
    if nextitem is not None and nextitem.path != item.path:  # what a file has compiled may be a million objects
        keep_what_is_there_out_of_collections()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.call_passed = report.passed
    return report


@pytest.fixture
def torch():
    """The module under test: clew, or the oracle."""
    return importlib.import_module(MODULE_NAME)


@pytest.fixture
def on_oracle():
    """Whether the module under test is the oracle itself."""
    return ON_ORACLE


@pytest.fixture(scope="session")
def oracle():
    """PyTorch itself, to compute what is expected.

    One thread, as its idle ones spin on a busy machine; its many objects are kept out of later garbage collections.
    """
    module = pytest.importorskip("torch")
    module.set_num_threads(1)
    keep_what_is_there_out_of_collections()
    return module


@pytest.fixture(autouse=True)
def same_seeds_for_each_test():
    """Tests do not depend on the order they run in. Modules that nobody imported have no state to reset.

    PyTorch's `manual_seed` also notes a traceback for each device that is not there: longer than most tests take.
    """
    numpy.random.seed(0)
    for name in {"torch", MODULE_NAME}:
        module = sys.modules.get(name)
        if hasattr(module, "default_generator"):
            module.default_generator.manual_seed(0)


def held(module):
    """Bytes of living tensors, and nodes."""
    gc.collect()
    return {
        "bytes": module.memory.stats().live,
        "nodes": module._core.graph_counters()["nodes_alive"],
        "slots": module._core.graph_counters()["slots_alive"],
    }


@pytest.fixture
def no_leak(request):
    """After the test, as many bytes, nodes and saved slots live as before. Folders switch it on for all their tests.

    A failing test is not checked: its traceback still holds the tensors.
    """
    if ON_ORACLE or request.node.get_closest_marker("may_leak"):
        yield
        return
    module = importlib.import_module(MODULE_NAME)
    before = held(module)
    yield
    if getattr(request.node, "call_passed", False):
        after = held(module)  # less than before only where an earlier test failed and its traceback has gone
        assert all(after[kind] <= before[kind] for kind in before), f"left behind: {before} became {after}"


@pytest.fixture
def script_environment():
    """The environment in which another interpreter finds the same module under test."""
    package = importlib.util.find_spec(MODULE_NAME)
    search_path = [str(Path(package.origin).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(search_path)}


@pytest.fixture
def run_script(tmp_path, script_environment):
    """Run a script in an interpreter of its own, in which `torch` is the module under test.

    A crash, a hang or a changed process-wide state then fails one test only.
    """

    def run(source, *arguments, timeout=60, check=True):
        script = tmp_path / "script.py"
        script.write_text(f"import {MODULE_NAME} as torch\n{source}")
        done = subprocess.run(
            [sys.executable, str(script), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=script_environment,
            cwd=tmp_path,
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run
