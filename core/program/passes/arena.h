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
        if (found == free_.end() || found->first > 2 * size) return take_new(size);
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
    static constexpr std::int64_t kLine = 64;  // bytes
    // Parts of a line, or whole lines.
    static std::int64_t rounded(std::int64_t bytes) {
        if (bytes <= kLine / 4) return kLine / 4;
        return bytes <= kLine / 2 ? kLine / 2 : (bytes + kLine - 1) / kLine * kLine;
    }
    // Of a new line the other parts are free.
    std::int64_t take_new(std::int64_t size) {
        for (std::int64_t at = kLine - size; at > 0; at -= size) free_[size].push_back(end_ + at);
        return std::exchange(end_, end_ + std::max(size, kLine));
    }
    std::map<std::int64_t, std::vector<std::int64_t>> free_;  // places of each size; there are few sizes
    std::map<std::int64_t, std::int64_t> larger_;             // sizes of blocks that once held less
    std::int64_t end_ = 0;
};

}  // namespace clew
