#include "core/program/loops/loop.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/kernels/capture.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/replay.h"
#include "core/program/replay/slice.h"

namespace clew {
namespace {

// All iterations, by pointers to the inputs of the step and to the loop's own memory.
class LoopCall final : public kernels::KernelCall {
public:
    LoopCall(Loop& loop, std::vector<char*> inputs, const Tensor& own)
        : loop_(loop),
          traits_(loop.may_fail() ? kernels::kMayFail : 0u),
          own_(own->storage->data),
          inputs_(std::move(inputs)) {}
    void run() const override { loop_.run_calls(inputs_.data(), own_); }
    kernels::Operands operands() override {
        kernels::Operands list;
        list.push_back({&own_, 0, loop_.bytes, true});
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const Loop::Reach& reach = loop_.reaches[i];
            list.push_back({&inputs_[i], reach.below, reach.above, false});
            if (reach.written) list.push_back({&inputs_[i], reach.below, reach.above, true});
        }
        return list;
    }
    std::size_t bytes() const override { return sizeof(*this) + inputs_.capacity() * sizeof(char*); }
    std::int64_t work() const override { return 0; }
    unsigned traits() const override { return traits_; }

private:
    Loop& loop_;
    const unsigned traits_;
    char* own_;
    std::vector<char*> inputs_;
};

// Whatever captures the step has nothing to do with what the body does.
class Uncaptured {
public:
    Uncaptured() : capture_(kernels::capture_under_way), mode_(kernel_mode) { set_kernel_mode(KernelMode::Run); }
    ~Uncaptured() {
        kernels::capture_under_way = capture_;
        set_kernel_mode(mode_);
    }
    Uncaptured(const Uncaptured&) = delete;
    Uncaptured& operator=(const Uncaptured&) = delete;

private:
    kernels::Capture* const capture_;
    const KernelMode mode_;
};

}  // namespace

void Loop::Reach::add(std::int64_t begin, std::int64_t end) {
    below = std::max(below, -begin);
    above = std::max(above, end);
}

std::size_t steps_in_loops(const Program& program) {
    std::size_t sum = 0;
    for (const auto& loop : program.loops) sum += static_cast<std::size_t>(loop->iterations) * loop->body.steps.size();
    return sum;
}

void Loop::run(Tensors inputs, const Tensor& own) {
    std::vector<char*> places;
    for (const Tensor& input : inputs) places.push_back(static_cast<char*>(input.data()));
    {
        const Uncaptured apart;
        begin(places.data(), own->storage->data);
        for (int iteration = 0; iteration < iterations; ++iteration) run_steps(iteration, inputs, own);
    }
    if (kernel_mode != KernelMode::Capture) return;
    if (is_calls_only())
        kernels::capture_under_way->calls.push_back(std::make_unique<LoopCall>(*this, std::move(places), own));
    else
        note_uncaptured();
}

void Loop::begin(char* const* inputs, char* own) const {
    for (const Begin& one : begins)
        std::memcpy(own + one.to, inputs[one.input] + one.from, static_cast<std::size_t>(one.bytes));
}

void Loop::run_steps(int iteration, Tensors inputs, const Tensor& own) {
    std::vector<InputPlace> of_memory(body.memories.size()), places;
    for (const Buffer& one : bindings) {
        const Tensor& in = one.input == kOwn ? own : inputs[static_cast<std::size_t>(one.input)];
        of_memory[static_cast<std::size_t>(one.memory)] = {in->storage.get(),
                                                           byte_offset(in) + one.start + iteration * one.stride};
    }
    for (const Input& input : body.inputs) {
        const KeptRegister& reg = body.of(input.reg);
        InputPlace place = of_memory[static_cast<std::size_t>(reg.memory)];
        place.offset += reg.offset;
        places.push_back(place);
    }
    replay_at(body, places);
}

bool Loop::is_calls_only() {
    const Slice& slice = slice_of(body, -1);
    return slice.plan && slice.plan->calls_only;
}

bool Loop::may_fail() {
    return std::ranges::any_of(slice_of(body, -1).plan->order, [](const Planned& one) { return one.call->may_fail(); });
}

void Loop::run_calls(char* const* inputs, char* own) {
    Plan& plan = *slice_of(body, -1).plan;
    StorageRef arena;
    if (plan.arena_bytes && !plan.kept_arena) {
        plan.put_arena(arena = plan.new_arena());
        if (plan.arena_bytes <= Plan::kKeptArena) plan.kept_arena = arena;
    }
    begin(inputs, own);
    const Planned* now = nullptr;
    try {
        run_turns(plan, inputs, own, now);
    } catch (const Error& error) {
        const ReplayStep& of = body.slices[0]->replay_steps[static_cast<std::size_t>(now->step)];
        throw ReplayFailed(error.what(), &body.steps[static_cast<std::size_t>(of.step)]);
    }
}

void Loop::run_turns(Plan& plan, char* const* inputs, char* own, const Planned*& now) const {
    const auto go_to = [&](int iteration) {
        for (const Buffer& one : bindings)
            plan.move(one.memory, (one.input == kOwn ? own : inputs[one.input]) + one.start + iteration * one.stride);
    };
    const auto run = [&] {
        for (const Planned& one : plan.order) (now = &one)->call->run();
    };
    int iteration = 0;
    for (; iteration < iterations && plan.codes && !plan.codes->is_settled(); ++iteration) {
        go_to(iteration);
        plan.advance_code();
        run();
    }
    if (iteration == iterations) return;
    go_to(iteration);
    if (!plan.moving) plan.moving = pointers_that_move(plan);
    for (const Buffer& one : bindings)
        if (Plan::Base* const base = plan.base(one.memory); base && one.stride)
            base->address = nullptr;  // it won't be there: whoever is next moves it anew
    for (run(); ++iteration < iterations; run()) plan.moving->move();
}

// And all of a table that has some of them.
kernels::MovingPointers Loop::pointers_that_move(Plan& plan) const {
    kernels::MovingPointers moving;
    for (const Buffer& one : bindings)
        if (const Plan::Base* const base = plan.base(one.memory); base && one.stride)
            for (const Plan::Place& place : base->places) moving.add(place.pointer, one.stride);
    if (plan.codes)
        for (code::Replaceable* const code : plan.codes->found())
            for (char*& pointer : code->table()) moving.add(&pointer, 0);
    moving.seal();
    return moving;
}

}  // namespace clew
