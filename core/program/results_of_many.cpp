// Results that many calls refer to: Note [Results of many calls].
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/program/plan.h"
#include "core/program/slice.h"

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
class ResultsOfMany {
public:
    explicit ResultsOfMany(Planner& planner) : planner_(planner), found_(planner.program_.memories.size()) {}

    void go() {
        for (std::size_t step = 0; step < planner_.noted_.size(); ++step) {
            std::vector<Planner::Call>& calls = planner_.noted_[step].calls;
            for (std::size_t k = 0; k < calls.size(); ++k)
                if (calls[k].runs && !calls[k].constant)
                    for (const Planner::Reference& one : calls[k].references) note(one, {step, k});
            if (planner_.runs_as_it_is(step)) leave_as_they_are(planner_.slice_.runs_of[step]);
        }
        std::vector<int> place_of(found_.size(), -1);
        std::vector<std::pair<Planner::Place, Planner::Call>> copies;
        for (std::size_t memory = 0; memory < found_.size(); ++memory) {
            if (!is_worth_it(memory)) continue;
            place_of[memory] = add_temporary(memory);
            copies.emplace_back(found_[memory].last, copy_of(static_cast<int>(memory), place_of[memory]));
        }
        if (copies.empty()) return;
        for (Planner::Noted& noted : planner_.noted_)
            for (Planner::Call& call : noted.calls)
                for (Planner::Reference& one : call.references)
                    if (call.runs && !call.constant && memory_of(one) < found_.size() && place_of[memory_of(one)] >= 0)
                        one.memory = place_of[memory_of(one)];
        insert(std::move(copies));
    }

private:
    static constexpr int kMany = 32;            // references
    static constexpr std::int64_t kFew = 1024;  // bytes
    struct Found {
        int references = 0;
        bool as_it_is = false;
        Planner::Place last{};
    };

    static std::size_t memory_of(const Planner::Reference& one) { return static_cast<std::size_t>(one.memory); }
    void note(const Planner::Reference& one, const Planner::Place& at) {
        if (memory_of(one) >= found_.size()) return;  // a temporary
        Found& found = found_[memory_of(one)];
        ++found.references;
        found.last = at;
    }
    void leave_as_they_are(const ReplayStep& run) {
        for (int k = 0; k < run.inputs + run.outputs; ++k)
            if (const int reg = planner_.slice_.registers[static_cast<std::size_t>(run.first + k)]; reg >= 0)
                found_[static_cast<std::size_t>(planner_.program_.of(reg).memory)].as_it_is = true;
    }
    bool is_worth_it(std::size_t memory) const {
        const Found& found = found_[memory];
        return found.references >= kMany && !found.as_it_is && planner_.planned_[memory] && planner_.wanted_[memory] &&
               !planner_.constant_[memory] && planner_.program_.memories[memory].bytes <= kFew;
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
            std::vector<Planner::Call>& calls = planner_.noted_[last.step].calls;
            copy.step = calls[last.call].step;
            calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(last.call) + 1, std::move(copy));
        }
    }

    Planner& planner_;
    std::vector<Found> found_;  // of each memory of the program
};

void Planner::copy_results_of_many() { ResultsOfMany(*this).go(); }

}  // namespace clew
