#include "core/kernels/transpose.h"

#include "core/kernels/wide.h"

namespace clew::kernels {
namespace {

template <int... k>
struct Lanes {};
template <int n>
using AllLanes = Lanes<__integer_pack(n)...>;

// A square of as many rows as a vector has lanes, turned over by exchanging its quarters, those of its quarters and so
// on: the rows at distance d swap the lanes at distance d.
template <class T>
struct Square {
    static constexpr int kSide = kVectorBytes / int(sizeof(T));
    using Vector = typename VectorOf<T, kVectorBytes>::type;
    using Unaligned = typename VectorOf<T, kVectorBytes>::unaligned;

    template <int d, int... k>
    static CLEW_INLINE void exchange(Vector& upper, Vector& lower, Lanes<k...>) {
        const Vector a = upper, b = lower;
        upper = __builtin_shufflevector(a, b, ((k & d) == 0 ? k : kSide + k - d)...);
        lower = __builtin_shufflevector(a, b, ((k & d) == 0 ? k + d : kSide + k)...);
    }
    template <int d>
    static CLEW_INLINE void exchange_rows(Vector* row) {
        if constexpr (d > 0) {
#pragma GCC unroll 16
            for (int i = 0; i < kSide; ++i)
                if ((i & d) == 0) exchange<d>(row[i], row[i + d], AllLanes<kSide>{});
            exchange_rows<d / 2>(row);
        }
    }
    static CLEW_INLINE void turn(char* out, int64_t out_stride, const char* in, int64_t in_stride) {
        Vector row[kSide];
#pragma GCC unroll 16
        for (int i = 0; i < kSide; ++i) row[i] = *reinterpret_cast<const Unaligned*>(in + i * in_stride);
        exchange_rows<kSide / 2>(row);
#pragma GCC unroll 16
        for (int i = 0; i < kSide; ++i) *reinterpret_cast<Unaligned*>(out + i * out_stride) = row[i];
    }
};

template <class T>
void turn_singly(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
            CLEW_KEEP_SCALAR;
            const int64_t from = j * in_stride + i * int64_t(sizeof(T));
            store<T>(out + i * out_stride + j * int64_t(sizeof(T)), load<T>(in + from));
        }
}

// In tiles, so that a line of the cache is used up while it is there. What is left over at two sides has no square.
template <class T>
void turn_block(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows, int64_t columns) {
    constexpr int64_t kSide = sizeof(T) == 1 ? 16 : Square<T>::kSide, kTile = 64, kSize = sizeof(T);
    const auto piece = [&](int64_t i, int64_t j, int64_t height, int64_t width) {
        char* const to = out + i * out_stride + j * kSize;
        const char* const from = in + j * in_stride + i * kSize;
        if constexpr (sizeof(T) > 1)
            if (height == kSide && width == kSide) return Square<T>::turn(to, out_stride, from, in_stride);
        turn_singly<T>(to, out_stride, from, in_stride, height, width);
    };
    for (int64_t top = 0; top < rows; top += kTile)
        for (int64_t left = 0; left < columns; left += kTile) {
            const int64_t bottom = top + kTile < rows ? top + kTile : rows;
            const int64_t right = left + kTile < columns ? left + kTile : columns;
            for (int64_t i = top; i < bottom; i += kSide)
                for (int64_t j = left; j < right; j += kSide)
                    piece(i, j, bottom - i < kSide ? bottom - i : kSide, right - j < kSide ? right - j : kSide);
        }
}
void block(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows, int64_t columns,
           int64_t size) {
    if (size == 8) return turn_block<uint64_t>(out, out_stride, in, in_stride, rows, columns);
    if (size == 4) return turn_block<uint32_t>(out, out_stride, in, in_stride, rows, columns);
    turn_block<uint8_t>(out, out_stride, in, in_stride, rows, columns);
}

}  // namespace

CLEW_EXPORT_TABLE(TransposeTable, transpose_loops, {.block = block});

}  // namespace clew::kernels
