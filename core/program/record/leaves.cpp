#include "core/program/record/leaves.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/program/record/recorder.h"
#include "core/program/record/weak_bindings.h"

namespace clew {
namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }

std::uint64_t last_write_to(const TensorObject& tensor) {
    return tensor.storage->log ? tensor.storage->log->last.serial : 0;
}

inline bool is_written(const TrackedTensor& tracked) {
    const TensorObject& tensor = *tracked.tensor;
    return version_of(tensor) != tracked.version || place_of(tensor) != tracked.place ||
           last_write_to(tensor) > tracked.made || was_written_unseen(tensor);
}

bool is_leaf(const TrackedTensor& tracked) {
    return tracked.node < 0 && tracked.tensor && tracked.tensor->has(TensorObject::kRequiresGrad);
}

// Sees each input as it is now. `by_others`: what differs, somebody else has changed.
void look_at_inputs(Program& program, bool by_others) {
    const std::uint64_t now = tick();
    for (Input& input : program.inputs) {
        const Tensor& tensor = input.present();
        if (!tensor) continue;
        const std::uint64_t place = place_of(*tensor.get());
        const std::uint32_t version = version_of(*tensor.get());
        if (by_others &&
            (place != input.place || version != input.version || last_write_to(*tensor.get()) > input.looked))
            input.changed = now;
        input.place = place;
        input.version = version;
        input.looked = now;
    }
}

bool has_changed(const Program& program, const std::vector<int>& sources, std::uint64_t since) {
    return std::ranges::any_of(sources, [&](int i) { return program.inputs[at(i)].changed > since; });
}

// ------------------------------------------------------------------------------- how a memory was made
class Uses {
public:
    explicit Uses(const Program& program)
        : program_(program), of_(program.memories.size()), observed_(program.memories.size()) {
        const auto observe = [&](int reg) {
            if (reg >= 0) observed_[at(program.of(reg).memory)] = 1;
        };
        for (const TrackedTensor& tracked : program.tracked)
            if (tracked.tensor) observe(tracked.reg);
        for (const KeptNode& kept : program.nodes)
            if (kept.alive())
                for (const KeptSlot& slot : kept.slots) observe(slot.reg);
        for (std::size_t i = 0; i < program.steps.size(); ++i)
            for (const int reg : program.steps[i].inputs) {
                if (reg < 0) continue;
                auto& list = of_[at(program.of(reg).memory)];
                if (list.empty() || list.back() != static_cast<int>(i)) list.push_back(static_cast<int>(i));
            }
    }
    const std::vector<int>& of(int memory) const { return of_[at(memory)]; }
    bool is_observed(int memory) const { return observed_[at(memory)] != 0; }  // a tensor or a node looks at it

    bool lies_on(int reg, int memory) const { return reg < 0 || program_.of(reg).memory == memory; }
    // It looks at the memory in another way.
    bool is_view(const Step& step, int memory) const {
        return step.action->kind == StepKind::Run && step.writes.empty() && !step.outputs.empty() &&
               std::ranges::all_of(step.outputs, [&](int reg) { return lies_on(reg, memory); });
    }
    // It changes this memory and nothing else.
    bool is_write(const Step& step, int memory) const {
        return !step.writes.empty() && !step.action->in_backward && step.action->form == Form::InPlace &&
               !step.action->op->is(kOptimizerStep) &&
               std::ranges::all_of(step.writes,
                                   [&](const KeptWrite& one) { return program_.of(one.reg).memory == memory; }) &&
               std::ranges::all_of(step.outputs, [&](int reg) { return lies_on(reg, memory); });
    }
    bool is_internal(int step, int memory) const {
        const Step& one = program_.steps[at(step)];
        return is_view(one, memory) || is_write(one, memory) ||
               (one.action->kind == StepKind::Nothing && one.writes.empty());
    }

    // The step that took the memory, and what writes to it before anything else reads it; with what reads it for the
    // sake of such a write, as where numbers are drawn until all are in bounds.
    std::vector<int> makers(int memory) const {
        const Memory& of = program_.memories[at(memory)];
        std::vector<int> found{of.made_by};
        int first_read = std::numeric_limits<int>::max();
        for (const int step : of_[at(memory)]) {
            if (is_internal(step, memory)) continue;
            std::vector<int> on_the_way;
            if (!only_serves(step, memory, on_the_way)) {
                first_read = step;
                break;
            }
            found.insert(found.end(), on_the_way.begin(), on_the_way.end());
        }
        for (const int writer : of.writers) found.push_back(writer);
        std::erase_if(found, [&](int step) { return step >= first_read; });
        return found;
    }
    // Whether the two are of one call in the user's program.
    bool same_line(int one, int other) const {
        const Action &a = *program_.steps[at(one)].action, &b = *program_.steps[at(other)].action;
        return a.code && a.code.get() == b.code.get() && a.instruction == b.instruction;
    }
    bool with_a_write(int step, int memory) const {
        return std::ranges::any_of(program_.memories[at(memory)].writers,
                                   [&](int writer) { return same_line(step, writer); });
    }
    // Whatever reads the step's results does it for writes to the memory: until the last of them, or in its call.
    bool only_serves(int step, int memory, std::vector<int>& on_the_way) const {
        const auto& writers = program_.memories[at(memory)].writers;
        if (writers.empty()) return false;
        std::vector<int> waiting{step}, made;
        while (!waiting.empty()) {
            const int next = waiting.back();
            waiting.pop_back();
            const Step& one = program_.steps[at(next)];
            if (is_write(one, memory) || std::ranges::find(on_the_way, next) != on_the_way.end()) continue;
            if (next > writers.back() && !with_a_write(next, memory)) return false;
            const bool plain = one.action->kind == StepKind::Run && !one.action->in_backward &&
                               std::ranges::all_of(one.writes, [&](const KeptWrite& write) {
                                   return std::ranges::find(made, program_.of(write.reg).memory) != made.end();
                               });
            if (one.action->kind != StepKind::Read && !plain) return false;
            on_the_way.push_back(next);
            for (const int reg : one.outputs) {
                if (reg < 0) continue;
                const int memory_made = program_.of(reg).memory;
                if (program_.memories[at(memory_made)].input >= 0 || is_observed(memory_made)) return false;
                made.push_back(memory_made);
                for (const int user : of_[at(memory_made)]) waiting.push_back(user);
            }
        }
        return true;
    }
    // Memory that was drawn in the call of a write to `memory` and given to Python there, as for a decomposition.
    std::vector<int> drawn_for(int memory) const {
        std::vector<int> found;
        for (std::size_t i = 0; i < program_.memories.size(); ++i) {
            const Memory& of = program_.memories[i];
            const auto drawn = static_cast<int>(i);
            if (drawn == memory || of.made_by < 0 || of.input >= 0 || is_observed(drawn) || of_[i].empty()) continue;
            if (!with_a_write(of.made_by, memory) || !program_.steps[at(of.made_by)].writes.empty()) continue;
            bool draws = program_.steps[at(of.made_by)].action->generator != nullptr;
            const bool fits = std::ranges::all_of(of_[i], [&](int step) {
                const Step& one = program_.steps[at(step)];
                draws = draws || one.action->generator != nullptr;
                return with_a_write(step, memory) && (is_internal(step, drawn) || one.action->kind == StepKind::Read);
            });
            if (!fits || !draws) continue;
            found.push_back(of.made_by);
            found.insert(found.end(), of_[i].begin(), of_[i].end());
        }
        return found;
    }

    // The inputs that these steps read, in one way or another.
    std::vector<int> sources(int memory) const {
        std::vector<char> seen;
        return sources(memory, seen);
    }
    // `seen`: the memories on the way, its own too.
    std::vector<int> sources(int memory, std::vector<char>& seen) const {
        seen.assign(program_.memories.size(), 0);
        seen[at(memory)] = 1;
        std::vector<int> waiting = makers(memory), found;
        while (!waiting.empty()) {
            const Step& step = program_.steps[at(waiting.back())];
            waiting.pop_back();
            for (const int reg : step.inputs) {
                if (reg < 0 || std::exchange(seen[at(program_.of(reg).memory)], 1)) continue;
                const Memory& of = program_.memory_of(reg);
                if (of.made_by >= 0) waiting.push_back(of.made_by);
                for (const int writer : of.writers) waiting.push_back(writer);
                if (of.input < 0) continue;
                for (std::size_t i = 0; i < program_.inputs.size(); ++i)
                    if (program_.of(program_.inputs[i].reg).memory == program_.of(reg).memory)
                        found.push_back(static_cast<int>(i));
            }
        }
        return found;
    }

private:
    const Program& program_;
    std::vector<std::vector<int>> of_;  // of each memory: the steps that read or write it, in order
    std::vector<char> observed_;
};

// ------------------------------------------------------------------------------- becoming an input
class Conversion {
public:
    Conversion(Program& program, const Uses& uses)
        : program_(program), uses_(uses), goes_(program.steps.size()), gone_(program.memories.size()) {
        held_.resize(program.steps.size());
        for (const KeptNode& kept : program.nodes) {
            if (!kept.alive()) continue;
            if (kept.step >= 0) held_[at(kept.step)] = 1;
            for (const KeptSlot& slot : kept.slots)
                if (slot.reg >= 0) saved_.push_back(slot.reg);
        }
    }

    bool convert(int leaf) {
        const int memory = program_.of(program_.tracked[at(leaf)].reg).memory;
        if (program_.memories[at(memory)].input >= 0) return gone_[at(memory)] != 0;
        const std::vector<int> makers = uses_.makers(memory);
        // What has a history of its own lies there, too.
        if (std::ranges::any_of(makers, [&](int step) { return held_[at(step)] != 0; })) return false;
        gone_[at(memory)] = 1;
        std::vector<int> read;
        for (const int step : makers) {
            const Step& one = program_.steps[at(step)];
            // The maker may make something else, too.
            if (step != makers.front() || (all_gone(one.outputs) && one.writes.empty())) leave_out(step, read);
        }
        for (const int step : uses_.drawn_for(memory)) leave_out(step, read);
        while (!read.empty()) {
            const int other = read.back();
            read.pop_back();
            leave_out_memory(other, read);
        }
        add_inputs(memory, leaf, makers);
        leaves_.push_back(leaf);
        return true;
    }
    void finish() {
        compact();
        for (const int leaf : leaves_) part_aliases(leaf);
        program_.slices.clear();
        ++program_.revision;
        ++program_.deaths;
    }

private:
    bool all_gone(const Numbers& registers) const {
        return std::ranges::all_of(registers, [&](int reg) { return reg < 0 || gone_[at(program_.of(reg).memory)]; });
    }
    void leave_out(int step, std::vector<int>& read) {
        if (std::exchange(goes_[at(step)], 1)) return;
        for (const int reg : program_.steps[at(step)].inputs)
            if (reg >= 0) read.push_back(program_.of(reg).memory);
    }
    // If nobody reads it but steps that go.
    void leave_out_memory(int memory, std::vector<int>& read) {
        const Memory& of = program_.memories[at(memory)];
        if (gone_[at(memory)] || of.input >= 0 || of.made_by < 0 || uses_.is_observed(memory)) return;
        for (const int step : uses_.of(memory))
            if (!goes_[at(step)] && (!uses_.is_internal(step, memory) || held_[at(step)])) return;
        const Step& maker = program_.steps[at(of.made_by)];
        gone_[at(memory)] = 1;
        if (held_[at(of.made_by)] || !maker.writes.empty() || !all_gone(maker.outputs)) {
            gone_[at(memory)] = 0;
            return;
        }
        leave_out(of.made_by, read);
        for (const int step : uses_.of(memory)) leave_out(step, read);
    }

    void add_inputs(int memory, int leaf, const std::vector<int>& makers) {
        const auto first = static_cast<int>(program_.inputs.size());
        // The others that are leaves and lie there.
        add_input(leaf);
        for (int i = 0; i < static_cast<int>(program_.tracked.size()); ++i) {
            const TrackedTensor& tracked = program_.tracked[at(i)];
            if (i == leaf || !tracked.tensor || tracked.node >= 0 || program_.of(tracked.reg).memory != memory)
                continue;
            if (is_leaf(tracked) && place_of(*tracked.tensor) == tracked.place && !is_input(tracked.reg)) add_input(i);
        }
        leave_out_views(memory);
        // What else lies there as it was made.
        const int maker = makers.front();
        for (const int reg : program_.steps[at(maker)].outputs)
            if (reg >= 0 && program_.of(reg).memory == memory && !is_input(reg) && is_needed(reg)) add_whole(leaf, reg);
        for (int& reg : program_.steps[at(maker)].outputs)
            if (reg >= 0 && program_.of(reg).memory == memory) reg = -1;
        Memory& of = program_.memories[at(memory)];
        of.input = first;
        of.made_by = -1;
        Few<int, 2> writers;
        for (const int writer : of.writers)
            if (!goes_[at(writer)]) writers.push_back(writer);
        for (const int writer : writers)
            for (KeptWrite& write : program_.steps[at(writer)].writes)
                if (program_.of(write.reg).memory == memory) write.through = first;
        of.writers = std::move(writers);
        for (KeptNode& kept : program_.nodes)
            for (KeptSlot& slot : kept.slots)
                if (slot.reg >= 0 && program_.of(slot.reg).memory == memory) slot.through = first;
    }
    bool is_input(int reg) const {
        return std::ranges::any_of(program_.inputs, [&](const Input& one) { return one.reg == reg; });
    }
    void add_input(int leaf) {
        TrackedTensor& tracked = program_.tracked[at(leaf)];
        const Tensor tensor(tracked.tensor);
        const auto index = static_cast<int>(program_.inputs.size());
        push({tensor, false, tracked.reg, tensor.requires_grad(), 0, hooks_of(tensor)});
        program_.registers[at(tracked.reg)].made_by = -1;
        bool sets_grad = false;
        for (Leaf& one : program_.leaves) {
            if (one.tracked != leaf) continue;
            one.tracked = -1;
            one.input = index;
            sets_grad = true;
        }
        // The block has found none there.
        if (sets_grad) program_.grads.push_back({index, false});
        disown(program_, leaf);
    }
    void push(Input&& input) {
        input.place = place_of(*input.tensor.get());
        input.version = version_of(*input.tensor.get());
        input.looked = tick();
        program_.inputs.push_back(std::move(input));
    }
    void add_whole(int leaf, int reg) {
        const KeptRegister& whole = program_.of(reg);
        const Tensor tensor(program_.tracked[at(leaf)].tensor);
        const std::int64_t shift = byte_offset(tensor) - program_.of(program_.tracked[at(leaf)].reg).offset;
        const auto size = static_cast<std::int64_t>(item_size(whole.dtype));
        const std::int64_t offset = (whole.offset + shift) / size;
        check_inside_storage("forward", *whole.layout, offset, whole.dtype, *tensor->storage);
        const Tensor value = alias(tensor, whole.layout, offset);
        value->dtype = whole.dtype;
        share_version(value, tensor);
        push({value, false, reg, false, 0, 0});
        program_.registers[at(reg)].made_by = -1;
    }

    // Other tensors at the same place, as x.detach(), are made again from the leaf, which may get other memory.
    void part_aliases(int leaf) {
        const int from = program_.tracked[at(leaf)].reg;
        for (int i = 0; i < static_cast<int>(program_.tracked.size()); ++i) {
            TrackedTensor& tracked = program_.tracked[at(i)];
            if (i == leaf || !tracked.tensor || tracked.reg != from || is_leaf(tracked)) continue;
            const KeptRegister& same = program_.of(from);
            const auto step = static_cast<int>(program_.steps.size());
            const int reg = program_.add_register({same.layout, same.offset, same.memory, step, same.dtype, false});
            const AliasAttrs attributes{same.layout.get(), 0, same.dtype};
            Step& made = program_.steps.emplace_back(
                program_.keep({.op = &alias_op, .attributes = as_bytes(attributes)}), Numbers{from});
            made.outputs = {reg};
            tracked.reg = reg;
        }
        program_.forget_known();
    }

    // By a step or a node. A tensor that looks there shares the memory, whatever it holds.
    bool is_needed(int reg) const {
        if (std::ranges::find(saved_, reg) != saved_.end()) return true;
        return std::ranges::any_of(uses_.of(program_.of(reg).memory), [&](int step) {
            return !goes_[at(step)] &&
                   std::ranges::find(program_.steps[at(step)].inputs, reg) != program_.steps[at(step)].inputs.end();
        });
    }
    bool is_looked_at(int reg) const {
        return std::ranges::any_of(program_.tracked,
                                   [&](const TrackedTensor& tracked) { return tracked.tensor && tracked.reg == reg; });
    }
    // Views whose results are inputs now, or which only steps that go have read.
    void leave_out_views(int memory) {
        const std::vector<int>& uses = uses_.of(memory);
        for (auto step = uses.rbegin(); step != uses.rend(); ++step) {
            const Step& one = program_.steps[at(*step)];
            if (goes_[at(*step)] || held_[at(*step)] || !uses_.is_view(one, memory)) continue;
            goes_[at(*step)] = std::ranges::all_of(one.outputs, [&](int reg) {
                return reg < 0 || is_input(reg) || (!is_needed(reg) && !is_looked_at(reg));
            });
        }
    }

    // The steps that are left get new numbers.
    void compact() {
        std::vector<int> number(goes_.size(), -1);
        int left = 0;
        for (std::size_t i = 0; i < goes_.size(); ++i) {
            if (goes_[i]) continue;
            number[i] = left;
            if (const auto to = at(left++); to != i) program_.steps[to] = std::move(program_.steps[i]);
        }
        while (program_.steps.size() > at(left)) program_.steps.pop_back();
        const auto renumber = [&](int& step) {
            if (step >= 0) step = number[at(step)];
        };
        for (KeptRegister& reg : program_.registers) renumber(reg.made_by);
        for (Memory& memory : program_.memories) {
            renumber(memory.made_by);
            Few<int, 2> writers;
            for (const int writer : memory.writers)
                if (number[at(writer)] >= 0) writers.push_back(number[at(writer)]);
            memory.writers = std::move(writers);
        }
        for (KeptNode& kept : program_.nodes) renumber(kept.step);
        for (Leaf& leaf : program_.leaves) renumber(leaf.last);
    }

    Program& program_;
    const Uses& uses_;
    std::vector<char> goes_;   // steps
    std::vector<char> gone_;   // memories that no step makes any more
    std::vector<char> held_;   // steps whose nodes live
    std::vector<int> leaves_;  // that are inputs now
    std::vector<int> saved_;   // registers that nodes hold
};

std::string line_of(const Handle& code, std::int32_t instruction) {
    return code ? saved_hooks.site_text(code.get(), instruction) : std::string("an unknown line");
}
// "was written (copy_, at train.py:5 in main)", if that came after; else it has other memory.
std::string how_written(const Tensor& tensor, std::uint64_t since) {
    const WriteLog* const log = tensor->storage->log;
    if (log == nullptr || log->last.serial <= since)
        return "was written where no line is known (as by `x.data = `, or by NumPy)";
    const Site& site = log->last.site;
    return format("was written by %s at %s", log->last.op,
                  site.code ? saved_hooks.site_text(site.code, site.instruction).c_str() : "an unknown line");
}

[[noreturn]] void fail_conflict(const Program& program, const Tensor& leaf, std::uint64_t made, const Handle& made_at,
                                std::int32_t instruction, const std::vector<int>& sources) {
    const int source = *std::ranges::find_if(sources, [&](int i) { return program.inputs[at(i)].changed > made; });
    const Tensor& changed = program.inputs[at(source)].present();
    ReplayFailed failed(
        format("forward: expected a leaf of the block (of shape %s) or what it was made from to be changed, but it %s, "
               "and input %d, from which the block made it at %s, %s; so clew can't decide which value to use. To do: "
               "change only one of them, or run the block again",
               shape_text(leaf.sizes()).c_str(), how_written(leaf, made).c_str(), source,
               line_of(made_at, instruction).c_str(),
               changed ? how_written(changed, made).c_str() : "has lost its .grad"),
        nullptr);
    failed.code = made_at;
    failed.instruction = instruction;
    failed.input = leaf;
    throw failed;
}

const Step* maker_of(const Program& program, int reg) {
    const int made_by = program.memory_of(reg).made_by;
    return made_by < 0 ? nullptr : &program.steps[at(made_by)];
}

// What is no input, although it was written.
[[noreturn]] void fail_written(const Program& program, const TrackedTensor& tracked, const Uses& uses) {
    const Step* const maker = maker_of(program, tracked.reg);
    const Tensor tensor(tracked.tensor);
    const std::vector<int> sources = uses.sources(program.of(tracked.reg).memory);
    if (tracked.node < 0 && has_changed(program, sources, tracked.made))
        fail_conflict(program, tensor, tracked.made, maker ? maker->action->code : Handle(),
                      maker ? maker->action->instruction : -1, sources);
    throw ReplayFailed(
        format("forward: a tensor of the block (%s of shape %s) %s since, which would be undone; write to "
               "an input or to a leaf of the block, or run the block again",
               maker ? name_of(*maker).c_str() : "a constant", shape_text(tensor.sizes()).c_str(),
               how_written(tensor, tracked.made).c_str()),
        maker);
}

void forget_inputs(Program& program) {
    std::erase_if(program.historyless, [&](int i) { return program.memory_of(program.tracked[at(i)].reg).input >= 0; });
}

}  // namespace

void note_values(Program& program) {
    std::vector<char> is_gradient(program.memories.size());
    for (const Step& step : program.steps)
        if (step.action->kind == StepKind::Rebind && step.inputs[0] >= 0)
            is_gradient[at(program.of(step.inputs[0]).memory)] = 1;
    std::vector<char> given_out(program.memories.size());
    for (const Step& step : program.steps)
        if (step.action->kind == StepKind::Read && shares_memory(step.action->read))
            given_out[at(program.of(step.inputs[0]).memory)] = 1;
    const std::uint64_t now = tick();
    program.historyless.clear();
    for (int i = 0; i < static_cast<int>(program.tracked.size()); ++i) {
        TrackedTensor& tracked = program.tracked[at(i)];
        tracked.made = now;
        const int memory = program.of(tracked.reg).memory;
        if (tracked.node >= 0 || program.memories[at(memory)].made_by < 0 || is_gradient[at(memory)]) continue;
        program.historyless.push_back(i);
        if (is_leaf(tracked)) guard(program, i, given_out[at(memory)] != 0);
    }
    // The first made comes first, and leaves before what else lies on their memory.
    std::ranges::stable_sort(program.historyless, {}, [&](int i) {
        const TrackedTensor& tracked = program.tracked[at(i)];
        return std::pair(!is_leaf(tracked), tracked.reg);
    });
    look_at_inputs(program, false);
}

void make_inputs(Program& program, std::span<const int> leaves) {
    if (leaves.empty()) return;
    const Uses uses(program);
    Conversion conversion(program, uses);
    for (const int leaf : leaves)
        if (program.memory_of(program.tracked[at(leaf)].reg).input < 0) conversion.convert(leaf);
    conversion.finish();
    forget_inputs(program);
}

void notice_writes(Program& program) {
    if (!program.finished || (program.historyless.empty() && program.written_leaves.empty())) return;
    look_at_inputs(program, true);
    const auto is_candidate = [&](int i) {
        const TrackedTensor& tracked = program.tracked[at(i)];
        return tracked.tensor && is_written(tracked);
    };
    if (program.under_way || std::ranges::none_of(program.historyless, is_candidate)) return;
    const Uses uses(program);
    std::vector<int> leaves;
    std::vector<WrittenLeaf> written;
    std::vector<char> is_new(program.memories.size()), seen;
    for (const int i : program.historyless)
        if (is_candidate(i)) is_new[at(program.of(program.tracked[at(i)].reg).memory)] = 1;
    const auto reads_another = [&](int memory) {
        for (std::size_t i = 0; i < seen.size(); ++i)
            if (seen[i] && is_new[i] && i != at(memory)) return true;
        return false;
    };
    for (const int i : program.historyless) {
        if (!is_candidate(i)) continue;
        const TrackedTensor& tracked = program.tracked[at(i)];
        const int memory = program.of(tracked.reg).memory;
        std::vector<int> sources = uses.sources(memory, seen);
        if (reads_another(memory)) continue;
        // A result: it is computed again.
        if (!is_leaf(tracked) && !sources.empty()) continue;
        if (has_changed(program, sources, tracked.made)) continue;
        leaves.push_back(i);
        const Step& maker = *maker_of(program, tracked.reg);
        written.push_back({i, std::move(sources), tracked.made, maker.action->code, maker.action->instruction});
    }
    if (leaves.empty()) return;
    Conversion conversion(program, uses);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const int reg = program.tracked[at(leaves[i])].reg;
        if (!conversion.convert(leaves[i])) continue;
        const auto input = std::ranges::find(program.inputs, reg, &Input::reg);
        written[i].input = static_cast<int>(input - program.inputs.begin());
        if (input == program.inputs.end()) continue;  // a second one at the same place
        input->changed = tick();
        program.written_leaves.push_back(std::move(written[i]));
    }
    conversion.finish();
    forget_inputs(program);
}

void check_leaves(const Program& program) {
    for (const WrittenLeaf& one : program.written_leaves)
        if (has_changed(program, one.sources, one.made))
            fail_conflict(program, program.inputs[at(one.input)].tensor, one.made, one.made_at, one.made_instruction,
                          one.sources);
    for (const int i : program.historyless)
        if (const TrackedTensor& tracked = program.tracked[at(i)]; is_leaf(tracked) && is_written(tracked))
            fail_written(program, tracked, Uses(program));
}

void check_writes(const Program& program, const Slice& slice) {
    for (const WrittenLeaf& one : program.written_leaves)
        if (std::ranges::binary_search(slice.inputs, one.input) && has_changed(program, one.sources, one.made))
            fail_conflict(program, program.inputs[at(one.input)].tensor, one.made, one.made_at, one.made_instruction,
                          one.sources);
    for (const int i : slice.tracked) {
        const TrackedTensor& tracked = program.tracked[at(i)];
        if (tracked.tensor == nullptr || !is_written(tracked) || program.memory_of(tracked.reg).input >= 0) continue;
        const int memory = program.of(tracked.reg).memory;
        const Uses uses(program);
        const bool is_gradient = std::ranges::any_of(
            uses.of(memory), [&](int step) { return program.steps[at(step)].action->kind == StepKind::Rebind; });
        const bool is_read = std::ranges::any_of(
            uses.of(memory), [&](int step) { return slice.runs[at(step)] && !uses.is_internal(step, memory); });
        if (!is_gradient && (is_read || is_leaf(tracked))) fail_written(program, tracked, uses);
    }
}

void settle_values(Program& program, const Slice& slice) {
    const auto settle = [now = tick()](TrackedTensor& tracked) {
        tracked.made = now;
        if (guarded_leaves != 0 && is_leaf(tracked)) note_values_of(*tracked.tensor);
    };
    for (const int i : slice.tracked) settle(program.tracked[at(i)]);
    for (const int i : slice.beside) {
        TrackedTensor& tracked = program.tracked[at(i)];
        settle(tracked);
        if (tracked.tensor) tracked.version = version_of(*tracked.tensor);
    }
    if (!program.historyless.empty() || !program.written_leaves.empty()) look_at_inputs(program, false);
}

}  // namespace clew
