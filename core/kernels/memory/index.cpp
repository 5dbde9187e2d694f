#include "core/kernels/memory/index.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/memory/index_loops.h"
#include "core/kernels/memory/iterate.h"
#include "core/kernels/memory/walk.h"

// Note [One loop for all that is indexed]
// index_get and index_put are the general case, and the rest are ways to call them: index_select is a gather whose
// index is broadcast over the other axes, scatter is an index_put whose `out` is seen in the shape of the index, a fill
// is a put of one broadcast element. A walk visits the positions; at each, the indices give an offset into the moved
// view, and a block is transferred: the last axis if no index varies along it (a row of an embedding), else one
// element.

namespace clew::kernels {
namespace {

using Index = std::int64_t;
constexpr Index kWork = 32768;  // elements that are worth a thread

struct Block {
    Index length;
    Index strides[2];  // of the fixed and of the moved view, in bytes
};

template <class T>
void copy_block(char* to, char* from, Index length, Index to_stride, Index from_stride) {
    if (to_stride == sizeof(T) && from_stride == sizeof(T)) {
        std::memcpy(to, from, static_cast<std::size_t>(length) * sizeof(T));
        return;
    }
    for (Index i = 0; i < length; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(T));
}

// What happens at one position: from the moved view to the fixed one, the other way, or added the other way.
// `row` does it for a whole row of positions.
template <class T>
struct Get {
    IndexedRow row;
    void one(char* fixed, char* moved) const { std::memcpy(fixed, moved, sizeof(T)); }
    void many(char* fixed, char* moved, const Block& b) const {
        copy_block<T>(fixed, moved, b.length, b.strides[0], b.strides[1]);
    }
};
template <class T>
struct Put {
    IndexedRow row;
    void one(char* fixed, char* moved) const { std::memcpy(moved, fixed, sizeof(T)); }
    void many(char* fixed, char* moved, const Block& b) const {
        copy_block<T>(moved, fixed, b.length, b.strides[1], b.strides[0]);
    }
};
template <class T>
struct Add {
    IndexedRow row;
    Loop loop;
    void one(char* fixed, char* moved) const {
        T& to = *reinterpret_cast<T*>(moved);
        const T value = *reinterpret_cast<const T*>(fixed);
        if constexpr (std::is_same_v<T, bool>)
            to = to || value;
        else
            to = static_cast<T>(to + value);
    }
    void many(char* fixed, char* moved, const Block& b) const {
        char* const data[] = {moved, fixed};
        const Index strides[] = {b.strides[1], b.strides[0]};
        loop(data, strides, b.length);
    }
};

// The first position at which an index is out of bounds, looked for piece by piece.
class Positions {
public:
    // Whether one of begin ... end is; `view` is the number of the index in the walk.
    bool look(const Walk& walk, int view, Index begin, Index end, std::uint64_t shift, std::uint64_t limit) {
        const Index step = walk.ndim() > 0 ? walk.stride(walk.ndim() - 1, view) : 0;
        Index seen = begin;
        bool found = false;
        walk.run(begin, end, [&](char* const* at, Index length) {
            found = found || look_at({at[view], step, length}, seen, shift, limit);
            seen += length;
        });
        return found;
    }
    // The same for one row of the index, of which `begin` is the first position.
    struct Row {
        const char* data;
        Index step, length;
    };
    bool look_at(const Row& row, Index begin, std::uint64_t shift, std::uint64_t limit) {
        if (index_loops().in_bounds(row.data, row.step, row.length, shift, limit)) return false;
        Index bad = 0;
        while (*reinterpret_cast<const std::uint64_t*>(row.data + bad * row.step) + shift < limit) ++bad;
        bad += begin;
        for (Index least = first_.load(); bad < least && !first_.compare_exchange_weak(least, bad);) {
        }
        return true;
    }
    Index first() const { return first_ == none ? -1 : first_.load(); }

private:
    static constexpr Index none = std::numeric_limits<Index>::max();
    std::atomic<Index> first_{none};
};

class Indexed {
public:
    Indexed(int ndim, const Index* sizes, const View& fixed, const View& moved, const AxisIndex* indices, int count)
        : walk_(ndim, sizes), indices_(indices), count_(count), item_(static_cast<Index>(item_size(moved.dtype))) {
        walk_.add(fixed);
        walk_.add(moved);
        for (int k = 0; k < count; ++k) walk_.add(indices[k].index);
        walk_.merge();
        const int last = walk_.ndim() - 1;
        bool varies = walk_.count() == 0;
        for (int k = 0; k < count; ++k) varies = varies || walk_.stride(last, 2 + k) != 0;
        if (varies) return;
        block_ = {walk_.size(last), {walk_.stride(last, 0), walk_.stride(last, 1)}};
        walk_.take_last_axis();
    }

    // Positions may be visited at once: each is read from anywhere but written in its own place.
    template <class Move>
    void run_over_positions(const Move& move) const {
        parallel_for(walk_.count(), std::max<Index>(1, kWork / block_.length),
                     [&](Index begin, Index end) { run(begin, end, move, block_, 0); });
    }

    // The same, for one index, unless it leads out of bounds: the first position where it does so, or -1. A piece is
    // looked through just before it is used, while the cache has it.
    template <class Move>
    Index run_checked(const Move& move) const {
        Positions outside;
        parallel_for(walk_.count(), std::max<Index>(1, kWork / block_.length), [&](Index begin, Index end) {
            if (!outside.look(walk_, 2, begin, end, 0, static_cast<std::uint64_t>(indices_[0].size)))
                run(begin, end, move, block_, 0);
        });
        const Index first = outside.first();
        return first < 0 ? first : first * block_.length;
    }

    // Positions must be visited in order, for several may be written to one place. But a long block can be cut, by the
    // number of threads even: each element of it is worked out alone.
    template <class Move>
    void run_in_order(const Move& move) const {
        constexpr Index shortest = 64;
        const Index share = (block_.length + num_threads() - 1) / num_threads();
        const Index piece = walk_.count() * block_.length < kWork ? block_.length : std::max(shortest, share);
        parallel_for(block_.length, piece, [&](Index begin, Index end) {
            run(0, walk_.count(), move, {end - begin, {block_.strides[0], block_.strides[1]}}, begin);
        });
    }

private:
    template <class Move>
    void run(Index begin, Index end, const Move& move, const Block& block, Index skipped) const {
        Index steps[kMaxWalked] = {};
        if (walk_.ndim() > 0)
            for (int v = 0; v < 2 + count_; ++v) steps[v] = walk_.stride(walk_.ndim() - 1, v);
        walk_.run(begin, end, [&](char* const* at, Index length) {
            if (count_ == 1 && block.length == 1)
                return move.row(at, steps, indices_[0].size, indices_[0].stride * item_, length);
            for (Index j = 0; j < length; ++j) {
                Index places = 0;
                for (int k = 0; k < count_; ++k)
                    places += from_end(at[2 + k] + j * steps[2 + k], indices_[k].size) * indices_[k].stride;
                char* const fixed = at[0] + skipped * block.strides[0] + j * steps[0];
                char* const moved = at[1] + skipped * block.strides[1] + j * steps[1] + places * item_;
                if (block.length == 1)
                    move.one(fixed, moved);
                else
                    move.many(fixed, moved, block);
            }
        });
    }

    static Index from_end(const char* at, Index size) {
        const Index place = *reinterpret_cast<const Index*>(at);
        return place < 0 ? place + size : place;
    }

    Walk walk_;
    const AxisIndex* indices_;
    int count_;
    Index item_;
    Block block_{1, {0, 0}};
};

// The type to add elements in: unsigned for integers, where overflow wraps.
template <class T>
struct Wrapping {
    using type = T;
};
template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct Wrapping<T> {
    using type = std::make_unsigned_t<T>;
};

}  // namespace

void index_get(const View& out, const View& in, const AxisIndex* indices, int count) {
    CLEW_KERNEL();
    const Indexed indexed(out.ndim, out.sizes, out, in, indices, count);
    const IndexedRow row = index_loops().get[size_slot(out.dtype)];
    return with_size(out.dtype, [&]<class T>() { return indexed.run_over_positions(Get<T>{row}); });
}

std::int64_t index_get_checked(const View& out, const View& in, const AxisIndex& index) {
    CLEW_KERNEL(-1);
    const Indexed indexed(out.ndim, out.sizes, out, in, &index, 1);
    const IndexedRow row = index_loops().get[size_slot(out.dtype)];
    return with_size(out.dtype, [&]<class T>() { return indexed.run_checked(Get<T>{row}); });
}

std::int64_t take(const View& out, const View& in, const View& index) {
    CLEW_KERNEL(-1);
    const Index item = static_cast<Index>(item_size(out.dtype)), stride = in.strides[0] * item, size = in.sizes[0];
    const Index steps[] = {item, 0, sizeof(Index)};
    const IndexedRow row = index_loops().get[size_slot(out.dtype)];
    Positions outside;
    parallel_for(element_count(index), kWork, [&](Index begin, Index end) {
        char* const at[] = {static_cast<char*>(out.data) + begin * steps[0], static_cast<char*>(in.data),
                            static_cast<char*>(index.data) + begin * steps[2]};
        const auto shift = static_cast<std::uint64_t>(size);
        if (!outside.look_at({at[2], steps[2], end - begin}, begin, shift, 2 * shift))
            row(at, steps, size, stride, end - begin);
    });
    return outside.first();
}

void index_put(const View& out, const AxisIndex* indices, int count, const View& values, bool accumulate) {
    CLEW_KERNEL();
    const Indexed indexed(out.ndim, out.sizes, values, out, indices, count);
    if (accumulate)
        return with_any_type(out.dtype, [&]<class T>() {
            const int dtype = static_cast<int>(out.dtype);
            using Sum = typename Wrapping<T>::type;
            indexed.run_in_order(Add<Sum>{index_loops().put_add[dtype], index_loops().add[dtype]});
        });
    const IndexedRow row = index_loops().put[size_slot(out.dtype)];
    return with_size(out.dtype, [&]<class T>() { return indexed.run_in_order(Put<T>{row}); });
}

std::int64_t check_bounds(const View& index, std::int64_t size, bool allow_negative) {
    CLEW_KERNEL(-1);
    Walk walk(index.ndim, index.sizes);
    walk.add(index);
    walk.merge();
    const auto shift = static_cast<std::uint64_t>(allow_negative ? size : 0);
    const auto limit = static_cast<std::uint64_t>(size) + shift;
    Positions outside;
    parallel_for(walk.count(), kWork, [&](Index begin, Index end) { outside.look(walk, 0, begin, end, shift, limit); });
    return outside.first();
}

}  // namespace clew::kernels
