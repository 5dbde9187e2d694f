// Results that many calls refer to: Note [Results of many calls].
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {
namespace {

class CopyOfBytes final : public kernels::KernelCall {
public:
    CopyOfBytes(char* to, std::int64_t bytes) : to_(to), bytes_(bytes) {}
    void run() const override { std::memcpy(to_, from_, static_cast<std::size_t>(bytes_)); }
    kernels::Operands operands() override { return {{&to_, 0, bytes_, true}, {&from_, 0, bytes_, false}}; }
    std::size_t bytes() const override { return sizeof(*this); }
    std::int64_t work() const override { return bytes_; }

private:
    char *to_, *from_ = nullptr;
    std::int64_t bytes_;
};

}  // namespace

// Note [Results of many calls]
// A replay takes new memory for what leaves the call, and moves each pointer to it. Where that is to a few numbers that
// a thousand calls add to, as the gradient of what a recurrence uses in each of its steps, moving takes longer than
// adding. Then the calls work in the arena, which stays where it is, and a copy is made behind the last of them.
class SharedResults {
public:
    explicit SharedResults(Planner& planner) : planner_(planner) {}

    void go() {
        for (std::size_t memory = 0; memory < planner_.planned_.size(); ++memory)
            if (may_be_worth_it(memory)) found_.push_back({memory});
        if (found_.empty()) return;
        index_of_.assign(planner_.planned_.size(), -1);
        for (std::size_t i = 0; i < found_.size(); ++i) index_of_[found_[i].memory] = static_cast<int>(i);
        for (std::size_t step = 0; step < planner_.noted_.size(); ++step) {
            Planner::Calls& calls = planner_.noted_[step].calls;
            for (std::size_t k = 0; k < calls.size(); ++k)
                if (calls[k].runs && !calls[k].constant)
                    for (const Planner::Reference& one : calls[k].references) note(one, {step, k});
            if (planner_.runs_as_it_is(step)) leave_as_they_are(planner_.slice_.replay_steps[step]);
        }
        std::vector<std::pair<Planner::Place, Planner::Call>> copies;
        for (Found& found : found_) {
            if (found.references < kMany || found.as_it_is) continue;
            found.place = add_temporary(found.memory);
            copies.emplace_back(found.last, copy_of(static_cast<int>(found.memory), found.place));
        }
        if (copies.empty()) return;
        for (Planner::Noted& noted : planner_.noted_)
            for (Planner::Call& call : noted.calls)
                for (Planner::Reference& one : call.references)
                    if (const Found* const found = found_of(one);
                        found && found->place >= 0 && call.runs && !call.constant)
                        one.memory = found->place;
        insert(std::move(copies));
    }

private:
    static constexpr int kMany = 32;            // references
    static constexpr std::int64_t kFew = 1024;  // bytes
    struct Found {
        std::size_t memory;
        int references = 0;
        bool as_it_is = false;
        int place = -1;  // of the memory in the arena
        Planner::Place last{};
    };

    // Null: another one, or a temporary.
    Found* found_of(const Planner::Reference& one) { return found_on(one.memory); }
    Found* found_on(int memory) {
        const auto index = static_cast<std::size_t>(memory);
        if (index >= index_of_.size() || index_of_[index] < 0) return nullptr;
        return &found_[static_cast<std::size_t>(index_of_[index])];
    }
    void note(const Planner::Reference& one, const Planner::Place& at) {
        Found* const found = found_of(one);
        if (found == nullptr) return;
        ++found->references;
        found->last = at;
    }
    void leave_as_they_are(const ReplayStep& run) {
        for (int k = 0; k < run.inputs + run.outputs; ++k)
            if (const int reg = planner_.slice_.registers[static_cast<std::size_t>(run.first + k)]; reg >= 0)
                if (Found* const found = found_on(planner_.program_.of(reg).memory)) found->as_it_is = true;
    }
    bool may_be_worth_it(std::size_t memory) const {
        return planner_.planned_[memory] && planner_.wanted_[memory] && !planner_.constant_[memory] &&
               planner_.program_.memories[memory].bytes <= kFew;
    }
    int add_temporary(std::size_t memory) {
        const auto place = static_cast<int>(planner_.memories());
        planner_.temporaries_.push_back({planner_.addresses_[memory], 0, planner_.program_.memories[memory].bytes});
        planner_.wanted_.push_back(0);
        planner_.constant_.push_back(0);
        return place;
    }
    Planner::Call copy_of(int memory, int from) const {
        const auto index = static_cast<std::size_t>(memory);
        auto copy = std::make_unique<CopyOfBytes>(planner_.addresses_[index], planner_.program_.memories[index].bytes);
        const kernels::Operands operands = copy->operands();
        Planner::Call made{std::move(copy), {}, true};
        made.references = {{operands[0].place, 0, memory, true}, {operands[1].place, 0, from, false}};
        return made;
    }
    // From behind, so that places before stay as they are.
    void insert(std::vector<std::pair<Planner::Place, Planner::Call>> copies) {
        std::ranges::stable_sort(copies, [](const auto& one, const auto& other) {
            return std::pair(one.first.step, one.first.call) > std::pair(other.first.step, other.first.call);
        });
        for (auto& [last, copy] : copies) {
            Planner::Calls& calls = planner_.noted_[last.step].calls;
            copy.step = calls[last.call].step;
            calls.insert(planner_.slabs_, last.call + 1, std::move(copy));
        }
    }

    Planner& planner_;
    std::vector<Found> found_;
    std::vector<int> index_of_;  // of each memory of the program: in `found_`
};

void Planner::share_results() { SharedResults(*this).go(); }

}  // namespace clew
