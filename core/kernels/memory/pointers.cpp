#include "core/kernels/memory/pointers.h"

#include <algorithm>

namespace clew::kernels {

void MovingPointers::seal() {
    std::ranges::sort(all_, {}, &One::pointer);
    char** last = nullptr;
    for (const One& one : all_) {
        if (one.pointer == last) {
            bytes_.back() += one.bytes;
            continue;
        }
        if (rows_.empty() || one.pointer != last + 1) rows_.push_back({one.pointer, 0});
        ++rows_.back().count;
        bytes_.push_back(one.bytes);
        last = one.pointer;
    }
    all_ = {};
}

}  // namespace clew::kernels
