// Products that are added to something: addmm, addmv, baddbmm, and linear, the layer of every network.
#include "core/base/error.h"
#include "core/kernels/elementwise/arithmetic.h"
#include "core/kernels/elementwise/elementwise.h"
#include "core/kernels/matrix/gemm.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/matrix/product.h"

namespace clew {
namespace {

struct Scales {
    Scalar beta, alpha;
};

// What beta * self is added to: with beta 0 nothing is read, so that NaN in self does not count.
Tensor start_from(const char* op, const Tensor& self, Sizes sizes, const Scales& scales) {
    if (!can_expand(self.sizes(), sizes))
        fail(ErrorKind::Runtime,
             "%s: The expanded size of the tensor must match: expected self to broadcast to %s, got shape %s", op,
             shape_text(sizes).c_str(), shape_text(self.sizes()).c_str());
    check_fits(op, scales.alpha, self.dtype());
    check_fits(op, scales.beta, self.dtype());
    Tensor out = empty(Layout::make(sizes), self.dtype());
    if (is_exactly(scales.beta, 0)) return out;
    std::int64_t strides[kMaxDims];
    const int lead = out.ndim() - self.ndim();
    for (int i = 0; i < out.ndim(); ++i) strides[i] = i < lead || self.size(i - lead) == 1 ? 0 : self.stride(i - lead);
    kernels::copy(out.view(), {self.data(), self.dtype(), out.ndim(), out.sizes().data(), strides});
    return out;
}

kernels::Number scale_of(const Scalar& scale) {
    const bool complex = scale.kind == Scalar::Complex;
    return {scale.real, complex ? 0 : scale.integer, complex ? scale.imag : 0};
}

// As in the BLAS, alpha = 0 means that there is no product: NaN in the factors does not count.
bool without_product(const Tensor& result, const Scales& scales) {
    if (!is_exactly(scales.alpha, 0)) return false;
    if (is_exactly(scales.beta, 0)) {
        kernels::fill(result.view(), 0.0);
    } else if (!is_exactly(scales.beta, 1)) {
        const Tensor factor = element("addmm", scales.beta, result.dtype());
        kernels::elementwise(kernels::arithmetic().mul[static_cast<int>(result.dtype())], result.view(),
                             {result.view(), BroadcastView(factor, result.sizes())});
    }
    return true;
}

void deliver(const char* op, const Tensor& result, Tensor& out) {
    if (!out) {
        out = result;
        return;
    }
    if (!same_sizes(out.sizes(), result.sizes()))
        fail(ErrorKind::Runtime,
             "%s_: expected a tensor of shape %s to write into, got %s; an in-place operation can't grow its tensor",
             op, shape_text(result.sizes()).c_str(), shape_text(out.sizes()).c_str());
    kernels::copy(out.view(), result.view());
}

void need_factors(const char* op, const Tensor& a, const Tensor& b, bool batched) {
    need_rank(op, batched ? "batch1" : "mat1", a, batched ? 3 : 2);
    need_rank(op, batched ? "batch2" : "mat2", b, batched ? 3 : 2);
    if (!batched) return need_inner_sizes(op, a, b);
    if (a.size(0) != b.size(0) || a.size(2) != b.size(1))
        fail(ErrorKind::Runtime,
             "%s: Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, "
             "%lld].",
             op, static_cast<long long>(a.size(0)), static_cast<long long>(a.size(2)),
             static_cast<long long>(b.size(0)), static_cast<long long>(b.size(1)));
}

template <bool batched>
struct AddedProduct {
    static constexpr const char* name = batched ? "baddbmm" : "addmm";
    using Attrs = Scales;
    static constexpr auto fields = std::tuple{&Attrs::beta, &Attrs::alpha};
    static constexpr OpText text{
        .schema = batched ? "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)"
                          : "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)",
        .node = batched ? "BaddbmmBackward0" : "AddmmBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike,
        .derivative = batched ? "self + batch1 * batch2" : "self + mat1 * mat2",
        .batching = batched ? BatchBy::Baddbmm : BatchBy::Addmm,
        .domain =
            batched
                ? "self=real(a, b, e), batch1=real(a, b, c), batch2=real(a, c, e), beta=2, alpha=0.5"
                : "self=real(a, c), mat1=real(a, b), mat2=real(b, c); self=real(c), mat1=real(a, b), mat2=real(b, c), "
                  "beta=2, alpha=0.5",
        .doc = batched ? "beta * self + alpha * bmm(batch1, batch2) for batch1 (b, n, k) and batch2 (b, k, m); self is "
                         "broadcast to (b, n, m). With beta=0, NaN and infinities in self are ignored."
                       : "beta * self + alpha * (mat1 @ mat2) for mat1 (n, k) and mat2 (k, m); self is broadcast to "
                         "(n, m). With beta=0, NaN and infinities in self are ignored.",
        .example =
            batched ? ">>> torch.baddbmm(torch.ones(1, 2), torch.ones(1, 1, 3), torch.ones(1, 3, 2))\n"
                      "tensor([[[4., 4.]]])"
                    : ">>> torch.addmm(torch.ones(2), torch.eye(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), beta=10)\n"
                      "tensor([[11., 12.],\n"
                      "        [13., 14.]])"};
    static void forward(const Tensor& self, const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        need_factors(name, a, b, batched);
        need_same_dtype(name, batched ? "batch1 and batch2" : "mat1 and mat2", a, b);
        need_same_dtype(name, batched ? "self and batch2" : "self and mat2", self, b);
        Dims sizes(a.sizes());
        sizes[a.ndim() - 1] = b.size(b.ndim() - 1);
        const Tensor result = start_from(name, self, sizes, attrs);
        if (without_product(result, attrs)) return deliver(name, result, out);
        const WithoutGil released(a.numel() * b.size(b.ndim() - 1) / 16);
        kernels::bgemm(result.view(), a.view(), b.view(), scale_of(attrs.alpha), scale_of(attrs.beta));
        deliver(name, result, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, const Attrs& attrs) { return scaled(g, attrs.beta); },
        [](const Tensor& g, In<2> b, Shape<1> a, const Attrs& attrs) {
            return scaled(product({g}, {conj(b), true}, is_column_major(a.layout)), attrs.alpha);
        },
        [](const Tensor& g, In<1> a, Shape<2> b, const Attrs& attrs) {
            return scaled(product({conj(a), true}, {g}, is_column_major(b.layout)), attrs.alpha);
        },
    };
};
using Addmm = AddedProduct<false>;
using Baddbmm = AddedProduct<true>;

struct Addmv {
    using Attrs = Scales;
    static constexpr auto fields = std::tuple{&Attrs::beta, &Attrs::alpha};
    static constexpr OpText text{
        .schema = "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1)",
        .node = "AddmvBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike,
        .derivative = "self + mat * vec",
        .batching = BatchBy::Addmv,
        .domain =
            "self=real(a), mat=real(a, b), vec=real(b); self=real(), mat=real(a, b), vec=real(b), beta=2, alpha=0.5",
        .doc =
            "beta * self + alpha * (mat @ vec) for mat (n, k) and vec (k,); self is broadcast to (n,). With beta=0, "
            "NaN and infinities in self are ignored.",
        .example =
            ">>> torch.addmv(torch.ones(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))\n"
            "tensor([4., 8.])"};
    static void forward(const Tensor& self, const Tensor& a, const Tensor& x, const Attrs& attrs, Tensor& out) {
        need_rank("addmv", "mat", a, 2);
        need_rank("addmv", "vec", x, 1);
        if (a.size(1) != x.size(0))
            fail(ErrorKind::Runtime, "addmv: size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                 static_cast<long long>(a.size(0)), static_cast<long long>(a.size(0)),
                 static_cast<long long>(a.size(1)), static_cast<long long>(x.size(0)));
        need_same_dtype("addmv", "mat and vec", a, x);
        need_same_dtype("addmv", "self and vec", self, x);
        const Tensor result = start_from("addmv", self, Dims{a.size(0)}, attrs);
        if (without_product(result, attrs)) return deliver("addmv", result, out);
        kernels::gemv(result.view(), a.view(), x.view(), scale_of(attrs.alpha), scale_of(attrs.beta));
        deliver("addmv", result, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, const Attrs& attrs) { return scaled(g, attrs.beta); },
        [](const Tensor& g, In<2> x, const Attrs& attrs) { return mul(unsqueeze(g, 1), scaled(conj(x), attrs.alpha)); },
        [](const Tensor& g, In<1> a, const Attrs& attrs) { return scaled(mv(t(conj(a)), g), attrs.alpha); },
    };
};

Tensor add_product(const Tensor& self, const Tensor& a, const Tensor& b) {
    const Scalar one = Scalar::of(std::int64_t{1});
    return run<Addmm>({one, one}, self, a, b);
}

struct Linear {
    static constexpr OpText text{
        .schema = "linear(Tensor self, Tensor weight, Tensor? bias=None)",
        .flags = kFunction | kComposite,
        .domain = "self=real(a, b), weight=real(c, b), bias=real(c); self=real(e, a, b), weight=real(c, b)",
        .doc = "self @ weight.T + bias, for self (..., in), weight (out, in) and bias (out,).",
        .example =
            ">>> torch.nn.functional.linear(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 1.0], [0.0, 3.0]]))\n"
            "tensor([3., 6.])"};
    static void forward(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor& out) {
        const bool one_product = bias && (bias.ndim() <= 1 || x.ndim() == 2) && weight.ndim() == 2 && x.ndim() > 0;
        if (one_product && x.ndim() == 2) {
            out = add_product(bias, x, t(weight));
        } else if (one_product && x.contiguous()) {
            Dims sizes(x.sizes());
            const std::int64_t inner = sizes[x.ndim() - 1];
            sizes.erase(x.ndim() - 1);
            const Tensor flat = reshape(x, Dims{count_elements(sizes), inner});
            sizes.push_back(weight.size(0));
            out = reshape(add_product(bias, flat, t(weight)), sizes);
        } else {
            const Tensor product = matmul(x, t(weight));
            // As added in place: the bias neither promotes nor broadcasts the product.
            if (bias && !can_expand(bias.sizes(), product.sizes()))
                fail(ErrorKind::Runtime, "linear: expected a bias that broadcasts to %s, got shape %s",
                     shape_text(product.sizes()).c_str(), shape_text(bias.sizes()).c_str());
            out = bias ? add(product, is_inexact(product.dtype()) ? cast(bias, product.dtype()) : bias) : product;
        }
    }
};

}  // namespace

static const Register<Addmm, Baddbmm, Addmv, Linear> linear_operations;

}  // namespace clew
