// Derivatives of activations that are made with them: Note [Derivatives kept for the backward].
#include <utility>

#include "core/kernels/elementwise/derivative_call.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

// Note [Derivatives kept for the backward]
// The backward of GELU and its like reads the input, and computes again most of what the forward had. Where nobody else
// needs the input after the forward, that leaves the derivative in its place, and the backward only multiplies by it:
// less work, in no more memory. Both compute the derivative alike and multiply last, so the bits are the same.
class KeepingDerivatives {
public:
    explicit KeepingDerivatives(Planner& planner) : planner_(planner), later_(planner.memories()) {}

    void go() {
        for (std::size_t step = planner_.noted_.size(); step-- > 0;) {
            Planner::Calls& calls = planner_.noted_[step].calls;
            for (std::size_t k = calls.size(); k-- > 0;) {
                Call& call = calls[k];
                if (!call.runs) continue;
                if (may_be_forward(call))
                    if (const auto loop = flat(call); loop && loop->count * loop->items[0] <= kMost) keep(call, *loop);
                for (const Reference& one : call.references) use(one.memory, &call);
            }
            if (planner_.noted_[step].captured) continue;
            const ReplayStep& run = planner_.slice_.replay_steps[step];
            for (int i = 0; i < run.inputs + run.outputs; ++i)
                if (const int reg = planner_.slice_.registers[static_cast<std::size_t>(run.first + i)]; reg >= 0)
                    use(planner_.program_.of(reg).memory, nullptr);
        }
    }

private:
    using Call = Planner::Call;
    using Reference = Planner::Reference;
    static constexpr std::int64_t kMost = 1 << 20;  // bytes: of more, memory takes longer than the formulas

    // What has to do with a memory after the calls that are looked at.
    struct Later {
        Call* call = nullptr;  // null: a step
        int uses = 0;
    };
    void use(int memory, Call* call) {
        Later& later = later_[static_cast<std::size_t>(memory)];
        later = {call, later.uses + 1};
    }

    static const kernels::FlatLoop* flat(const Call& call) { return call.constant ? nullptr : call.call->flat(); }

    bool may_be_forward(const Call& call) const {
        if (call.references.size() != 2) return false;
        const auto memory = static_cast<std::size_t>(call.references[1].memory);
        const auto& [backward, uses] = later_[memory];
        return uses == 1 && backward != nullptr && call.references[0].memory != call.references[1].memory &&
               planner_.is_planned(call.references[1].memory) && !planner_.wanted_[memory] &&
               !planner_.constant_[memory];
    }

    void keep(Call& forward, const kernels::FlatLoop& loop) {
        const Reference& x = forward.references[1];
        Call& backward = *later_[static_cast<std::size_t>(x.memory)].call;
        const auto other = flat(backward);
        if (!other || other->operands != 3) return;
        const Reference& saved = backward.references[2];
        if (saved.memory != x.memory || saved.offset != x.offset) return;
        const auto pointers = [](const Call& call) {
            std::vector<char*> list;
            for (const Reference& one : call.references) list.push_back(*one.pointer);
            return list;
        };
        auto made = kernels::with_derivative(loop, *other, pointers(forward).data(), pointers(backward).data());
        if (!made.forward) return;
        const auto put = [](Call& call, std::unique_ptr<kernels::KernelCall> in_its_place) {
            call.call = std::move(in_its_place);
            const kernels::Operands operands = call.call->operands();
            for (std::size_t k = 0; k < operands.size(); ++k) {
                call.references[k].pointer = operands[k].place;
                call.references[k].written = operands[k].written;
            }
        };
        put(forward, std::move(made.forward));
        put(backward, std::move(made.backward));
    }

    Planner& planner_;
    std::vector<Later> later_;  // of each memory
};

void Planner::keep_derivatives() {
    if (kinds_.derivative) KeepingDerivatives(*this).go();
}

}  // namespace clew
