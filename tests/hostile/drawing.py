"""Draws the calls of the net: plausible arguments with hostile ones among them, and changes of calls that worked."""

from dataclasses import dataclass, field, replace

EFFECTS = (
    "w.list.clear()",
    "w.list.extend(range(1000))",
    "w.list.append(w.list)",
    "w.rows[0].append(7); w.rows.append([1])",
    "w.rows.clear()",
    "w.tensors.clear()",
    "w.tensors.append(w.leaf)",
    "w.leaf.data = torch.zeros(0)",
    "w.base.data = torch.zeros(1)",
    "del w.leaf",
    "w.__dict__.clear(); gc.collect()",
    "w.loss.backward()",
    "w.loss.backward(retain_graph=True)",
    "w.leaf.requires_grad_(False)",
    "w.base.requires_grad_()",
    "w.base.zero_()",
    "w.base.set_(torch.zeros(1))",
    "w.result.detach_()",
    "w.leaf.grad = torch.ones(2, 3)",
    "w.handle.remove()",
    "torch.set_grad_enabled(False)",
    "raise Refused",
    "gc.collect()",
    "w.bytes.clear()",
    "w.module.register_parameter('weight', None)",
    "w.dict.clear()",
    "torch.set_default_dtype(torch.float64)",
    "w.array.resize(0, refcheck=False)",
    "w.base.resize_(0)",
    "del w.base",
    "[w.result.register_hook(lambda g: None) for _ in range(50)]",
)

TENSORS = (
    "torch.ones(2, 3)",
    "torch.ones(3)",
    "torch.ones(3, 3)",
    "torch.arange(6.0).reshape(2, 3)",
    "torch.arange(24.0).reshape(2, 3, 4)",
    "torch.arange(3)",
    "torch.tensor([0, 2, 1])",
    "torch.tensor([[0, 1, 1], [1, 0, 2]])",
    "torch.tensor([True, False, True])",
    "torch.tensor(2.5)",
    "torch.tensor(1)",
    "torch.zeros(2, 3, 4, 4)",
    "torch.ones(4, 3, 2, 2)",
    "torch.ones(2, 3, requires_grad=True)",
    "torch.ones(3, 4, dtype=torch.float64, requires_grad=True)",
    "torch.full((2, 3), 3, dtype=torch.int32)",
    "torch.tensor([1, 255], dtype=torch.uint8)",
    "w.leaf",
    "w.result",
    "w.base",
    "w.loss",
    "w.module.weight",
)
HOSTILE_TENSORS = (
    "torch.ones(0)",
    "torch.ones(2, 0, 3)",
    "torch.ones(0, 3, requires_grad=True)",
    "torch.ones(1).expand(5)",
    "torch.ones(3, 1).expand(3, 4)",
    "torch.ones(1, requires_grad=True).expand(2, 3)",
    "torch.ones(4).as_strided((3, 2), (1, 1))",
    "torch.arange(6.0).as_strided((2, 3), (0, 0), 5)",
    "torch.ones(3, 2).t()",
    "torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)",
    "torch.arange(10.0)[1::3]",
    "torch.ones(2, 3)[:, 1]",
    "torch.tensor(float('nan'))",
    "torch.tensor([float('nan'), float('inf'), -0.0])",
    "torch.tensor([2**63 - 1, -2**63, -1])",
    "torch.tensor([-1, 2**40])",
    "torch.tensor([1e308, -1e-308, 5e-324], dtype=torch.float64)",
    "torch.tensor(True)",
    "torch.ones(1, 1, 1, 1, 1, 1, 1, 1)",
    "torch.ones((1,) * 64)",
    "torch.zeros(1).expand(2**62)",
    "torch.zeros(1).expand(2**31, 2**31)",
    "torch.zeros(1, 1, dtype=torch.uint8).expand(2**20, 2**20)",
    "torch.zeros(0, 2**40)",
    "torch.zeros(2**40, 0)",
    "w.view",
    "w.row",
    "w.blind",
    "w.part",
    "w.frozen",
    "w.slice",
    "w.shadow",
    "graph()",
    "released()",
    "torch.ones(2, 3).as_subclass(Sub)",
    "w.leaf.as_subclass(Sub)",
    "damaged(torch.Tensor)",
    "damaged(torch.nn.Parameter)",
    "damaged(Sub)",
    "torch.nn.Parameter(torch.ones(2, 3))",
    "torch.nn.Parameter(torch.arange(3), requires_grad=False)",
    "torch.from_numpy(np.zeros((2, 3)))",
    "torch.from_numpy(np.ones((4, 3))[::2])",
    "torch.from_numpy(np.broadcast_to(np.float32(1), (2, 3)))",
    "torch.from_numpy(np.frombuffer(b'\\x02\\x03\\x00', dtype=bool))",
)
NUMBERS = ("0", "1", "2", "3", "-1", "-2", "0.5", "1.5", "-0.5", "True", "False", "None", "4", "5", "1e-5")
HOSTILE_NUMBERS = (
    "2**31",
    "2**62",
    "2**63 - 1",
    "-2**63",
    "2**63",
    "2**64",
    "-2**64",
    "10**30",
    "10**400",
    "-7",
    "64",
    "65",
    "1000",
    "2**20",
    "2**33",
    "float('nan')",
    "float('inf')",
    "-float('inf')",
    "1e308",
    "5e-324",
    "1e19",
    "3 + 4j",
    "np.int64(2)",
    "np.float32(0.5)",
    "np.float64('nan')",
    "np.bool_(True)",
    "np.uint64(2**64 - 1)",
    "np.array(1)",
    "np.array([1, 2])",
    "torch.tensor(2)",
    "torch.tensor(1.5, requires_grad=True)",
    "Number({number}, {effect})",
    "Number({any}, {effect})",
    "type('W', (Whole,), dict(source={effect}))({number})",
    "type('R', (Real,), dict(source={effect}))({number})",
)
SIZES = (
    "(2, 3)",
    "(3,)",
    "[1]",
    "()",
    "[]",
    "(1, 2)",
    "(6,)",
    "(-1,)",
    "(0,)",
    "(0, 1)",
    "2",
    "(2, 2)",
    "torch.Size([2])",
)
HOSTILE_SIZES = (
    "({hostile}, {number})",
    "[{hostile}]",
    "[{number}, {hostile}]",
    "(2**32, 2**32)",
    "(2**62, 4)",
    "(2**31, 2**31, 4)",
    "(0, 2**62, 2**62)",
    "(2**61 + 1,)",
    "(-2**63,)",
    "(-1, -1)",
    "(1,) * 64",
    "(1,) * 65",
    "(1,) * 1000",
    "w.list",
    "w.rows",
    "range(3)",
    "Series([{number}, {number}], {effect})",
    "Series([Number(1, {effect}), 2])",
    "[Number(1, {effect}), 2, 3]",
    "type('L', (Row,), dict(source={effect}))([1, 2])",
    "Liar(2**62)",
    "Liar(-1)",
    "Liar(3)",
    "Liar('x')",
    "itself()",
    "deep(10)",
    "deep(3000)",
    "deep(100, tuple)",
    "(i for i in range(3))",
    "{{1: 2}}",
    "{{1, 2}}",
    "np.arange(3)",
    "torch.arange(2)",
    "b'abc'",
)
STRINGS = (
    "'mean'",
    "'sum'",
    "'none'",
    "'zeros'",
    "'constant'",
    "'reflect'",
    "'cpu'",
    "'same'",
    "'valid'",
    "'relu'",
    "'ij,jk->ik'",
    "'fan_in'",
    "'trunc'",
    "'weight'",
    "'ij'",
    "'fro'",
    "'float32'",
)
HOSTILE_STRINGS = (
    "''",
    "'\\udc80'",
    "'\\x00a'",
    "'x' * 10000",
    "Label('mean')",
    "'a.b.c'",
    "'__class__'",
    "'__dict__'",
    "'ij,jk->ikq'",
    "'...,...->'",
    "'%s%n{{0}}'",
    "b'mean'",
    "'cuda:99999999999999999999'",
    "'\U0001f600'",
)
ANYTHING = (
    "None",
    "...",
    "NotImplemented",
    "object()",
    "torch",
    "torch.Tensor",
    "type",
    "int",
    "lambda *a, **k: None",
    "slice(None)",
    "slice(2, 0, -1)",
    "slice(None, None, {hostile})",
    "slice(Number(0, {effect}), {number})",
    "{{}}",
    "set()",
    "b''",
    "bytearray(8)",
    "w.bytes",
    "memoryview(w.bytes)",
    "memoryview(b'abcdefgh').cast('d')",
    "w.list",
    "w.tensors",
    "w.rows",
    "w.dict",
    "w.array",
    "w.node",
    "w.leaf_node",
    "w.module",
    "w.model",
    "w.optimizer",
    "w.handle",
    "w.file",
    "torch.float32",
    "torch.int64",
    "torch.bool",
    "torch.device('cpu')",
    "torch.Generator()",
    "torch.strided",
    "torch.Size([2, 3])",
    "np.zeros((2, 3), dtype='f4')",
    "np.zeros(3, dtype=[('a', 'i4'), ('b', 'f8')])['b']",
    "np.zeros(3, dtype=[('a', 'u1'), ('b', 'f8')])['b']",
    "np.zeros(3, dtype=[('a', 'i4'), ('b', 'f8')])",
    "np.zeros(3, dtype='>f8')",
    "np.zeros(3, dtype=complex)",
    "np.array([1, 'a', None], dtype=object)",
    "np.array(['a', 'b'])",
    "np.zeros((2, 0))",
    "np.arange(6.0)[::-1]",
    "(ctypes.c_float * 3)(1, 2, 3)",
    "(ctypes.c_double * 2 * 3)()",
    "ctypes.c_int(3)",
    "Array(np.zeros(3), {effect})",
    "Array(None)",
    "Array({{'shape': (2**62,), 'typestr': '<f8', 'data': (0, False), 'version': 3}})",
    "Torchlike()",
    "Thing()",
    "Function({effect})",
    "Function({effect}, '7')",
    "Function({effect}, 'args[0] * 2')",
    "damaged(torch.nn.Module)",
    "damaged(torch.nn.Linear)",
    "damaged(torch.optim.SGD)",
    "damaged(torch.Generator)",
    "torch.utils.data.TensorDataset(torch.ones(4, 2))",
    "functools.partial(torch.add, 1)",
    "iter([1, 2])",
    "weakref.ref(w.leaf)",
    "weakref.proxy(w.leaf)",
    "namedtuple('P', 'a b')(w.leaf, 2)",
    "OrderedDict(a=torch.ones(2))",
    "ValueError('x')",
    "[torch.ones(2), torch.ones(3)]",
    "[torch.ones(2, 3), None]",
    "[torch.tensor([1.0]), torch.tensor([2.0])]",
    "(torch.ones(2, 3), torch.ones(2, 3))",
    "[[1, 2], [3]]",
    "[True, 2, 3.5]",
    "[w.result, w.leaf]",
    "[{hostile_tensor}, {tensor}]",
    "[{any}, {any}]",
)
CALLABLES = (
    "torch.add",
    "lambda x, *rest: x * 2",
    "lambda *xs: xs",
    "lambda *xs: None",
    "torch.nn.functional.relu",
    "w.module",
    "Function({effect}, 'args[0]')",
    "lambda x, *rest: x.detach()",
    "lambda x, *rest: x.add_(1)",
)

TENSOR_NAMES = {
    "input",
    "tensor",
    "tensors",
    "self",
    "other",
    "x",
    "y",
    "target",
    "weight",
    "bias",
    "mat1",
    "mat2",
    "vec",
    "batch1",
    "batch2",
    "query",
    "key",
    "value",
    "mask",
    "hidden",
    "hx",
    "running_mean",
    "running_var",
    "index",
    "source",
    "src",
    "end",
    "start",
    "a",
    "b",
    "x1",
    "x2",
    "x3",
    "anchor",
    "positive",
    "negative",
    "grad",
    "data",
    "gradient",
    "log_probs",
    "input1",
    "input2",
    "obj",
    "tensor1",
    "tensor2",
    "condition",
    "values",
    "attn_mask",
    "params",
    "parameters",
    "inputs",
    "outputs",
}
SIZE_NAMES = {
    "size",
    "sizes",
    "shape",
    "dims",
    "kernel_size",
    "stride",
    "padding",
    "dilation",
    "output_size",
    "normalized_shape",
    "split_size_or_sections",
    "pad",
    "shifts",
    "repeats",
    "output_padding",
    "scale_factor",
    "indices_or_sections",
    "betas",
}


@dataclass(frozen=True)
class Call:
    """A call, by the texts of its parts."""

    source: str
    kind: str = "call"
    owner: str = ""
    args: tuple[str, ...] = ()
    kwargs: tuple[tuple[str, str], ...] = ()
    how: int = 0  # what is done to the result

    def plain(self):
        """The text without what is done to the result."""
        source = self.source.replace("{}", f"({self.owner})" if self.owner else "")
        if self.kind == "read":
            return source
        if self.kind == "write":
            holder, _, name = source.rpartition(".")
            return f"setattr({holder}, {name!r}, {self.args[0]})"
        return f"{source}({', '.join([*self.args, *(f'{name}={value}' for name, value in self.kwargs)])})"

    def text(self):
        """The line that is evaluated."""
        return f"touch({self.plain()}, {self.how})" if self.how else self.plain()


class _Blanks(dict):
    """What stands between braces in a value's text, drawn when it is asked for."""

    def __init__(self, drawing, depth):
        self.drawing, self.depth = drawing, depth

    def __missing__(self, name):
        choose, depth = self.drawing.random.choice, self.depth + 1
        if name == "number":
            return choose(NUMBERS)
        if name == "effect":
            return repr(choose(EFFECTS))
        if name == "tensor":
            return choose(TENSORS)
        if name == "hostile_tensor":
            return choose(HOSTILE_TENSORS)
        if name == "hostile":
            return self.drawing.fill(choose(HOSTILE_NUMBERS), depth) if depth < 3 else "2**62"
        assert name == "any", name
        return self.drawing.anything(depth) if depth < 3 else "None"


@dataclass
class Drawing:
    """Draws by a generator of random numbers; knows which types can be made, and how."""

    random: object
    makers: dict[str, list[str]] = field(default_factory=dict)

    def fill(self, text, depth=0):
        """A value's text, with what its braces ask for drawn."""
        if "{" not in text:
            return text
        return text.format_map(_Blanks(self, depth))

    def anything(self, depth=0):
        """A value of any kind."""
        if self.makers and self.random.random() < 0.08:
            return self.random.choice(self.makers[self.random.choice(sorted(self.makers))])
        lists = (ANYTHING, HOSTILE_TENSORS, HOSTILE_NUMBERS, HOSTILE_SIZES, HOSTILE_STRINGS, TENSORS)
        return self.fill(self.random.choice(self.random.choice(lists)), depth)

    def value(self, parameter, hostile=0.12):
        """A value for the parameter: as a rule one of the right kind."""
        if parameter.kind == "file":
            return str(self.random.getrandbits(40))
        chance = self.random.random()
        if chance < hostile / 2:
            return self.anything()
        plausible, wild = self.lists(parameter)
        return self.fill(self.random.choice(wild if chance < hostile else plausible))

    def lists(self, parameter):
        """The plausible and the hostile values for a parameter."""
        kind, name = parameter.kind, parameter.name
        if "Callable" in kind or name in ("fn", "func", "function", "hook", "closure", "pack_hook", "unpack_hook"):
            return CALLABLES, ANYTHING
        if kind.rstrip("?") in self.makers:
            return self.makers[kind.rstrip("?")], ANYTHING
        if kind in ("Module", "module") or name in ("module", "model"):
            return ("w.module", "w.model"), ANYTHING
        if "[]" in kind and "Tensor" in kind:
            return ("w.tensors", "[torch.ones(2, 3), w.leaf]", "(w.leaf,)", "[torch.ones(3), torch.ones(3)]"), ANYTHING
        if "Tensor" in kind or kind == "Operand" or name in TENSOR_NAMES:
            return TENSORS, HOSTILE_TENSORS
        if "dtype" in (kind.rstrip("?"), name):
            return ("torch.float32", "torch.float64", "torch.int64", "torch.bool", "torch.uint8", "None"), ANYTHING
        if "int[]" in kind or name in SIZE_NAMES or "Sequence" in kind or "tuple" in kind:
            return SIZES, HOSTILE_SIZES
        if "bool" in kind:
            return ("True", "False"), ANYTHING
        if "str" in kind:
            return STRINGS, HOSTILE_STRINGS
        if any(word in kind for word in ("int", "float", "Scalar", "Number")) or name in ("dim", "axis", "n", "p"):
            return NUMBERS, HOSTILE_NUMBERS
        return TENSORS + NUMBERS + SIZES, ANYTHING

    def owner(self, target):
        """The text of an object whose attribute is asked."""
        if target.owner == "torch.Tensor":
            return self.random.choice(TENSORS if self.random.random() < 0.6 else HOSTILE_TENSORS)
        makers = self.makers.get(target.owner)
        if makers and self.random.random() < 0.9:
            return self.random.choice(makers)
        if target.owner.startswith(("torch.Tensor", "torch.nn.", "torch.optim.", "torch.Generator")):
            return f"damaged({target.owner})"
        return self.anything()

    def fresh(self, target):
        """A call drawn from what is known of the parameters."""
        hostile = self.random.choice((0, 0.1, 0.3, 1))
        owner = self.owner(target) if target.owner and "{}" in target.source else ""
        if not target.signatures:
            args = tuple(self.anything() for _ in range(self.random.choice((0, 0, 1, 1, 2, 3))))
            return Call(target.source, target.kind, owner, args, ())
        args, kwargs = [], []
        signature = self.random.choice(target.signatures)
        if owner and signature and signature[0].name == "self":
            signature = signature[1:]
        for parameter in signature:
            if not parameter.required and self.random.random() < 0.6:
                continue
            if parameter.keyword_only or (not parameter.required and parameter.name):
                kwargs.append((parameter.name, self.value(parameter, hostile)))
            else:
                args.append(self.value(parameter, hostile))
        return Call(target.source, target.kind, owner, tuple(args), tuple(kwargs))

    def changed(self, call, target):
        """A call that worked, with one or two of its parts drawn anew."""
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            args, kwargs = list(call.args), list(call.kwargs)
            places = len(args) + len(kwargs) + bool(call.owner)
            place = self.random.randrange(places + 1)
            if place < len(args):
                args[place] = self.exchanged(args[place])
            elif place < len(args) + len(kwargs):
                name, value = kwargs[place - len(args)]
                kwargs[place - len(args)] = (name, self.exchanged(value))
            elif call.owner and place == places - 1:
                call = replace(call, owner=self.owner(target))
            else:
                self.misshape(args, kwargs, target)
            call = replace(call, args=tuple(args), kwargs=tuple(kwargs))
        return call

    def exchanged(self, text):
        """Another value in the place of one, as a rule a hostile one of its kind."""
        if self.random.random() < 0.3:
            return self.anything()
        for plausible, wild in (
            (TENSORS, HOSTILE_TENSORS),
            (NUMBERS, HOSTILE_NUMBERS),
            (SIZES, HOSTILE_SIZES),
            (STRINGS, HOSTILE_STRINGS),
        ):
            if text in plausible or text in wild:
                return self.fill(self.random.choice(plausible if self.random.random() < 0.3 else wild))
        return self.anything()

    def misshape(self, args, kwargs, target):
        """Too many arguments, too few, or keywords that are not there."""
        if target.kind == "write":
            return
        chance = self.random.random()
        if chance < 0.3:
            args.append(self.anything())
        elif chance < 0.5 and args:
            args.pop(self.random.randrange(len(args)))
        elif chance < 0.6:
            args.extend(["1"] * self.random.choice((10, 100)))
        else:
            known = [one.name for signature in target.signatures for one in signature if one.name]
            name = self.random.choice([*known, "out", "dtype", "dim", "nonsense", "self", "device", "keepdim"])
            if name not in dict(kwargs) and name.isidentifier():
                kwargs.append((name, self.anything()))

    def call(self, target):
        """One call of the target."""
        if target.works and target.source != "load_damaged" and self.random.random() < 0.6:
            made = self.changed(self.random.choice(target.works), target)
        else:
            made = self.fresh(target)
        if target.kind == "write" and len(made.args) != 1:
            made = replace(made, args=(self.anything(),))
        return replace(made, how=self.random.choice((0, 0, 0, *range(1, 16))))
