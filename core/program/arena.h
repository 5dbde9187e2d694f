// Places in memory that is laid out in advance.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace clew {

// Blocks of an arena that are free again, by size.
class Arena {
public:
    std::int64_t take(std::int64_t bytes) {
        const std::int64_t size = rounded(bytes);
        const auto found = free_.lower_bound(size);
        if (found == free_.end() || found->first > 2 * size) return std::exchange(end_, end_ + size);
        const std::int64_t place = found->second;
        sizes_[place] = found->first;
        free_.erase(found);
        return place;
    }
    void give(std::int64_t place, std::int64_t bytes) {
        const auto known = sizes_.find(place);
        free_.emplace(known == sizes_.end() ? rounded(bytes) : known->second, place);
    }
    std::int64_t bytes() const { return end_; }

private:
    static std::int64_t rounded(std::int64_t bytes) { return (std::max<std::int64_t>(bytes, 1) + 63) / 64 * 64; }
    std::multimap<std::int64_t, std::int64_t> free_;  // size, place
    std::map<std::int64_t, std::int64_t> sizes_;      // of blocks that are larger than what was asked for
    std::int64_t end_ = 0;
};

}  // namespace clew
