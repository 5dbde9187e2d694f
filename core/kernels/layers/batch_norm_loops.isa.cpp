#include "core/kernels/layers/batch_norm_loops.h"

#include "core/kernels/reduction/reduce_ops.h"

namespace clew::kernels {
namespace {

template <class T>
CLEW_INLINE const T* typed(const char* data) {
    return reinterpret_cast<const T*>(data);
}

template <class T>
double sum(const char* data, int64_t count) {
    double total = 0.0;
    for (int64_t begin = 0; begin < count; begin += kBlock)
        total +=
            double(reduce_block<Sum, T>(typed<T>(data) + begin, count - begin < kBlock ? count - begin : kBlock, 0.0));
    return total;
}
template <class T>
double squares(const char* data, int64_t count, double mean) {
    double total = 0.0;
    for (int64_t begin = 0; begin < count; begin += kBlock)
        total += double(
            reduce_block<Deviations, T>(typed<T>(data) + begin, count - begin < kBlock ? count - begin : kBlock, mean));
    return total;
}
template <class T>
void affine(char* out_data, const char* data, int64_t count, double mean, double scale, double shift) {
    T* out = reinterpret_cast<T*>(out_data);
    const T *x = typed<T>(data), center = T(mean), factor = T(scale), summand = T(shift);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - center) * factor + summand;
}
template <class T>
void gradient_sums(double* sums, const char* grad_data, const char* data, int64_t count, double mean) {
    const T *grad = typed<T>(grad_data), *x = typed<T>(data), center = T(mean);
    T product[kBlock];
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t length = count - begin < kBlock ? count - begin : kBlock;
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i) product[i] = grad[begin + i] * (x[begin + i] - center);
        sums[0] += double(reduce_block<Sum, T>(grad + begin, length, 0.0));
        sums[1] += double(reduce_block<Sum, T>(product, length, 0.0));
    }
}
template <class T>
void gradient(char* out_data, const char* grad_data, const char* data, int64_t count, double mean, double scale,
              double slope, double shift) {
    T* out = reinterpret_cast<T*>(out_data);
    const T *grad = typed<T>(grad_data), *x = typed<T>(data);
    const T center = T(mean), of_grad = T(scale), of_x = T(slope), summand = T(shift);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = grad[i] * of_grad + ((x[i] - center) * of_x + summand);
}

template <class T>
void add_row(double* sums, const char* data, int64_t count) {
    const T* x = typed<T>(data);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) sums[i] += double(x[i]);
}
template <class T>
void add_squares_row(double* sums, const char* data, int64_t count, const double* mean) {
    const T* x = typed<T>(data);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) sums[i] += (double(x[i]) - mean[i]) * (double(x[i]) - mean[i]);
}
template <class T>
void affine_row(char* out_data, const char* data, int64_t count, const double* mean, const double* scale,
                const double* shift) {
    T* out = reinterpret_cast<T*>(out_data);
    const T* x = typed<T>(data);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = T((double(x[i]) - mean[i]) * scale[i] + shift[i]);
}
template <class T>
void gradient_sums_row(double* sums, double* products, const char* grad_data, const char* data, int64_t count,
                       const double* mean) {
    const T *grad = typed<T>(grad_data), *x = typed<T>(data);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        sums[i] += double(grad[i]);
        products[i] += double(grad[i]) * (double(x[i]) - mean[i]);
    }
}
template <class T>
void gradient_row(char* out_data, const char* grad_data, const char* data, int64_t count, const double* mean,
                  const double* scale, const double* slope, const double* shift) {
    T* out = reinterpret_cast<T*>(out_data);
    const T *grad = typed<T>(grad_data), *x = typed<T>(data);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i)
        out[i] = T(double(grad[i]) * scale[i] + ((double(x[i]) - mean[i]) * slope[i] + shift[i]));
}

#define CLEW_BOTH(function) {nullptr, nullptr, nullptr, nullptr, function<float>, function<double>}

}  // namespace

CLEW_EXPORT_TABLE(BatchNormTable, batch_norm_loops,
                  {
                      .sum = CLEW_BOTH(sum),
                      .squares = CLEW_BOTH(squares),
                      .affine = CLEW_BOTH(affine),
                      .gradient_sums = CLEW_BOTH(gradient_sums),
                      .gradient = CLEW_BOTH(gradient),
                      .add_row = CLEW_BOTH(add_row),
                      .add_squares_row = CLEW_BOTH(add_squares_row),
                      .affine_row = CLEW_BOTH(affine_row),
                      .gradient_sums_row = CLEW_BOTH(gradient_sums_row),
                      .gradient_row = CLEW_BOTH(gradient_row),
                  });

}  // namespace clew::kernels
