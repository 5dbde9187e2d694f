#include "core/kernels/layers/normalization.h"

#include <algorithm>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/layers/normalization_loops.h"
#include "core/kernels/memory/iterate.h"
#include "core/kernels/memory/scratch.h"

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

char* at(const View& array, std::int64_t offset) {
    return array.data == nullptr ? nullptr : static_cast<char*>(array.data) + offset;
}

template <class T>
void store_all(void* out, const double* values, std::int64_t count) {
    if (out == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(out)[i] = static_cast<T>(values[i]);
}

// The gradients of the parameters. Rows are cut by their number alone; each piece has its own sums, which are joined in
// order.
class ParameterSums {
public:
    ParameterSums(const LayerNorm& shape, std::int64_t grain, bool wanted)
        : shape_(shape),
          piece_(wanted && grain * kMostPieces < shape.outer ? (shape.outer + kMostPieces - 1) / kMostPieces : grain),
          pieces_(shape.outer == 0 ? 1 : (shape.outer + piece_ - 1) / piece_),
          memory_(wanted ? static_cast<std::size_t>(pieces_ * 2 * shape.inner) * sizeof(double) : 0) {
        if (wanted) std::fill_n(memory_.as<double>(), pieces_ * 2 * shape.inner, 0.0);
    }
    std::int64_t piece() const { return piece_; }
    double* weight(std::int64_t row) const { return memory_.as<double>() + row / piece_ * 2 * shape_.inner; }
    double* bias(std::int64_t row) const { return weight(row) + shape_.inner; }

    template <class T>
    void store(void* grad_weight, void* grad_bias) const {
        const std::int64_t sums = 2 * shape_.inner;
        double* const totals = memory_.as<double>();
        for (std::int64_t k = 1; k < pieces_; ++k)
            for (std::int64_t i = 0; i < sums; ++i) totals[i] += totals[k * sums + i];
        store_all<T>(grad_weight, totals, shape_.inner);
        store_all<T>(grad_bias, totals + shape_.inner, shape_.inner);
    }

private:
    static constexpr std::int64_t kMostPieces = 16;
    const LayerNorm& shape_;
    const std::int64_t piece_, pieces_;
    const Scratch memory_;
};

}  // namespace

void layer_norm(const LayerNorm& shape, const View& out, const View& mean, const View& rstd, const View& x,
                const View& weight, const View& bias, double epsilon) {
    CLEW_CAPTURED_WRITING(3, layer_norm, shape, out, mean, rstd, x, weight, bias, epsilon);
    const Rows rows(shape);
    const auto forward = normalization_loops().forward[static_cast<int>(shape.dtype)];
    constexpr std::int64_t kTogether = 16 << 10;  // bytes, so that all stay in the first-level cache
    const std::int64_t most = std::clamp<std::int64_t>(kTogether / (rows.row + 1), 1, kNormTogether);
    parallel_for(shape.outer, rows.grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; i += most)
            forward(at(out, i * rows.row), at(mean, i * rows.element), at(rstd, i * rows.element), at(x, i * rows.row),
                    at(weight, 0), at(bias, 0), std::min(most, end - i), shape.inner, epsilon);
    });
}

void layer_norm_backward(const LayerNorm& shape, const View& grad_x, const View& grad_weight, const View& grad_bias,
                         const View& grad, const View& x, const View& mean, const View& rstd, const View& weight) {
    CLEW_CAPTURED_WRITING(3, layer_norm_backward, shape, grad_x, grad_weight, grad_bias, grad, x, mean, rstd, weight);
    const Rows rows(shape);
    const bool parameters = grad_weight.data != nullptr || grad_bias.data != nullptr;
    const ParameterSums sums(shape, rows.grain, parameters);
    const auto backward_x = normalization_loops().backward_x[static_cast<int>(shape.dtype)];
    const auto add_rows = normalization_loops().backward_parameters[static_cast<int>(shape.dtype)];
    parallel_for(shape.outer, sums.piece(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = begin; first < end; first += kNormRows) {  // both while they are in the cache
            const std::int64_t count = std::min<std::int64_t>(kNormRows, end - first);
            for (std::int64_t i = first; grad_x.data != nullptr && i < first + count; ++i)
                backward_x(at(grad_x, i * rows.row), at(grad, i * rows.row), at(x, i * rows.row),
                           at(mean, i * rows.element), at(rstd, i * rows.element), at(weight, 0), shape.inner);
            if (parameters)
                add_rows(sums.weight(begin), sums.bias(begin), at(grad, first * rows.row), at(x, first * rows.row),
                         at(mean, first * rows.element), at(rstd, first * rows.element), count, shape.inner);
        }
    });
    if (!parameters) return;
    if (shape.dtype == DType::Float32)
        sums.store<float>(grad_weight.data, grad_bias.data);
    else
        sums.store<double>(grad_weight.data, grad_bias.data);
}

}  // namespace clew::kernels
