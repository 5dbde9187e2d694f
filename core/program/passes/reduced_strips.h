// Strips and sums of what they make.
//
// Note [Reductions of strips]
// The sum of an array that only strips make and nobody else reads needs no array: each strip is added while it is
// there. Strips are then cut where the reduction cuts, and added in the same order, block by block, so the bits are
// eager's.
#pragma once
#include <memory>
#include <vector>

#include "core/kernels/memory/strips.h"
#include "core/kernels/reduction/flat_reduction.h"
#include "core/program/passes/fused_product.h"

namespace clew {

class ReducedStrips final : public kernels::KernelCall, public HasStrips {
public:
    explicit ReducedStrips(std::unique_ptr<kernels::StripCall> strips) : strips_(std::move(strips)) {}
    // All have the same pieces. `reduction` reads what the strips have at `from`.
    void add(std::unique_ptr<kernels::KernelCall> reduction, kernels::StripCall::Place from);

    void run() const override;
    kernels::Operands operands() override;  // of the strips, and the result of each reduction
    std::size_t bytes() const override;
    std::int64_t work() const override { return strips_->work(); }
    kernels::StripCall* strips() const override { return strips_.get(); }

private:
    struct Sum {
        std::unique_ptr<kernels::KernelCall> call;
        kernels::FlatReduction how;
        kernels::StripCall::Place from;
        char* const* out;
    };
    std::unique_ptr<kernels::StripCall> strips_;
    std::vector<Sum> sums_;
    // What a run adds up, sum by sum and piece by piece; a plan is run by one thread at a time.
    mutable std::vector<kernels::Accumulator> highs_;
    mutable std::vector<double> lows_;
};

}  // namespace clew
