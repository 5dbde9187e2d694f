#include "core/program/passes/reduced_strips.h"

#include <algorithm>
#include <utility>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/memory/scratch.h"

namespace clew {

void ReducedStrips::add(std::unique_ptr<kernels::KernelCall> reduction, kernels::StripCall::Place from) {
    const auto how = dynamic_cast<const kernels::ReductionCall&>(*reduction).flat_reduction();
    char* const* const out = reduction->operands()[0].place;
    sums_.push_back({std::move(reduction), *how, from, out});
    const auto pieces = static_cast<std::size_t>((how->count + how->piece - 1) / how->piece);
    highs_.resize(pieces * sums_.size());
    lows_.resize(pieces * sums_.size());
}

void ReducedStrips::run() const {
    CLEW_ASSERT_FRAME();
    static_assert(kernels::kStrip % kernels::kRowBlock == 0);
    const std::int64_t count = sums_[0].how.count, piece = sums_[0].how.piece;
    const std::size_t pieces = highs_.size() / sums_.size();
    kernels::Accumulator* const highs = highs_.data();
    double* const lows = lows_.data();
    const auto some = [&](std::int64_t begin, std::int64_t end) {
        const kernels::Scratch memory(static_cast<std::size_t>(strips_->local_bytes()));
        char* const local = memory.as<char>();
        const auto first = static_cast<std::size_t>(begin / piece);
        for (std::size_t k = 0; k < sums_.size(); ++k)
            sums_[k].how.reducer->start(&highs[k * pieces + first], &lows[k * pieces + first], 1);
        for (; begin < end; begin += kernels::kStrip) {
            const kernels::Strips::Strip strip{begin, std::min(begin + kernels::kStrip, end), local};
            strips_->run_part(strip.begin, strip.end, local);
            for (std::size_t k = 0; k < sums_.size(); ++k) {
                const Sum& sum = sums_[k];
                const double center = 0;
                sum.how.reducer->row(&highs[k * pieces + first], &lows[k * pieces + first],
                                     strips_->strips().address(sum.from.stage, sum.from.operand, strip), sum.how.item,
                                     strip.end - strip.begin, &center);
            }
        }
    };
    if (strips_->is_first()) {
        for (std::int64_t begin = 0; begin < count; begin += piece) some(begin, std::min(begin + piece, count));
        strips_->settle();
    } else {
        parallel_for(count, piece, some);
    }
    for (std::size_t k = 0; k < sums_.size(); ++k) {
        const kernels::Reducer& reducer = *sums_[k].how.reducer;
        kernels::Accumulator* const high = &highs[k * pieces];
        double* const low = &lows[k * pieces];
        for (std::size_t i = 1; i < pieces; ++i) reducer.join(high, low, high + i, low + i, 1);
        reducer.finish(*sums_[k].out, 0, high, low, 1, sums_[k].how.divisor);
    }
}

kernels::Operands ReducedStrips::operands() {
    kernels::Operands list = strips_->operands();
    for (const Sum& sum : sums_) list.push_back(sum.call->operands()[0]);
    return list;
}

std::size_t ReducedStrips::bytes() const {
    std::size_t sum = sizeof(*this) + strips_->bytes() + sums_.capacity() * sizeof(Sum) +
                      highs_.capacity() * sizeof(kernels::Accumulator) + lows_.capacity() * sizeof(double);
    for (const Sum& one : sums_) sum += one.call->bytes();
    return sum;
}

}  // namespace clew
