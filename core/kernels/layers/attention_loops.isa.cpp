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

// What is not seen counts as -infinity. In whole vectors: see load_part().
template <class T>
CLEW_INLINE void hide_rest(T* row, int64_t count, int64_t padded) {
    using Loose = typename RowVector<T>::loose;
    constexpr int64_t kLanes = kRowVectorBytes / int64_t(sizeof(T));
    const auto put = [&](int64_t i, const typename RowVector<T>::type& value) {
        *reinterpret_cast<Loose*>(row + i) = value;
    };
    int64_t i = count & -kLanes;
    if (i < count) {
        put(i, load_part(row + i, count - i, lowest<T>()));
        i += kLanes;
    }
    for (; i < padded; i += kLanes) put(i, typename RowVector<T>::type{} + lowest<T>());
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

// Each row waits for its largest score, then for the powers, then for their sum: so all rows take each step together.
template <class T>
void weigh(const ScoreRows<T>& scores, T* largest, double* sums, T* factors) {
    const int64_t padded = scores.padded & -kScorePadding;
    const auto row = [&](int64_t i) { return scores.first + i * scores.stride; };
    T before[kMostWeighed] = {}, now[kMostWeighed] = {};
    for (int64_t i = 0; i < scores.rows; ++i) {
        hide_rest(row(i), scores.counts[i], padded);
        RowReduction<RowMax, T> maximum;
        maximum.add(row(i), padded);
        const T found = maximum.result();
        before[i] = largest[i];
        now[i] = largest[i] = before[i] > found ? before[i] : found;
    }
    for (int64_t i = 0; i < scores.rows; ++i)
        if (now[i] == lowest<T>() && all_hidden(row(i), padded))  // nothing to see so far
            __builtin_memset(row(i), 0, uint64_t(padded) * sizeof(T));
        else
            exponentials(row(i), now[i], padded);
    CLEW_VECTORISE
    for (int64_t i = 0; i < kMostWeighed; ++i) {
        const T power = row_exp(before[i] - now[i]);
        factors[i] = before[i] == now[i] ? T(1) : power;
    }
    for (int64_t i = 0; i < scores.rows; ++i) {
        RowReduction<RowSum, T> added;
        added.add(row(i), padded);
        sums[i] = sums[i] * double(factors[i]) + double(added.result());
    }
}

template <class T>
void weights(T* scores, int64_t count, int64_t padded, T log_sum) {
    padded &= -kScorePadding;
    hide_rest(scores, count, padded);
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
void logs(const double* sums, T* out, int64_t count) {
    double all[kMostWeighed];  // whole vectors: Note [Bitwise reproducible elements]
    for (int64_t begin = 0; begin < count; begin += kMostWeighed) {
        const int64_t length = count - begin < kMostWeighed ? count - begin : kMostWeighed;
        for (int64_t i = 0; i < kMostWeighed; ++i) all[i] = i < length ? sums[begin + i] : 1.0;
        CLEW_VECTORISE
        for (int64_t i = 0; i < kMostWeighed; ++i) all[i] = math::log(all[i]);
        for (int64_t i = 0; i < length; ++i) out[begin + i] = T(all[i]);
    }
}

#define CLEW_LOOPS(T) {add_mask<T>, weigh<T>, weights<T>, scale<T>, dot<T>, score_gradients<T>, add<T>, logs<T>}

}  // namespace

CLEW_EXPORT_TABLE(AttentionTable, attention_loops, {CLEW_LOOPS(float), CLEW_LOOPS(double)});

}  // namespace clew::kernels
