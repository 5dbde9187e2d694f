// A captured reduction of an array that lies flat to one number, for who brings its elements strip by strip.
#pragma once
#include <cstdint>
#include <optional>

#include "core/kernels/reduction/reduce_loops.h"

namespace clew::kernels {

// What is added in one go is `piece` elements, by row() of any multiples of kRowBlock; then pieces are joined in order.
struct FlatReduction {
    const Reducer* reducer;
    std::int64_t count, piece, item;
    double divisor;
};
inline constexpr std::int64_t kRowBlock = 1024;  // Note [Accumulators]
inline constexpr std::int64_t kMostPieces = 256;

class ReductionCall {
public:
    virtual ~ReductionCall() = default;
    virtual std::optional<FlatReduction> flat_reduction() const = 0;
};

}  // namespace clew::kernels
