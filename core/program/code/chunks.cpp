#include "core/program/code/chunks.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>

namespace clew::code {
namespace {

constexpr int kStraight = 500;       // elements: so many are one chunk
constexpr int kMostStraight = 4000;  // that are written out in all
constexpr int kLongestPeriod = 400;  // statements
constexpr int kOfLoop = 8;           // which a loop counts as
constexpr int kUnrolled = 96;        // elements of a chunk that repeats itself: what it hands on stays in registers

int elements(const Statement& one) { return one.by_elements() ? one.count : one.is_call() ? 1 : kOfLoop; }

// Of all that has to be alike in chunks that are alike.
std::uint64_t key_of(const Statement& one) {
    std::uint64_t key = reinterpret_cast<std::uintptr_t>(one.expression);
    const auto mix = [&](std::uint64_t word) {
        key = (key ^ word) * 0x9E3779B97F4A7C15u;
        key ^= key >> 29;
    };
    mix(std::hash<std::string>{}(one.block.text));
    mix(static_cast<std::uint64_t>(one.count));
    for (const Access& access : one.accesses) mix(static_cast<std::uint64_t>(access.stride));
    for (const kernels::Number& number : one.numbers) mix(std::bit_cast<std::uint64_t>(number.real));
    return key;
}

class Cutter {
public:
    explicit Cutter(std::vector<Statement>& statements) : statements_(statements) {
        for (const Statement& one : statements) keys_.push_back(key_of(one));
    }

    std::vector<Chunk> go() {
        const int end = static_cast<int>(keys_.size());
        if (elements_of(0, end) <= kStraight) return {{0, end}};
        for (int at = 0; at < end;) {
            const auto [period, covered] = best_period(at, end);
            const int whole = period ? unrolled(at, period) : 0;
            if (whole && covered >= 2 * whole) {
                close(at);
                if (!may_write(at, at + whole)) leave(at, at + covered / whole * whole);
                for (int left = covered / whole; left > 0; --left, at += whole) chunks_.push_back({at, at + whole});
                begin_ = at;
                continue;
            }
            if (!may_write(at, at + 1)) leave(at, at + 1);
            if (elements_of(begin_, ++at) >= kStraight) close(at);
        }
        close(end);
        return std::move(chunks_);
    }

private:
    struct Period {
        int period = 0, covered = 0;
    };
    // The shortest one of those that go on for about as long as any.
    Period best_period(int at, int end) const {
        Period best;
        for (int period = 1; period <= std::min(kLongestPeriod, (end - at) / 3); ++period) {
            int next = at;
            while (next + period < end &&
                   keys_[static_cast<std::size_t>(next)] == keys_[static_cast<std::size_t>(next + period)])
                ++next;
            const int covered = next - at + period;
            if (covered >= 3 * period && covered > best.covered + best.covered / 8) best = {period, covered};
        }
        return best;
    }
    int unrolled(int at, int period) const { return period * std::max(1, kUnrolled / elements_of(at, at + period)); }
    int elements_of(int begin, int end) const {
        int sum = 0;
        for (int i = begin; i < end; ++i) sum += elements(statements_[static_cast<std::size_t>(i)]);
        return sum;
    }
    bool may_write(int begin, int end) {
        written_ += elements_of(begin, end);
        return written_ <= kMostStraight;
    }
    void leave(int begin, int end) {
        for (int i = begin; i < end; ++i) {
            statements_[static_cast<std::size_t>(i)].expression = nullptr;
            statements_[static_cast<std::size_t>(i)].block = {};
        }
    }
    void close(int at) {
        if (at > begin_) chunks_.push_back({begin_, at});
        begin_ = at;
    }

    std::vector<Statement>& statements_;
    std::vector<std::uint64_t> keys_;
    std::vector<Chunk> chunks_;
    int begin_ = 0, written_ = 0;
};

}  // namespace

std::vector<Chunk> chunks_of(std::vector<Statement>& statements) { return Cutter(statements).go(); }

std::vector<Span> spans_of(const std::vector<Statement>& statements, const std::vector<Chunk>& chunks,
                           std::size_t memories) {
    std::vector<Span> spans(memories);
    for (std::size_t i = 0; i < chunks.size(); ++i)
        for (int k = chunks[i].begin; k < chunks[i].end; ++k)
            for (const Access& access : statements[static_cast<std::size_t>(k)].accesses) {
                Span& span = spans[static_cast<std::size_t>(access.memory)];
                if (span.first < 0) span.first = static_cast<int>(i);
                span.last = static_cast<int>(i);
            }
    return spans;
}

}  // namespace clew::code
