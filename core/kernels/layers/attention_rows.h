// Where attention finds its rows and scores.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/kernels/layers/attention.h"
#include "core/kernels/layers/attention_loops.h"
#include "core/kernels/matrix/matrix.h"

namespace clew::kernels {

inline std::int64_t padded_row(std::int64_t count) {
    return (count + kScorePadding - 1) / kScorePadding * kScorePadding;
}

// Which queries of a tile see something of keys that begin at `first_key`.
inline std::int64_t visible(const Attention& call, std::int64_t query, std::int64_t first_key, std::int64_t keys) {
    return call.causal ? std::clamp<std::int64_t>(query + 1 - first_key, 0, keys) : keys;
}

template <class T>
T* row_of(const HeadRows& rows, std::int64_t head, std::int64_t i) {
    return static_cast<T*>(rows.data) + rows.places[head] + i * rows.row;
}
template <class T>
Matrix<const T> matrix_of(const HeadRows& rows, std::int64_t head, std::int64_t first) {
    return {row_of<T>(rows, head, first), rows.row, 1};
}
template <class T>
Matrix<const T> transposed(const Matrix<const T>& matrix) {
    return {matrix.data, matrix.column_stride, matrix.row_stride};
}

// Of a query and those after it, if they are kept.
template <class T>
T* scores_of(const Attention& call, std::int64_t head, std::int64_t query) {
    return static_cast<T*>(call.scores) + (head * call.queries + query) * padded_row(call.keys);
}

}  // namespace clew::kernels
