#include "core/kernels/memory/flat_calls.h"

#include <algorithm>

namespace clew::kernels {
char** FlatCalls::add(const FlatLoop* loop, const char* const* data) {
    Entry& made = entries_.emplace_back(Entry{loop, {}});
    for (int k = 0; k < loop->operands; ++k) made.data[k] = const_cast<char*>(data[k]);
    work_ = std::max(work_, loop->count);
    return made.data;
}

void FlatCalls::run() const {
    CLEW_ASSERT_FRAME();
    for (const Entry& one : entries_) one.loop->run(one.data, one.loop->count);
}

Operands FlatCalls::operands() {
    Operands list;
    for (Entry& one : entries_)
        for (int k = 0; k < one.loop->operands; ++k) list.push_back(one.loop->operand(k, &one.data[k]));
    return list;
}

std::size_t FlatCalls::bytes() const { return sizeof(*this) + entries_.capacity() * sizeof(Entry); }

}  // namespace clew::kernels
