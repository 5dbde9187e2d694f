"""load(weights_only=True) makes objects of the classes that the program allowed, and of no others."""

import pytest

import clew


class Settings:
    def __init__(self, rate):
        self.rate = rate
        self.weights = clew.ones(2)


class Guarded:
    def __reduce__(self):
        return made_by_call, ("called",)


def made_by_call(text):
    return text


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "settings.pt"
    clew.save({"settings": Settings(0.5), "call": Guarded()}, path)
    return path


def test_what_is_not_allowed_is_refused_and_named(file):
    with pytest.raises(clew.serialization.LoadError, match=r"Settings.*add_safe_globals"):
        clew.load(file)
    with clew.serialization.safe_globals([Settings]), pytest.raises(clew.serialization.LoadError, match="made_by_call"):
        clew.load(file)


def test_what_is_allowed_is_made(file):
    with clew.serialization.safe_globals([Settings, (made_by_call, f"{__name__}.made_by_call")]):
        loaded = clew.load(file)
        assert clew.serialization.get_safe_globals()[0] is Settings
    assert clew.serialization.get_safe_globals() == []
    assert type(loaded["settings"]) is Settings
    assert loaded["settings"].rate == 0.5
    assert loaded["settings"].weights.tolist() == [1, 1]
    assert loaded["call"] == "called"


def test_the_list_can_be_cleared(file):
    clew.serialization.add_safe_globals([Settings, made_by_call])
    assert clew.load(file)["call"] == "called"
    clew.serialization.clear_safe_globals()
    with pytest.raises(clew.serialization.LoadError):
        clew.load(file)
