"""Derivatives through sparse tensors, and gradients that are sparse, beside PyTorch's and differences."""

import pytest
import torch as pytorch

import clew
from tests.sparse.conftest import close, told

PYTORCH_SAYS = ("Sparse invariant checks", "Sparse CS")
pytestmark = [pytest.mark.filterwarnings(f"ignore:{text}:UserWarning") for text in PYTORCH_SAYS]

INDEX = [[0, 1, 0, 2], [1, 0, 1, 2]]
VALUES = [2.0, 3.0, 4.0, 0.5]
OTHER = [[0.5, -1.0], [2.0, 1.5], [-0.25, 1.0]]


def sparse_of(m, values, merged):
    made = m.sparse_coo_tensor(m.tensor(INDEX), values, (3, 3))
    return made.coalesce() if merged else made


# Functions of the values v, a dense matrix d (3, 2) and the sparse tensor s of v.
PROGRAMS = [
    "torch.sparse.mm(s,d)",
    "s@d",
    "torch.mm(s,d)",
    "d.t()@s",
    "s.to_dense()*2",
    "s.coalesce().values()**2",
    "s.t()@d",
    "(s*3)@d",
    "(s/2)@d",
    "(-s)@d",
    "torch.sparse.sum(s)**2",
    "torch.sparse.sum(s,0).to_dense()**2",
    "torch.sparse.sum(s,1).coalesce().values()**2",
    "s.sum()**2",
    "torch.sparse.softmax(s,1).to_dense()",
    "torch.sparse.log_softmax(s,0).coalesce().values()",
    "torch.sparse.mm(s,s).to_dense()",
    "(s@s.t()).to_dense()",
    "(s+s).to_dense()**2",
    "(s-s*3).to_dense()**2",
    "(d@d.t()+s)**2",
    "(s*s).to_dense()",
    "(s*(d@d.t())).to_dense()",
    "s.pow(2).to_dense()",
    "s.abs().to_dense()",
    "s.tanh().to_dense()",
    "s.index_select(0,torch.tensor([0,0,2])).to_dense()**2",
    "s[0].to_dense()**2",
    "s.sparse_mask(s.detach().coalesce()).to_dense()",
    "torch.sparse.addmm(d,s,d,beta=2,alpha=3)",
    "s@d[:,0]",
    "d[:,0]@s",
    "s.to_sparse_csr()@d",
    "s.to_sparse_csr().values()**2",
    "s.to_sparse_csr().to_dense()**2",
    "torch.cat([s,s]).to_dense()**2",
    "s.double().to_dense()",
    "(d@d.t()).sparse_mask(s.detach().coalesce()).to_dense()",
    "(d@d.t()).to_sparse().values()**2",
    "s.clone()@d",
    "s.unsqueeze(0).to_dense()**2",
    "(s*torch.tensor(2.0))@d",
    "s.t().t()@d",
    "(s.coalesce()*s.coalesce()).coalesce().values()",
]
# Of which PyTorch has no derivative.
OURS_ONLY = {"s.index_select(0,torch.tensor([0,0,2])).to_dense()**2", "(s*s).to_dense()"}


def evaluated(m, program, merged, dtype):
    v = m.tensor(VALUES, dtype=dtype, requires_grad=True)
    d = m.tensor(OTHER, dtype=dtype, requires_grad=True)
    s = sparse_of(m, v, merged)
    return v, d, eval(program, {"torch": m, "s": s, "d": d, "v": v})


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program, merged):
    if "torch.tensor(2.0)" not in program:

        def function(v, d):
            return eval(program, {"torch": clew, "s": sparse_of(clew, v, merged), "d": d, "v": v})

        v = clew.tensor(VALUES, dtype=clew.float64, requires_grad=True)
        d = clew.tensor(OTHER, dtype=clew.float64, requires_grad=True)
        assert clew.autograd.gradcheck(function, (v, d))
        assert clew.autograd.gradgradcheck(function, (v, d))
    found = []
    for m in (clew, pytorch):
        try:
            v, d, result = evaluated(m, program, merged, m.float32)
            weight = m.arange(result.numel(), dtype=result.dtype).reshape(result.shape) / 3 - 1
            (result * weight).sum().backward()
        except (RuntimeError, NotImplementedError):
            assert m is pytorch  # it has no derivative of this
            return
        found.append([told(result), told(v.grad), told(d.grad)])
    if program not in OURS_ONLY:
        assert close(*found), (program, *found)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(
    "program",
    [
        "torch.sparse.mm(s,d)",
        "s.to_dense()*(d@d.t())",
        "s.coalesce().values()",
        "torch.sparse.sum(s)",
        "torch.mm(s,d)",
        "s@d[:,0]",
    ],
)
def test_a_sparse_leaf_has_a_sparse_gradient(program, merged):
    dense = []
    for m in (clew, pytorch):
        s = sparse_of(m, m.tensor(VALUES), merged).requires_grad_()
        assert s.is_leaf
        assert s.requires_grad
        assert s.grad is None
        d = m.tensor(OTHER)
        result = eval(program, {"torch": m, "s": s, "d": d})
        result.sum().backward()
        (again,) = m.autograd.grad(eval(program, {"torch": m, "s": s, "d": d}).sum(), s)
        (listed,) = m.autograd.grad([eval(program, {"torch": m, "s": s, "d": d}).sum()], [s])
        for grad in (s.grad, again, listed):
            pattern = m.ones(3, 3).sparse_mask(s.detach().coalesce()).to_dense()
            dense.append((grad.to_dense() * pattern).tolist())
        if m is clew:
            assert s.grad.layout is clew.sparse_coo
            assert s.grad is s.grad
            before = s.grad.to_dense()
            eval(program, {"torch": m, "s": s, "d": d}).sum().backward()
            assert clew.allclose(s.grad.to_dense(), before * 2)
            s.grad = None
            assert s.grad is None
    assert all(close(one, dense[0]) for one in dense), dense


def test_a_hook_sees_a_sparse_gradient():
    s = sparse_of(clew, clew.tensor(VALUES), True).requires_grad_()
    seen = []
    s.register_hook(lambda grad: seen.append(grad) or grad * 2)
    clew.sparse.sum(s).backward()
    assert seen[0].layout is clew.sparse_coo
    assert s.grad.values().tolist() == [2.0, 2.0, 2.0]


def looked_up(m, indices, sparse=True, padding=None, leaf=True):
    weight = m.arange(10.0).reshape(5, 2).requires_grad_()
    table = weight if leaf else weight * 2
    rows = m.nn.functional.embedding(m.tensor(indices), table, padding_idx=padding, sparse=sparse)
    (rows * rows).sum().backward()
    return weight


@pytest.mark.parametrize("indices", [[1, 3], [[1, 1], [4, 0]], []])
@pytest.mark.parametrize("padding", [None, 1, -1])
def test_an_embedding_has_a_sparse_gradient(indices, padding):
    if not indices:
        indices = clew.zeros(0, dtype=clew.int64).tolist()
    ours, theirs = (
        looked_up(m, m.tensor(indices, dtype=m.int64).tolist() or [0], padding=padding) for m in (clew, pytorch)
    )
    assert ours.grad.layout is clew.sparse_coo
    assert ours.grad.sparse_dim() == 1
    assert told(ours.grad) == told(theirs.grad)
    assert ours.grad._indices().tolist() == theirs.grad._indices().tolist()
    assert close(
        ours.grad.to_dense().tolist(), looked_up(clew, indices or [0], sparse=False, padding=padding).grad.tolist()
    )


def test_gradients_add_up():
    for m in (clew, pytorch):
        weight = m.arange(10.0).reshape(5, 2).requires_grad_()

        def use(*rows, m=m, weight=weight):
            return m.nn.functional.embedding(m.tensor(rows), weight, sparse=True).sum()

        use(1, 2).backward()
        first = weight.grad
        use(2).backward()
        assert weight.grad is first
        assert first._nnz() == 3
        (use(0) + use(0, 1) * 2).backward()  # twice in one graph
        assert weight.grad.layout is m.sparse_coo
        assert weight.grad.to_dense()[:, 0].tolist() == [3.0, 3.0, 2.0, 0.0, 0.0]
        (weight.sum() + use(4)).backward()  # a dense one beside it
        assert weight.grad.layout is m.strided
        assert weight.grad[:, 0].tolist() == [4.0, 4.0, 3.0, 1.0, 2.0]
        use(4).backward()  # into a dense one
        assert weight.grad[:, 0].tolist() == [4.0, 4.0, 3.0, 1.0, 3.0]


def test_ways_to_ask_for_it():
    for m in (clew, pytorch):
        weight = m.arange(10.0).reshape(5, 2).requires_grad_()
        use = lambda: m.nn.functional.embedding(m.tensor([1, 3]), weight, sparse=True).sum()  # noqa: B023, E731
        (found,) = m.autograd.grad(use(), weight)
        assert found.layout is m.sparse_coo
        assert weight.grad is None
        seen = []
        handle = weight.register_hook(lambda grad: seen.append(grad.layout))  # noqa: B023
        after = weight.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad._nnz()))  # noqa: B023
        use().backward()
        assert seen == [m.sparse_coo, 2]
        handle.remove()
        after.remove()
        weight.grad = None
        m.autograd.backward(use(), inputs=[weight])
        assert weight.grad._nnz() == 2
        weight.grad = weight.grad * 2  # an assignment
        assert weight.grad.to_dense().sum() == 8
        assert looked_up(m, [1], leaf=False).grad.to_dense()[1].tolist() == [16.0, 24.0]


def test_a_second_derivative_goes_through_a_sparse_gradient():
    weight = clew.arange(10.0).reshape(5, 2).requires_grad_()
    rows = clew.nn.functional.embedding(clew.tensor([1, 3]), weight, sparse=True)
    (first,) = clew.autograd.grad((rows**3).sum(), weight, create_graph=True)
    (second,) = clew.autograd.grad(clew.sparse.sum(first), weight)
    expected = clew.zeros(5, 2)
    expected[[1, 3]] = 6 * weight.detach()[[1, 3]]
    assert clew.equal(second.to_dense(), expected)


def test_memory_is_that_of_the_batch():
    rows, width = 1_000_000, 32
    weight = clew.zeros(rows, width).requires_grad_()
    index = clew.arange(100)
    clew.nn.functional.embedding(index, weight, sparse=True).sum().backward()
    before = clew.memory.stats()
    optimizer = clew.optim.SGD([weight], lr=0.5)
    clew.memory.reset_peak()
    weight.grad = None
    clew.nn.functional.embedding(index, weight, sparse=True).sum().backward()
    optimizer.step()
    assert clew.memory.stats().peak - before.live < rows * width * 4 / 100
    assert weight.detach()[:100].sum() == -0.5 * 100 * width
    assert weight.detach()[100:].sum() == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_has_a_sparse_gradient(axis):
    grads = []
    for m in (clew, pytorch):
        x = m.arange(6.0).reshape(2, 3).requires_grad_()
        index = m.tensor([[0, 0], [1, 1]])
        (m.gather(x, axis, index, sparse_grad=True) * m.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        grads.append((told(x.grad), x.grad._indices().tolist()))
    assert grads[0] == grads[1]


OPTIMIZERS = {
    "SparseAdam": {"lr": 0.1},
    "SparseAdam betas": {"lr": 0.1, "betas": (0.5, 0.7), "maximize": True},
    "SGD": {"lr": 0.1},
    "SGD momentum": {"lr": 0.1, "momentum": 0.9},
    "SGD nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "SGD dampening": {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True},
    "Adagrad": {"lr": 0.1},
    "Adagrad decay": {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_by_sparse_gradients(name):
    ends = []
    for m in (clew, pytorch):
        table = m.nn.Embedding(6, 2, sparse=True, _weight=m.arange(12.0).reshape(6, 2) / 10)
        optimizer = getattr(m.optim, name.split()[0])(table.parameters(), **OPTIMIZERS[name])
        for rows in ([0, 1, 1], [1, 4], [5, 5, 0]):
            optimizer.zero_grad()
            (table(m.tensor(rows)) ** 2).sum().backward()
            optimizer.step()
        state = optimizer.state_dict()["state"].get(0, {})
        ends.append(
            [told(table.weight)] + [told(state[key].to_dense()) for key in sorted(state) if key not in ("step",)]
        )
        if m is clew:
            again = getattr(m.optim, name.split()[0])(table.parameters(), **OPTIMIZERS[name])
            again.load_state_dict(optimizer.state_dict())
    assert close(*ends), ends


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"])
def test_the_others_refuse_them(name):
    for m in (clew, pytorch):
        table = m.nn.Embedding(6, 2, sparse=True)
        table(m.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError, match="does not support sparse gradients"):
            getattr(m.optim, name)(table.parameters()).step()
        with pytest.raises(RuntimeError):
            m.optim.SGD(table.parameters(), weight_decay=0.1).step()


def test_clipping_and_zeros():
    weight = looked_up(clew, [1, 1, 3])
    dense = looked_up(clew, [1, 1, 3], sparse=False)
    norms = [float(clew.nn.utils.clip_grad_norm_([one], 1.0)) for one in (weight, dense)]
    assert close(*norms)
    assert close(weight.grad.to_dense().tolist(), dense.grad.tolist())
    clew.optim.SGD([weight]).zero_grad(set_to_none=False)
    assert weight.grad._nnz() == 0


def test_a_module_with_a_sparse_table():
    for m in (clew, pytorch):
        table = m.nn.Embedding(6, 2, sparse=True)
        assert repr(table) == "Embedding(6, 2, sparse=True)"
        assert table.sparse
        pretrained = m.nn.Embedding.from_pretrained(m.ones(3, 2), freeze=False, sparse=True)
        pretrained(m.tensor([1])).sum().backward()
        assert pretrained.weight.grad._nnz() == 1


def test_a_function_of_users_takes_and_saves_sparse_tensors():
    for m in (clew, pytorch):

        class Product(m.autograd.Function):
            @staticmethod
            def forward(ctx, index, values, dense):
                made = m.sparse_coo_tensor(index, values, (3, 3))  # noqa: B023
                ctx.save_for_backward(made, dense)
                return m.matmul(made, dense)  # noqa: B023

            @staticmethod
            def backward(ctx, grad):
                made, dense = ctx.saved_tensors
                full = grad @ dense.t()
                row, column = made._indices()
                return None, full[row, column], made.t() @ grad

        v = m.tensor(VALUES, requires_grad=True)
        d = m.tensor(OTHER, requires_grad=True)
        Product.apply(m.tensor(INDEX), v, d).sum().backward()
        first = v.grad.tolist(), d.grad.tolist()
        v.grad = d.grad = None
        m.sparse.mm(m.sparse_coo_tensor(m.tensor(INDEX), v, (3, 3)), d).sum().backward()
        assert close(first, (v.grad.tolist(), d.grad.tolist()))


def test_transforms_go_through_values():
    index, values = clew.tensor(INDEX), clew.tensor(VALUES)
    dense = clew.tensor(OTHER)

    def product(v, d=dense):
        return clew.sparse.mm(clew.sparse_coo_tensor(index, v, (3, 3)), d)

    given, tangent = clew.func.jvp(product, (values,), (values * 2,))
    assert clew.equal(tangent, product(values * 2))
    assert clew.equal(given, product(values))
    given, tangent = clew.func.jvp(lambda d: product(values, d), (dense,), (dense * 2,))
    assert clew.equal(tangent, given * 2)
    sum_of = lambda v: (product(v) ** 2).sum()  # noqa: E731
    assert clew.allclose(clew.func.hessian(sum_of)(values), clew.autograd.functional.hessian(sum_of, values))
    several = clew.stack([values, values * 2])
    assert clew.allclose(clew.vmap(product)(several), clew.stack([product(one) for one in several]))
    denses = clew.stack([dense, dense * 2])
    assert clew.allclose(
        clew.vmap(lambda d: product(values, d))(denses), clew.stack([product(values, d) for d in denses])
    )


def test_a_kept_block_computes_again():
    v = clew.tensor(VALUES, requires_grad=True)
    dense = clew.tensor(OTHER)
    with clew.keep_graph():
        result = clew.sparse.mm(clew.sparse_coo_tensor(clew.tensor(INDEX), v, (3, 3)).coalesce(), dense).sum()
    v.data = v.detach() * 2
    result.forward()
    expected = clew.sparse.mm(clew.sparse_coo_tensor(clew.tensor(INDEX), v, (3, 3)), dense).sum()
    assert clew.equal(result.detach(), expected.detach())
    result.backward()
    assert close(v.grad.tolist(), clew.autograd.grad(expected, v)[0].tolist())


@pytest.mark.filterwarnings("ignore::clew.autograd.errors.KeepWarning")
def test_compiled_steps_with_a_sparse_table():
    ends = []
    for sparse in (True, False):
        table = clew.nn.Embedding(5, 2, sparse=sparse, _weight=clew.ones(5, 2))
        optimizer = clew.optim.SGD(table.parameters(), lr=0.1)

        def step(rows, table=table, optimizer=optimizer):
            optimizer.zero_grad()
            (table(rows) ** 2).sum().backward()
            optimizer.step()

        compiled = clew.compile(step)
        for k in range(5):
            compiled(clew.tensor([1, k % 3]))
        ends.append(table.weight.tolist())
    assert close(*ends)


@pytest.mark.parametrize("scale", [8.0, float("inf")])
def test_a_scaler_divides_sparse_gradients(scale):
    for m in (clew, pytorch):
        table = m.nn.Embedding(5, 2, sparse=True, _weight=m.ones(5, 2))
        optimizer = m.optim.SGD(table.parameters(), lr=0.5)
        scaler = m.amp.GradScaler("cpu", init_scale=scale)
        scaler.scale(table(m.tensor([1, 1])).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert table.weight.tolist()[1] == ([0.0, 0.0] if scale == 8 else [1.0, 1.0])


def test_graph_tools_show_a_sparse_gradient():
    table = clew.nn.Embedding(5, 2, sparse=True)
    clew.graph.predict_peak((table(clew.tensor([1])) ** 2).sum())
    steps = list(clew.graph.step(table(clew.tensor([1])).sum()))
    assert "(5, 2) norm 1.41" in str(steps[-1])
    assert clew.explain(table.weight)


def test_a_backward_begins_with_a_sparse_gradient():
    x = clew.ones(3, requires_grad=True)
    (x * 2).backward(clew.sparse_coo_tensor([[1]], [4.0], (3,)))
    assert x.grad.tolist() == [0.0, 8.0, 0.0]
    s = sparse_of(clew, clew.tensor(VALUES), True).requires_grad_()
    for attempt in (
        lambda: (s * 2).backward(),
        lambda: clew.autograd.backward([s * 2]),
        lambda: clew.autograd.grad(s, s),
    ):
        with pytest.raises(NotImplementedError, match="sparse"):
            attempt()
