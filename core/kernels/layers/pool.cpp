#include "core/kernels/layers/pool.h"

#include <algorithm>
#include <limits>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/layers/pool_loops.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

template <class T>
struct Of;
template <>
struct Of<float> {
    using Place = std::int32_t;
    static const auto& loops() { return pool_loops().float32; }
};
template <>
struct Of<double> {
    using Place = std::int64_t;
    static const auto& loops() { return pool_loops().float64; }
};

template <class Body>
void with_floating(DType dtype, const Body& body) {
    if (dtype == DType::Float32)
        body.template operator()<float>();
    else
        body.template operator()<double>();
}

Index in_plane(const Pool& p) { return p.axes[0].size * p.axes[1].size * p.axes[2].size; }
Index out_plane(const Pool& p) { return p.axes[0].results() * p.axes[1].results() * p.axes[2].results(); }

template <class Body>
void for_each_plane(const Pool& p, const Body& body) {
    const Index grain = std::max<Index>(1, (1 << 15) / std::max<Index>(1, in_plane(p)));
    parallel_for(p.planes, grain, [&](Index begin, Index end) {
        for (Index plane = begin; plane < end; ++plane) body(plane);
    });
}

// body(depth, row, first result of the row) for all rows of the results of one plane.
template <class Body>
void for_each_row(const Pool& p, const Body& body) {
    for (Index d = 0; d < p.axes[0].results(); ++d)
        for (Index h = 0; h < p.axes[1].results(); ++h) body(d, h, (d * p.axes[1].results() + h) * p.axes[2].results());
}

// body(row of the input, as an offset in its plane) for all rows under the windows of one row of results.
template <class Body>
void for_each_source_row(const Pool& p, Index depth, Index row, const Body& body) {
    const PoolAxis &planes = p.axes[0], &rows = p.axes[1];
    const auto d = static_cast<std::size_t>(depth), r = static_cast<std::size_t>(row);
    for (Index i = 0; i < planes.count[d]; ++i)
        for (Index j = 0; j < rows.count[r]; ++j)
            body(((planes.first[d] + i * planes.step) * rows.size + rows.first[r] + j * rows.step) * p.axes[2].size);
}

// body(result, offset in the row, stride, count): the results that have tap k of a regular axis.
template <class Body>
void for_each_tap(const PoolAxis& axis, const Body& body) {
    for (Index k = 0; k < axis.kernel; ++k) {
        const Index at = axis.offset + k * axis.step, stride = axis.stride;
        const Index begin = at < 0 ? (-at + stride - 1) / stride : 0;
        const Index end = at >= axis.size ? 0 : std::min(axis.results(), (axis.size - 1 - at) / stride + 1);
        if (begin < end) body(begin, at + begin * stride, stride, end - begin);
    }
}
// The same for any axis.
template <class Body>
void for_each_run(const PoolAxis& axis, const Body& body) {
    if (axis.kernel > 0) return for_each_tap(axis, body);
    for (Index i = 0; i < axis.results(); ++i)
        for (Index k = 0; k < axis.count[static_cast<std::size_t>(i)]; ++k)
            body(i, axis.first[static_cast<std::size_t>(i)] + k * axis.step, Index{1}, Index{1});
}

// The results of a row whose windows of 2 x 2 or 3 x 3 lie inside whole: they have loops of their own.
struct Interior {
    Index begin = 0, end = 0;
    int size = 0, stride = 0;
    Interior(const Pool& p, Index depth, Index row) {
        const PoolAxis &rows = p.axes[1], &columns = p.axes[2];
        const bool square = columns.kernel == rows.kernel && columns.kernel >= 2 && columns.kernel <= kMostPoolSize;
        const bool plain = columns.step == 1 && rows.step == 1 && columns.stride <= kMostPoolSize;
        const bool flat = p.axes[0].count[static_cast<std::size_t>(depth)] == 1;
        if (!square || !plain || !flat || rows.count[static_cast<std::size_t>(row)] != rows.kernel) return;
        size = static_cast<int>(columns.kernel);
        stride = static_cast<int>(columns.stride);
        begin = std::min(columns.results(), (stride - 1 - columns.offset) / stride);
        const Index last = columns.size - columns.kernel - columns.offset;  // where a window may start
        end = last < 0 ? begin : std::clamp(last / stride + 1, begin, columns.results());
    }
    Index start(const PoolAxis& columns) const { return begin * stride + columns.offset; }
};

Index first_in_plane(const Pool& p, Index depth, Index row) {
    return (p.axes[0].first[static_cast<std::size_t>(depth)] * p.axes[1].size +
            p.axes[1].first[static_cast<std::size_t>(row)]) *
           p.axes[2].size;
}

template <class T>
void max_of_planes(const Pool& p, T* out, std::int64_t* places, const T* in) {
    using Place = typename Of<T>::Place;
    const auto& loops = Of<T>::loops();
    const Index columns = p.axes[2].results(), width = p.axes[2].size;
    if (out_plane(p) == 0) return;
    for_each_plane(p, [&](Index plane) {
        const Scratch memory(static_cast<std::size_t>(columns) * sizeof(Place));
        Place* found = memory.as<Place>();
        const T* from = in + plane * in_plane(p);
        for_each_row(p, [&](Index depth, Index row, Index at) {
            T* best = out + plane * out_plane(p) + at;
            std::int64_t* to = places + plane * out_plane(p) + at;
            const Index start = first_in_plane(p, depth, row);
            const Interior inside(p, depth, row);
            if (inside.begin == 0 && inside.end == columns) {
                const Index first = start + inside.start(p.axes[2]);
                return loops.best_of_windows[inside.size - 2][inside.stride - 1](
                    best, to, from + first, static_cast<Place>(first), width, columns);
            }
            std::fill_n(best, columns, -std::numeric_limits<T>::infinity());
            const bool nothing = p.axes[0].count[static_cast<std::size_t>(depth)] == 0 ||
                                 p.axes[1].count[static_cast<std::size_t>(row)] == 0;
            for (Index i = 0; i < columns; ++i) {
                const auto column = static_cast<std::size_t>(i);
                const bool none = nothing || p.axes[2].count[column] == 0;
                found[i] = none ? Place{-1} : static_cast<Place>(start + p.axes[2].first[column]);
            }
            for_each_source_row(p, depth, row, [&](Index line) {
                for_each_run(p.axes[2], [&](Index first, Index offset, Index stride, Index count) {
                    loops.best_of(best + first, found + first, from + line + offset, static_cast<Place>(line + offset),
                                  stride, count);
                });
            });
            std::copy_n(found, columns, to);
        });
    });
}

// What means are divided by: a factor for each column, and one for the row.
template <class T>
struct Divisors {
    std::vector<T> of_column;
    explicit Divisors(const Pool& p) {
        for (const Index own : p.axes[2].divisor) of_column.push_back(p.divisor != 0 ? T(1) : static_cast<T>(own));
    }
    static T of_row(const Pool& p, Index depth, Index row) {
        return p.divisor != 0 ? static_cast<T>(p.divisor)
                              : static_cast<T>(p.axes[0].divisor[static_cast<std::size_t>(depth)] *
                                               p.axes[1].divisor[static_cast<std::size_t>(row)]);
    }
};

// One row under the windows of an axis that is not regular.
template <class T>
void add_windows(T* sums, const T* row, const PoolAxis& axis) {
    for (std::size_t i = 0; i < axis.first.size(); ++i)
        for (Index k = axis.first[i]; k < axis.first[i] + axis.count[i]; ++k) sums[i] += row[k];
}

template <class T>
void means_of_planes(const Pool& p, T* out, const T* in) {
    const auto& loops = Of<T>::loops();
    const Index columns = p.axes[2].results();
    if (out_plane(p) == 0) return;
    const Divisors<T> divisors(p);
    for_each_plane(p, [&](Index plane) {
        const T* from = in + plane * in_plane(p);
        for_each_row(p, [&](Index depth, Index row, Index at) {
            T* sums = out + plane * out_plane(p) + at;
            const Interior inside(p, depth, row);
            if (inside.begin == 0 && inside.end == columns) {
                loops.sum_of_windows[inside.size - 2][inside.stride - 1](
                    sums, from + first_in_plane(p, depth, row) + inside.start(p.axes[2]), p.axes[2].size, columns);
            } else {
                std::fill_n(sums, columns, T(0));
                for_each_source_row(p, depth, row, [&](Index line) {
                    if (p.axes[2].kernel == 0) return add_windows(sums, from + line, p.axes[2]);
                    for_each_tap(p.axes[2], [&](Index first, Index offset, Index stride, Index count) {
                        loops.add_to(sums + first, from + line + offset, stride, count);
                    });
                });
            }
            loops.divide(sums, Divisors<T>::of_row(p, depth, row), divisors.of_column.data(), columns);
        });
    });
}

template <class T>
void spread_over_planes(const Pool& p, T* in, const T* grad) {
    const Index columns = p.axes[2].results();
    if (out_plane(p) == 0) {
        std::fill_n(in, p.planes * in_plane(p), T(0));
        return;
    }
    const Divisors<T> divisors(p);
    for_each_plane(p, [&](Index plane) {
        const Scratch memory(static_cast<std::size_t>(columns) * sizeof(T));
        T* parts = memory.as<T>();
        T* to = in + plane * in_plane(p);
        std::fill_n(to, in_plane(p), T(0));
        for_each_row(p, [&](Index depth, Index row, Index at) {
            std::copy_n(grad + plane * out_plane(p) + at, columns, parts);
            Of<T>::loops().divide(parts, Divisors<T>::of_row(p, depth, row), divisors.of_column.data(), columns);
            for_each_source_row(p, depth, row, [&](Index line) {
                for_each_run(p.axes[2], [&](Index first, Index offset, Index stride, Index count) {
                    T* place = to + line + offset;
                    for (Index i = 0; i < count; ++i) place[i * stride] += parts[first + i];
                });
            });
        });
    });
}

}  // namespace

void max_pool(const Pool& pool, void* out, std::int64_t* places, const void* in) {
    CLEW_KERNEL();
    with_floating(pool.dtype,
                  [&]<class T>() { max_of_planes(pool, static_cast<T*>(out), places, static_cast<const T*>(in)); });
}

void max_pool_gradient(const Pool& pool, void* in, const void* grad, const std::int64_t* places) {
    CLEW_KERNEL();
    with_floating(pool.dtype, [&]<class T>() {
        for_each_plane(pool, [&](Index plane) {
            T* to = static_cast<T*>(in) + plane * in_plane(pool);
            std::fill_n(to, in_plane(pool), T(0));
            const Index first = plane * out_plane(pool);
            for (Index i = first; i < first + out_plane(pool); ++i)
                if (places[i] >= 0) to[places[i]] += static_cast<const T*>(grad)[i];
        });
    });
}

void mean_pool(const Pool& pool, void* out, const void* in) {
    CLEW_KERNEL();
    with_floating(pool.dtype,
                  [&]<class T>() { means_of_planes(pool, static_cast<T*>(out), static_cast<const T*>(in)); });
}

void mean_pool_gradient(const Pool& pool, void* in, const void* grad) {
    CLEW_KERNEL();
    with_floating(pool.dtype,
                  [&]<class T>() { spread_over_planes(pool, static_cast<T*>(in), static_cast<const T*>(grad)); });
}

}  // namespace clew::kernels
