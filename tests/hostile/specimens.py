"""Programs that once crashed, hung or took all memory. What they should give is asked where the like is tested."""

SPECIMENS = {
    "grad of a view made without gradients": (
        "a = torch.arange(3., requires_grad=True); y = a * 2\n"
        "with torch.no_grad(): v = y.view(3, 1)\n"
        "torch.autograd.grad(v.sum(), [v])"
    ),
    "backward into a view made without gradients": (
        "a = torch.arange(3., requires_grad=True); y = a * 2\n"
        "with torch.no_grad(): b = y.view(3, 1)\n"
        "y.sum().backward(inputs=[b])"
    ),
    "hook on a view made without gradients": (
        "a = torch.arange(3., requires_grad=True); y = a * 2\n"
        "with torch.no_grad(): b = y.view(3, 1)\n"
        "b.register_hook(lambda g: g); b.retain_grad(); y.sum().backward()"
    ),
    "backward from a view made without gradients": (
        "a = torch.arange(3., requires_grad=True); y = a * 2\n"
        "with torch.no_grad(): b = y.view(3, 1)\n"
        "torch.autograd.backward([b], [torch.ones(3, 1)])"
    ),
    "grad of a row taken without gradients": (
        "w = torch.ones(3, 4, requires_grad=True)\n"
        "with torch.no_grad(): b = w[0]\n"
        "torch.autograd.grad((w * 2).sum(), b, allow_unused=True)"
    ),
    "pieces of a split without gradients": (
        "a = torch.arange(4., requires_grad=True); y = a * 2\n"
        "with torch.no_grad(): p, q = y.split(2); rows = list(y); u = y.unbind()\n"
        "torch.autograd.grad(p.sum() + rows[0] + u[1], [p, rows[0], u[1]], allow_unused=True)"
    ),
    "data of another shape in a leaf that a graph leads to": (
        "x = torch.ones(2, 4, requires_grad=True); y = x * 2; x.data = torch.ones(4)\n"
        "torch.autograd.grad(x[::2], [x], torch.ones(2), create_graph=True)"
    ),
    "data of another shape in a result": (
        "x = torch.ones(2, 4, requires_grad=True); y = x * 2; y.data = torch.ones(4)\n"
        "torch.autograd.grad(y[::2], [x], torch.ones(2))"
    ),
    "an export of memory that the tensor dropped": (
        "x = torch.ones(3); a = x.numpy(); x.data = torch.zeros(3); a += 1; a.sum()"
    ),
    "a memoryview of memory that the tensor dropped": (
        "x = torch.ones(1000); m = memoryview(x); x.data = torch.zeros(3); torch.zeros(1000); bytes(m)"
    ),
    "a DLPack of memory that the tensor dropped": (
        "x = torch.ones(1000); c = np.from_dlpack(x); x.data = torch.zeros(3); torch.zeros(1000); c.sum()"
    ),
    "strides that overflow": "torch.ones(4).as_strided((2**61 + 1,), (8,)).sum()",
    "sizes that overflow to none": "torch.ones(0).reshape(2**32, 2**32).sum()",
    "sizes that overflow in empty_strided": "torch.empty_strided((2**62, 4), (1, 1)).sum()",
    "outer of what is expanded far": "x = torch.ones(1).expand(2**32); torch.outer(x, x)",
    "clone of what is expanded far": "torch.ones(1).expand(2**62).clone()",
    "cat of what is expanded far": "x = torch.ones(1).expand(2**62); torch.cat([x, x, x, x])",
    "conv1d of what is expanded far": "torch.conv1d(torch.ones(1, 1, 1).expand(1, 1, 2**62), torch.ones(1, 1, 1))",
    "print options of an object that goes": (
        "leaf = torch.ones(3); torch.set_printoptions(precision=torch, linewidth=weakref.proxy(leaf))\n"
        "del leaf; repr(torch.ones(9))"
    ),
    "a kernel of letters": "torch.nn.Conv2d(3, True, b'mean', stride=(1,) * 65, bias=torch.tensor(True))",
    "a narrow beyond the end": "torch.arange(4.0).narrow(0, 1, 2**63 - 1).sum()",
    "a list that its elements clear": (
        "rows = [1.0]\n"
        "class Clears:\n"
        "    def __index__(self): rows.clear(); return 1\n"
        "rows.extend(Clears() for _ in range(100)); torch.tensor(rows, dtype=torch.int64)"
    ),
    "a list that its elements extend": (
        "rows = []\n"
        "class Extends:\n"
        "    def __index__(self): rows.extend([1] * 10000); return 1\n"
        "rows.extend(Extends() for _ in range(10)); torch.tensor(rows)"
    ),
    "a sequence that is longer each time": (
        "class Grows:\n"
        "    count = 0\n"
        "    def __len__(self): self.count += 100; return self.count\n"
        "    def __getitem__(self, i):\n"
        "        if i >= self.count: raise IndexError\n"
        "        return 1.0\n"
        "    def __iter__(self): return iter([1.0] * len(self))\n"
        "torch.tensor(Grows()); torch.tensor([Grows(), Grows()])"
    ),
    "an array of ctypes": "torch.tensor((ctypes.c_float * 3)(1, 2, 3)); torch.tensor((ctypes.c_double * 2 * 3)())",
    "an array whose base is itself": (
        "class Own(np.ndarray):\n"
        "    @property\n"
        "    def base(self): return self\n"
        "torch.from_numpy(np.zeros(3).view(Own)); torch.tensor(np.zeros(3).view(Own))"
    ),
    "pooling to 2**62 places": "torch.nn.functional.adaptive_avg_pool1d(torch.ones(1, 1, 4), 2**62)",
    "checkpoint in 2**40 segments": (
        "parts = [torch.nn.Linear(1, 1)]\n"
        "torch.utils.checkpoint.checkpoint_sequential(parts, 2**40, torch.ones(1, 1), use_reentrant=False)"
    ),
    "pooling with a huge window": (
        "torch.nn.functional.max_pool1d(torch.ones(1, 1, 4), 2**40, 1, 2**39); "
        "torch.nn.functional.avg_pool2d(torch.ones(1, 1, 4, 4), 2**31, 1, 2**30)"
    ),
}
