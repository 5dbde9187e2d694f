// Which calls ran, as one number: to tell whether two steps did the same.
#pragma once
#include <cstdint>

namespace clew {

// A polynomial whose coefficients are the calls, so that any part of a run has a number of its own: operations, shapes
// and dtypes, not values.
struct CallSignature {
    std::uint64_t calls = 0, sum = 0;
    static constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15;

    void add(std::uint64_t call) {
        sum = sum * kBase + call;
        ++calls;
    }
    std::uint64_t since(const CallSignature& before) const {
        std::uint64_t power = 1, base = kBase;
        for (std::uint64_t rest = calls - before.calls; rest; rest >>= 1, base *= base)
            if (rest & 1) power *= base;
        return sum - before.sum * power;
    }
};
extern CallSignature call_signature;  // while kTiming is set

}  // namespace clew
