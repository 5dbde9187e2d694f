// Sorting by the bytes of a key, the lowest first: stable, and in time proportional to the length.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace clew::kernels {

// An element as an unsigned number of the same order: NaN after all others, zeros equal. With `descending` the other
// way round, so that equal elements keep their order either way.
template <class T>
auto sort_key(T x, bool descending) {
    using Key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
    Key key;
    if constexpr (std::is_floating_point_v<T>) {
        const Key bits = std::bit_cast<Key>(x + T(0));  // -0 becomes 0
        key = (bits & sign) != 0 ? ~bits : bits | sign;
        if (x != x) key = ~Key{0};
    } else if constexpr (std::is_signed_v<T>) {
        key = static_cast<Key>(x) ^ sign;
    } else {
        key = static_cast<Key>(x);
    }
    return descending ? static_cast<Key>(~key) : key;
}

// A key with the place it came from: short keys share a word with it.
struct ShortEntry {
    using Count = std::uint32_t;
    std::uint64_t word;
    ShortEntry() = default;
    ShortEntry(std::uint32_t key, std::int64_t place)
        : word(std::uint64_t{key} << 32 | static_cast<std::uint32_t>(place)) {}
    std::uint32_t key() const { return static_cast<std::uint32_t>(word >> 32); }
    std::int64_t place() const { return static_cast<std::int64_t>(word & 0xFFFFFFFF); }
    bool operator<(const ShortEntry& other) const { return word < other.word; }
};
struct LongEntry {
    using Count = std::uint64_t;
    std::uint64_t key_;
    std::int64_t place_;
    LongEntry() = default;
    LongEntry(std::uint64_t key, std::int64_t place) : key_(key), place_(place) {}
    std::uint64_t key() const { return key_; }
    std::int64_t place() const { return place_; }
    bool operator<(const LongEntry& other) const {
        return key_ < other.key_ || (key_ == other.key_ && place_ < other.place_);
    }
};

// Sorts `entries`, which are in the order of their places, by the lowest `bytes` bytes of their keys.
template <class Entry>
void radix_sort(std::vector<Entry>& entries, std::vector<Entry>& scratch, int bytes) {
    constexpr std::size_t few = 64;  // below which counting takes longer than comparing
    if (entries.size() < few) return std::sort(entries.begin(), entries.end());
    using Count = typename Entry::Count;
    Count starts[8][256] = {};
    for (const Entry& entry : entries) {
        auto key = entry.key();
        for (int byte = 0; byte < bytes; ++byte, key >>= 8) ++starts[byte][key & 0xFF];
    }
    scratch.resize(entries.size());
    for (int byte = 0; byte < bytes; ++byte) {
        const int shift = 8 * byte;
        if (starts[byte][entries.front().key() >> shift & 0xFF] == entries.size()) continue;  // all alike
        Count sum = 0;
        for (Count& start : starts[byte]) sum += std::exchange(start, sum);
        for (const Entry& entry : entries) scratch[starts[byte][entry.key() >> shift & 0xFF]++] = entry;
        entries.swap(scratch);
    }
}

}  // namespace clew::kernels
