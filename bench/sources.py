"""Where programs of others come from: a commit of a public repository, or the text that a package was published with.

Nothing of them is kept in this repository. A repository's files are taken from a folder with repositories
(``--sources``), from the cache, or from the network.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import textwrap
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "clew-programs"
_BLOCK = re.compile(
    r"^```python\s*\n(.*?)^```|^\.\. code(?:-block)?:: python\s*\n((?:\s*\n|[ \t]+[^\n]*\n)+)", re.M | re.S
)


class MissingSource(Exception):
    """The program can't be had here. The text says why, in one line."""


def fetched(program: dict[str, Any], sources: Path | None) -> Path:
    """A folder with the program and what it reads.

    Raises:
        MissingSource: a package is not installed, or the repository is neither in ``sources`` nor to be reached.
    """
    for name in program.get("needs", []):
        if importlib.util.find_spec(name) is None:
            raise MissingSource(f"the package {name}, which it imports, is not installed")
    return _of_package(program) if "package" in program else _of_repository(program, sources)


def _of_package(program: dict[str, Any]) -> Path:
    """The numbered Python block of a package's description, as a script."""
    name = program["package"]
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        raise MissingSource(f"the package {name} is not installed") from None
    if found["Version"] != program["version"]:
        raise MissingSource(f"{name} {program['version']} is not installed, but {found['Version']}")
    # Not the payload: the package importlib_metadata, once it is imported, leaves it empty.
    blocks = _BLOCK.findall(found["Description"])
    folder = CACHE / f"{name}-{found['Version']}"
    folder.mkdir(parents=True, exist_ok=True)
    fenced, indented = blocks[program["block"]]
    (folder / program["file"]).write_text(fenced or textwrap.dedent(indented))
    return folder


def _of_repository(program: dict[str, Any], sources: Path | None) -> Path:
    repository, commit, folder = program["repository"], program["commit"], program.get("folder", ".")
    target = CACHE / repository.replace("/", "+") / commit / folder
    if (target / ".complete").exists():
        return target
    if sources is not None:
        errors = [_extracted(git, commit, folder, target) for git in _git_directories(sources, repository)]
        if not errors or all(errors):
            raise MissingSource(f"{repository} at {commit[:10]} is not in {sources} {' '.join(filter(None, errors))}")
        return target
    git = target.parent / "git"
    subprocess.run(["git", "init", "-q", "--bare", git], check=True)
    command = ["git", "--git-dir", git, "fetch", "-q", "--depth", "1", f"https://github.com/{repository}", commit]
    got = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"GIT_TERMINAL_PROMPT": "0"})
    if got.returncode:
        raise MissingSource(f"{repository} can't be fetched: {got.stderr.strip().splitlines()[-1]}")
    error = _extracted(git, commit, folder, target)
    if error:
        raise MissingSource(f"{repository}: {error}")
    return target


def _git_directories(sources: Path, repository: str) -> Iterator[Path]:
    """Git directories of ``owner/name`` at or below ``sources/owner+name``."""
    base = sources / repository.replace("/", "+")
    for head in sorted([*base.glob("HEAD"), *base.glob("*/HEAD"), *base.glob("*/*/HEAD")]):
        if (head.parent / "objects").is_dir():
            yield head.parent


def _extracted(git: Path, commit: str, folder: str, target: Path) -> str:
    """Write a folder of a commit to ``target``. Returns what hinders, or nothing."""
    tree = commit if folder == "." else f"{commit}:{folder}"
    command = ["git", "--git-dir", git, "ls-tree", "-r", "-z", tree]
    listed = subprocess.run(command, capture_output=True)
    if listed.returncode:
        return listed.stderr.decode().strip().splitlines()[-1]
    entries = [entry.split("\t", 1) for entry in listed.stdout.decode().split("\0") if entry]
    blobs = "".join(meta.split()[2] + "\n" for meta, _ in entries)
    command = ["git", "--git-dir", git, "cat-file", "--batch-check"]
    checked = subprocess.run(command, input=blobs, capture_output=True, text=True).stdout.splitlines()
    # A copy of a repository may lack its large files; a program that reads one will say so.
    present = [name for (_, name), answer in zip(entries, checked, strict=True) if not answer.endswith("missing")]
    paths = [f":(literal){name}" for name in present]
    archive = subprocess.run(["git", "--git-dir", git, "archive", tree, "--", *paths], capture_output=True)
    if archive.returncode:
        return archive.stderr.decode().strip().splitlines()[-1]
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", target], input=archive.stdout, check=True)
    (target / ".complete").touch()
    return ""
