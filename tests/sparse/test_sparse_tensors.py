"""Sparse tensors beside PyTorch's: what they are, and what operations give."""

import copy
import io
import pickle

import pytest
import torch as pytorch

import clew
from tests.sparse.conftest import run, told

PYTORCH_SAYS = ("Sparse invariant checks", "Sparse CS", "torch.sparse.SparseTensor", "TypedStorage is deprecated")
pytestmark = [pytest.mark.filterwarnings(f"ignore:{text}:UserWarning") for text in PYTORCH_SAYS]

VALUES = """s c h e csr csc
s.to_dense() c.to_dense() h.to_dense() e.to_dense() csr.to_dense() csc.to_dense()
s.coalesce() h.coalesce() e.coalesce() s.is_coalesced() c.is_coalesced() e.is_coalesced()
c.indices() c.values() s._indices() s._values() h._values() s._nnz() c._nnz() csr._nnz() e._nnz()
csr.crow_indices() csr.col_indices() csr.values() csc.ccol_indices() csc.row_indices()
s.sparse_dim() s.dense_dim() h.sparse_dim() h.dense_dim() s.shape s.size() s.size(1) s.dim() s.numel() len(s)
s.is_sparse csr.is_sparse s.is_sparse_csr csr.is_sparse_csr dense.is_sparse dense.is_sparse_csr
s.requires_grad s.is_leaf s.is_floating_point() s.element_size() s.get_device() s.type()
isinstance(s,torch.Tensor) torch.is_tensor(s) isinstance(s,torch.sparse.FloatTensor)
isinstance(dense,torch.sparse.FloatTensor) isinstance(s,torch.FloatTensor) isinstance(s,torch.sparse.DoubleTensor)
str(s.device) s.is_cpu s.is_meta s.is_cuda s.ndim
dense.to_sparse() dense.to_sparse(1) dense.to_sparse_csr() dense.to_sparse_csc() wide.to_sparse(layout=torch.sparse_csr)
dense.to_sparse_coo() csr.to_sparse() csr.to_sparse_coo() csc.to_sparse_coo()
s.to_sparse() csr.to_sparse_csc() s.to_sparse_csr()
torch.zeros(3,2).to_sparse() torch.tensor(3.0).to_sparse().to_dense()
c+c c+e e+c s+h.new(3,4) csr+csr csr+dense dense+s s.add(s).to_dense() torch.add(c,c,alpha=2) (s+s).to_dense()
(c-s).to_dense() dense-s dense-h.new(3,4) torch.sub(c,c,alpha=3) c*2 2*c s*2 csr*2 c/2 s/2 h*2 h/4
c*torch.tensor(2.0) c/torch.tensor(2.0) -c -s -csr s.neg() h.neg() torch.neg(c)
c*c (s*s).to_dense() c*e csr*csr c*dense dense*c s*dense csr*dense dense*csr h*wide c*torch.ones(1,4) h*h
c*torch.tensor(3)
c.abs() s.abs() s.sqrt() s.pow(2) s**2 s.square() s.sin() s.tanh() s.relu() s.sgn() s.sign() s.floor() c.isnan()
csr.abs() h.abs()
torch.tanh(c) torch.nn.functional.relu(s) s.expm1() s.log1p() s.nan_to_num()
s.sum() c.sum() h.sum() csr.sum() e.sum() torch.sparse.sum(s) torch.sparse.sum(s,0) torch.sparse.sum(s,1)
torch.sparse.sum(s,-1)
torch.sparse.sum(s,[0,1]) torch.sparse.sum(s,dim=(0,)) torch.sparse.sum(h,0) torch.sparse.sum(h,1) torch.sparse.sum(e,0)
torch.sparse.sum(s,0,dtype=torch.float64) s.sum(0) s.sum(1) s.sum(0,keepdim=True)
torch.sparse.sum(s,dtype=torch.float64)
s.int().sum() s.norm() s.norm(1) h.norm()
s.t() c.t() h.transpose(0,0) csr.t() csc.t() s.transpose(0,1) c.transpose(1,0) s.permute(1,0) c.permute(0,1) s.T
csr.transpose(0,1)
s.unsqueeze(0) s.unsqueeze(-1) h.unsqueeze(2)
torch.mm(s,wide) torch.sparse.mm(s,wide) s@wide wide.t()@s.t() csr@wide wide.t()@csr.t() csc@wide e@wide s.mm(wide)
wide.t().mm(s.t())
torch.spmm(s,wide) torch.matmul(c,wide) c.matmul(wide) wide.t().matmul(c.t())
s@torch.arange(4.0) torch.mv(s,torch.ones(4)) torch.arange(3.0)@s csr@torch.ones(4) c.mv(torch.ones(4))
torch.sparse.mm(s,s.t()) c@c.t() torch.mm(s,c.t()) csr@csr.to_dense().t().to_sparse_csr() c@e.t()
torch.sparse.mm(csr,wide)
torch.sparse.mm(csr,wide,reduce='mean') torch.sparse.mm(csr,wide,reduce='amax') torch.sparse.mm(csr,wide,reduce='amin')
torch.sparse.addmm(torch.ones(3,2),s,wide) torch.addmm(torch.ones(3,2),s,wide,beta=2,alpha=3)
torch.sparse.addmm(torch.ones(3,2),csr,wide,beta=0.5,alpha=2) torch.ones(3,2).addmm(c,wide)
torch.sparse.softmax(s,1) torch.sparse.softmax(s,0) torch.sparse.log_softmax(s,1) torch.sparse.softmax(h,0)
torch.sparse.softmax(h,1)
torch.sparse.softmax(s,1,dtype=torch.float64) torch.sparse.log_softmax(h,0)
s.index_select(0,torch.tensor([1,1,0])) c.index_select(1,torch.tensor([1,0])) h.index_select(1,torch.tensor([1,1,0]))
h.index_select(0,torch.tensor([3,2])) s[0] c[0] c[0,1] s[0,1] c[:,1] h[0] h[1] c[-1] h[:,1] c.select(0,1) csr[0]
s[0].to_dense() list(c) s.unbind(1) torch.dsmm(s,wide)
len(list(s)) s.clone()._coalesced_(True)._nnz()
s.sparse_mask(c) dense.sparse_mask(c) dense.sparse_mask(s) dense.sparse_mask(e) c.sparse_mask(s) e.sparse_mask(c)
wide.sparse_mask(h)
torch.cat([c,c]) torch.cat([s,c],1) torch.stack([c,c]) torch.cat([h,h]) torch.stack([s,s],1).to_dense()
s.float() s.double() s.bool() s.int() s.long() s.to(torch.float64) csr.double() s.half() s.to(torch.float32)is(s)
s.to('cpu')is(s)
s.cpu() s.type(torch.DoubleTensor) s.type(torch.float64) s.type_as(s.double()) s.to(dense)
s.to(device='cpu',dtype=torch.int64)
s.clone() c.clone() csr.clone() c.detach() torch.zeros_like(c) torch.empty_like(s) s.clone().zero_()
c.clone().mul_(2).coalesce() c.clone().div_(2)
c.clone().add_(c) c.clone().sub_(c) c.clone().neg_() dense.clone().add_(s) dense.clone().sub_(s)
dense.clone().add_(s,alpha=2)
e.clone().copy_(c) s.clone().copy_(c) torch.ones(4,2).add_(h,alpha=-1) dense.clone().mul_(s)
s.int().coalesce() s.bool().coalesce() s.half().coalesce() s.int()@wide.int() s.double()@wide.double()
(s.bool()).to_dense() s.int().sum(0)
torch.sparse_coo_tensor(i,[1,2,3,4]) torch.sparse_coo_tensor([[0,1]],[1,2])
torch.sparse_coo_tensor(i,[1.,2.,3.,4.],(5,5),dtype=torch.float64)
torch.sparse_coo_tensor((2,3)) torch.sparse_coo_tensor([2,3],dtype=torch.int64)
torch.sparse_coo_tensor(torch.zeros(2,0),torch.zeros(0,3),(2,2,3))
torch.sparse_coo_tensor(i,torch.ones(4,2,3)) torch.sparse_coo_tensor(i.int(),[1,2,3,4])
torch.sparse_coo_tensor(i,torch.ones(4),is_coalesced=True)._nnz()
torch.sparse_csr_tensor([0,1,2],[1,0],[1.,2.]) torch.sparse_csr_tensor([0,2,2],[0,2],[1,2],(2,4))
torch.sparse_csc_tensor([0,1,2],[1,0],[1.,2.])
torch.sparse_compressed_tensor([0,1],[1],[2.],(1,2),layout=torch.sparse_csr) torch.sparse_csr_tensor([0,0],[],[],(1,2))
torch.sparse.FloatTensor(i,torch.ones(4),torch.Size([3,4])) torch.sparse.FloatTensor(2,2)
torch.sparse.FloatTensor(i,torch.ones(4))
torch.sparse.DoubleTensor(i,torch.ones(4).double(),torch.Size([3,3])) torch.sparse.FloatTensor(torch.Size([2,3]))
s.nelement() c.new(i,torch.ones(4),torch.Size([3,4]))
torch.sparse.check_sparse_tensor_invariants.is_enabled() s.is_coalesced() s.is_signed() s.is_complex()
torch._convert_indices_from_coo_to_csr(c.indices()[0],5)
torch._convert_indices_from_csr_to_coo(csr.crow_indices(),csr.col_indices()) h.numel() torch.numel(s)"""


@pytest.mark.parametrize("program", VALUES.split())
def test_values(program, same):
    same(program)


PRINTED = [
    "s",
    "c",
    "h",
    "e",
    "csr",
    "csc",
    "dense.to_sparse_csr()",
    "s.double()",
    "s.int()",
    "s.bool()",
    "s.t()",
    "h.t()if(0)else(h)",
    "torch.sparse_coo_tensor([[0,1]],[1,2])",
    "s.clone().requires_grad_()",
    "s.half()",
    "torch.sparse_coo_tensor((2,3,0))",
    "torch.sparse_coo_tensor(i,torch.ones(4,3))",
    "torch.sparse_coo_tensor(torch.zeros(1,2000).long(),torch.ones(2000),(5,))",
    "csr.double()",
    "c.to_sparse_csr().requires_grad_()",
]


@pytest.mark.parametrize("program", PRINTED)
def test_it_prints_as_in_pytorch(program):
    ours, theirs = run(clew, program), run(pytorch, program)
    assert repr(ours).replace("clew.", "torch.") == repr(theirs)
    assert str(ours) == repr(ours) == f"{ours}"


# What PyTorch refuses, we refuse; what only we refuse is in WITHOUT_A_FORM.
BAD = """torch.sparse_coo_tensor(i,torch.ones(3)) torch.sparse_coo_tensor(i,torch.ones(4),(3,))
torch.sparse_coo_tensor(i[0],torch.ones(4))
torch.sparse_coo_tensor(i,torch.ones(4,2),(3,4,3)) torch.sparse_coo_tensor(i,torch.ones(4),(-3,4)) s.values()
s.indices() csr.indices()
csr.coalesce() s.crow_indices() csr.ccol_indices() s+1 s-dense s+dense c/dense 2/c c+h s+torch.ones(3,4)
s.mm(torch.ones(3,2)) torch.mm(s,s)
s@wide.double() s@wide.int() s@torch.ones(3) torch.sparse.sum(s,2) torch.sparse.softmax(s,2)
s.index_select(2,torch.tensor([0]))
s.index_select(0,torch.tensor([3])) s[3] s.transpose(0,2) s.exp() s.max() s.mean() s.numpy() s.tolist() s.item()
bool(s) s.view(12)
s.reshape(12) s.data_ptr() s==s s.nonzero() torch.nonzero(s) s.cumsum(0) s.cos() s+s.double().to_dense()
s.untyped_storage() dense.clone().copy_(s) s.clone().copy_(dense) c.clone().add_(dense)
dense.clone().mul_(s)if(0)else(s.log())
torch.cat([s,dense]) torch.where(s>0,1,0) s.flatten() s.expand(2,3,4) s.argmax()
torch.sparse_csr_tensor([0,1],[0,1],[1.,2.],check_invariants=True)
torch.sparse_coo_tensor(i,torch.ones(4),(3,4),is_coalesced=True,check_invariants=True) s.to_sparse(1) s.diagonal()
s.trace() s.sort() torch.einsum('ij,jk',s,wide) s.prod() s.std()
torch.nn.functional.softmax(s,0).exp() s.fill_(1) s.uniform_()
s.long().float().log_softmax(0).exp() torch.dot(s[0],s[0]) s.repeat(2,2) s.roll(1) s.tril() torch.equal(s,s)
torch.allclose(s,s) s.clamp(0) s.masked_fill(s>0,1)
torch.sparse.check_sparse_tensor_invariants(True)(torch.sparse_coo_tensor)(i,torch.ones(4),(3,4),is_coalesced=True)
torch.nn.Parameter(s).exp() torch.optim.SparseAdam([s.clone().requires_grad_()])"""


@pytest.mark.parametrize("program", BAD.split())
def test_what_cannot_be_raises(program):
    with pytest.raises((RuntimeError, NotImplementedError, IndexError, TypeError, ValueError)):
        run(pytorch, program)
    with pytest.raises((RuntimeError, NotImplementedError, IndexError, TypeError, ValueError)) as raised:
        run(clew, program)
    assert len(str(raised.value)) > 15


WITHOUT_A_FORM = """s.to_sparse_bsr((1,1)) s.to_sparse_bsc((1,1)) torch.bmm(torch.stack([c,c]),torch.ones(2,4,2))
torch.hspmm(s,wide) torch.smm(s,wide) s.resize_(2)
s.as_subclass(torch.nn.Parameter) torch.nn.Parameter(c) s[0:1] torch.add(s,1.5) torch.sum(s.exp())
s.share_memory_().exp() s.__dlpack__()
s.view_as(dense) s.stride() s.storage() torch.nn.functional.linear(s,wide) torch.nn.functional.dropout(s)
torch.ones_like(s) torch.rand_like(s) s.nanmean() s.sigmoid() s.exp_()
torch.sparse.mm(s,wide,reduce='prod') s.masked_select(s) torch.linalg.solve(s,wide) s.bmm(s)
torch.sparse_csr_tensor([[0,1]],[[0]],[[1.0]])"""


@pytest.mark.parametrize("program", WITHOUT_A_FORM.split())
def test_what_has_no_sparse_form_is_refused_by_name(program):
    with pytest.raises((NotImplementedError, RuntimeError, TypeError)) as raised:
        run(clew, program)
    assert "meta" not in str(raised.value)


def test_every_operation_that_is_not_defined_refuses():
    """Of all functions and methods: none computes on the object itself, whose memory is nowhere."""
    from clew.sparse._tensor import TABLE

    s = run(clew, "c")
    for name in clew._core.functions:
        if name in TABLE or not isinstance(getattr(clew.Tensor, name, None), type(clew.Tensor.exp)):
            continue
        for arguments in ((), (s,), (1,), (0, 1), (s, s)):
            try:
                result = getattr(s, name)(*arguments)
            except (NotImplementedError, TypeError, RuntimeError, IndexError, ValueError):
                continue
            assert result is None or not isinstance(result, clew.Tensor) or not result.is_meta, name
            assert not isinstance(result, clew.Tensor), name


def test_attributes_answer():
    s = run(clew, "c")
    for name in dir(clew.Tensor):
        member = vars(clew.Tensor).get(name)
        if isinstance(member, property | type(vars(clew.Tensor)["shape"])) and not name.startswith("__"):
            getattr(s, name)


def test_indices_outside_are_refused():
    for indices, size in (([[0, 3]], (3,)), ([[0, -1]], (3,)), ([[0, 1], [0, 5]], (2, 5))):
        with pytest.raises(RuntimeError, match="index"):
            clew.sparse_coo_tensor(indices, [1.0, 2.0], size)
    with pytest.raises(RuntimeError, match="index"):
        clew.sparse_csr_tensor([0, 2], [0, 7], [1.0, 2.0], (1, 3))
    with pytest.raises(RuntimeError, match="never fall"):
        clew.sparse_csr_tensor([0, 2, 1, 2], [0, 1], [1.0, 2.0])


def test_without_the_class_the_core_refuses_too():
    s = run(clew, "c")
    with clew.overrides.DisableTorchFunctionSubclass():
        for attempt in (lambda: clew.exp(s), lambda: clew.ones(3, 4).add_(s), lambda: clew.mul(s, 2), lambda: s.sin_()):
            with pytest.raises(NotImplementedError, match="sparse"):
                attempt()


@pytest.mark.parametrize("name", ["s", "c", "h", "e", "csr", "csc"])
def test_copies_pickles_and_files(name):
    made = run(clew, name)
    file = io.BytesIO()
    clew.save({"x": made}, file)
    for again in (
        pickle.loads(pickle.dumps(made)),
        copy.deepcopy(made),
        clew.load(io.BytesIO(file.getvalue()))["x"],
        clew.load(io.BytesIO(file.getvalue()), weights_only=False)["x"],
        pytorch.load(io.BytesIO(file.getvalue()))["x"],
    ):
        assert told(again) == told(made)
    theirs = io.BytesIO()
    pytorch.save(run(pytorch, name), theirs)
    assert told(clew.load(io.BytesIO(theirs.getvalue()))) == told(made)


def test_a_file_with_bad_indices_is_refused():
    bad = pytorch.sparse_coo_tensor([[0, 9]], [1.0, 2.0], (3,), check_invariants=False)
    file = io.BytesIO()
    pytorch.save(bad, file)
    file.seek(0)
    with pytest.raises(clew.serialization.LoadError, match="sparse"):
        clew.load(file)


def test_a_module_keeps_one_as_a_buffer():
    class Graph(clew.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("adjacency", run(clew, "c"))

        def forward(self, x):
            return self.adjacency @ x

    module = Graph().double()
    assert module.adjacency.dtype is clew.float64
    other = Graph().double()
    other.adjacency.zero_()
    other.load_state_dict(module.state_dict())
    x = clew.ones(4, 2, dtype=clew.float64)
    assert clew.equal(other(x), module(x))
    assert copy.deepcopy(module).adjacency._nnz() == 3


def test_values_are_written_through():
    for m in (clew, pytorch):
        s = m.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,)).coalesce()
        s._values()[0] = 5.0
        assert s.to_dense().tolist() == [5.0, 2.0, 0.0]


def test_it_is_loaded_when_it_is_used():
    import subprocess
    import sys

    program = "import clew, sys; clew.ones(2).is_sparse; clew.sparse_coo; print('clew.sparse' in sys.modules)"
    run_ = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run_.stdout == "False\n"
