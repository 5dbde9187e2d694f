#include "core/kernels/memory/flat_calls.h"

#include <algorithm>
#include <cstring>

namespace clew::kernels {
namespace {

bool are_alike(const FlatLoop& one, const FlatLoop& other) {
    const auto same = [&](const std::int64_t* a, const std::int64_t* b) { return std::equal(a, a + one.operands, b); };
    return one.plain == other.plain && one.numbered == other.numbered && one.operands == other.operands &&
           one.count == other.count && same(one.strides, other.strides) && same(one.items, other.items) &&
           (one.plain || std::memcmp(one.numbers, other.numbers, sizeof(one.numbers)) == 0);
}

}  // namespace

char** FlatCalls::add(const FlatLoop& loop, const char* const* data) {
    Entry& made = entries_.emplace_back(Entry{known(loop), {}});
    for (int k = 0; k < loop.operands; ++k) made.data[k] = const_cast<char*>(data[k]);
    return made.data;
}

// Not all are looked at, so that many take no longer each: that a loop is there twice does no harm.
const FlatLoop* FlatCalls::known(const FlatLoop& loop) {
    constexpr std::size_t kLooked = 32;
    for (std::size_t i = loops_.size() - std::min(loops_.size(), kLooked); i < loops_.size(); ++i)
        if (are_alike(loops_[i], loop)) return &loops_[i];
    return &loops_.emplace_back(loop);
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

std::size_t FlatCalls::bytes() const {
    return sizeof(*this) + entries_.capacity() * sizeof(Entry) + loops_.size() * sizeof(FlatLoop);
}

std::int64_t FlatCalls::work() const { return std::ranges::max(loops_, {}, &FlatLoop::count).count; }

}  // namespace clew::kernels
