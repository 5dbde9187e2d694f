// Rows of a table, looked up by their numbers.
#include "core/base/error.h"
#include "core/kernels/capture.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/indexing/sparse_gradients.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

// The indices in one contiguous row, and rows of `table` as many as there are indices.
Tensor flat_indices(const Tensor& indices) {
    const Tensor whole = as_contiguous(converted(indices, DType::Int64));
    return alias(whole, Layout::make(Dims{whole.numel()}), whole->offset);
}

void need_rows(const kernels::View& rows, std::int64_t count) {
    CLEW_CAPTURED_CHECKING(0, need_rows, rows, count);
    const std::int64_t position = kernels::check_bounds(rows, count);
    if (position >= 0)
        fail(ErrorKind::Index, "embedding: index out of range in self: expected 0 to %lld, got %lld",
             static_cast<long long>(count - 1),
             static_cast<long long>(static_cast<const std::int64_t*>(rows.data)[position]));
}

Tensor lookup(const Tensor& table, const Tensor& indices) {
    if (table.ndim() != 2)
        fail(ErrorKind::Runtime, "embedding: 'weight' must be 2-D, got shape %s", shape_text(table.sizes()).c_str());
    if (indices.dtype() != DType::Int64 && indices.dtype() != DType::Int32)
        fail(ErrorKind::Runtime,
             "embedding: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
             "Int; but got %s instead; "
             "cast it to int64",
             dtype_name(indices.dtype()));
    const Tensor rows = flat_indices(indices);
    need_rows(rows.view(), table.size(0));
    const Tensor out = empty({rows.numel(), table.size(1)}, table.dtype());
    if (out.numel()) kernels::index_select(out.view(), table.view(), 0, rows.view());
    Dims sizes(indices.sizes());
    sizes.push_back(table.size(1));
    out->layout = Layout::make(sizes);
    return out;
}

struct EmbeddingAttrs {
    std::int64_t padding_idx;
    bool scale_grad_by_freq, sparse;
};

struct EmbeddingBackward {
    struct Attrs {
        std::int64_t num_weights, padding_idx;
    };
    static constexpr auto fields = std::tuple{&Attrs::num_weights, &Attrs::padding_idx};
    static constexpr OpText text{
        .schema = "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx)",
        .node = "EmbeddingDenseBackwardBackward0",
        .flags = kHidden,
        .derivative = "grad_output",
        .domain = "grad_output=real(a, b), indices=index(c, a), num_weights=c, padding_idx=-1"};
    static void forward(const Tensor& g, const Tensor& indices, const Attrs& attrs, Tensor& out) {
        need_fit("embedding",
                 g.ndim() == indices.ndim() + 1 && is_integral(indices.dtype()) &&
                     same_sizes(g.sizes().first(static_cast<std::size_t>(indices.ndim())), indices.sizes()) &&
                     attrs.num_weights >= 0);
        const std::int64_t width = g.size(g.ndim() - 1);
        const Tensor grad = as_contiguous(g), rows = flat_indices(indices);
        need_rows(rows.view(), attrs.num_weights);
        const Tensor grad_rows = alias(grad, Layout::make(Dims{rows.numel(), width}), grad->offset);
        out = zeros(Dims{attrs.num_weights, width}, g.dtype());
        if (rows.numel() && width) kernels::index_add(out.view(), 0, rows.view(), grad_rows.view());
        if (attrs.padding_idx < 0 || attrs.padding_idx >= attrs.num_weights) return;
        const Tensor padding = alias(out, Layout::make(Dims{width}), attrs.padding_idx * width);
        kernels::fill(padding.view(), 0.0);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& gg, In<1> indices, const Attrs& attrs) {
        Tensor flat = index_select(gg, 0, reshape(indices, Dims{indices->numel()}));
        if (attrs.padding_idx >= 0) {
            const Tensor is_padding =
                compare(kEq, reshape(indices, Dims{indices->numel(), 1}), static_cast<double>(attrs.padding_idx));
            flat = masked_fill(flat, is_padding, 0.0);
        }
        Dims sizes(indices->sizes());
        sizes.push_back(gg.size(1));
        return reshape(flat, sizes);
    }};
};

struct Embedding {
    using Attrs = EmbeddingAttrs;
    static constexpr auto fields = std::tuple{&Attrs::padding_idx, &Attrs::scale_grad_by_freq, &Attrs::sparse};
    static constexpr OpText text{
        .schema =
            "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool "
            "scale_grad_by_freq=False, bool sparse=False)",
        .node = "EmbeddingBackward0",
        .flags = kFunction | kAnyDType,
        .derivative = "weight",
        .batching = BatchBy::Embedding,
        .domain = "weight=real(c, b), indices=index(c, a, 3); weight=real(c, b), indices=index(b, 4), padding_idx=3",
        .doc =
            "Looks up rows of a table: weight (V, D) and indices (*) of int32 or int64 give (*, D), out[i] = "
            "weight[indices[i]]. The row padding_idx gets no gradient; scale_grad_by_freq divides the gradient of a "
            "row by how often it is looked up; with sparse it is a sparse tensor of those rows. IndexError for an "
            "index outside the table.",
        .example =
            ">>> torch.embedding(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 0, 1]))\n"
            "tensor([[3., 4.],\n"
            "        [1., 2.],\n"
            "        [3., 4.]])"};
    static void forward(const Tensor& table, const Tensor& indices, const Attrs& attrs, Tensor& out) {
        if (attrs.scale_grad_by_freq)
            fail(ErrorKind::NotImplemented, "embedding: scale_grad_by_freq=True is not supported; leave it off");
        out = lookup(table, indices);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> table, In<1> indices, const Attrs& attrs) {
        if (attrs.sparse && can_be_sparse(g))
            return sparse_gradients.rows(g, indices, table.sizes()[0], attrs.padding_idx);
        return run<EmbeddingBackward>({table.sizes()[0], attrs.padding_idx}, g, indices);
    }};
};

}  // namespace

SparseGradients sparse_gradients;

static const Register<EmbeddingBackward, Embedding> embedding_operations;

}  // namespace clew
