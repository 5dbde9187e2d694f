"""Models of a folder with a `hubconf.py`, and weights of files that are there. Nothing is downloaded."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sys
from typing import Any
from urllib.parse import urlparse

from .serialization import load as _load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

# Names of files that end so have the beginning of their content's SHA-256 in them.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_chosen: str | None = None


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of repositories and, in `checkpoints`, of weights: `$TORCH_HOME/hub`, unless `set_dir` was called."""
    return os.path.join(_get_torch_home(), "hub") if _chosen is None else _chosen


def set_dir(d: str | os.PathLike[str]) -> None:
    """Make `d` the folder that `get_dir` gives."""
    global _chosen
    _chosen = os.path.expanduser(d)


def _folder(repo: str, source: str) -> str:
    """Where the repository is."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "local":
        return repo
    name, _, branch = repo.partition(":")
    found = os.path.join(get_dir(), "_".join([*name.split("/"), (branch or "main").replace("/", "_")]))
    if not os.path.isdir(found):
        raise NotImplementedError(
            f"hub: expected the repository {repo} in {found}, got no such folder; clew downloads nothing: clone it and "
            "load it with source='local'"
        )
    return found


def _entries(folder: str) -> Any:
    """The module `hubconf.py` of a folder, whose other files it may import."""
    path = os.path.join(folder, "hubconf.py")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"hub: expected a file hubconf.py in {folder}, got none")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("hubconf", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [name for name in getattr(module, "dependencies", ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: Any, model: str) -> Any:
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def list(
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None, verbose: bool = True
) -> Any:
    """The names of the models of a repository: "owner/name:branch" that is in the cache already, or a folder."""
    module = _entries(_folder(github, "local" if os.path.isdir(github) else "github"))
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = None
) -> str | None:
    """The docstring of a model of a repository, which is given as in `list`."""
    doc: str | None = _entry(_entries(_folder(github, "local" if os.path.isdir(github) else "github")), model).__doc__
    return doc


def load(
    repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = None,
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """What the function `model` of a folder's `hubconf.py` gives for these arguments.

    Args:
        repo_or_dir: the folder with `source="local"`; otherwise "owner/name:branch", which has to be in the cache.

    Raises:
        NotImplementedError: the repository is not there.
        FileNotFoundError, RuntimeError: it has no `hubconf.py`, not this model, or needs packages that are missing.
    """
    return _entry(_entries(_folder(repo_or_dir, source)), model)(*args, **kwargs)


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> Any:  # fmt: skip
    """The weights of this address, from the file that is in the cache, or in `model_dir`, under its name.

    Raises:
        NotImplementedError: it is not there.
        RuntimeError: `check_hash` is set, and the file's content does not have the hash that its name ends with.
    """
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir, name)
    if not os.path.isfile(path):
        download_url_to_file(url, path)
    expected = HASH_REGEX.search(name) if check_hash else None
    if expected is not None:
        with open(path, "rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
        if not got.startswith(expected[1]):
            raise RuntimeError(f'invalid hash value (expected "{expected[1]}", got "{got}")')
    return _load_file(path, map_location=map_location, weights_only=weights_only)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Clew downloads nothing.

    Raises:
        NotImplementedError: always; it says where the file belongs.
    """
    raise NotImplementedError(f"hub: expected the file {dst}, got none; clew downloads nothing: put {url} there")
