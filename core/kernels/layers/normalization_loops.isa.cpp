#include "core/kernels/layers/normalization_loops.h"

#include "core/kernels/memory/rows.h"

namespace clew::kernels {
namespace {

template <class T>
using Vector = typename RowVector<T>::type;
template <class T>
inline constexpr int kVectorLanes = kRowVectorBytes / int(sizeof(T));

template <class T>
CLEW_INLINE Vector<T> load_vector(const T* x) {
    return *reinterpret_cast<const typename RowVector<T>::loose*>(x);
}

// The sum of the row in blocks: lanes add up kBlock elements at most.
template <class T>
CLEW_INLINE double sum_row(const T* x, int64_t count) {
    double sum = 0.0;
    for (int64_t begin = 0; begin < count; begin += kBlock)
        sum += double(reduce_row<RowSum, T>(x + begin, count - begin < kBlock ? count - begin : kBlock));
    return sum;
}
template <class T>
CLEW_INLINE double deviations_row(const T* x, int64_t count, T center) {
    double sum = 0.0;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t length = count - begin < kBlock ? count - begin : kBlock, whole = length & -kRowStep<T>;
        RowReduction<RowSum, T> squares;
        const auto add = [&](const T* step) __attribute__((always_inline)) {
            for (int v = 0; v < kRowVectors; ++v) {
                const Vector<T> deviation = load_vector(step + v * kVectorLanes<T>) - center;
                squares.running[v] += deviation * deviation;
            }
        };
        for (int64_t i = 0; i < whole; i += kRowStep<T>) add(x + begin + i);
        if (whole < length) add(ShortRow<T>(x + begin + whole, length - whole, center).values);
        sum += double(squares.result());
    }
    return sum;
}

template <class T>
constexpr T largest() {
    return sizeof(T) == 4 ? T(3.4028234663852886e38) : T(1.7976931348623157e308);
}
// For rows whose squares are out of float32's range.
template <class T>
double wide_variance(const T* x, int64_t count, double mean) {
    double sum = 0.0;
    for (int64_t i = 0; i < count; ++i) sum += (double(x[i]) - mean) * (double(x[i]) - mean);
    return sum / double(count);
}

template <class T>
CLEW_INLINE void normalize_row(T* out, const T* x, T center, T scale, const T* weight, const T* bias, int64_t count) {
    if (weight != nullptr && bias != nullptr) {
        CLEW_VECTORISE
        for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - center) * scale * weight[i] + bias[i];
        return;
    }
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - center) * scale;
    if (weight != nullptr) {
        CLEW_VECTORISE
        for (int64_t i = 0; i < count; ++i) out[i] *= weight[i];
    }
    if (bias != nullptr) {
        CLEW_VECTORISE
        for (int64_t i = 0; i < count; ++i) out[i] += bias[i];
    }
}

// Each row waits for its mean, then for its variance: so a few rows take each step together.
template <class T>
void forward(char* out_data, char* mean_data, char* rstd_data, const char* x_data, const char* weight_data,
             const char* bias_data, int64_t rows, int64_t count, double epsilon) {
    T* const out = reinterpret_cast<T*>(out_data);
    T* const centers = reinterpret_cast<T*>(mean_data);
    T* const scales = reinterpret_cast<T*>(rstd_data);
    const T* const x = reinterpret_cast<const T*>(x_data);
    double means[kNormTogether], variances[kNormTogether];
    for (int64_t row = 0; row < rows; ++row) means[row] = sum_row(x + row * count, count) / double(count);
    for (int64_t row = 0; row < rows; ++row) {
        const T center = centers[row] = T(means[row]);
        const double off = means[row] - double(center);
        variances[row] = deviations_row(x + row * count, count, center) / double(count) - off * off;
    }
    for (int64_t row = 0; row < rows; ++row) {
        double variance = variances[row];
        if (!(variance <= double(largest<T>()))) variance = wide_variance(x + row * count, count, means[row]);
        scales[row] = T(1.0 / __builtin_sqrt(variance + epsilon));
    }
    for (int64_t row = 0; row < rows; ++row)
        normalize_row(out + row * count, x + row * count, centers[row], scales[row],
                      reinterpret_cast<const T*>(weight_data), reinterpret_cast<const T*>(bias_data), count);
}

// With g = grad * weight and n = (x - mean) * rstd: rstd * (g - mean(g) - n * mean(g * n)).
template <class T, bool kWeighted>
CLEW_INLINE void backward_row(T* out, const T* grad, const T* x, T center, T scale, const T* weight, int64_t count) {
    double sum = 0.0, product_sum = 0.0;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t length = count - begin < kBlock ? count - begin : kBlock, whole = length & -kRowStep<T>;
        RowReduction<RowSum, T> grads, products;
        const auto add = [&](const T* grad_step, const T* x_step, const T* weight_step) __attribute__((always_inline)) {
            for (int v = 0; v < kRowVectors; ++v) {
                const int at = v * kVectorLanes<T>;
                Vector<T> g = load_vector(grad_step + at);
                if (kWeighted) g *= load_vector(weight_step + at);
                grads.running[v] += g;
                products.running[v] += g * ((load_vector(x_step + at) - center) * scale);
            }
        };
        for (int64_t i = begin; i < begin + whole; i += kRowStep<T>) add(grad + i, x + i, kWeighted ? weight + i : x);
        if (whole < length) {
            const int64_t from = begin + whole, left = length - whole;
            const ShortRow<T> last_grad(grad + from, left, T(0)), last_x(x + from, left, center),
                last_weight(kWeighted ? weight + from : x + from, left, T(0));
            add(last_grad.values, last_x.values, last_weight.values);
        }
        sum += double(grads.result());
        product_sum += double(products.result());
    }
    const T mean = T(sum / double(count)), slope = T(product_sum / double(count));
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        const T g = kWeighted ? grad[i] * weight[i] : grad[i];
        out[i] = scale * (g - mean - (x[i] - center) * scale * slope);
    }
}
template <class T>
void backward_x(char* out, const char* grad, const char* x, const char* mean, const char* rstd, const char* weight,
                int64_t count) {
    const auto at = [](const char* data) { return reinterpret_cast<const T*>(data); };
    const auto run = weight != nullptr ? backward_row<T, true> : backward_row<T, false>;
    run(reinterpret_cast<T*>(out), at(grad), at(x), *at(mean), *at(rstd), at(weight), count);
}

// kNormRows rows at most, which are added up before they meet the totals.
template <class T, int kRows>
CLEW_INLINE void add_rows(double* weight, double* bias, const T* grad, const T* x, const T* mean, const T* rstd,
                          int64_t count) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        T by_weight = T(0), by_bias = T(0);
        for (int row = 0; row < kRows; ++row) {
            const T g = grad[row * count + i];
            by_weight += g * ((x[row * count + i] - mean[row]) * rstd[row]);
            by_bias += g;
        }
        weight[i] += double(by_weight);
        bias[i] += double(by_bias);
    }
}
template <class T>
void backward_parameters(double* weight, double* bias, const char* grad_data, const char* x_data, const char* mean_data,
                         const char* rstd_data, int64_t rows, int64_t count) {
    const T* grad = reinterpret_cast<const T*>(grad_data);
    const T* x = reinterpret_cast<const T*>(x_data);
    const T* mean = reinterpret_cast<const T*>(mean_data);
    const T* rstd = reinterpret_cast<const T*>(rstd_data);
    if (rows == kNormRows) return add_rows<T, kNormRows>(weight, bias, grad, x, mean, rstd, count);
    for (int64_t row = 0; row < rows; ++row)
        add_rows<T, 1>(weight, bias, grad + row * count, x + row * count, mean + row, rstd + row, count);
}

}  // namespace

CLEW_EXPORT_TABLE(NormalizationTable, normalization_loops,
                  {
                      .forward = {nullptr, nullptr, nullptr, nullptr, forward<float>, forward<double>},
                      .backward_x = {nullptr, nullptr, nullptr, nullptr, backward_x<float>, backward_x<double>},
                      .backward_parameters = {nullptr, nullptr, nullptr, nullptr, backward_parameters<float>,
                                              backward_parameters<double>},
                  });

}  // namespace clew::kernels
