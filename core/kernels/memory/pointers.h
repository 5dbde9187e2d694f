// Pointers that move by constants.
#pragma once
#include <vector>

#include "core/kernels/memory/pointer_loops.h"

namespace clew::kernels {

// Many of them. Those that lie side by side are moved together.
class MovingPointers {
public:
    // By so many bytes each time; what is added twice moves by the sum.
    void add(char** pointer, std::int64_t bytes) { all_.push_back({pointer, bytes}); }
    void seal();
    std::size_t bytes() const { return rows_.capacity() * sizeof(Row) + bytes_.capacity() * sizeof(std::int64_t); }
    void move() const {
        const std::int64_t* bytes = bytes_.data();
        for (const Row& row : rows_) {
            if (row.count == 1)
                *row.begin += *bytes;
            else
                pointer_loops().move(row.begin, bytes, row.count);
            bytes += row.count;
        }
    }

private:
    struct One {
        char** pointer;
        std::int64_t bytes;
    };
    struct Row {
        char** begin;
        std::int64_t count;
    };
    std::vector<One> all_;  // until they are sealed
    std::vector<Row> rows_;
    std::vector<std::int64_t> bytes_;
};

}  // namespace clew::kernels
