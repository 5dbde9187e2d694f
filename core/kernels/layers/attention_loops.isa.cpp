#include "core/kernels/layers/attention_loops.h"

#include "core/kernels/memory/rows.h"

namespace clew::kernels {
namespace {

template <class T>
void add_mask(T* scores, const void* mask, bool is_bool, int64_t step, int64_t count) {
    if (is_bool) {
        const uint8_t* seen = static_cast<const uint8_t*>(mask);
        for (int64_t i = 0; i < count; ++i) scores[i] = seen[i * step] != 0 ? scores[i] : lowest<T>();
        return;
    }
    const T* added = static_cast<const T*>(mask);
    if (step == 1) {
        CLEW_VECTORISE
        for (int64_t i = 0; i < count; ++i) scores[i] += added[i];
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        scores[i] += added[i * step];
    }
}

template <class T>
CLEW_INLINE void fill(T* out, int64_t begin, int64_t end, T value) {
    for (int64_t i = begin; i < end; ++i) out[i] = value;
}

// Always whole vectors: Note [Bitwise reproducible elements].
template <class T>
CLEW_INLINE void exponentials(T* row, T center, int64_t padded) {
    padded &= -kScorePadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < padded; ++i) row[i] = row_exp(row[i] - center);
}

// Whether -infinity is the largest of a row because there is nothing else: RowMax does not see NaN.
template <class T>
bool all_hidden(const T* row, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (row[i] != lowest<T>()) return false;
    return true;
}

template <class T>
T weigh(T* scores, int64_t count, int64_t padded, T* largest, double* sum) {
    fill(scores, count, padded, lowest<T>());
    const T before = *largest;
    RowReduction<RowMax, T> maximum;
    maximum.add(scores, padded);
    T now = maximum.result();
    now = before > now ? before : now;
    *largest = now;
    if (now == lowest<T>() && all_hidden(scores, padded)) {  // nothing to see so far
        fill(scores, int64_t(0), padded, T(0));
        return T(1);
    }
    exponentials(scores, now, padded);
    RowReduction<RowSum, T> added;
    added.add(scores, padded);
    const T factor = before == now ? T(1) : row_exp(before - now);
    *sum = *sum * double(factor) + double(added.result());
    return factor;
}

template <class T>
void weights(T* scores, int64_t count, int64_t padded, T log_sum) {
    fill(scores, count, padded, lowest<T>());
    exponentials(scores, log_sum, padded);
}

template <class T>
void scale(T* row, int64_t count, T factor) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) row[i] *= factor;
}

template <class T>
T dot(const T* a, const T* b, int64_t count) {
    T products[kBlock];
    T sum = T(0);
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t length = count - begin < kBlock ? count - begin : kBlock;
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i) products[i] = a[begin + i] * b[begin + i];
        sum += reduce_row<RowSum, T>(products, length);
    }
    return sum;
}

template <class T>
void score_gradients(T* grads, const T* weights, int64_t padded, T center, T factor) {
    padded &= -kScorePadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < padded; ++i) grads[i] = weights[i] * (grads[i] - center) * factor;
}

template <class T>
void add(T* out, const T* in, int64_t count) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] += in[i];
}

template <class T>
T logarithm(double x) {
    return T(math::log(x));
}

#define CLEW_LOOPS(T) {add_mask<T>, weigh<T>, weights<T>, scale<T>, dot<T>, score_gradients<T>, add<T>, logarithm<T>}

}  // namespace

CLEW_EXPORT_TABLE(AttentionTable, attention_loops, {CLEW_LOOPS(float), CLEW_LOOPS(double)});

}  // namespace clew::kernels
