#include "bind/keep/recording.h"

#include <algorithm>

#include "bind/errors.h"
#include "bind/keep/stopwatch.h"
#include "bind/types/objects.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

bool traced = false;

void give_arguments(Tracer& tracer, Recorder& recorder, Variant& variant, const CallArguments& arguments) {
    for (PyObject* const object : arguments.objects) {
        tracer.add_older(object);
        variant.objects.push_back(nb::borrow(object));
    }
    for (PyObject* const container : arguments.containers) tracer.add_argument(container);
    for (const Tensor& tensor : arguments.tensors) {
        tracer.add_argument(as_object(tensor.get()));
        recorder.input_of(tensor);  // the first on its memory, so that what aliases it is told from it
    }
}

PyObject* callable_of(const Hook& hook) { return static_cast<PyObject*>(hook.callable.get()); }

// A backward of the call runs them, from C: what they are bound to is older, and no instruction comes to it.
void give_hooks(Tracer& tracer, const Recorder& recorder) {
    for (const auto& [tensor, hooks] : recorder.hooked_before())
        each_hook(*tensor, [&](const Hook& hook) { tracer.add_callback(callable_of(hook)); });
}

bool runs_hook_in_c(const Program& program) {
    bool found = false;
    for (const Input& input : program.inputs)
        if (program.has_backward && !input.grad_of)
            each_hook(*input.tensor.get(),
                      [&](const Hook& hook) { found = found || !Tracer::watches(callable_of(hook)); });
    return found;
}

Recording record_with(Recorder& recorder, std::shared_ptr<Variant> variant, PyObject* function,
                      const CallArguments& arguments, PyObject* positional, PyObject* named) {
    const Stopwatch all;
    Program& program = variant->program;
    variant->key = arguments.key;
    recorder.begin_call();
    Tracer tracer(recorder, program);
    tracer.add_older(function);
    give_arguments(tracer, recorder, *variant, arguments);
    give_hooks(tracer, recorder);
    const nb::object given = tracer.with_own_floats(positional, 0);
    const nb::object names =
        named ? tracer.with_own_floats(named, static_cast<int>(tracer.numbers.size())) : nb::object();
    tracer.begin_call(function, given.ptr());
    const std::uint32_t modes = mode_word;
    const Stopwatch call;
    tracer.start();
    traced = true;
    const nb::object result = nb::steal(PyObject_Call(function, given.ptr(), names.ptr()));
    tracer.stop();
    traced = false;
    variant->times.eager = std::max(call.nanoseconds() - tracer.spent, std::int64_t{1});
    tracer.finish();
    if (!result.is_valid()) {
        recorder.end_call(false, {}, {}, {}, {});
        return {};
    }
    Cause cause = tracer.cause.value_or(Cause{});
    if (cause.text.empty() && mode_word != modes) cause.text = "changes the grad mode";
    if (cause.text.empty() && recorder.failed() && program.refusals.empty())
        cause.text = "catches the error of an operation";
    if (cause.text.empty() && runs_hook_in_c(program)) cause.text = "runs a hook of a tensor that is not Python";
    variant->form = std::make_unique<ResultForm>(tracer, arguments);
    if (cause.text.empty() && program.refusals.empty()) {
        variant->value = variant->form->add(result.ptr());
        variant->form->add_effects();
        variant->form->add_graphs(program.began);
        if (!variant->form->unknown.empty()) cause = {variant->form->unknown, tracer.returned_code, tracer.returned_at};
    }
    recorder.end_call(cause.text.empty(), variant->form->tensors, arguments.tensors, variant->form->nodes,
                      variant->form->hooked);
    if (cause.text.empty() && !program.refusals.empty()) {
        const Refusal& first = program.refusals[0];
        cause = {first.text, first.code, first.instruction};
    }
    variant->times.recording = all.nanoseconds() - variant->times.eager;
    if (cause.text.empty()) variant->keep(tracer, arguments);
    return {result, std::move(variant), std::move(cause)};
}

}  // namespace

bool is_traced() { return traced; }

Recording record_call(PyObject* function, const CallArguments& arguments, PyObject* positional, PyObject* named) {
    auto variant = std::make_shared<Variant>();
    Recorder recorder(variant->program);
    return record_with(recorder, variant, function, arguments, positional, named);
}

Checked check_call(const Variant& variant, const Rehearsal& replayed, PyObject* function,
                   const CallArguments& arguments, PyObject* positional, PyObject* named) {
    auto other = std::make_shared<Variant>();
    Digests eager;
    DigestingRecorder recorder(other->program, eager);
    Recording recording = record_with(recorder, other, function, arguments, positional, named);
    if (!recording.result.is_valid()) return {};
    eager.resize(other->program.steps.size());
    StepDifference difference = first_difference(variant.program, replayed.steps, other->program, eager);
    if (const int i = replayed.other_by_plan; i >= 0 && !difference.step) {
        const Step& step = variant.program.steps[static_cast<std::size_t>(i)];
        difference = {&step, format("step %d, %s, gives other bits where the memory plan runs it than by itself", i,
                                    name_of(step).c_str())};
    }
    return {std::move(recording), std::move(difference)};
}

}  // namespace clew::bind
