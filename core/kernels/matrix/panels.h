// Products with one matrix packed beforehand, for kernels that multiply by it again and again: the keys and values of
// an attention head, the hidden weights of a recurrent layer.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"
#include "core/kernels/matrix/matrix.h"

namespace clew::kernels {

// b (k x n) lies in panels of kPanelBytes of its columns, each panel row by row, the last one filled up with zeros.
inline constexpr std::int64_t kPanelBytes = 128;
template <class T>
constexpr std::int64_t panel_width = kPanelBytes / static_cast<std::int64_t>(sizeof(T));
template <class T>
constexpr std::int64_t packed_size(std::int64_t k, std::int64_t n) {
    return k * ((n + panel_width<T> - 1) / panel_width<T> * panel_width<T>);
}

template <class T>
struct Packed {
    const T* data;
    std::int64_t rows;  // that were packed; a product may use fewer of them
};

template <class T>
struct PanelLoops {
    void (*pack)(std::int64_t k, std::int64_t n, Matrix<const T> b, T* packed);
    // out = alpha * a @ b, or out += alpha * a @ b if `accumulate`; the columns of out lie side by side. An element's
    // sum runs over k in order: its bits depend on nothing else.
    void (*multiply)(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Packed<T> b, T* out,
                     std::int64_t out_row, T alpha, bool accumulate);
};
struct PanelTable {
    PanelLoops<float> float32;
    PanelLoops<double> float64;
    template <class T>
    const PanelLoops<T>& of() const {
        if constexpr (sizeof(T) == sizeof(float))
            return float32;
        else
            return float64;
    }
};
CLEW_DECLARE_TABLE(PanelTable, panels)

}  // namespace clew::kernels
