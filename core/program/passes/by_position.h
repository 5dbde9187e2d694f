// Items in the order of positions.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace clew {

// For each position some items, each of which is at one.
class ByPosition {
public:
    ByPosition() = default;
    ByPosition(std::size_t positions, std::size_t items) : first_(positions, -1), next_(items) {}
    void add_first(int position, std::size_t item) {
        next_[item] = std::exchange(first_[static_cast<std::size_t>(position)], static_cast<int>(item));
    }
    template <class Body>
    void each(std::size_t position, const Body& body) const {
        if (position >= first_.size()) return;
        for (int item = first_[position]; item >= 0; item = next_[static_cast<std::size_t>(item)])
            body(static_cast<std::size_t>(item));
    }

private:
    std::vector<int> first_, next_;
};

}  // namespace clew
