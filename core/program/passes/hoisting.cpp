// Calls that run earlier than their steps did: Note [Calls that run earlier].
#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

// Note [Calls that run earlier]
// A call that only looks whether values are in order, and writes nothing, runs behind the one before it that may fail:
// as early as what it reads is there, and in the order of their errors. So more of a replay comes after the last call
// that may fail, where gradients are written over those before, and inputs where they lie.
//
// An optimizer's step over a large parameter runs as soon as nothing that follows needs the parameter as it was: behind
// the product that makes its gradient and those that read it. These two are still in the cache then, in which not all
// parameters fit. What counts the steps of this parameter, one number, goes with it. No other input overlaps what is
// written: no replay would run then (InputCheck in guards.cpp).
class Hoisting {
public:
    explicit Hoisting(Planner& planner) : planner_(planner), used_(planner.memories()) {}

    void checks() {
        checks_ = true;
        each_call(0, [&](const Place& at, Call& call) {
            if (!call.call->may_fail() || std::ranges::any_of(call.references, &Reference::written)) return;
            call.step = static_cast<int>(at.step);
            move(at, 0);
        });
    }

    // Those of `first` and later steps.
    void optimizer_steps(std::size_t first) {
        each_call(first, [&](const Place& at, Call& call) {
            const OpDef& op = *planner_.step_at(at.step).action->op;
            if (op.is(kOptimizerStep) && call.call->work() >= kLarge) move(at, first);
        });
    }

private:
    using Call = Planner::Call;
    using Reference = Planner::Reference;
    using Place = Planner::Place;
    static constexpr std::int64_t kLarge = 8 << 10, kNumbers = 16;  // elements

    template <class Body>
    void each_call(std::size_t first, const Body& body) {
        for (std::size_t step = first; step < planner_.noted_.size(); ++step)
            for (std::size_t k = 0; k < planner_.noted_[step].calls.size(); ++k)
                if (Call& call = planner_.noted_[step].calls[k]; call.runs && !call.constant) body({step, k}, call);
    }

    void take(const Place& at) {
        moving_.push_back(at);
        for (const Reference& one : planner_.call_at(at).references) {
            Used& used = used_[static_cast<std::size_t>(one.memory)];
            (one.written ? used.written : used.read) = true;
        }
    }
    bool disturbs_moving(const Call& call) const {
        return std::ranges::any_of(call.references, [&](const Reference& one) {
            const Used& used = used_[static_cast<std::size_t>(one.memory)];
            return used.written || (one.written && used.read);
        });
    }
    static bool is_of_numbers(const Call& call) {
        const auto loop = call.call->flat();
        return loop && loop->count <= kNumbers;
    }

    void move(const Place& from, std::size_t first) {
        moving_.clear();
        take(from);
        const std::optional<Place> to = find_place(from, first);
        for (const Place& one : moving_)
            for (const Reference& reference : planner_.call_at(one).references)
                used_[static_cast<std::size_t>(reference.memory)] = {};
        if (!to || to->step == from.step) return;
        std::vector<Call> calls;
        for (const Place& one : moving_ | std::views::reverse)
            calls.push_back(std::exchange(planner_.call_at(one), {}));
        for (std::size_t i = 0; i < calls.size(); ++i)
            planner_.noted_[to->step].calls.insert(planner_.slabs_, to->call + i, std::move(calls[i]));
    }

    // How early what is moving may run, in `first` or later; what makes numbers for it becomes part of it.
    std::optional<Place> find_place(const Place& from, std::size_t first) {
        std::optional<Place> to;
        for (std::size_t step = from.step + 1; step-- > first;) {
            if (planner_.runs_as_it_is(step)) return to;
            const Planner::Calls& calls = planner_.noted_[step].calls;
            for (std::size_t k = step == from.step ? from.call : calls.size(); k-- > 0;) {
                const Call& call = calls[k];
                if (!call.runs || call.constant) continue;
                if (!(checks_ && call.call->may_fail()) && !disturbs_moving(call))
                    to = Place{step, k};
                else if (checks_ || !is_of_numbers(call))
                    return to ? Place{step, k + 1} : to;
                else
                    take({step, k});
            }
        }
        return to;
    }

    Planner& planner_;
    bool checks_ = false;
    std::vector<Place> moving_;  // the last one first
    struct Used {
        bool read = false, written = false;
    };
    std::vector<Used> used_;  // of each memory: by what is moving
};

void Planner::hoist_checks() {
    if (kinds_.traits & kernels::kMayFail) Hoisting(*this).checks();
}

void Planner::hoist_optimizer_steps() {
    if (kinds_.optimizer) Hoisting(*this).optimizer_steps(static_cast<std::size_t>(last_failing_ + 1));
}

}  // namespace clew
