"""Finds all that a user may call: by walking the public modules and types, so that what is added is found."""

import importlib
import inspect
import pkgutil
import sys
import types
from dataclasses import dataclass, field

import clew

# These end or restart the process, or wait for another thread, on purpose; they are asked in tests of their own.
LEFT_OUT = {
    "torch.cli.main",
    "torch.distributed.init_process_group",  # after it, a call may wait for other ranks
    "torch.futures.Future.wait",
    "torch.futures.wait_all",
}

# Parts of a type's machinery that Python itself defines for every object.
OBJECTS_OWN = set(dir(object)) - {"__eq__", "__format__", "__reduce_ex__"}
PYTHONS_OWN = {"__dict__", "__weakref__", "__del__", "__init_subclass__", "__class_getitem__", "__match_args__"}


@dataclass(frozen=True)
class Parameter:
    """A parameter: what is known of its type, in the registry's words where it is there."""

    name: str
    kind: str
    keyword_only: bool = False
    required: bool = True


@dataclass
class Target:
    """Something to call."""

    source: str  # how it is spelled; `{}` stands for the object whose attribute it is
    owner: str = ""  # the type of that object
    kind: str = "call"  # or "read", "write": of a property
    signatures: list[list[Parameter]] = field(default_factory=list)
    works: list = field(default_factory=list)  # calls that returned: what later ones are made from
    deaths: int = 0

    @property
    def name(self):
        """How findings name it."""
        return self.source.replace("{}", self.owner)


def modules():
    """All public modules, imported."""
    found = {"torch": clew}
    for info in pkgutil.walk_packages(clew.__path__, "clew."):
        if not any(part.startswith("_") for part in info.name.split(".")[1:]):
            found["torch" + info.name[len("clew") :]] = importlib.import_module(info.name)
    shown = [path for path in found if is_public(path, found)]
    return {path: found[path] for path in sorted(shown, key=lambda path: (path.count("."), path))}


def is_public(path, found):
    """Whether users import the module: it says what is public, its package does, or it lies at the top."""
    parent, _, name = path.rpartition(".")
    return hasattr(found[path], "__all__") or parent in ("", "torch") or name in getattr(found[parent], "__all__", ())


def public(module):
    """The public names of a module, with their values; for one without `__all__`, what is defined in it."""
    listed = getattr(module, "__all__", None)
    for name in sorted(listed if listed is not None else dir(module)):
        if not name.startswith("_"):
            value = getattr(module, name)
            home = getattr(value, "__module__", None) or ""
            if listed is not None or module is clew or home == module.__name__:
                yield name, value


def signatures_of(value):
    """What is known of its parameters, one list for each overload."""
    if isinstance(value, clew._core.Operation):
        return [
            [
                Parameter(one["name"], one["type"], one["keyword_only"], one["default"] is None)
                for one in overload["arguments"]
            ]
            for overload in value.overloads
        ]
    try:
        parameters = inspect.signature(value).parameters.values()
    except (ValueError, TypeError):
        return []
    found = []
    for one in parameters:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            found += [Parameter("", str(one.annotation), False, False)] * (one.kind == one.VAR_POSITIONAL)
        else:
            note = one.annotation if isinstance(one.annotation, str) else getattr(one.annotation, "__name__", "")
            found.append(
                Parameter(
                    one.name, "" if note == "_empty" else note, one.kind == one.KEYWORD_ONLY, one.default is one.empty
                )
            )
    return [found]


def targets_of_type(cls, path):
    """The constructor, methods and properties that the type itself defines."""
    yield Target(path, signatures=signatures_of(cls))
    for name, value in sorted(vars(cls).items()):
        if name in OBJECTS_OWN | PYTHONS_OWN or (name.startswith("_") and not name.startswith("__")):
            continue
        plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if isinstance(value, types.MemberDescriptorType):
            continue  # a slot of a class written in Python
        if isinstance(value, property | types.GetSetDescriptorType):
            yield Target(f"{{}}.{name}", path, "read")
            yield Target(f"{{}}.{name}", path, "write", [[Parameter("value", "")]])
        elif callable(plain):
            signatures = signatures_of(plain)
            if not isinstance(value, staticmethod):
                signatures = [one[1:] for one in signatures]
            yield Target(f"{{}}.{name}", path, signatures=signatures)


def find():
    """All targets, and the public types by the path that names them."""
    targets, classes, seen = [Target("load_damaged", signatures=[[Parameter("seed", "file")]])], {}, {}
    for path, module in modules().items():
        for name, value in public(module):
            full = f"{path}.{name}"
            if id(value) in seen or full in LEFT_OUT or isinstance(value, types.ModuleType):
                continue
            seen[id(value)] = value  # alive, so that no other gets its id
            if isinstance(value, type):
                classes[full] = value
                targets += targets_of_type(value, full)
            elif callable(value) or isinstance(value, clew.autograd.Function):
                targets.append(Target(full, signatures=signatures_of(value)))
    for hidden in ("Node", "Site"):  # met as values only
        cls = getattr(clew._core, hidden)
        if id(cls) not in seen:
            classes[f"torch._core.{hidden}"] = cls
            targets += targets_of_type(cls, f"torch._core.{hidden}")
    return [target for target in targets if target.name not in LEFT_OUT], classes


if __name__ == "__main__":
    found, kinds = find()
    for target in found:
        print(target.kind, target.name, [[p.kind or p.name for p in one] for one in target.signatures])
    print(len(found), "targets,", len(kinds), "types", file=sys.stderr)
