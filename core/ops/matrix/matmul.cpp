// Matrix products, and matmul, which chooses among them by the ranks of its inputs.
#include "core/base/error.h"
#include "core/kernels/matrix/gemm.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/matrix/product.h"

namespace clew {
namespace {

// Of one pair of matrices or of many.
struct ProductRules {
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> b, Shape<0> a) { return product({g}, {conj(b), true}, is_column_major(a.layout)); },
        [](const Tensor& g, In<0> a, Shape<1> b) { return product({conj(a), true}, {g}, is_column_major(b.layout)); },
    };
};

struct Mm : ProductRules {
    static constexpr OpText text{.schema = "mm(Tensor self, Tensor mat2)",
                                 .node = "MmBackward0",
                                 .flags = kBoth | kOutArgument | kOutAlike,
                                 .derivative = "self * mat2",
                                 .batching = BatchBy::Mm,
                                 .domain = "self=real(a, b), mat2=real(b, c)",
                                 .doc =
                                     "The matrix product of self (n, k) and mat2 (k, m), an (n, m) matrix. Nothing is "
                                     "broadcast (matmul does that); both have one dtype.",
                                 .example =
                                     ">>> torch.mm(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]))\n"
                                     "tensor([[11.]])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        if (a.ndim() != 2 || b.ndim() != 2)
            fail(ErrorKind::Runtime, "mm: expected two matrices, got shapes %s and %s; use matmul for other ranks",
                 shape_text(a.sizes()).c_str(), shape_text(b.sizes()).c_str());
        need_inner_sizes("mm", a, b);
        need_same_dtype("mm", "m1 and m2", a, b);
        out = empty({a.size(0), b.size(1)}, a.dtype());
        const WithoutGil released(a.size(0) * a.size(1) * b.size(1) / 16);
        kernels::gemm(out.view(), a.view(), b.view());
    }
};

struct Bmm : ProductRules {
    static constexpr OpText text{
        .schema = "bmm(Tensor self, Tensor mat2)",
        .node = "BmmBackward0",
        .flags = kBoth | kOutArgument | kOutAlike,
        .derivative = "self * mat2",
        .batching = BatchBy::Bmm,
        .domain = "self=real(a, b, c), mat2=real(a, c, b)",
        .doc =
            "Batched matrix product: out[i] = self[i] @ mat2[i] for self (b, n, k) and mat2 (b, k, m), a result of "
            "shape (b, n, m). Leading axes are not broadcast (matmul does that).",
        .example = ">>> torch.bmm(torch.ones(1, 1, 3), torch.ones(1, 3, 1))\ntensor([[[3.]]])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        need_rank("bmm", "batch1", a, 3);
        need_rank("bmm", "batch2", b, 3);
        if (a.size(0) != b.size(0) || a.size(2) != b.size(1))
            fail(ErrorKind::Runtime,
                 "bmm: Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, "
                 "%lld].",
                 static_cast<long long>(a.size(0)), static_cast<long long>(a.size(2)),
                 static_cast<long long>(b.size(0)), static_cast<long long>(b.size(1)));
        need_same_dtype("bmm", "batch1 and batch2", a, b);
        out = empty({a.size(0), a.size(1), b.size(2)}, a.dtype());
        kernels::bgemm(out.view(), a.view(), b.view());
    }
};

struct Mv {
    static constexpr OpText text{
        .schema = "mv(Tensor self, Tensor vec)",
        .node = "MvBackward0",
        .flags = kBoth | kOutArgument | kOutAlike,
        .derivative = "self * vec",
        .batching = BatchBy::Mv,
        .domain = "self=real(a, b), vec=real(b)",
        .doc = "The product of a matrix self (n, k) and a vector vec (k,), a vector of n elements.",
        .example =
            ">>> torch.mv(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))\n"
            "tensor([3., 7.])"};
    static void forward(const Tensor& a, const Tensor& x, Tensor& out) {
        need_rank("mv", "self", a, 2);
        need_rank("mv", "vec", x, 1);
        if (a.size(1) != x.size(0))
            fail(ErrorKind::Runtime, "mv: size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                 static_cast<long long>(a.size(0)), static_cast<long long>(a.size(0)),
                 static_cast<long long>(a.size(1)), static_cast<long long>(x.size(0)));
        need_same_dtype("mv", "mat and vec", a, x);
        out = empty({a.size(0)}, a.dtype());
        kernels::gemv(out.view(), a.view(), x.view());
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> x) { return mul(unsqueeze(g, 1), conj(x)); },
        [](const Tensor& g, In<0> a) { return mv(t(conj(a)), g); },
    };
};

struct Dot {
    static constexpr OpText text{
        .schema = "dot(Tensor self, Tensor tensor)",
        .node = "DotBackward0",
        .flags = kBoth | kOutArgument | kOutAlike,
        .derivative = "self * tensor",
        .batching = BatchBy::Dot,
        .domain = "self=real(b), tensor=real(b)",
        .doc = "The inner product of two vectors of the same length and dtype: sum of self[i] * tensor[i].",
        .example =
            ">>> torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))\n"
            "tensor(11.)"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        if (a.ndim() != 1 || b.ndim() != 1)
            fail(ErrorKind::Runtime, "dot: 1D tensors expected, but got %dD and %dD tensors; use matmul", a.ndim(),
                 b.ndim());
        if (a.numel() != b.numel())
            fail(ErrorKind::Runtime,
                 "dot: inconsistent tensor size, expected tensor %s and src %s to have the same number of elements",
                 shape_text(a.sizes()).c_str(), shape_text(b.sizes()).c_str());
        need_same_dtype("dot", "both vectors", a, b);
        out = empty(Layout::scalar(), a.dtype());
        kernels::dot(out.view(), a.view(), b.view());
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> b) { return mul(g, conj(b)); },
        [](const Tensor& g, In<0> a) { return mul(g, conj(a)); },
    };
};

struct Outer {
    static constexpr OpText text{.schema = "outer(Tensor self, Tensor vec2)",
                                 .flags = kBoth | kOutArgument | kComposite,
                                 .domain = "self=real(a), vec2=real(b)",
                                 .doc = "The outer product of two vectors: out[i][j] = self[i] * vec2[j].",
                                 .example =
                                     ">>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))\n"
                                     "tensor([[3, 4],\n"
                                     "        [6, 8]])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        need_rank("outer", "self", a, 1);
        need_rank("outer", "vec2", b, 1);
        out = mul(reshape(a, Dims{a.size(0), 1}), b);
    }
};

// (..., k) @ (k, m) or @ (k): the leading axes are rows of one product.
Tensor folded(const Tensor& a, const Tensor& b) {
    Dims sizes(a.sizes());
    const std::int64_t inner = sizes[a.ndim() - 1];
    sizes.erase(a.ndim() - 1);
    const std::int64_t rows = count_elements(sizes);
    if (b.ndim() == 2) sizes.push_back(b.size(1));
    const Tensor flat = reshape(a, Dims{rows, inner});
    return unsafe_view(b.ndim() == 2 ? mm(flat, b) : mv(flat, b), sizes);
}

Tensor as_batch(const Tensor& x, const Dims& batch, std::int64_t count) {
    Dims sizes = batch;
    sizes.push_back(x.size(x.ndim() - 2));
    sizes.push_back(x.size(x.ndim() - 1));
    return reshape(expand(x, sizes), Dims{count, x.size(x.ndim() - 2), x.size(x.ndim() - 1)});
}

// The general case: leading axes are broadcast. The one row of a vector's matrix is no axis of the result.
Tensor batched(const Tensor& a, const Tensor& b, bool is_vector = false) {
    if (a.size(a.ndim() - 1) != b.size(b.ndim() - 2))
        fail(ErrorKind::Runtime,
             "matmul: Expected size for first two dimensions of batch2 tensor to fit, got shapes %s and %s; the last "
             "axis of "
             "the first and the last but one of the second must agree",
             shape_text(a.sizes()).c_str(), shape_text(b.sizes()).c_str());
    const auto leading = [](const Tensor& x) { return x.sizes().first(static_cast<std::size_t>(x.ndim() - 2)); };
    const Dims batch = broadcast_sizes(leading(a), leading(b), "matmul");
    const std::int64_t count = count_elements(batch);
    Dims sizes = batch;
    if (!is_vector) sizes.push_back(a.size(a.ndim() - 2));
    sizes.push_back(b.size(b.ndim() - 1));
    return unsafe_view(bmm(as_batch(a, batch, count), as_batch(b, batch, count)), sizes);
}

struct Matmul {
    static constexpr OpText text{
        .schema = "matmul(Tensor self, Tensor other)",
        .operators = "__matmul__",
        .flags = kBoth | kOutArgument | kOutAlike | kComposite,
        .batching = BatchBy::Matmul,
        .domain =
            "self=real(a, b), other=real(b, c); self=real(b), other=real(b); self=real(a, e, b, c), other=real(c, b)",
        .doc =
            "The matrix product self @ other. Of two vectors the inner product; a vector counts as a row on the left "
            "and as a column on the right; leading axes are batches and are broadcast: (*, n, k) @ (*, k, m) gives (*, "
            "n, m). Both have one dtype; RuntimeError where k differs.",
        .example =
            ">>> torch.matmul(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))\n"
            "tensor([3., 7.])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) { out = matmul(a, b); }
};

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) { return run<Mm>(a, b); }
Tensor bmm(const Tensor& a, const Tensor& b) { return run<Bmm>(a, b); }
Tensor mv(const Tensor& a, const Tensor& x) { return run<Mv>(a, x); }
Tensor dot(const Tensor& a, const Tensor& b) { return run<Dot>(a, b); }

Tensor matmul(const Tensor& a, const Tensor& b) {
    const int m = a.ndim(), n = b.ndim();
    if (m == 0 || n == 0)
        fail(ErrorKind::Runtime, "matmul: both arguments to matmul need to be at least 1D, but they are %dD and %dD", m,
             n);
    if (m == 2 && n == 2) return mm(a, b);
    if (m == 1 && n == 1) return dot(a, b);
    if (m == 2 && n == 1) return mv(a, b);
    if (m == 1 && n == 2) return unsafe_view(mm(unsqueeze(a, 0), b), Dims{b.size(1)});
    if (n <= 2) return folded(a, b);
    if (m == 1) return batched(unsqueeze(a, 0), b, true);
    return batched(a, b);
}

static const Register<Mm, Bmm, Mv, Dot, Outer, Matmul> matmul_operations;

}  // namespace clew
