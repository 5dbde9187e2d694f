#include "core/kernels/normalization.h"

#include "core/base/threads.h"
#include "core/kernels/iterate.h"
#include "core/kernels/normalization_loops.h"
#include "core/kernels/scratch.h"

namespace clew::kernels {
namespace {

struct Rows {
    std::int64_t row;      // bytes
    std::int64_t element;  // bytes
    std::int64_t grain;

    explicit Rows(const LayerNorm& shape) {
        element = static_cast<std::int64_t>(item_size(shape.dtype));
        row = shape.inner * element;
        grain = shape.inner == 0 ? kChunk : kChunk / shape.inner;
        if (grain < 1) grain = 1;
    }
};

const char* at(const void* data, std::int64_t offset) {
    return data == nullptr ? nullptr : static_cast<const char*>(data) + offset;
}
char* at(void* data, std::int64_t offset) { return static_cast<char*>(data) + offset; }

template <class T>
void store_all(void* out, const double* values, std::int64_t count) {
    if (out == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(out)[i] = static_cast<T>(values[i]);
}

// The rows are cut by their number alone; each piece has its own sums, which are joined in order.
void backward_parameters(const LayerNorm& shape, void* grad_weight, void* grad_bias, const void* grad, const void* x,
                         const void* mean, const void* rstd) {
    constexpr std::int64_t kMostPieces = 16;
    const Rows rows(shape);
    std::int64_t piece = rows.grain;
    if (piece * kMostPieces < shape.outer) piece = (shape.outer + kMostPieces - 1) / kMostPieces;
    const std::int64_t pieces = shape.outer == 0 ? 1 : (shape.outer + piece - 1) / piece;
    const std::int64_t sums = 2 * shape.inner;
    const Scratch memory(static_cast<std::size_t>(pieces * sums) * sizeof(double));
    double* totals = memory.as<double>();
    for (std::int64_t i = 0; i < pieces * sums; ++i) totals[i] = 0.0;
    const auto add_row = normalization_loops().backward_parameters[static_cast<int>(shape.dtype)];
    parallel_for(shape.outer, piece, [&](std::int64_t begin, std::int64_t end) {
        double* weight = totals + begin / piece * sums;
        for (std::int64_t i = begin; i < end; ++i)
            add_row(weight, weight + shape.inner, at(grad, i * rows.row), at(x, i * rows.row),
                    at(mean, i * rows.element), at(rstd, i * rows.element), shape.inner);
    });
    for (std::int64_t k = 1; k < pieces; ++k)
        for (std::int64_t i = 0; i < sums; ++i) totals[i] += totals[k * sums + i];
    if (shape.dtype == DType::Float32) {
        store_all<float>(grad_weight, totals, shape.inner);
        store_all<float>(grad_bias, totals + shape.inner, shape.inner);
    } else {
        store_all<double>(grad_weight, totals, shape.inner);
        store_all<double>(grad_bias, totals + shape.inner, shape.inner);
    }
}

}  // namespace

void layer_norm(const LayerNorm& shape, void* out, void* mean, void* rstd, const void* x, const void* weight,
                const void* bias, double epsilon) {
    const Rows rows(shape);
    const auto forward = normalization_loops().forward[static_cast<int>(shape.dtype)];
    parallel_for(shape.outer, rows.grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            forward(at(out, i * rows.row), at(mean, i * rows.element), at(rstd, i * rows.element), at(x, i * rows.row),
                    at(weight, 0), at(bias, 0), shape.inner, epsilon);
    });
}

void layer_norm_backward(const LayerNorm& shape, void* grad_x, void* grad_weight, void* grad_bias, const void* grad,
                         const void* x, const void* mean, const void* rstd, const void* weight) {
    const Rows rows(shape);
    if (grad_x != nullptr) {
        const auto backward = normalization_loops().backward_x[static_cast<int>(shape.dtype)];
        parallel_for(shape.outer, rows.grain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                backward(at(grad_x, i * rows.row), at(grad, i * rows.row), at(x, i * rows.row),
                         at(mean, i * rows.element), at(rstd, i * rows.element), at(weight, 0), shape.inner);
        });
    }
    if (grad_weight != nullptr || grad_bias != nullptr)
        backward_parameters(shape, grad_weight, grad_bias, grad, x, mean, rstd);
}

}  // namespace clew::kernels
