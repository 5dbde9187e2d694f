#include "core/kernels/matrix/packed_product.h"

#include <algorithm>
#include <cstddef>

#include "core/base/threads.h"
#include "core/kernels/matrix/packed_gemm.h"
#include "core/kernels/matrix/transpose.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

// Note [Blocking of matrix products]
// Steps of the sum go in blocks of at most kSteps: a panel of each operand then fits a first-level cache. Panels of
// both operands are packed side by side by all threads, then tasks of some rows by some columns are worked off, whose
// part of a fits a second-level cache. All of that depends on sizes alone.
constexpr Index kSteps = 256, kMostRows = 3072, kMostColumns = 2048, kTaskRows = 192, kTaskColumns = 512;
constexpr Index kLine = 64;    // bytes of a line of the cache
constexpr Index kAfter = 128;  // as many are worth what is done to one element afterwards

// The size of `parts` even parts, in multiples of `unit`.
Index part_size(Index size, Index parts, Index unit) { return parts_of(parts_of(size, parts), unit) * unit; }

// All panels of one operand: `lines` of it, k steps.
template <class T>
struct Panels {
    Index lines, k, width;
    const T* from;
    Index line_stride, step;
    typename PackedGemm<T>::Pack pack;
    T* to;

    // What has to be packed: all panels, or if the others are taken in place, the one that is not full.
    void pack_all(bool in_place, Index grain) const {
        const Index first = in_place ? lines / width : 0;
        parallel_for(parts_of(lines, width) - first, grain, [&](Index begin, Index end) {
            for (Index i = first + begin; i < first + end; ++i)
                pack(std::min(width, lines - i * width), k, from + i * width * line_stride, line_stride, step,
                     to + i * width * k);
        });
    }
    PanelsOf<T> at(bool in_place) const {
        const T* const last = to + lines / width * width * k;
        if (in_place) return {from, width * line_stride, line_stride, step, last};
        return {to, width * k, 1, width, last};
    }
};

// Note [Panels in place]. At a stride of whole pages the lines of a panel would push each other out of the caches; at a
// half or an eighth of a page, those of a panel that is read again and again out of the first-level one. Of rows all of
// a line is used, of steps a part.
constexpr Index kFewRows = 512, kFewSteps = 192, kFewest = 64, kPage = 4096;
template <class T>
bool is_good_in_place(Index lines_of_the_other, Index stride, Index conflicts, Index most) {
    const Index bytes = stride * static_cast<Index>(sizeof(T));
    return lines_of_the_other <= most && bytes % kPage != 0 &&
           (lines_of_the_other <= kFewest || bytes % conflicts != 0);
}

// What is to be done once the result of a block is there.
struct Afterwards {
    const BlockWork* work;  // null: nothing
    Index row, column;
};

template <class T>
void packed_block(const PackedGemm<T>& loops, Index m, Index n, Index k, const PanelsOf<T>& a, const PanelsOf<T>& b,
                  const Matrix<T>& out, T alpha, const Added<T>& added, const Afterwards& then) {
    const Index down = parts_of(m, kTaskRows), rows = part_size(m, down, loops.rows);
    const Index wanted = std::max(parts_of(n, kTaskColumns), std::min<Index>(8, m * n * k / kTaskWork) / down);
    const Index columns = part_size(n, std::max<Index>(wanted, 1), loops.columns), across = parts_of(n, columns);
    const Index each = rows * columns * (then.work ? k + kAfter : k);
    parallel_for(down * across, std::max<Index>(1, kTaskWork / each), [&](Index begin, Index end) {
        for (Index task = begin; task < end; ++task) {
            const Index row = task / across * rows, column = task % across * columns;
            if (row >= m) return;
            const Index down = std::min(rows, m - row), along = std::min(columns, n - column);
            PanelsOf<T> left = a, right = b;
            left.data += row / loops.rows * a.panel;
            right.data += column / loops.columns * b.panel;
            loops.product(
                down, along, k, left, right,
                {out.data + row * out.row_stride + column * out.column_stride, out.row_stride, out.column_stride},
                alpha,
                {added.data + row * added.row_stride + column * out.column_stride, added.row_stride, added.factor});
            if (then.work) then.work->after(then.row + row, down, then.column + column, along);
        }
    });
}

// The sizes of blocks, and the memory for their panels.
template <class T>
struct Blocks {
    Blocks(Index m, Index n, Index k)
        : steps(part_size(k, parts_of(k, kSteps), 1)),
          rows(part_size(m, parts_of(m, kMostRows), packed_gemm().of<T>().rows)),
          columns(part_size(n, parts_of(n, kMostColumns), packed_gemm().of<T>().columns)) {}
    Index steps, rows, columns;
    Index panels() const { return part_size((rows + columns) * steps, 1, kLine / Index{sizeof(T)}); }  // elements
};

template <class T>
void product_in_blocks(Index m, Index n, Index k, const Matrix<const T>& a, const Matrix<const T>& b,
                       const Matrix<T>& out, T alpha, T beta, const T* added_row, const BlockWork* work, T* panels) {
    const PackedGemm<T>& loops = packed_gemm().of<T>();
    const auto [steps, rows, columns] = Blocks<T>(m, n, k);
    T* const packed_b = panels;
    T* const packed_a = packed_b + columns * steps;
    const bool a_in_place = a.column_stride == 1
                                ? is_good_in_place<T>(n, a.row_stride, kPage, kFewRows)
                                : a.row_stride == 1 && is_good_in_place<T>(n, a.column_stride, kPage / 2, kFewSteps);
    const Index conflicts = a.column_stride == 1 ? kPage / 2 : kPage / 8;
    const bool b_in_place = b.column_stride == 1 && is_good_in_place<T>(m, b.row_stride, conflicts, kFewRows);
    for (Index column = 0; column < n; column += columns)
        for (Index step = 0; step < k; step += steps) {
            const Index terms = std::min(steps, k - step);
            const Panels<T> right{std::min(columns, n - column),
                                  terms,
                                  loops.columns,
                                  b.data + step * b.row_stride + column * b.column_stride,
                                  b.column_stride,
                                  b.row_stride,
                                  loops.pack_b,
                                  packed_b};
            for (Index row = 0; row < m; row += rows) {
                const Panels<T> left{std::min(rows, m - row),
                                     terms,
                                     loops.rows,
                                     a.data + row * a.row_stride + step * a.column_stride,
                                     a.row_stride,
                                     a.column_stride,
                                     loops.pack_a,
                                     packed_a};
                // A panel of b is about three of a.
                const Index grain = std::max<Index>(1, (Index{1} << 16) / (terms * loops.rows));
                left.pack_all(a_in_place, grain);
                if (row == 0) right.pack_all(b_in_place, std::max<Index>(1, grain / 3));
                const Matrix<T> to{out.data + row * out.row_stride + column * out.column_stride, out.row_stride,
                                   out.column_stride};
                Added<T> added{to.data, to.row_stride, step == 0 ? beta : T(1)};
                if (added_row && step == 0) added = {added_row + column, 0, beta};
                packed_block(loops, left.lines, right.lines, terms, left.at(a_in_place), right.at(b_in_place), to,
                             alpha, added, {step + steps >= k ? work : nullptr, row, column});
            }
        }
}

template <class T>
void transpose(Index rows, Index columns, T* to, Index to_row, const T* from, Index from_row) {
    constexpr Index size = sizeof(T);
    transpose_loops().block(reinterpret_cast<char*>(to), to_row * size, reinterpret_cast<const char*>(from),
                            from_row * size, rows, columns, size);
}

// Note [Few rows]
// Packing w for x @ w.T takes a good part of the time if x has few rows. Its transpose, w @ x.T, leaves w in place and
// packs x, and each of its elements adds the same terms in the same order, so the bits are the same. It pays if x and
// the result, which are transposed then, are smaller than w.
template <class T>
bool has_few_rows(Index m, Index n, Index k, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& out,
                  T beta) {
    const bool fits = a.column_stride == 1 && b.column_stride != 1 && b.row_stride == 1 && out.column_stride == 1;
    return fits && m * k + m * n * (beta == 0 ? 1 : 2) < n * k &&
           is_good_in_place<T>(m, b.column_stride, kPage, kFewRows);
}

template <class T>
void few_rows_product(Index m, Index n, Index k, const Matrix<const T>& a, const Matrix<const T>& b,
                      const Matrix<T>& out, T alpha, T beta, const T* added_row) {
    const Index panels = Blocks<T>(n, m, k).panels();
    const Scratch memory(static_cast<std::size_t>(panels + n * m) * sizeof(T));
    T* const across = memory.as<T>() + panels;
    if (added_row)
        for (Index column = 0; column < n; ++column) std::fill_n(across + column * m, m, added_row[column]);
    else if (beta != 0)
        transpose<T>(n, m, across, m, out.data, out.row_stride);
    product_in_blocks<T>(n, m, k, {b.data, b.column_stride, b.row_stride}, {a.data, a.column_stride, a.row_stride},
                         {across, m, 1}, alpha, beta, nullptr, nullptr, memory.as<T>());
    transpose<T>(m, n, out.data, out.row_stride, across, m);
}

}  // namespace

template <class T>
void packed_product(Index m, Index n, Index k, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& out,
                    T alpha, T beta, const T* added_row, const BlockWork* work) {
    if (!work && has_few_rows(m, n, k, a, b, out, beta))
        return few_rows_product(m, n, k, a, b, out, alpha, beta, added_row);
    const Scratch memory(static_cast<std::size_t>(Blocks<T>(m, n, k).panels()) * sizeof(T));
    product_in_blocks(m, n, k, a, b, out, alpha, beta, added_row, work, memory.as<T>());
}

template void packed_product(Index, Index, Index, const Matrix<const float>&, const Matrix<const float>&,
                             const Matrix<float>&, float, float, const float*, const BlockWork*);
template void packed_product(Index, Index, Index, const Matrix<const double>&, const Matrix<const double>&,
                             const Matrix<double>&, double, double, const double*, const BlockWork*);

}  // namespace clew::kernels
