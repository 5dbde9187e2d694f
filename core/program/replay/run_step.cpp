#include "core/program/replay/run_step.h"

#include <cstring>
#include <optional>

#include "core/base/frame.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/scalar.h"
#include "core/program/replay/guards.h"

namespace clew {
namespace {

constexpr int kFew = 12;

}  // namespace

void StepRunner::run(const ReplayStep& run, kernels::Capture* capture) {
    if (run.kind == StepKind::Read) check_read(program_.steps[static_cast<std::size_t>(run.step)]);
    if (run.kind != StepKind::Run) return;
    const int* const inputs = state_.slice.registers.data() + run.first;
    const int* const outputs = inputs + run.inputs;
    if (run.inputs + run.outputs <= kFew) {
        alignas(Tensor) std::byte room[kFew * sizeof(Tensor)]{};
        execute(run, inputs, outputs, reinterpret_cast<Tensor*>(room), capture);
    } else {
        std::vector<std::byte> room((run.inputs + run.outputs) * sizeof(Tensor));
        execute(run, inputs, outputs, reinterpret_cast<Tensor*>(room.data()), capture);
    }
}

// `room` is for the handles of the call, zeroed. Those of inputs are not counted: registers hold the tensors.
void StepRunner::execute(const ReplayStep& run, const int* inputs, const int* outputs, Tensor* room,
                         kernels::Capture* capture) {
    std::vector<Tensor>& regs = state_.regs;
    for (int i = 0; i < run.inputs; ++i)
        if (inputs[i] >= 0)
            std::memcpy(static_cast<void*>(room + i), &regs[static_cast<std::size_t>(inputs[i])], sizeof(Tensor));
    const std::span<Tensor> results =
        run.form == Form::InPlace ? std::span(&in_place_, 1) : std::span(room + run.inputs, run.outputs);
    struct Clean {
        std::span<Tensor> results;
        ~Clean() {
            for (Tensor& one : results) one = Tensor();
        }
    } const clean{results};
    if (run.form == Form::InPlace) in_place_ = regs[static_cast<std::size_t>(inputs[0])];
    const Step& step = program_.steps[static_cast<std::size_t>(run.step)];
    const CallDetails details{.name = step.action->name, .generator = step.action->generator};
    OpCall call{*step.action->op, Tensors(room, run.inputs), step.action->attributes.data(), results, run.form,
                &details};
    try {
        [[maybe_unused]] const DispatchFrame frame;
        std::optional<kernels::CaptureScope> capturing;
        if (capture) capturing.emplace(*capture);
        run.form == Form::Accumulate ? step.action->op->forward(call) : run_forward(call);
    } catch (const Error& error) {
        throw ReplayFailed(error.what(), &step);
    } catch (const PythonError&) {
        throw ReplayFailed(format("%s: raised an error", step.action->name ? step.action->name : step.action->op->name),
                           &step);
    }
    for (std::size_t i = 0; i < run.outputs; ++i) {
        if (outputs[i] < 0) continue;
        Tensor& made = call.outputs[i];
        if (!made || !same_geometry(made, program_.of(outputs[i])))
            throw ReplayFailed(format("%s: gives another result than in the recorded run: %s", step.action->op->name,
                                      made ? difference(made, program_.of(outputs[i])).c_str() : "there is none"),
                               &step);
        regs[static_cast<std::size_t>(outputs[i])] = std::move(made);
    }
}

void StepRunner::check_read(const Step& step) {
    [[maybe_unused]] const DispatchFrame frame;
    const Tensor& now = state_.regs[static_cast<std::size_t>(step.inputs[0])];
    if (!program_.followed.empty() && program_.followed[static_cast<std::size_t>(step.index)]) {
        ReadNumber& number = numbers.emplace_back(ReadNumber{now.dtype(), {}});
        if (step.action->read == Read::ToList) {
            number.list = empty(now.sizes(), now.dtype());
            kernels::copy(number.list.view(), now.view());
            return;
        }
        std::memcpy(number.bytes, now.data(), item_size(now.dtype()));
        for (const NumberUse& use : program_.number_uses)
            if (use.read == step.index)
                state_.regs[static_cast<std::size_t>(program_.constants[use.constant].first)] =
                    clew::number(Scalar::of(read_number(now)));
        for (const NumberWitness& one : program_.comparisons)
            if (one.read == step.index && !one.holds(read_number(now)))
                throw ReplayFailed(format("compared with %.9g otherwise in the recorded run", one.constant), &step);
        return;
    }
    const Tensor& then = program_.reads[static_cast<std::size_t>(step.index)];
    const bool truth = step.action->read == Read::Bool;
    if (truth ? (read_number(now) != 0) == (read_number(then) != 0) : same_bits(now, then)) return;
    const std::string text = then.numel() == 1 ? format("%.9g then, %.9g now", read_number(then), read_number(now))
                                               : format("%lld values", static_cast<long long>(then.numel()));
    throw ReplayFailed(
        format(
            "the value that is read here differs from the recorded run (%s: %s), so the code might take another path",
            step.action->name, text.c_str()),
        &step);
}

}  // namespace clew
