"""Whatever PyTorch asks `__torch_function__` for, clew asks: every function, every place of an argument.

PyTorch is asked at the time of the test: a call with an object of a class with `__torch_function__` in one place that
PyTorch hands to it must be handed to it here, with the function that stands under the same name. Calls that PyTorch
refuses without asking show nothing.
"""

import contextlib
import functools
import inspect
import warnings

import torch as pytorch
from torch.testing._internal.generated.annotated_fn_args import annotated_args

import clew
from clew._unsupported import refuses

# What PyTorch has for its own sake, or with no name that users know.
_NAMESPACES = ("", "Tensor", "nn.functional", "nn.init", "linalg", "fft", "special")
_NUMBERS = {"dim": 0, "axis": 0, "dtype": None, "equation": "i,i", "kernel_size": 1, "eps": 1e-5, "n": 1, "mode": "r"}
_NUMBERS |= {
    "p": 0.5,
    "training": False,
    "train": False,
    "shape": (2,),
    "size": (2,),
    "weight_decay": 0.0,
    "signal_ndim": 1,
}


def _find(root, path):
    found = root
    for part in path.split("."):
        if part in ("__get__", "__set__", "__delete__"):
            found = vars(root.Tensor)[path.split(".")[1]] if not hasattr(found, part) else found
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def _path(function):
    if function is pytorch.split_with_sizes:  # what PyTorch's split calls when it can't tell
        function = pytorch.Tensor.split
    name = pytorch.overrides.resolve_name(function)
    return name.removeprefix("torch.") if name and name.startswith("torch.") else None


@functools.cache
def _entries():
    """(path, required parameters, whether they are tensors) of what PyTorch has and clew has, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        overrides = pytorch.overrides.get_testing_overrides()
        found = {}
        for function, dummy in overrides.items():
            path = _path(function)
            if path is None or (path.rpartition(".")[0] not in _NAMESPACES and not path.endswith("et__")):
                continue
            if path.split(".")[-1].startswith("_") and not path.startswith("Tensor.__") and not path.endswith("et__"):
                continue
            if path.startswith("sym_"):  # Python's own functions here: there are no symbolic numbers
                continue
            if _find(clew, path) is None or refuses(_find(clew, path)):  # there for programs that import it
                continue
            parameters = [
                one.name
                for one in inspect.signature(dummy).parameters.values()
                if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
            ]
            types = {one["name"]: one["simple_type"] for one in annotated_args.get(function, ())}
            found[path] = (parameters, types)
    return found


class _Asked(Exception):
    """Raised by a class that is asked: nothing runs after it."""

    def __init__(self, func, types):
        self.func, self.types = func, types


class Foreign:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise _Asked(func, types)

    def __index__(self):
        return 1


def _subclass(root):
    class Sub(root.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise _Asked(func, types)

    return root.ones(2).as_subclass(Sub)


def _plain(root, name, kind):
    if "Tensor" in kind and "List" in kind:
        return [root.ones(2)]
    if "Tensor" in kind or (kind == "" and name not in _NUMBERS):
        return root.ones(2)
    if name in _NUMBERS:
        return _NUMBERS[name]
    return {"Bool": False, "float": 1.0, "String": "none"}.get(kind.removeprefix("c10::"), 1)


def _places(parameters):
    """Sets of positions that hold the object: each alone, and all."""
    return [*({place} for place in range(len(parameters))), set(range(len(parameters)))]


def _call(root, path, parameters, types, places, made, as_list=False):
    function = _find(root, path)
    arguments = []
    for place, name in enumerate(parameters):
        if place in places:
            arguments.append([made(root)] if as_list else made(root))
        else:
            arguments.append(_plain(root, name, types.get(name, "")))
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        try:
            function(*arguments)
        except _Asked as asked:
            return asked.func
    return None


# Called with tensors on both sides: `t.__rsub__(x)` is `x - t`, and is asked about as that. PyTorch also passes
# another name of the same function for classes of tensors than for others.
_SWAPPED = "add sub mul div truediv floordiv mod pow matmul lshift rshift and or xor"
_REFLECTED = {f"Tensor.__r{name}__" for name in _SWAPPED.split()} | {"Tensor.__eq__"}


def _differences(made, foreign):
    wrong, asked = [], 0
    for path, (parameters, types) in _entries().items():
        for places in _places(parameters):
            is_self = path.startswith("Tensor.") and 0 in places
            if foreign and is_self:
                continue
            for as_list in (False,) if is_self else (False, True):
                theirs = _call(pytorch, path, parameters, types, places, made, as_list)
                if theirs is None:
                    continue
                asked += 1
                name = _path(theirs)
                ours = _call(clew, path, parameters, types, places, made, as_list)
                if ours is None:
                    wrong.append(f"{path}{sorted(places)}{' in a list' if as_list else ''}: not asked")
                elif not foreign and (path in _REFLECTED or 0 not in places):
                    continue
                # Where PyTorch's function in Python does not look at a place, one that it calls does.
                elif name and ours not in (_find(clew, path), _find(clew, name)):
                    wrong.append(f"{path}{sorted(places)}: asked for {ours}, PyTorch for {name}")
    return wrong, asked


def test_of_a_class_that_is_no_tensor():
    wrong, asked = _differences(lambda root: Foreign(), foreign=True)
    assert not wrong, "\n".join(wrong)
    assert asked > 1000


def test_of_a_subclass_of_tensor():
    wrong, asked = _differences(_subclass, foreign=False)
    assert not wrong, "\n".join(wrong)
    assert asked > 1000
