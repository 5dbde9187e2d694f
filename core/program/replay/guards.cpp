#include "core/program/replay/guards.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>

#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/kernels/memory/copy.h"
#include "core/program/record/weak_bindings.h"

namespace clew {

std::string difference(const Tensor& now, const KeptRegister& then) {
    if (!same_sizes(now.sizes(), then.layout->shape()))
        return format("its shape is %s and was %s", shape_text(now.sizes()).c_str(),
                      shape_text(then.layout->shape()).c_str());
    if (now.dtype() != then.dtype)
        return format("its dtype is %s and was %s", dtype_name(now.dtype()), dtype_name(then.dtype));
    return format("its strides are %s and were %s", shape_text(now.strides()).c_str(),
                  shape_text(then.layout->strides()).c_str());
}

bool same_bits(const Tensor& now, const Tensor& then) {
    const auto bytes = static_cast<std::size_t>(then.numel()) * item_size(then.dtype());
    if (now.contiguous() && then.contiguous()) return std::memcmp(now.data(), then.data(), bytes) == 0;
    Tensor packed[2];
    for (int i = 0; i < 2; ++i) {
        packed[i] = empty(then.sizes(), then.dtype());
        kernels::copy(packed[i].view(), (i ? then : now).view());
    }
    return std::memcmp(packed[0].data(), packed[1].data(), bytes) == 0;
}

namespace {

class InputCheck {
public:
    InputCheck(const Program& program, Slice& slice) : program_(program), slice_(slice) {}

    ReplayFailed failure(const Input& input, const std::string& what) const {
        const int place = static_cast<int>(&input - program_.inputs.data());
        const Step* used = nullptr;
        for (const Step& step : program_.steps)
            if (used == nullptr && std::ranges::find(step.inputs, input.reg) != step.inputs.end()) used = &step;
        ReplayFailed failed(format("expected input %d%s%s%s to be as in the recorded run, but %s; run the block again",
                                   place, used ? ", which '" : "", used ? used->action->op->name : "",
                                   used ? "' reads first," : "", what.c_str()),
                            used);
        failed.input = input.tensor;
        failed.is_grad = input.grad_of;
        return failed;
    }
    [[noreturn]] void differs(const Input& input, const char* what) const { throw failure(input, what); }

    [[noreturn]] void geometry_differs(const Input& input, const Tensor& now) const {
        const KeptRegister& then = program_.of(input.reg);
        ReplayFailed failed = failure(input, difference(now, then));
        if (!same_sizes(now.sizes(), then.layout->shape())) {
            failed.recorded_shape.assign(then.layout->shape().begin(), then.layout->shape().end());
            failed.got_shape.assign(now.sizes().begin(), now.sizes().end());
        }
        throw failed;
    }

    void go() {
        for (const int i : slice_.inputs) {
            const Input& input = program_.inputs[static_cast<std::size_t>(i)];
            const Tensor& now = input.present();
            if (!now) differs(input, "there is no .grad");
            if (!same_geometry(now, program_.of(input.reg))) geometry_differs(input, now);
            if (now.requires_grad() != input.requires_grad)
                differs(input,
                        input.requires_grad ? "requires_grad is off and was on" : "requires_grad is on and was off");
            if (input.grad_of) continue;
            if (input.bound ? bool(history_of(now)) != bool(input.history) : history_of(now) != input.history)
                differs(input, "it has another history: what it was computed from has run again");
            if (slice_.target < 0 && program_.has_backward && hooks_of(now) != input.hooks)
                differs(input, "hooks came or went");
        }
        for (const int i : program_.placed) {
            const Input& input = program_.inputs[static_cast<std::size_t>(i)];
            if (byte_offset(input.present()) != program_.of(input.reg).offset)
                differs(input, "it has another storage offset, and the block read that");
        }
        check_sharing();
        if (slice_.target >= 0) return;
        for (const GradWitness& grad : program_.grads) {
            const Input& input = program_.inputs[static_cast<std::size_t>(grad.input)];
            if (bool(input.tensor->extras && input.tensor->extras->grad) == grad.present) continue;
            differs(input, grad.present ? "it had a .grad then, and has none now"
                                        : "its .grad was None then, and is there now (zero_grad() comes first)");
        }
    }

    // Inputs that looked at one memory still do, at the same places, and no others; and what is written overlaps no
    // other input, as memory that is not ours might.
    void check_sharing() {
        // Each that moved is held against each other one; where many did, they are looked up.
        constexpr std::size_t kFew = 4;
        std::size_t moved[kFew], count = 0;
        if (slice_.sharing.size() != slice_.inputs.size()) slice_.sharing.assign(slice_.inputs.size(), {});
        for (std::size_t i = 0; i < slice_.inputs.size(); ++i) {
            const Tensor& now = input(i).present();
            const std::pair<const Storage*, std::int64_t> place{now->storage.get(), now->offset};
            if (slice_.sharing[i] == place) continue;
            slice_.sharing[i] = place;
            if (count < kFew) moved[count] = i;
            ++count;
        }
        if (count == 0) return;
        const bool fits =
            count > kFew ? are_all_apart()
                         : std::ranges::all_of(std::span(moved, count), [&](std::size_t i) { return is_apart(i); });
        if (fits) return;
        slice_.sharing.clear();
        differs(input(culprit_), what_);
    }

private:
    const Input& input(std::size_t i) const { return program_.inputs[static_cast<std::size_t>(slice_.inputs[i])]; }
    int memory_of(std::size_t i) const { return program_.of(input(i).reg).memory; }
    std::int64_t shift_of(std::size_t i) const {
        return byte_offset(input(i).present()) - program_.of(input(i).reg).offset;
    }
    bool fits(std::size_t i, std::size_t k) {
        const bool shares = slice_.sharing[i].first == slice_.sharing[k].first;
        const bool shared = memory_of(i) == memory_of(k);
        if (shares == shared && (!shared || shift_of(i) == shift_of(k))) return shared || lie_apart(i, k);
        culprit_ = std::max(i, k);
        what_ = shares && !shared ? "it shares memory with another input now"
                                  : "it no longer shares memory with another input";
        return false;
    }
    // Of two storages.
    bool lie_apart(std::size_t i, std::size_t k) {
        const Storage &one = *slice_.sharing[i].first, &other = *slice_.sharing[k].first;
        if (!one.foreign && !other.foreign) return true;
        if (one.data + one.bytes <= other.data || other.data + other.bytes <= one.data) return true;
        const auto is_written = [&](std::size_t at) { return slice_.written[static_cast<std::size_t>(memory_of(at))]; };
        if (!is_written(i) && !is_written(k)) return true;
        culprit_ = std::max(i, k);
        what_ = "it overlaps another input, and one of the two is written";
        return false;
    }
    bool is_apart(std::size_t i) {
        for (std::size_t k = 0; k < slice_.inputs.size(); ++k)
            if (k != i && !fits(i, k)) return false;
        return true;
    }
    // The first on each memory stands for the others.
    bool are_all_apart() {
        std::unordered_map<const Storage*, std::size_t> by_storage;
        std::vector<std::size_t> by_memory(program_.memories.size(), slice_.inputs.size());
        for (std::size_t i = 0; i < slice_.inputs.size(); ++i) {
            std::size_t& on_memory = by_memory[static_cast<std::size_t>(memory_of(i))];
            if (on_memory == slice_.inputs.size()) on_memory = i;
            const std::size_t on_storage = by_storage.emplace(slice_.sharing[i].first, i).first->second;
            if (!fits(i, on_memory) || !fits(i, on_storage)) return false;
            if (!slice_.sharing[i].first->foreign) continue;
            for (std::size_t k = 0; k < slice_.inputs.size(); ++k)
                if (slice_.sharing[k].first != slice_.sharing[i].first && !lie_apart(i, k)) return false;
        }
        return true;
    }

    std::size_t culprit_ = 0;
    const char* what_ = nullptr;
    const Program& program_;
    Slice& slice_;
};

}  // namespace

void check_inputs(const Program& program, Slice& slice) { InputCheck(program, slice).go(); }

void check_unchanged(const Program& program, int index, bool its_value_too) {
    const TrackedTensor& tracked = program.tracked[static_cast<std::size_t>(index)];
    if (tracked.tensor == nullptr) return;
    const Tensor tensor(tracked.tensor);
    const Node* const node = tracked.node < 0 ? nullptr : program.nodes[static_cast<std::size_t>(tracked.node)].node;
    const bool same_history =
        (tensor->grad_fn.get() == node && (node || tracked.node < 0)) || is_refreshed_view(program, tracked);
    const KeptRegister& then = program.of(tracked.reg);
    const char* what = !same_history                                                   ? "has another history"
                       : place_of(*tensor.get()) != tracked.place                      ? "has other memory"
                       : its_value_too && version_of(*tensor.get()) != tracked.version ? "has been written"
                                                                                       : nullptr;
    if (what == nullptr && same_geometry(tensor, then)) return;
    const int made_by = then.made_by;
    const Step* const step = made_by < 0 ? nullptr : &program.steps[static_cast<std::size_t>(made_by)];
    throw ReplayFailed(
        format("forward: a tensor of the block (%s of shape %s) %s since; keep it as the block left it, or make it "
               "again in a new block",
               step ? step->action->op->name : "a constant", shape_text(then.layout->shape()).c_str(),
               what ? what : difference(tensor, then).c_str()),
        step);
}

}  // namespace clew
