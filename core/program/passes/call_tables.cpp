// Puts short elementwise calls that follow one another into one table: Note [Runs of flat calls].
#include <memory>
#include <utility>
#include <vector>

#include "core/kernels/memory/flat_calls.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

// They stay calls of their steps, each with its references, for who lays out memory; the first one's place in the order
// is that of all.
class CallTables {
public:
    explicit CallTables(Planner& planner) : planner_(planner) {}

    void go() {
        members_.reserve(planner_.noted_.size());
        for (std::size_t step = 0; step < planner_.noted_.size(); ++step) {
            if (planner_.runs_as_it_is(step) || static_cast<int>(step) == planner_.last_failing_ + 1) close();
            for (Planner::Call& call : planner_.noted_[step].calls) {
                if (!call.runs || call.constant) continue;
                if (is_short(*call.call))
                    members_.push_back(&call);
                else
                    close();
            }
        }
        close();
    }

private:
    static constexpr std::int64_t kMostElements = 256;  // of more the time is not in the call
    static constexpr std::size_t kFewest = 4;

    static bool is_short(const kernels::KernelCall& call) {
        return (call.traits() & kernels::kFewFlat) && call.work() <= kMostElements;
    }

    void close() {
        if (members_.size() >= kFewest) {
            auto made = std::make_unique<kernels::FlatCalls>(members_.size());
            for (Planner::Call* const call : members_) {
                const char* data[kernels::kFewOperands]{};
                for (std::size_t k = 0; k < call->references.size(); ++k) data[k] = *call->references[k].pointer;
                char** const places = made->add(call->call->flat(), data);
                for (std::size_t k = 0; k < call->references.size(); ++k) call->references[k].pointer = places + k;
                call->call = nullptr;
            }
            members_[0]->call = std::move(made);
        }
        members_.clear();
    }

    Planner& planner_;
    std::vector<Planner::Call*> members_;
};

void Planner::make_call_tables() { CallTables(*this).go(); }

}  // namespace clew
