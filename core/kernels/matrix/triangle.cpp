#include <algorithm>
#include <cstring>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/memory/index.h"
#include "core/kernels/memory/walk.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

template <class T>
void move_or_clear(char* to, const char* from, Index begin, Index end, Index to_step, Index step, bool keep) {
    constexpr auto size = static_cast<Index>(sizeof(T));
    if (to_step == size && (step == size || !keep)) {
        const auto bytes = static_cast<std::size_t>((end - begin) * size);
        if (keep)
            std::memmove(to + begin * size, from + begin * size, bytes);
        else
            std::memset(to + begin * size, 0, bytes);
        return;
    }
    for (Index i = begin; i < end; ++i) {
        T value{};
        if (keep) std::memcpy(&value, from + i * step, sizeof(T));
        std::memcpy(to + i * to_step, &value, sizeof(T));
    }
}

template <class T>
void triangle(const View& out, const View& in, Index diagonal, bool lower) {
    Walk walk(out.ndim, out.sizes);
    walk.add(out);
    walk.add(in);
    const int last = out.ndim - 1;
    const Index to_step = walk.stride(last, 0), step = walk.stride(last, 1);
    const Index rows = out.sizes[last - 1], columns = walk.take_last_axis();
    // Beyond the corners all diagonals are alike.
    diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
    parallel_for(walk.count(), std::max<Index>(1, 32768 / std::max<Index>(columns, 1)), [&](Index begin, Index end) {
        Index row = begin % rows;
        const Index to_row = walk.stride(last - 1, 0), from_row = walk.stride(last - 1, 1);
        walk.run(begin, end, [&](char* const* at, Index length) {
            for (Index i = 0; i < length; ++i, row = row + 1 == rows ? 0 : row + 1) {
                char* to = at[0] + i * to_row;
                const char* from = at[1] + i * from_row;
                const Index border = std::clamp<Index>(row + diagonal + (lower ? 1 : 0), 0, columns);
                move_or_clear<T>(to, from, 0, border, to_step, step, lower);
                move_or_clear<T>(to, from, border, columns, to_step, step, !lower);
            }
        });
    });
}

void triangle(const View& out, const View& in, Index diagonal, bool lower) {
    with_size(out.dtype, [&]<class T>() { triangle<T>(out, in, diagonal, lower); });
}

}  // namespace

void tril(const View& out, const View& in, std::int64_t diagonal) {
    CLEW_KERNEL();
    triangle(out, in, diagonal, true);
}
void triu(const View& out, const View& in, std::int64_t diagonal) {
    CLEW_KERNEL();
    triangle(out, in, diagonal, false);
}

}  // namespace clew::kernels
