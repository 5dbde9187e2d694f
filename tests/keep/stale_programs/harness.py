"""Runs a program and notes, after each call of its function, all that the call gave and left."""

import types
import warnings

import clew

PROGRAMS = {}


def program(function):
    """Registers a program: it gets a `Session`, makes its state, and calls its function between changes of state."""
    assert function.__name__ not in PROGRAMS, function.__name__
    PROGRAMS[function.__name__] = function
    return function


class Session:
    """What a program does its calls with.

    Args:
        wrap: what becomes of a function that is compiled; the identity for an eager run.
    """

    def __init__(self, wrap):
        self.wrap = wrap
        self.compiled, self.given, self.watched, self.outcomes = [], [], [], []

    def compile(self, function):
        self.compiled.append(self.wrap(function))
        return self.compiled[-1]

    def watch(self, *objects):
        """Their state is noted after each call."""
        self.watched += objects
        return objects[0]

    def call(self, function, *arguments, **named):
        try:
            result = function(*arguments, **named)
        except Exception as error:
            self.note("raised", type(error).__name__)
            return None
        self.given.append(result)
        self.note()
        return result

    def calls(self, count, function, *arguments, **named):
        for _ in range(count):
            result = self.call(function, *arguments, **named)
        return result

    def note(self, *more):
        """All results so far, what is watched and the generator: what came earlier must not have changed."""
        everything = [list(more), self.given, self.watched, clew.random.get_rng_state().tolist()]
        self.outcomes.append(Description().of(everything))


class Description:
    """Plain nests of strings that are equal if what they describe is, aliasing included."""

    def __init__(self):
        self.seen, self.held = {}, []

    def of(self, value):
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return type(value).__name__, repr(value)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)):
            return "named", value.__name__
        if id(value) in self.seen:
            return "seen", self.seen[id(value)]
        self.seen[id(value)] = len(self.seen)
        self.held.append(value)
        return type(value).__name__, self.parts(value)

    def parts(self, value):
        if isinstance(value, clew.Tensor):
            return self.tensor(value)
        if isinstance(value, clew.Generator):
            return value.get_state().tolist()
        if isinstance(value, (set, frozenset)):
            return sorted(map(repr, value))
        if isinstance(value, dict) and value and all(type(one) is types.FunctionType for one in value.values()):
            return [self.of(one) for one in value.values()]  # hooks, whose keys are numbers that the process counts
        if isinstance(value, dict):
            return [(self.of(key), self.of(one)) for key, one in value.items()]
        if hasattr(value, "__iter__") and hasattr(value, "__len__") and not hasattr(value, "__dict__"):
            return [self.of(one) for one in value]
        return [self.attribute(name, one) for name, one in sorted(getattr(value, "__dict__", {}).items())]

    def attribute(self, name, value):
        return name, self.of(value)

    def tensor(self, tensor):
        gradient = self.of(tensor.grad) if tensor.is_leaf else None
        facts = tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad, tensor.is_leaf
        version = None if tensor.is_inference() else tensor._version
        return repr(tensor.tolist()), repr(facts), version, gradient


def outcomes(name, wrap):
    """What a program's calls gave and left, and the session."""
    clew.manual_seed(1)
    session = Session(wrap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", clew.KeepWarning)
        PROGRAMS[name](session)
    return session
