"""`torch.hub`: folders and files that are there; nothing is downloaded."""

import hashlib
import inspect

import pytest
import torch

import clew

CONF = '''
import clew
from part import factor

dependencies = ["clew"]

def scaled(n, by=1.0):
    """A layer."""
    layer = clew.nn.Linear(n, n)
    with clew.no_grad():
        layer.weight.fill_(by * factor)
    return layer

def _hidden(): ...
'''


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "hubconf.py").write_text(CONF)
    (tmp_path / "repo" / "part.py").write_text("factor = 2.0")
    before = clew.hub._chosen
    yield tmp_path
    clew.hub._chosen = before


def test_a_folder(place):
    repo = str(place / "repo")
    assert clew.hub.load(repo, "scaled", 2, source="local", by=3.0).weight.tolist() == [[6.0, 6.0]] * 2
    assert clew.hub.list(repo) == ["scaled"]
    assert clew.hub.help(repo, "scaled") == "A layer."
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        clew.hub.load(repo, "other", source="local")
    with pytest.raises(FileNotFoundError, match=r"hubconf\.py"):
        clew.hub.load(str(place), "scaled", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        clew.hub.load(repo, "scaled", source="web")
    (place / "repo" / "hubconf.py").write_text("dependencies = ['no_such_package']")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        clew.hub.list(repo)


def test_a_repository_that_was_cloned_into_the_cache(place):
    clew.hub.set_dir(place)
    assert clew.hub.get_dir() == str(place)
    with pytest.raises(NotImplementedError, match="downloads nothing"):
        clew.hub.load("me/mine", "scaled", 1)
    (place / "repo").rename(place / "me_mine_main")
    assert clew.hub.load("me/mine", "scaled", 1).weight.item() == 2.0


def test_weights(place):
    clew.hub.set_dir(place / "hub")
    (place / "hub" / "checkpoints").mkdir(parents=True)
    url = "https://example.com/models/net-{}.pth?v=1"
    with pytest.raises(NotImplementedError, match=r"net-abc\.pth"):
        clew.hub.load_state_dict_from_url(url.format("abc"))
    torch.save({"w": torch.ones(2)}, place / "made")
    digest = hashlib.sha256((place / "made").read_bytes()).hexdigest()[:8]
    for name in (digest, "00000000"):
        (place / "hub" / "checkpoints" / f"net-{name}.pth").write_bytes((place / "made").read_bytes())
    state = clew.hub.load_state_dict_from_url(url.format(digest), check_hash=True)
    assert state["w"].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="invalid hash"):
        clew.hub.load_state_dict_from_url(url.format("00000000"), check_hash=True)
    found = clew.hub.load_state_dict_from_url("https://x/y", model_dir=str(place), file_name="made", map_location="cpu")
    assert found["w"].tolist() == [1.0, 1.0]
    with pytest.raises(NotImplementedError, match="downloads nothing"):
        clew.hub.download_url_to_file("https://x/y", str(place / "z"))


def test_places_are_pytorchs(monkeypatch):
    monkeypatch.setattr(clew.hub, "_chosen", None)
    for variables in ({}, {"TORCH_HOME": "/somewhere"}, {"XDG_CACHE_HOME": "/cache"}):
        for name in ("TORCH_HOME", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert clew.hub.get_dir() == torch.hub.get_dir()
    for name in clew.hub.__all__:
        ours, theirs = (inspect.signature(getattr(library.hub, name)) for library in (clew, torch))
        assert list(ours.parameters) == list(theirs.parameters)
