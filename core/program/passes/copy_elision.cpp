// Results that are only copied: Note [Results written where they are copied to].
#include <algorithm>

#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

// Note [Results written where they are copied to]
// The gradients of parts of a tensor are made one by one and joined, as those of queries, keys and values that one
// product has made. Where nobody else reads such a part, and its kernel can write elsewhere, it writes into the joined
// memory, and the copy is left out. That memory lives longer then: from the first of its parts on.
class CopyElision {
public:
    explicit CopyElision(Planner& planner) : planner_(planner), uses_(planner.count_uses()) {}

    void go() {
        for (step_ = 0; step_ < planner_.noted_.size(); ++step_)
            for (Call& copy : planner_.noted_[step_].calls)
                if (copy.runs && !copy.constant)
                    if (const auto what = copy.call->plain_copy()) leave_out(copy, *what);
    }

private:
    using Call = Planner::Call;
    using Reference = Planner::Reference;

    void leave_out(Call& copy, const kernels::PlainCopy& what) {
        const Reference to = copy.references[0], from = copy.references[1];
        if (!is_ours(to.memory) || !is_ours(from.memory) || to.memory == from.memory) return;
        if (uses_[static_cast<std::size_t>(from.memory)] != 2) return;  // one writes it, the copy reads it
        const auto size = static_cast<std::int64_t>(item_size(what.in->dtype));
        // Backwards from the copy to who made what it reads.
        bool before = false;
        for (std::size_t step = step_ + 1; step-- > 0;) {
            if (reaches(step, to.memory)) return;
            Planner::Calls& calls = planner_.noted_[step].calls;
            for (std::size_t k = calls.size(); k-- > 0;) {
                Call& call = calls[k];
                if (&call == &copy) before = true;
                if (!before || &call == &copy || !(call.runs || is_left_out(call))) continue;
                const auto result = std::ranges::find(call.references, from.memory, &Reference::memory);
                if (result != call.references.end()) {
                    write_directly(call, *result, copy, kernels::CopiedTo(what), (result->offset - from.offset) / size);
                    return;
                }
                for (const Reference& one : call.references)
                    if (one.memory == to.memory && !is_beside(call, one, *what.out, to)) return;
            }
        }
    }
    bool is_ours(int memory) const {
        return planner_.is_planned(memory) && !planner_.wanted_[static_cast<std::size_t>(memory)];
    }
    bool is_left_out(const Call& call) const { return std::ranges::find(left_out_, &call) != left_out_.end(); }
    // A step that runs as it is.
    bool reaches(std::size_t step, int memory) const {
        if (planner_.noted_[step].captured) return false;
        const ReplayStep& run = planner_.slice_.replay_steps[step];
        for (int k = 0; k < run.inputs + run.outputs; ++k) {
            const int reg = planner_.slice_.registers[static_cast<std::size_t>(run.first + k)];
            if (reg >= 0 && planner_.program_.of(reg).memory == memory) return true;
        }
        return false;
    }
    // Another copy, to another part of the same memory.
    static bool is_beside(const Call& call, const Reference& one, const kernels::View& out, const Reference& to) {
        const auto other = call.call->plain_copy();
        const auto size = static_cast<std::int64_t>(item_size(out.dtype));
        return other && &one == &call.references[0] && other->out->dtype == out.dtype &&
               lie_apart(out, *other->out, (one.offset - to.offset) / size);
    }

    void write_directly(Call& call, Reference& result, Call& copy, const kernels::CopiedTo& moved, std::int64_t start) {
        const Reference& to = copy.references[0];
        const auto is_apart = [&](const Reference& one) {
            return one.memory != to.memory || std::ranges::find(moved_, one.pointer) != moved_.end();
        };
        if (call.constant || !result.written || !std::ranges::all_of(call.references, is_apart) ||
            !call.call->write_to(result.pointer, start, moved))
            return;
        *result.pointer = *to.pointer;
        result.memory = to.memory;
        result.offset = to.offset;
        copy.runs = false;
        left_out_.push_back(&copy);
        moved_.push_back(result.pointer);
    }

    Planner& planner_;
    std::vector<int> uses_;
    std::size_t step_ = 0;
    std::vector<const Call*> left_out_;  // copies
    std::vector<char**> moved_;          // what is written where these would have written
};

void Planner::elide_copies() {
    if (kinds_.traits & kernels::kCopies) CopyElision(*this).go();
}

}  // namespace clew
