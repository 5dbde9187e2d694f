#include "core/kernels/reduction/sort.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/elementwise/lanes.h"
#include "core/kernels/memory/walk.h"
#include "core/kernels/reduction/radix.h"
#include "core/kernels/reduction/scan_loops.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

// NaN is greater than every number, and equal to itself.
template <class T>
struct Less {
    bool operator()(T a, T b) const {
        if constexpr (is_floating(dtype_of<T>::value))
            return a < b || (b != b && a == a);
        else
            return a < b;
    }
};

// An element of a lane with the place it came from. Ties go by place, which makes any sort a stable one.
template <class T>
struct Item {
    T value;
    Index place;
};
template <class T>
struct Ascending {
    bool operator()(const Item<T>& a, const Item<T>& b) const {
        const Less<T> less;
        return less(a.value, b.value) || (!less(b.value, a.value) && a.place < b.place);
    }
};
template <class T>
struct Descending {
    bool operator()(const Item<T>& a, const Item<T>& b) const {
        const Less<T> less;
        return less(b.value, a.value) || (!less(a.value, b.value) && a.place < b.place);
    }
};

template <class T>
void load(std::vector<Item<T>>& items, const Lane<const T>& in) {
    items.resize(static_cast<std::size_t>(in.length));
    for (Index i = 0; i < in.length; ++i) items[static_cast<std::size_t>(i)] = {in[i], i};
}
template <class T>
void store(const std::vector<Item<T>>& items, const Lane<T>& values, const Lane<Index>& indices) {
    for (Index i = 0; i < values.length; ++i) {
        const Item<T>& item = items[static_cast<std::size_t>(i)];
        if (values.data != nullptr) values[i] = item.value;
        if (indices.data != nullptr) indices[i] = item.place;
    }
}

template <class T>
void select(std::vector<Item<T>>& items, Index k, bool largest, bool sorted) {
    const auto begin = items.begin(), end = items.end(), middle = begin + k;
    const auto by = [&](auto order) {
        if (k * 64 <= end - begin)
            return std::partial_sort(begin, middle, end, order);  // a heap of k sees most but once
        if (k < end - begin) std::nth_element(begin, middle, end, order);
        if (sorted) std::sort(begin, middle, order);
    };
    if (largest)
        by(Descending<T>{});
    else
        by(Ascending<T>{});
}

// The best `k` of a long lane in order: a list of these is kept, and what does not beat the last of them is skipped,
// many elements at a time.
constexpr Index kShortList = 64;
template <class T>
void list_best(std::vector<Item<T>>& items, const Lane<const T>& in, Index k, bool largest) {
    const auto first_better = scan_loops().first_better[largest][static_cast<int>(dtype_of<T>::value)];
    const auto keep = [&](auto order) {
        Item<T> best[kShortList];
        Index size = 0;
        for (Index i = 0; i < in.length; ++i) {
            if (size == k) {
                i += first_better(reinterpret_cast<const char*>(in.data + i), in.length - i, &best[k - 1].value);
                if (i == in.length) break;
                --size;
            }
            const Item<T> item{in[i], i};
            Index at = size++;
            for (; at > 0 && order(item, best[at - 1]); --at) best[at] = best[at - 1];
            best[at] = item;
        }
        items.assign(best, best + size);
    };
    if (largest)
        keep(Descending<T>{});
    else
        keep(Ascending<T>{});
}

template <class Entry>
struct SortRoom {
    std::vector<Entry> entries, scratch;
};

template <class T, class Entry>
void sort_lane(SortRoom<Entry>& room, const Lane<T>& values, const Lane<Index>& indices, const Lane<const T>& in,
               bool descending) {
    auto& [entries, scratch] = room;
    entries.resize(static_cast<std::size_t>(in.length));
    for (Index i = 0; i < in.length; ++i) entries[static_cast<std::size_t>(i)] = Entry(sort_key(in[i], descending), i);
    radix_sort(entries, scratch, sizeof(T));
    Index i = 0;
    for (const Entry& entry : entries) {
        if (values.data != nullptr) values[i] = in[entry.place()];
        if (indices.data != nullptr) indices[i] = entry.place();
        ++i;
    }
}

// The place in order (from 0) that is the median's.
template <class T>
Index median_rank(const std::vector<Item<T>>& items, bool ignore_nan) {
    const auto size = static_cast<Index>(items.size());
    const Index nans =
        std::count_if(items.begin(), items.end(), [](const Item<T>& item) { return item.value != item.value; });
    if (nans == 0) return (size - 1) / 2;
    if (ignore_nan && nans < size) return (size - nans - 1) / 2;
    return size - nans;  // the first NaN: they come last, by place
}

}  // namespace

void sort(const View& values, const View& indices, const View& in, int axis, bool descending) {
    CLEW_KERNEL();
    with_real_type(in.dtype, [&]<class T>() {
        const auto sort_by = [&]<class Entry>() {
            for_each_lane<T, SortRoom<Entry>>(
                values, indices, in, axis,
                [descending](SortRoom<Entry>& room, const auto& to, const auto& places, const auto& from) {
                    sort_lane<T>(room, to, places, from, descending);
                });
        };
        const Index length = in.ndim == 0 ? 1 : in.sizes[axis];
        if (sizeof(T) < 8 && length <= std::numeric_limits<std::uint32_t>::max())
            sort_by.template operator()<ShortEntry>();
        else
            sort_by.template operator()<LongEntry>();
    });
}

void topk(const View& values, const View& indices, const View& in, int axis, bool largest, bool sorted) {
    CLEW_KERNEL();
    with_real_type(in.dtype, [&]<class T>() {
        for_each_lane<T, std::vector<Item<T>>>(
            values, indices, in, axis, [=](auto& items, auto to, auto places, auto from) {
                if (to.length * 16 <= from.length && to.length <= kShortList && from.stride == 1) {
                    list_best<T>(items, from, to.length, largest);
                } else {
                    load<T>(items, from);
                    select<T>(items, to.length, largest, sorted);
                }
                store<T>(items, to, places);
            });
    });
}

void kthvalue(const View& values, const View& indices, const View& in, int axis, std::int64_t k) {
    CLEW_KERNEL();
    with_real_type(in.dtype, [&]<class T>() {
        for_each_lane<T, std::vector<Item<T>>>(
            values, indices, in, axis, [k](auto& items, auto to, auto places, auto from) {
                load<T>(items, from);
                std::nth_element(items.begin(), items.begin() + (k - 1), items.end(), Ascending<T>{});
                items.front() = items[static_cast<std::size_t>(k - 1)];
                store<T>(items, to, places);
            });
    });
}

void median(const View& values, const View& indices, const View& in, int axis, bool ignore_nan) {
    CLEW_KERNEL();
    with_real_type(in.dtype, [&]<class T>() {
        for_each_lane<T, std::vector<Item<T>>>(
            values, indices, in, axis, [ignore_nan](auto& items, auto to, auto places, auto from) {
                load<T>(items, from);
                const Index rank = median_rank<T>(items, ignore_nan);
                std::nth_element(items.begin(), items.begin() + rank, items.end(), Ascending<T>{});
                items.front() = items[static_cast<std::size_t>(rank)];
                store<T>(items, to, places);
            });
    });
}

void searchsorted(const View& out, const View& boundaries, const View& values, bool right) {
    CLEW_KERNEL();
    with_real_type(values.dtype, [&]<class T>() {
        const Lane<const T> sorted{static_cast<const T*>(boundaries.data), boundaries.sizes[0], boundaries.strides[0]};
        Walk walk(values.ndim, values.sizes);
        walk.add(out);
        walk.add(values);
        walk.merge();
        const Index out_step = walk.stride(walk.ndim() - 1, 0), step = walk.stride(walk.ndim() - 1, 1);
        const auto find = [&](T value) {
            Index low = 0, high = sorted.length;
            while (low < high) {
                const Index middle = low + (high - low) / 2;
                // NaN, among the boundaries or looked for, is above all: its comparisons are false.
                if (right ? !(sorted[middle] > value) : !(sorted[middle] >= value))
                    low = middle + 1;
                else
                    high = middle;
            }
            return low;
        };
        parallel_for(walk.count(), 4096, [&](Index begin, Index end) {
            walk.run(begin, end, [&](char* const* at, Index length) {
                for (Index i = 0; i < length; ++i)
                    *reinterpret_cast<Index*>(at[0] + i * out_step) =
                        find(*reinterpret_cast<const T*>(at[1] + i * step));
            });
        });
    });
}

}  // namespace clew::kernels
