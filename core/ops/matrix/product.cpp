#include "core/ops/matrix/product.h"

#include "core/base/error.h"
#include "core/kernels/matrix/gemm.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"

namespace clew {

void need_rank(const char* op, const char* argument, const Tensor& x, int ndim) {
    if (x.ndim() != ndim)
        fail(ErrorKind::Runtime, "%s: expected %s to be a %dD tensor, got shape %s; use matmul for other ranks", op,
             argument, ndim, shape_text(x.sizes()).c_str());
}

void need_same_dtype(const char* op, const char* names, const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype())
        fail(ErrorKind::Runtime, "%s: expected %s to have the same dtype, but got: %s != %s; cast one of them", op,
             names, dtype_name(a.dtype()), dtype_name(b.dtype()));
    if (a.dtype() == DType::Bool)
        fail(ErrorKind::NotImplemented, "%s: not implemented for dtype bool; cast the inputs first", op);
}

void need_inner_sizes(const char* op, const Tensor& mat1, const Tensor& mat2) {
    if (mat1.size(1) != mat2.size(0))
        fail(ErrorKind::Runtime, "%s: mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)", op,
             static_cast<long long>(mat1.size(0)), static_cast<long long>(mat1.size(1)),
             static_cast<long long>(mat2.size(0)), static_cast<long long>(mat2.size(1)));
}

bool is_column_major(const Layout& layout) {
    const std::int64_t rows = layout.sizes()[layout.ndim - 2], columns = layout.sizes()[layout.ndim - 1];
    const std::int64_t* strides = layout.strides().data() + layout.ndim - 2;
    return !layout.contiguous && rows > 1 && columns > 1 && strides[0] == 1 && strides[1] >= rows;
}

namespace {

struct Geometry {
    std::int64_t sizes[3], strides[3];

    kernels::View view(const Tensor& x, bool transposed) {
        const int last = x.ndim() - 1;
        for (int axis = 0; axis <= last; ++axis) sizes[axis] = x.size(axis), strides[axis] = x.stride(axis);
        if (transposed) {
            std::swap(sizes[last], sizes[last - 1]);
            std::swap(strides[last], strides[last - 1]);
        }
        return {x.data(), x.dtype(), x.ndim(), sizes, strides};
    }
};

// x @ y where each may be read transposed. The derivatives of this operation are products of the same kind.
template <bool batched>
struct Product {
    struct Attrs {
        bool transpose_self, transpose_other, column_major;
    };
    static constexpr auto fields = std::tuple{&Attrs::transpose_self, &Attrs::transpose_other, &Attrs::column_major};
    static constexpr OpText text{
        .schema =
            batched
                ? "_batched_product(Tensor self, Tensor other, bool transpose_self, bool transpose_other, bool "
                  "column_major)"
                : "_product(Tensor self, Tensor other, bool transpose_self, bool transpose_other, bool column_major)",
        .node = batched ? "BmmBackward0" : "MmBackward0",
        .flags = kHidden,
        .derivative = "self * other",
        .batching = batched ? BatchBy::BatchedProduct : BatchBy::Product,
        .domain =
            batched
                ? "self=real(a, b, c), other=real(a, c, b), transpose_self=False, transpose_other=False, "
                  "column_major=False; self=real(a, c, b), other=real(a, b, c), transpose_self=True, "
                  "transpose_other=True, column_major=True"
                : "self=real(a, b), other=real(b, c), transpose_self=False, transpose_other=False, column_major=False; "
                  "self=real(b, a), other=real(c, b), transpose_self=True, transpose_other=True, column_major=True"};
    static void forward(const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        constexpr int ndim = batched ? 3 : 2;
        need_fit("product",
                 a.ndim() == ndim && b.ndim() == ndim && a.dtype() == b.dtype() && a.dtype() != DType::Bool &&
                     (!batched || a.size(0) == b.size(0)) &&
                     a.size(ndim - (attrs.transpose_self ? 2 : 1)) == b.size(ndim - (attrs.transpose_other ? 1 : 2)));
        Geometry a_geometry, b_geometry;
        const kernels::View a_view = a_geometry.view(a, attrs.transpose_self),
                            b_view = b_geometry.view(b, attrs.transpose_other);
        const std::int64_t m = a_view.sizes[a.ndim() - 2], n = b_view.sizes[b.ndim() - 1];
        Dims sizes, strides;
        if (batched) sizes.push_back(a.size(0)), strides.push_back(m * n);
        sizes.push_back(m), sizes.push_back(n);
        strides.push_back(attrs.column_major ? 1 : n), strides.push_back(attrs.column_major ? m : 1);
        out = empty(Layout::make(sizes), a.dtype());
        if (attrs.column_major) out->layout = Layout::make(sizes, strides);
        kernels::bgemm(out.view(), a_view, b_view);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> b, Shape<0> a, const Attrs& attrs) {
            const bool columns = is_column_major(a.layout);
            return attrs.transpose_self ? product({conj(b), attrs.transpose_other}, {g, true}, columns)
                                        : product({g}, {conj(b), !attrs.transpose_other}, columns);
        },
        [](const Tensor& g, In<0> a, Shape<1> b, const Attrs& attrs) {
            const bool columns = is_column_major(b.layout);
            return attrs.transpose_other ? product({g, true}, {conj(a), attrs.transpose_self}, columns)
                                         : product({conj(a), !attrs.transpose_self}, {g}, columns);
        },
    };
};

}  // namespace

Tensor product(const Factor& a, const Factor& b, bool column_major) {
    if (a.value.ndim() == 2) return run<Product<false>>({a.transposed, b.transposed, column_major}, a.value, b.value);
    return run<Product<true>>({a.transposed, b.transposed, column_major}, a.value, b.value);
}

static const Register<Product<false>, Product<true>> product_operations;

}  // namespace clew
