"""What C asks of classes: whether an exception is of one, whether an object is, and what is handled around the call."""

import abc
import builtins
import collections.abc
import contextlib
import functools
import sys
import types
import typing

from .harness import program
from .values import x3


@program
def a_bare_raise(s):
    def function(x):
        try:
            raise
        except Exception as error:
            return x * len(type(error).__name__)

    f = s.compile(function)
    s.calls(3, f, x3())
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        s.calls(2, f, x3())
    try:
        raise KeyError
    except KeyError:
        s.calls(2, f, x3())


@program
def a_bare_raise_of_its_own(s):
    table = {"scale": 2.0}

    def function(x):
        try:
            try:
                return x * table["scale"]
            except KeyError:
                raise
        except Exception as error:
            return x * len(type(error).__name__)

    f = s.compile(function)
    s.calls(3, f, x3())
    del table["scale"]
    s.calls(3, f, x3())
    table["scale"] = 3.0
    s.calls(3, f, x3())


@program
def a_bare_raise_in_a_function_that_it_calls(s):
    def again():
        raise

    def function(x):
        try:
            again()
        except Exception as error:
            return x * len(type(error).__name__)

    f = s.compile(function)
    s.calls(3, f, x3())
    try:
        raise KeyError
    except KeyError:
        s.calls(2, f, x3())


def with_other_bases(s, function, kind, bases):
    f = s.compile(function)
    s.calls(3, f, x3())
    kind.__bases__ = bases
    s.calls(2, f, x3())


class First(Exception):
    pass


class Second(Exception):
    pass


@program
def the_bases_of_what_is_raised(s):
    for exceptions in (Second, (Second, ZeroDivisionError), (ZeroDivisionError, Second)):
        for raised in (False, True):

            class Error(First):
                pass

            def function(x, raised=raised, exceptions=exceptions, kind=Error):
                try:
                    raise kind() if raised else kind
                except exceptions:
                    return x * 2
                except First:
                    return x

            with_other_bases(s, function, Error, (Second,))


@program
def the_bases_of_what_is_suppressed(s):
    class Error(First):
        pass

    def function(x):
        try:
            with contextlib.suppress(Second):
                raise Error
        except First:
            return x
        return x * 3

    with_other_bases(s, function, Error, (Second,))


@program
def the_bases_of_an_error_that_c_catches(s):
    class Ends(StopIteration):
        pass

    class Misses(AttributeError):
        pass

    class Numbers:
        def __iter__(self):
            return self

        def __next__(self):
            raise Ends

    class Settings:
        def __getattr__(self, name):
            raise Misses(name)

    numbers, settings = Numbers(), Settings()

    def function(x):
        try:
            return x * (1 + len(list(numbers)))
        except Exception:
            return x * 5

    def function_of_attributes(x):
        try:
            return x * getattr(settings, "scale", 3.0)
        except Exception:
            return x * 7

    class Plain(Exception):
        pass

    for one, kind in ((function, Ends), (function_of_attributes, Misses)):
        f = s.compile(one)
        s.calls(3, f, x3())
        with contextlib.suppress(TypeError):
            kind.__bases__ = (KeyError,)
        s.calls(2, f, x3())
    f = s.compile(lambda x: x * getattr(settings, "scale", 3.0))
    s.calls(3, f, x3())
    Settings.__getattr__ = lambda self, name: 9.0
    s.calls(2, f, x3())


@program
def what_is_caught_is_another_class(s):
    holder = types.SimpleNamespace(kinds=(KeyError,), raised=ValueError)

    def function(x):
        try:
            raise holder.raised
        except holder.kinds:
            return x * 2
        except Exception:
            return x * 3

    f = s.compile(function)
    s.calls(3, f, x3())
    holder.kinds = (KeyError, ValueError)
    s.calls(3, f, x3())
    holder.raised = IndexError
    s.calls(3, f, x3())


@program
def an_error_from_before_that_is_raised(s):
    error = ValueError("older")

    def function(x):
        try:
            raise error
        except ValueError:
            return x * 2

    f = s.compile(function)
    for _ in range(4):
        error.__traceback__ = None
        s.call(f, x3())
        s.call(lambda: error.__traceback__ is None)
        s.call(lambda x: x * 0 if error.__traceback__ is None else x, x3())
    s.watch(error)
    s.call(f, x3() * 2)


@program
def an_error_whose_class_is_made_by_c(s):
    made = {}
    kind = type("Error", (Exception,), {"__new__": staticmethod(made.get)})
    made[kind] = KeyError("a")

    def function(x):
        try:
            raise kind
        except KeyError:
            return x * 2
        except ValueError:
            return x * 3

    f = s.compile(function)
    s.calls(3, f, x3())
    made[kind] = ValueError("b")
    s.calls(2, f, x3())


def registering(s, kind, read=None):
    class Given:
        def m(self):
            return 1

    class Other:
        pass

    one = Other()
    read = read or isinstance
    f = s.compile(lambda x: x * 2 if read(one, kind) else x * 3)
    s.calls(3, f, x3())
    kind.register(Other)
    s.calls(2, f, x3())


class Meta(abc.ABCMeta):
    pass


class CheckingMeta(abc.ABCMeta):
    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance)


def abstract():
    @typing.runtime_checkable
    class WithM(typing.Protocol):
        def m(self): ...

    return [
        abc.ABCMeta("Kind", (), {}),
        Meta("Kind", (), {}),
        CheckingMeta("Kind", (), {}),
        WithM,
        Meta("Kind", (collections.abc.Sized,), {"__len__": lambda self: 1}),
    ]


@program
def registered_with_an_abstract_class(s):
    for kind in abstract():
        registering(s, kind)


@program
def registered_with_one_of_several(s):
    for kind in abstract():
        registering(s, kind, lambda one, kind: isinstance(one, (int, kind)))


@program
def registered_with_one_of_a_union(s):
    for kind in abstract():
        registering(s, kind, lambda one, kind: isinstance(one, int | kind))
        registering(s, abstract()[0], lambda one, kind: isinstance(one, typing.Optional[kind]))  # noqa: UP045
    union_of = [int | kind for kind in abstract()[:2]]
    for union, kind in zip(union_of, (union.__args__[1] for union in union_of), strict=True):
        registering(s, kind, lambda one, kind, union=union: isinstance(one, union))


@program
def subclasses_that_are_registered(s):
    for kind in abstract():
        registering(s, kind, lambda one, kind: issubclass(type(one), kind))
        registering(s, abstract()[0], lambda one, kind: issubclass(type(one), (int, kind)))


@program
def registered_with_a_class_that_is_registered(s):
    outer = Meta("Outer", (), {})
    inner = Meta("Inner", (), {})
    outer.register(inner)

    class Other:
        pass

    one = Other()
    f = s.compile(lambda x: x * 2 if isinstance(one, outer) else x * 3)
    s.calls(3, f, x3())
    inner.register(Other)
    s.calls(2, f, x3())


@program
def an_object_with_a_method_more(s):
    @typing.runtime_checkable
    class Sized(typing.Protocol):
        def size(self): ...

    class Other:
        pass

    one = Other()
    f = s.compile(lambda x: x * 2 if isinstance(one, Sized) else x * 3)
    s.calls(3, f, x3())
    one.size = lambda: 1
    s.calls(2, f, x3())
    del one.size
    s.calls(2, f, x3())


@program
def a_class_that_an_object_pretends_to_be_of(s):
    for how in ("property", "attribute", "entry"):
        holder = types.SimpleNamespace(kind=int)
        if how == "property":
            shown = property(lambda self, holder=holder: holder.kind)
        else:
            shown = int if how == "attribute" else None
        Pretends = type("Pretends", (), {"__class__": shown})
        one = Pretends()
        if how == "entry":
            one.__dict__["__class__"] = int
        f = s.compile(lambda x, one=one: x * 2 if isinstance(one, int) else x * 3)
        s.calls(3, f, x3())
        holder.kind = float
        if how == "attribute":
            Pretends = type("Pretends", (), {"__class__": float})
            one.__dict__["other"] = 1
            type.__setattr__(type(one), "__len__", None)
        if how == "entry":
            one.__dict__["__class__"] = float
        s.calls(2, f, x3())


@program
def a_check_of_instances_in_python(s):
    allowed = s.watch([int])

    class Checks(type):
        def __instancecheck__(cls, instance):
            return type(instance) in allowed

        def __subclasscheck__(cls, kind):
            return kind in allowed

    kind = Checks("Kind", (), {})
    f = s.compile(lambda x: x * (1 + isinstance(2.0, kind)) + issubclass(float, kind))
    s.calls(3, f, x3())
    allowed.append(float)
    s.calls(2, f, x3())


@program
def what_is_no_class_has_bases(s):
    class Like:
        __bases__ = ()

    one, other = Like(), Like()
    f = s.compile(lambda x: x * (1 + issubclass(one, other)))
    s.calls(3, f, x3())
    one.__bases__ = (other,)
    s.calls(2, f, x3())


def module(**attributes):
    made = types.ModuleType("made")
    made.__dict__.update(attributes)
    return made


@contextlib.contextmanager
def modules(**given):
    names = {name.replace("__", "."): one for name, one in given.items()}
    sys.modules.update(names)
    try:
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)


def imported_from(modules_, old, name, *given):
    return modules_[name] if name in modules_ else old(name, *given)


@program
def an_import_that_is_replaced(s):
    for replaced in ("function", "callable", "deleted"):
        with modules(made_a=module(n=2.0)):

            def function(x):
                import made_a

                return x * made_a.n

            f = s.compile(function)
            s.calls(3, f, x3())
            old, others = builtins.__import__, {"made_a": module(n=5.0)}
            try:
                if replaced == "function":
                    builtins.__import__ = lambda *given, others=others, old=old: imported_from(others, old, *given)
                elif replaced == "callable":
                    builtins.__import__ = functools.partial(imported_from, others, old)
                else:
                    del builtins.__import__
                given, results = x3(), []
                for _ in range(2):
                    with contextlib.suppress(ImportError):
                        results.append(f(given))
            finally:
                builtins.__import__ = old
            s.call(lambda results=results: results)
            s.calls(2, f, x3())


@program
def an_import_in_python_all_the_time(s):
    holder, old = {"made_b": module(n=2.0)}, builtins.__import__

    def function(x):
        import made_b

        return x * made_b.n

    builtins.__import__ = lambda name, *given, **named: holder.get(name) or old(name, *given, **named)
    try:
        f = s.compile(function)
        s.calls(3, f, x3())
        holder["made_b"] = module(n=5.0)
        s.calls(2, f, x3())
    finally:
        builtins.__import__ = old


@program
def the_package_of_a_module_that_it_imports(s):
    first, second = module(n=2.0), module(n=5.0)
    first.inner = second.inner = inner = module(n=3.0)
    first.__path__ = second.__path__ = []
    with modules(made_c=first, made_c__inner=inner):

        def function(x):
            import made_c.inner

            return x * made_c.n * made_c.inner.n

        f = s.compile(function)
        s.calls(3, f, x3())
        sys.modules["made_c"] = second
        s.calls(2, f, x3())


@program
def a_module_that_its_package_has_not(s):
    package = module(__name__="made_d")
    package.__path__ = []
    with modules(made_d=package, made_d__inner=module(n=2.0)):

        def function(x):
            from made_d import inner

            return x * inner.n

        f = s.compile(function)
        s.calls(3, f, x3())
        sys.modules["made_d.inner"] = module(n=5.0)
        s.calls(2, f, x3())
        package.inner = module(n=7.0)
        s.calls(2, f, x3())


@program
def a_relative_import_of_another_package(s):
    one, other = module(n=2.0), module(n=5.0)
    with modules(made_e=module(inner=one), made_f=module(inner=other)):
        code = "def function(x):\n    from . import inner\n    return x * inner.n\n"
        names = {"__package__": "made_e", "__name__": "made_e.x", "__builtins__": builtins}
        exec(code, names)
        f = s.compile(names["function"])
        s.calls(3, f, x3())
        names["__package__"] = "made_f"
        s.calls(2, f, x3())


@program
def globals_that_are_no_plain_dict(s):
    class Names(dict):
        scale = 2.0

        def __missing__(self, key):
            return self.scale if key == "scale" else getattr(builtins, key)

    names = Names()
    exec("def function(x):\n    return x * scale\n", names)
    f = s.compile(names["function"])
    s.calls(3, f, x3())
    Names.scale = 5.0
    s.calls(2, f, x3())


@program
def a_pattern_of_a_sequence(s):
    class Pair:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return (2.0, 3.0)[i]

    class Table:
        def __len__(self):
            return 1

        def __getitem__(self, key):
            return 2.0

        def get(self, key, default=None):
            return 4.0

    pair, table = Pair(), Table()

    def function(x):
        match pair:
            case [a, b]:
                return x * a * b
        return x

    def function_of_a_mapping(x):
        match table:
            case {"a": a}:
                return x * a
        return x

    f, g = s.compile(function), s.compile(function_of_a_mapping)
    s.calls(3, f, x3())
    collections.abc.Sequence.register(Pair)
    s.calls(2, f, x3())
    s.calls(3, g, x3())
    collections.abc.Mapping.register(Table)
    s.calls(2, g, x3())


@program
def a_pattern_of_a_class(s):
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    class Other(Point):
        pass

    holder = types.SimpleNamespace(point=Point(2.0, 3.0))

    def function(x):
        match holder.point:
            case Other(a, b=b):
                return x * a + b
            case Point(a, b):
                return x * a * b
            case int():
                return x * 7
            case float(n):
                return x * n
        return x

    f = s.compile(function)
    s.calls(4, f, x3())
    holder.point.a = 5.0
    s.calls(2, f, x3())
    Point.__match_args__ = ("b", "a")
    s.calls(2, f, x3())
    holder.point.b = 9.0
    s.calls(2, f, x3())
    holder.point.__class__ = Other
    s.calls(2, f, x3())
    holder.point = 4
    s.calls(2, f, x3())
    holder.point = 3.0
    s.calls(2, f, x3())
    holder.point = 4.0
    s.calls(2, f, x3())
