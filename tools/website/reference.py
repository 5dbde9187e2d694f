"""The reference: a page for each public module, made of signatures and docstrings as `help` shows them."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import types
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.website.docstrings import to_markdown

MODULES = {
    "clew": "Functions of the package itself",
    "clew.Tensor": "Methods and properties of a tensor",
    "clew.graph": "What is in a graph, what it saved, who freed it",
    "clew.memory": "What takes the memory",
    "clew.keep": "Recording a block and running it again",
    "clew.compiler": "Switches of compiled functions",
    "clew.autograd": "Gradients, functions of your own, grad modes",
    "clew.autograd.errors": "Errors of the graph",
    "clew.autograd.functional": "Jacobians, Hessians and products with them",
    "clew.autograd.graph": "Hooks and saved tensors",
    "clew.func": "Functions of functions",
    "clew.nn": "Layers and losses",
    "clew.nn.functional": "The same as functions",
    "clew.nn.init": "Initial weights",
    "clew.nn.utils": "Clipping, vectors of parameters, parametrizations",
    "clew.optim": "Optimizers",
    "clew.optim.lr_scheduler": "Learning rates over time",
    "clew.optim.swa_utils": "Averaged weights",
    "clew.linalg": "Linear algebra",
    "clew.fft": "Fourier transforms",
    "clew.special": "Special functions",
    "clew.distributions": "Probability distributions",
    "clew.random": "Random generators",
    "clew.utils.data": "Data sets and loaders",
    "clew.utils.checkpoint": "Recomputing instead of saving",
    "clew.utils.tensorboard": "Writing for TensorBoard",
    "clew.library": "Operations of your own",
    "clew.testing": "Comparing tensors",
    "clew.amp": "Mixed precision",
}
MOST_ON_A_PAGE = 160  # beyond that a page is split by initial letters
SPLIT = ("a", "d", "j", "n", "s")


class Entry(NamedTuple):
    """Something that a page describes."""

    name: str
    thing: Any


@functools.cache
def listing() -> list[tuple[str, list[tuple[str, str, list[Entry]]]]]:
    """Each module with its pages: place on the site, title, and what is described there."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in MODULES:
            stem = module.removeprefix("clew.").replace(".", "-")
            parts = parts_of(list(entries_of(module)))
            found.append((module, [(f"reference/{stem}{end}.md", module + title, part) for end, title, part in parts]))
    return found


def navigation() -> list[dict[str, str]]:
    """The pages of modules, for the site's navigation."""
    return [{title: uri} for _, parts in listing() for uri, title, _ in parts]


def pages() -> dict[str, str]:
    """Text of each page by its place on the site."""
    made, lines = {}, ["# Reference\n", "Made from the docstrings, whose examples run as tests.\n"]
    for module, parts in listing():
        linked = [f"[{title}]({uri.removeprefix('reference/')})" for uri, title, _ in parts]
        lines.append(f"* {', '.join(linked)}: {MODULES[module]}")
        made |= {uri: page(module, title, part) for uri, title, part in parts}
    made["reference/index.md"] = "\n".join(lines) + "\n"
    return made


def parts_of(entries: list[Entry]) -> list[tuple[str, str, list[Entry]]]:
    """The entries of a module, on one page or on several by their initial letters; and what that adds to its name."""
    if len(entries) <= MOST_ON_A_PAGE:
        return [("", "", entries)]
    parts = []
    for first, next_ in zip(SPLIT, [*SPLIT[1:], chr(ord("z") + 1)], strict=True):
        last = chr(ord(next_) - 1)
        chosen = [one for one in entries if first <= one.name[0].lower() < next_]
        parts.append((f"-{first}-{last}", f", {first} to {last}", chosen))
    return parts


def entries_of(module: str) -> Iterator[Entry]:
    """Public names of a module, or of the class Tensor."""
    clew = importlib.import_module("clew")
    if module == "clew.Tensor":
        owner: Any = clew.Tensor
    else:
        owner = importlib.import_module(module)
    for name in sorted(getattr(owner, "__all__", dir(owner)), key=str.lower):
        if name.startswith("_"):
            continue
        try:
            thing = getattr(owner, name)
        except (AttributeError, ImportError):  # a name of PyTorch that is refused
            continue
        if isinstance(thing, types.ModuleType) or not is_ours(thing):
            continue
        if (inspect.getdoc(thing) or "").strip():
            yield Entry(name, thing)


def is_ours(thing: Any) -> bool:
    """Not a class that a module imports from elsewhere, nor a number."""
    if isinstance(thing, property) or inspect.isgetsetdescriptor(thing):
        return True
    return callable(thing) and (getattr(thing, "__module__", None) or "clew").startswith("clew")


def page(module: str, title: str, entries: list[Entry]) -> str:
    """A page of Markdown."""
    parts = [f"# {title}\n\n{MODULES[module]}.\n"]
    for name, thing in entries:
        parts.append(described(f"{module}.{name}", name, thing, "##"))
        if inspect.isclass(thing) and not issubclass(thing, BaseException) and thing.__name__ != "Tensor":
            parts += [described(f"{module}.{name}.{key}", key, value, "###") for key, value in methods(thing)]
    return "\n".join(parts)


def methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Methods that a class itself defines, and whose docstrings say something."""
    for name, value in vars(owner).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if name.startswith("_") or not (inspect.isfunction(function) or isinstance(function, property)):
            continue
        if inspect.getdoc(function):
            yield name, function


def described(anchor: str, name: str, thing: Any, level: str) -> str:
    """A heading, the signature and the docstring."""
    heading = f"{level} {name} {{ #{anchor} }}\n"
    signature = f"\n```python\n{name}{signature_of(thing)}\n```\n" if callable(thing) else ""
    return f"{heading}{signature}\n{to_markdown(inspect.getdoc(thing) or '')}\n"


def signature_of(thing: Any) -> str:
    """The arguments; a function among the defaults by its name."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [one for one in signature.parameters.values() if one.name != "self" or not inspect.isfunction(thing)]
    unquoted = [one.replace(annotation=as_written(one.annotation)) for one in parameters]
    result = inspect.Signature.empty if inspect.isclass(thing) else as_written(signature.return_annotation)
    text = str(signature.replace(parameters=unquoted, return_annotation=result))
    return re.sub(r"<(?:function|class) '?([\w.<>]+?)'?(?: at 0x\w+)?>", r"\1", text)


class Written(str):
    """An annotation as it stands in the source: without quotes."""

    __repr__ = str.__str__


def as_written(annotation: Any) -> Any:
    """The annotation, for a signature that is shown."""
    return Written(annotation) if isinstance(annotation, str) else annotation
