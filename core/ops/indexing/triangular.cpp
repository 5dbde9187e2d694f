// Triangles and diagonals of matrices.
#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/kernels/memory/index.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/reduction/reduction.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

struct Which {
    std::int64_t diagonal;
};

template <class Kernel>
void triangle(const char* op, Kernel kernel, const Tensor& x, std::int64_t diagonal, Tensor& out) {
    if (x.ndim() < 2)
        fail(ErrorKind::Runtime, "%s: input tensor must have at least 2 dimensions, got %d", op, x.ndim());
    if (!out) out = empty(Layout::make(x.sizes()), x.dtype());
    if (x.numel()) kernel(out.view(), x.view(), diagonal);
}

struct Tril {
    using Attrs = Which;
    static constexpr auto fields = std::tuple{&Attrs::diagonal};
    static constexpr OpText text{.schema = "tril(Tensor self, int diagonal=0)",
                                 .node = "TrilBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType | kLeadingAxes,
                                 .derivative = "self",
                                 .domain = "real",
                                 .doc = "The lower triangle of each matrix: zeros where j > i + diagonal. A copy.",
                                 .example =
                                     ">>> torch.tril(torch.tensor([[1, 2], [3, 4]]))\n"
                                     "tensor([[1, 0],\n"
                                     "        [3, 4]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        triangle("tril", kernels::tril, x, attrs.diagonal, out);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, const Attrs& attrs) { return tril(g, attrs.diagonal); }};
};

struct Triu {
    using Attrs = Which;
    static constexpr auto fields = std::tuple{&Attrs::diagonal};
    static constexpr OpText text{.schema = "triu(Tensor self, int diagonal=0)",
                                 .node = "TriuBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType | kLeadingAxes,
                                 .derivative = "self",
                                 .domain = "real",
                                 .doc = "The upper triangle of each matrix: zeros where j < i + diagonal. A copy.",
                                 .example =
                                     ">>> torch.triu(torch.tensor([[1, 2], [3, 4]]))\n"
                                     "tensor([[1, 2],\n"
                                     "        [0, 4]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        triangle("triu", kernels::triu, x, attrs.diagonal, out);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, const Attrs& attrs) { return triu(g, attrs.diagonal); }};
};

struct DiagEmbed {
    struct Attrs {
        std::int64_t offset, dim1, dim2;
    };
    static constexpr auto fields = std::tuple{&Attrs::offset, &Attrs::dim1, &Attrs::dim2};
    static constexpr OpText text{
        .schema = "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1)",
        .node = "DiagEmbedBackward0",
        .flags = kBoth | kAnyDType,
        .derivative = "self",
        .batching = BatchBy::NewAxis,
        .domain = "real, offset=1",
        .doc =
            "Matrices of zeros with the last axis of self on a diagonal: (..., n) gives (..., "
            "n, n), or larger by |offset|. dim1 and dim2 are the new axes.",
        .example = ">>> torch.diag_embed(torch.tensor([1, 2]))\ntensor([[1, 0],\n        [0, 2]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        // A 0-dim tensor has no last axis; torch's check says so.
        const int ndim = x.ndim() + (x.ndim() ? 1 : 0);
        const int a = wrap_axis(attrs.dim1, ndim, "diag_embed"), b = wrap_axis(attrs.dim2, ndim, "diag_embed");
        if (a == b) fail(ErrorKind::Runtime, "diag_embed: diagonal dimensions cannot be identical %d, %d", a, b);
        const std::int64_t distance = attrs.offset < 0 ? clipped_difference(0, attrs.offset) : attrs.offset;
        const std::int64_t size = clipped_sum(x.size(x.ndim() - 1), distance);
        Dims sizes(x.sizes());
        sizes.erase(x.ndim() - 1);
        sizes.insert(std::min(a, b), size);
        sizes.insert(std::max(a, b), size);
        out = zeros(sizes, x.dtype());
        kernels::copy(view_part(out, diagonal_part(sizes, out.strides(), attrs.offset, a, b)).view(), x.view());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, const Attrs& attrs) {
        return diagonal(g, attrs.offset, static_cast<int>(attrs.dim1), static_cast<int>(attrs.dim2));
    }};
};

// The diagonal of a matrix with memory of its own, which is what diag() gives.
struct DiagonalCopy {
    using Attrs = Which;
    static constexpr auto fields = std::tuple{&Attrs::diagonal};
    static constexpr OpText text{.schema = "_diagonal_copy(Tensor self, int diagonal)",
                                 .node = "DiagonalBackward0_copy",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "self",
                                 .domain = "self=real(c, c), diagonal=1"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const Part part = diagonal_part(x.sizes(), x.strides(), attrs.diagonal, 0, 1);
        out = empty(part.sizes, x.dtype());
        kernels::copy(out.view(), view_part(x, part).view());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        return embed(g, x, diagonal_part(x, contiguous_strides(x), attrs.diagonal, 0, 1));
    }};
};

struct Diag {
    using Attrs = Which;
    static constexpr auto fields = std::tuple{&Attrs::diagonal};
    static constexpr OpText text{.schema = "diag(Tensor self, int diagonal=0)",
                                 .flags = kBoth | kComposite | kOutArgument | kOutAlike,
                                 .domain = "real; self=real(b), diagonal=1",
                                 .doc =
                                     "Of a vector of n elements the matrix with it on the given diagonal; of a matrix "
                                     "a copy of that diagonal. Positive numbers count diagonals above the main one.",
                                 .example =
                                     ">>> torch.diag(torch.tensor([1, 2]), 1)\n"
                                     "tensor([[0, 1, 0],\n"
                                     "        [0, 0, 2],\n"
                                     "        [0, 0, 0]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (x.ndim() != 1 && x.ndim() != 2)
            fail(ErrorKind::Runtime, "diag(): Supports 1D or 2D tensors. Got %dD", x.ndim());
        out = x.ndim() == 1 ? diag_embed(x, attrs.diagonal, 0, 1) : run<DiagonalCopy>(attrs, x);
    }
};

struct Trace {
    static constexpr OpText text{.schema = "trace(Tensor self)",
                                 .node = "TraceBackward0",
                                 .derivative = "self",
                                 .domain = "self=real(b, c)",
                                 .doc = "The sum of the main diagonal of a matrix.",
                                 .example = ">>> torch.trace(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))\ntensor(5.)"};
    static void forward(const Tensor& x, Tensor& out) {
        if (x.ndim() != 2) fail(ErrorKind::Runtime, "trace: expected a matrix, but got tensor with dim %d", x.ndim());
        if (x.dtype() == DType::Bool)
            fail(ErrorKind::NotImplemented, "trace: not implemented for dtype bool; cast the input first");
        out = reduce_axes(kernels::ReduceKind::Sum, view_part(x, diagonal_part(x.sizes(), x.strides(), 0, 0, 1)), 1,
                          false);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x) {
        const Part part = diagonal_part(x, contiguous_strides(x), 0, 0, 1);
        return embed(expand(g, part.sizes), x, part);
    }};
};

}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) { return run<Tril>({diagonal}, x); }
Tensor triu(const Tensor& x, std::int64_t diagonal) { return run<Triu>({diagonal}, x); }
Tensor diag_embed(const Tensor& x, std::int64_t offset, int a, int b) { return run<DiagEmbed>({offset, a, b}, x); }

static const Register<Tril, Triu, DiagEmbed, DiagonalCopy, Diag, Trace> triangular_operations;

}  // namespace clew
