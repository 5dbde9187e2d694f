#include "core/kernels/memory/flat_loops.h"

#include <algorithm>
#include <cstring>

#include "core/base/frame.h"
#include "core/base/threads.h"

namespace clew::kernels {
namespace {

bool are_alike(const FlatLoop& one, const FlatLoop& other) {
    const auto same = [&](const std::int64_t* a, const std::int64_t* b) { return std::equal(a, a + one.operands, b); };
    return one.plain == other.plain && one.numbered == other.numbered && one.operands == other.operands &&
           one.count == other.count && same(one.strides, other.strides) && same(one.items, other.items) &&
           (one.plain || std::memcmp(one.numbers, other.numbers, sizeof(one.numbers)) == 0);
}

std::uint64_t hash_of(const FlatLoop& loop) {
    std::uint64_t hash = 0;
    const auto add = [&](std::uint64_t part) {
        hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    };
    add(reinterpret_cast<std::uintptr_t>(loop.plain) ^ reinterpret_cast<std::uintptr_t>(loop.numbered));
    add(static_cast<std::uint64_t>(loop.count));
    for (int k = 0; k < loop.operands; ++k)
        add(static_cast<std::uint64_t>(loop.strides[k]) << 8 ^ static_cast<std::uint64_t>(loop.items[k]));
    if (loop.plain) return hash;
    std::uint64_t words[sizeof(loop.numbers) / (sizeof(std::uint64_t))];
    std::memcpy(words, loop.numbers, sizeof(words));
    for (const std::uint64_t word : words) add(word);
    return hash;
}

Operands operands_of(const FlatLoop& loop, char** data) {
    Operands list;
    for (int k = 0; k < loop.operands; ++k) list.push_back(loop.operand(k, data + k));
    return list;
}

template <int kOperands>
class FlatCall final : public KernelCall {
public:
    FlatCall(const FlatLoop* loop, char* const* data) : loop_(loop) { std::copy_n(data, loop->operands, data_); }
    const FlatLoop* flat() const override { return loop_; }
    unsigned traits() const override { return kOperands <= kFewOperands ? unsigned{kFewFlat} : 0; }
    void run() const override {
        CLEW_ASSERT_FRAME();
        loop_->run(data_, loop_->count);
    }
    Operands operands() override { return operands_of(*loop_, data_); }
    std::size_t bytes() const override { return sizeof(*this); }
    std::int64_t work() const override { return loop_->count; }

private:
    const FlatLoop* loop_;
    char* data_[kOperands];
};

// Of a loop of its own.
class OwnFlatCall final : public KernelCall {
public:
    OwnFlatCall(const FlatLoop& loop, char* const* data) : loop_(loop) { std::copy_n(data, loop.operands, data_); }
    const FlatLoop* flat() const override { return &loop_; }
    void run() const override { run_in_parts(loop_, data_); }
    Operands operands() override { return operands_of(loop_, data_); }
    std::size_t bytes() const override { return sizeof(*this); }
    std::int64_t work() const override { return loop_.count; }

private:
    FlatLoop loop_;
    char* data_[kMaxOperands];
};

}  // namespace

const FlatLoop* FlatLoops::keep(const FlatLoop& loop) {
    const FlatLoop*& known = by_hash_[hash_of(loop)];
    if (known && are_alike(*known, loop)) return known;
    const FlatLoop* const made = &loops_.emplace_back(loop);
    if (!known) known = made;
    return made;
}

void run_in_parts(const FlatLoop& loop, char* const* data) {
    CLEW_ASSERT_FRAME();
    parallel_for(loop.count, kChunk / 4, [&](std::int64_t begin, std::int64_t end) {
        char* part[kMaxOperands];
        for (int k = 0; k < loop.operands; ++k) part[k] = data[k] + begin * loop.strides[k];
        loop.run(part, end - begin);
    });
}

std::unique_ptr<KernelCall> call_of(const FlatLoop* loop, char* const* data) {
    if (loop->operands == 1) return std::make_unique<FlatCall<1>>(loop, data);
    if (loop->operands == 2) return std::make_unique<FlatCall<2>>(loop, data);
    if (loop->operands == 3) return std::make_unique<FlatCall<3>>(loop, data);
    return std::make_unique<FlatCall<kMaxOperands>>(loop, data);
}

std::unique_ptr<KernelCall> call_of(const FlatLoop& loop, char* const* data) {
    return std::make_unique<OwnFlatCall>(loop, data);
}

}  // namespace clew::kernels
