// Places in memory that is laid out in advance.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace clew {

// Blocks of an arena that are free again, by size.
class Arena {
public:
    std::int64_t take(std::int64_t bytes) {
        const std::int64_t size = rounded(bytes);
        auto found = free_.lower_bound(size);
        while (found != free_.end() && found->second.empty()) ++found;
        if (found == free_.end() || found->first > 2 * size) return std::exchange(end_, end_ + size);
        const std::int64_t place = found->second.back();
        found->second.pop_back();
        if (found->first > size) larger_[place] = found->first;
        return place;
    }
    void give(std::int64_t place, std::int64_t bytes) {
        const auto known = larger_.find(place);
        free_[known == larger_.end() ? rounded(bytes) : known->second].push_back(place);
    }
    std::int64_t bytes() const { return end_; }

private:
    static std::int64_t rounded(std::int64_t bytes) { return (std::max<std::int64_t>(bytes, 1) + 63) / 64 * 64; }
    std::map<std::int64_t, std::vector<std::int64_t>> free_;  // places of each size; there are few sizes
    std::map<std::int64_t, std::int64_t> larger_;             // sizes of blocks that once held less
    std::int64_t end_ = 0;
};

}  // namespace clew
