// Calls that do at once what two would do one after the other: Note [Joined calls].
#include <algorithm>
#include <utility>

#include "core/program/plan.h"
#include "core/program/slice.h"

namespace clew {

// Note [Joined calls]
// The gradient of a loss by log-probabilities is one element a row, and zeros: written whole, it is read at once by the
// backward of log_softmax. Where a call knows one that does what it and the one before do, and nobody else needs what
// goes between, that call runs in place of the second: nothing until there may write what the first one reads.
class Joining {
public:
    explicit Joining(Planner& planner) : planner_(planner), uses_(planner.count_uses()) {}

    void go() {
        for (std::size_t step = 0; step < planner_.noted_.size(); ++step)
            for (Call& call : planner_.noted_[step].calls) {
                if (!call.runs || call.constant) continue;
                const auto is_between = [&](const Reference& one) { return !one.written && is_only_here(one.memory); };
                const auto between = std::ranges::find_if(call.references, is_between);
                if (between != call.references.end()) join(step, call, *between);
            }
    }

private:
    using Call = Planner::Call;
    using Reference = Planner::Reference;

    bool is_only_here(int memory) const {
        const auto index = static_cast<std::size_t>(memory);
        return planner_.is_planned(memory) && !planner_.wanted_[index] && uses_[index] == 2;
    }

    void join(std::size_t last, Call& call, const Reference between) {
        std::vector<int> written;
        bool before = false;
        for (std::size_t step = last + 1; step-- > 0;) {
            const StepKind kind = planner_.slice_.runs_of[step].kind;
            if (!planner_.noted_[step].captured && (kind == StepKind::Run || kind == StepKind::Read)) return;
            std::vector<Call>& calls = planner_.noted_[step].calls;
            for (std::size_t k = calls.size(); k-- > 0;) {
                Call& one = calls[k];
                if (&one == &call) before = true;
                if (!before || &one == &call || !one.runs || one.constant) continue;
                const auto result = std::ranges::find(one.references, between.memory, &Reference::memory);
                if (result != one.references.end()) return join(one, *result, call, between, written);
                for (const Reference& other : one.references)
                    if (other.written) written.push_back(other.memory);
            }
        }
    }
    void join(Call& first, const Reference& result, Call& second, const Reference& between,
              const std::vector<int>& written) {
        const auto may_stay = [&](const Reference& one) {
            if (&one == &result) return one.written && one.offset == between.offset;
            if (one.written) return false;
            return std::ranges::none_of(written, [&](int memory) {
                return memory == one.memory || (planner_.is_input(memory) && planner_.is_input(one.memory));
            });
        };
        if (!std::ranges::all_of(first.references, may_stay)) return;
        std::unique_ptr<kernels::KernelCall> joined = second.call->joined_with(*first.call, between.pointer);
        if (!joined) return;
        std::vector<Reference> references;
        for (const Call* const call : {&second, &first})
            for (const Reference& one : call->references)
                if (one.memory != between.memory) references.push_back(one);
        const std::vector<kernels::Operand> operands = joined->operands();
        for (std::size_t k = 0; k < operands.size(); ++k) references[k].pointer = operands[k].place;
        second.call = std::move(joined);
        second.references = std::move(references);
        first.runs = false;
    }

    Planner& planner_;
    std::vector<int> uses_;
};

void Planner::join() { Joining(*this).go(); }

}  // namespace clew
