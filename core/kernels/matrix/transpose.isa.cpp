#include "core/kernels/matrix/transpose.h"

#include "core/kernels/elementwise/wide.h"

namespace clew::kernels {
namespace {

template <int... k>
struct Lanes {};
#ifdef __clang__
template <class, int... k>
using LanesOf = Lanes<k...>;
template <int n>
using AllLanes = __make_integer_seq<LanesOf, int, n>;
#else
template <int n>
using AllLanes = Lanes<__integer_pack(n)...>;
#endif

// A square of as many rows as a vector of kBytes has lanes, transposed by exchanging its quarters, those of its
// quarters and so on: the rows at distance d swap the lanes at distance d.
template <class T, int kBytes>
struct Square {
    static constexpr int kSide = kBytes / int(sizeof(T));
    using Vector = typename VectorOf<T, kBytes>::type;
    using Unaligned = typename VectorOf<T, kBytes>::unaligned;

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
    static CLEW_INLINE void transpose(char* out, int64_t out_stride, const char* in, int64_t in_stride) {
        Vector row[kSide];
#pragma GCC unroll 16
        for (int i = 0; i < kSide; ++i) row[i] = *reinterpret_cast<const Unaligned*>(in + i * in_stride);
        exchange_rows<kSide / 2>(row);
#pragma GCC unroll 16
        for (int i = 0; i < kSide; ++i) *reinterpret_cast<Unaligned*>(out + i * out_stride) = row[i];
    }
};

// Along the longer side.
template <class T>
void transpose_singly(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows, int64_t columns) {
    constexpr int64_t kSize = sizeof(T);
    const auto line = [](char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
        for (int64_t k = 0; k < count; ++k) {
            CLEW_KEEP_SCALAR;
            store<T>(to + k * to_step, load<T>(from + k * from_step));
        }
    };
    if (rows > columns)
        for (int64_t j = 0; j < columns; ++j) line(out + j * kSize, out_stride, in + j * in_stride, kSize, rows);
    else
        for (int64_t i = 0; i < rows; ++i) line(out + i * out_stride, kSize, in + i * kSize, in_stride, columns);
}

constexpr int64_t kTile = 64;  // a line of the cache is used up while it is there
constexpr int64_t kNarrow = 4;

template <class Piece>
CLEW_INLINE void in_tiles(int64_t rows, int64_t columns, int64_t side, const Piece& piece) {
    for (int64_t top = 0; top < rows; top += kTile)
        for (int64_t left = 0; left < columns; left += kTile)
            for (int64_t i = top; i < rows && i < top + kTile; i += side)
                for (int64_t j = left; j < columns && j < left + kTile; j += side) piece(i, j);
}

// What is left over at two sides is transposed by squares that reach back over others and write the same once more;
// only if it is narrow, singly.
template <class T, int kBytes>
void transpose_by_squares(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows,
                          int64_t columns) {
    constexpr int64_t kSide = Square<T, kBytes>::kSide, kSize = sizeof(T);
    const auto squared = [](int64_t length) { return length % kSide < kNarrow ? length - length % kSide : length; };
    const int64_t bottom = squared(rows), right = squared(columns);
    in_tiles(bottom, right, kSide, [&](int64_t i, int64_t j) {
        i = i + kSide > rows ? rows - kSide : i;
        j = j + kSide > columns ? columns - kSide : j;
        Square<T, kBytes>::transpose(out + i * out_stride + j * kSize, out_stride, in + j * in_stride + i * kSize,
                                     in_stride);
    });
    transpose_singly<T>(out + right * kSize, out_stride, in + right * in_stride, in_stride, bottom, columns - right);
    transpose_singly<T>(out + bottom * out_stride, out_stride, in + bottom * kSize, in_stride, rows - bottom, columns);
}

// By the largest squares that fit.
template <class T, int kBytes = kVectorBytes>
void transpose_block(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows, int64_t columns) {
    if constexpr (kBytes < 16) {
        transpose_singly<T>(out, out_stride, in, in_stride, rows, columns);
    } else {
        constexpr int64_t kSide = Square<T, kBytes>::kSide;
        if (rows >= kSide && columns >= kSide)
            transpose_by_squares<T, kBytes>(out, out_stride, in, in_stride, rows, columns);
        else
            transpose_block<T, kBytes / 2>(out, out_stride, in, in_stride, rows, columns);
    }
}
// Small and large elements one by one.
template <class T>
void transpose_elements(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows,
                        int64_t columns) {
    constexpr int64_t kSide = 16, kSize = sizeof(T);
    in_tiles(rows, columns, kSide, [&](int64_t i, int64_t j) {
        transpose_singly<T>(out + i * out_stride + j * kSize, out_stride, in + j * in_stride + i * kSize, in_stride,
                            rows - i < kSide ? rows - i : kSide, columns - j < kSide ? columns - j : kSide);
    });
}

void block(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows, int64_t columns,
           int64_t size) {
    const auto transpose = size == 8    ? transpose_block<uint64_t>
                           : size == 4  ? transpose_block<uint32_t>
                           : size == 2  ? transpose_elements<uint16_t>
                           : size == 16 ? transpose_elements<Complex<double>>
                                        : transpose_elements<uint8_t>;
    transpose(out, out_stride, in, in_stride, rows, columns);
}

}  // namespace

CLEW_EXPORT_TABLE(TransposeTable, transpose_loops, {.block = block});

}  // namespace clew::kernels
