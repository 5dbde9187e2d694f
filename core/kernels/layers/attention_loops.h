// What attention does to a tile of scores, row by row, between its products.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

inline constexpr std::int64_t kScorePadding = 32;  // rows of a tile are a multiple of so many elements long
inline constexpr std::int64_t kMostWeighed = 32;   // rows at once

// Rows of scores, of each of which the first counts[i] are seen.
template <class T>
struct ScoreRows {
    T* first;
    std::int64_t stride, padded;  // to the next row, and their length
    std::int64_t rows;
    const std::int64_t* counts;
};

template <class T>
struct AttentionLoops {
    // scores[i] += mask[i * step], or -infinity where a bool mask is false; step in elements.
    void (*add_mask)(T* scores, const void* mask, bool is_bool, std::int64_t step, std::int64_t count);
    // Turns scores into exp(score - largest) where largest counts those seen before, and brings the running maxima and
    // sums up to date. Zeros the rest of a row. Gives the factors for what was summed up before; room for kMostWeighed.
    void (*weigh)(const ScoreRows<T>& scores, T* largest, double* sums, T* factors);
    // exp(score - log_sum), zeros for the rest of the row.
    void (*weights)(T* scores, std::int64_t count, std::int64_t padded, T log_sum);
    void (*scale)(T* row, std::int64_t count, T factor);
    T (*dot)(const T* a, const T* b, std::int64_t count);
    // grads = weights * (grads - center) * factor
    void (*score_gradients)(T* grads, const T* weights, std::int64_t padded, T center, T factor);
    void (*add)(T* out, const T* in, std::int64_t count);
    // Of sums: log(sum) each.
    void (*logs)(const double* sums, T* out, std::int64_t count);
};
struct AttentionTable {
    AttentionLoops<float> float32;
    AttentionLoops<double> float64;
    template <class T>
    const AttentionLoops<T>& of() const {
        if constexpr (sizeof(T) == sizeof(float))
            return float32;
        else
            return float64;
    }
};
CLEW_DECLARE_TABLE(AttentionTable, attention_loops)

}  // namespace clew::kernels
