// Calls that do at once what two would do one after the other: Note [Joined calls].
#include <algorithm>
#include <optional>
#include <utility>

#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

// Note [Joined calls]
// The gradient of a loss by log-probabilities is one element a row, and zeros: written whole, it is read at once by the
// backward of log_softmax. Where a call knows one that does what it and the one before do, and nobody else needs what
// goes between, that call runs in place of the second: nothing until there may write what the first one reads.
class PairFusion {
public:
    explicit PairFusion(Planner& planner)
        : planner_(planner), uses_(planner.count_uses()), last_use_(uses_.size(), kNowhere) {}

    void go() {
        for (std::size_t step = 0; step < planner_.noted_.size(); ++step)
            for (std::size_t k = 0; k < calls_of(step).size(); ++k) {
                Call& call = calls_of(step)[k];
                if (!call.runs || call.constant) continue;
                const auto is_between = [&](const Reference& one) { return !one.written && is_only_here(one.memory); };
                const auto between = std::ranges::find_if(call.references, is_between);
                if (between != call.references.end()) join({step, k}, *between);
                for (const Reference& one : call.references) last_use(one.memory) = {step, k};
            }
    }

private:
    using Call = Planner::Call;
    using Reference = Planner::Reference;
    using Place = Planner::Place;
    static constexpr Place kNowhere{~std::size_t{0}, 0};

    Planner::Calls& calls_of(std::size_t step) { return planner_.noted_[step].calls; }
    Place& last_use(int memory) { return last_use_[static_cast<std::size_t>(memory)]; }  // by the calls so far

    bool is_only_here(int memory) const {
        const auto index = static_cast<std::size_t>(memory);
        return planner_.is_planned(memory) && !planner_.wanted_[index] && uses_[index] == 2;
    }

    void join(Place last, const Reference between) {
        const Place place = last_use(between.memory);
        if (place.step == kNowhere.step) return;
        Call &first = planner_.call_at(place), &second = planner_.call_at(last);
        std::unique_ptr<kernels::KernelCall> joined = second.call->joined_with(*first.call, between.pointer);
        if (!joined || !may_wait(first, between, written_between(place, last))) return;
        Planner::References references;
        for (const Call* const call : {&second, &first})
            for (const Reference& one : call->references)
                if (one.memory != between.memory) references.push_back(one);
        const kernels::Operands operands = joined->operands();
        for (std::size_t k = 0; k < operands.size(); ++k) references[k].pointer = operands[k].place;
        second.call = std::move(joined);
        second.references = std::move(references);
        first.runs = false;
    }

    // Which memory is; nothing: a step runs there as it is.
    std::optional<std::vector<int>> written_between(Place first, Place last) {
        std::vector<int> written;
        for (std::size_t step = first.step; step <= last.step; ++step) {
            if (planner_.runs_as_it_is(step)) return {};
            const Planner::Calls& calls = calls_of(step);
            const std::size_t begin = step == first.step ? first.call + 1 : 0;
            const std::size_t end = step == last.step ? last.call : calls.size();
            for (std::size_t k = begin; k < end; ++k)
                for (const Reference& one : calls[k].references)
                    if (one.written && calls[k].runs && !calls[k].constant) written.push_back(one.memory);
        }
        return written;
    }

    // Whether it finds the same once all this is written.
    bool may_wait(const Call& call, const Reference& between, const std::optional<std::vector<int>>& written) const {
        return written && std::ranges::all_of(call.references, [&](const Reference& one) {
                   if (one.memory == between.memory) return one.written && one.offset == between.offset;
                   return !one.written && std::ranges::none_of(*written, [&](int memory) {
                       return memory == one.memory || (planner_.is_input(memory) && planner_.is_input(one.memory));
                   });
               });
    }

    Planner& planner_;
    std::vector<int> uses_;
    std::vector<Place> last_use_;  // of each memory
};

void Planner::fuse_pairs() {
    if (kinds_.traits & kernels::kJoins) PairFusion(*this).go();
}

}  // namespace clew
