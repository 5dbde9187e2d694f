#include "core/kernels/normalization_loops.h"

#include "core/kernels/reduce_ops.h"

namespace clew::kernels {
namespace {

template <class Op, class T>
double reduce_row(const T* x, int64_t count, double center) {
    double sum = 0.0;
    for (int64_t begin = 0; begin < count; begin += kBlock)
        sum += reduce_block<Op, double>(x + begin, count - begin < kBlock ? count - begin : kBlock, center);
    return sum;
}

template <class T>
void forward(char* out_data, char* mean_data, char* rstd_data, const char* x_data, const char* weight_data,
             const char* bias_data, int64_t count, double epsilon) {
    T* out = reinterpret_cast<T*>(out_data);
    const T* x = reinterpret_cast<const T*>(x_data);
    const T* weight = reinterpret_cast<const T*>(weight_data);
    const T* bias = reinterpret_cast<const T*>(bias_data);
    const double mean = reduce_row<Sum>(x, count, 0.0) / double(count);
    const double variance = reduce_row<Deviations>(x, count, mean) / double(count);
    const T center = T(mean), scale = T(1.0 / __builtin_sqrt(variance + epsilon));
    store<T>(mean_data, center);
    store<T>(rstd_data, scale);
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

// With g = grad * weight and n = (x - mean) * rstd: rstd * (g - mean(g) - n * mean(g * n)).
template <class T>
void backward_x(char* out_data, const char* grad_data, const char* x_data, const char* mean_data, const char* rstd_data,
                const char* weight_data, int64_t count) {
    T* out = reinterpret_cast<T*>(out_data);
    const T* grad = reinterpret_cast<const T*>(grad_data);
    const T* x = reinterpret_cast<const T*>(x_data);
    const T* weight = reinterpret_cast<const T*>(weight_data);
    const T center = load<T>(mean_data), scale = load<T>(rstd_data);
    T g[kBlock], product[kBlock];
    const auto weighted = [&](int64_t begin, int64_t length) {
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i) g[i] = grad[begin + i];
        if (weight == nullptr) return;
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i) g[i] *= weight[begin + i];
    };
    double sum = 0.0, product_sum = 0.0;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t length = count - begin < kBlock ? count - begin : kBlock;
        weighted(begin, length);
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i) product[i] = g[i] * ((x[begin + i] - center) * scale);
        sum += double(reduce_block<Sum, T>(g, length, 0.0));
        product_sum += double(reduce_block<Sum, T>(product, length, 0.0));
    }
    const T mean = T(sum / double(count)), slope = T(product_sum / double(count));
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t length = count - begin < kBlock ? count - begin : kBlock;
        if (count > kBlock) weighted(begin, length);
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i)
            out[begin + i] = scale * (g[i] - mean - (x[begin + i] - center) * scale * slope);
    }
}

template <class T>
void backward_parameters(double* weight, double* bias, const char* grad_data, const char* x_data, const char* mean_data,
                         const char* rstd_data, int64_t count) {
    const T* grad = reinterpret_cast<const T*>(grad_data);
    const T* x = reinterpret_cast<const T*>(x_data);
    const T center = load<T>(mean_data), scale = load<T>(rstd_data);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        weight[i] += double(grad[i] * ((x[i] - center) * scale));
        bias[i] += double(grad[i]);
    }
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
