#include "core/program/replay/digests.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/frame.h"
#include "core/kernels/memory/copy.h"

namespace clew {
namespace {

std::uint64_t mix(std::uint64_t state, const char* bytes, std::size_t count) {
    constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15u;
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + at, std::min(sizeof word, count - at));
        state = (state ^ word) * kPrime;
        state ^= state >> 29;
    }
    return state;
}

// Any NaN is as good as another: Note [Code takes over].
template <class T>
std::uint64_t mix_floats(std::uint64_t state, const Tensor& packed) {
    std::vector<T> values(packed.data_as<T>(), packed.data_as<T>() + packed.numel());
    for (T& one : values)
        if (one != one) one = std::numeric_limits<T>::quiet_NaN();
    return mix(state, reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::uint64_t mix(std::uint64_t state, const Tensor& value) {
    Tensor packed = value;
    if (!value.contiguous()) {
        [[maybe_unused]] const DispatchFrame frame;
        packed = empty(value.sizes(), value.dtype());
        kernels::copy(packed.view(), value.view());
    }
    const auto bytes = static_cast<std::size_t>(packed.numel()) * item_size(packed.dtype());
    if (packed.dtype() == DType::Float32) return mix_floats<float>(state, packed);
    if (packed.dtype() == DType::Float64) return mix_floats<double>(state, packed);
    return mix(state, static_cast<const char*>(packed.data()), bytes);
}

}  // namespace

bool makes_values(const Step& step) {
    return step.action->kind == StepKind::Run && step.action->op != &alias_op && !step.action->op->is(kView) &&
           !step.action->op->is(kManyViews) && !step.action->op->is(kUninitialized);
}

std::uint64_t digest_of(Tensors values) {
    std::uint64_t state = 1;
    for (const Tensor& value : values)
        if (value) state = mix(state, value);
    return state;
}

void DigestingRecorder::handle(OpCall& call) {
    Recorder::handle(call);
    digests_.resize(program_.steps.size());
    if (call.form == Form::Function || program_.steps.empty()) return;
    std::size_t last = program_.steps.size() - 1;  // the step of this call: what its nodes saved may be looked at after
    while (last > 0 && program_.steps[last].action->op == &alias_op) --last;
    if (!makes_values(program_.steps[last])) return;
    std::vector<Tensor> values;
    for_each_written(call, [&](const Tensor& tensor) { values.push_back(tensor); });
    if (call.form == Form::Functional)
        for (const Tensor& output : call.outputs) values.push_back(output);
    digests_[last] = digest_of(values);
}

StepDifference first_difference(const Program& replayed, const Digests& of_replay, const Program& eager,
                                const Digests& of_eager) {
    const std::size_t count = std::max(replayed.steps.size(), eager.steps.size());
    for (std::size_t i = 0; i < count; ++i) {
        const Step* const mine = i < replayed.steps.size() ? &replayed.steps[i] : nullptr;
        const Step* const other = i < eager.steps.size() ? &eager.steps[i] : nullptr;
        if (mine == nullptr || other == nullptr || mine->action->op != other->action->op ||
            mine->action->form != other->action->form)
            return {mine ? mine : other,
                    format("step %zu is %s in the replay, and %s in the function itself", i,
                           mine ? name_of(*mine).c_str() : "missing", other ? name_of(*other).c_str() : "missing")};
        if (of_replay[i] != of_eager[i])
            return {mine, format("step %zu, %s, gives other bits in the replay than in the function itself", i,
                                 name_of(*mine).c_str())};
    }
    return {};
}

}  // namespace clew
