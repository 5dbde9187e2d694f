#include "bind/keep/program.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>

#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/graph/replay_events.h"
#include "bind/graph/site.h"
#include "bind/keep/program_file.h"
#include "bind/keep/python_step.h"
#include "bind/transforms/repeat.h"
#include "bind/types/objects.h"
#include "core/program/passes/passes.h"
#include "core/program/record/leaves.h"
#include "core/program/record/recorder.h"
#include "core/program/record/weak_bindings.h"
#include "core/program/replay/replay.h"
#include "core/program/replay/slice.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

// Keeps nothing of what the block made alive: tensors of the block keep it.
struct KeptProgram {
    Program program;
    std::unique_ptr<Recorder> recorder;
    ~KeptProgram() { recorder.reset(); }

    void begin() {
        if (recorder || program.finished) fail(ErrorKind::Runtime, "Program.begin: it has recorded a block already");
        program.self = nb::find(this).ptr();
        recorder = std::make_unique<Recorder>(program);
        recorder->begin();
    }
    // Why it can't be kept: (text, line), one for each reason.
    nb::list end(bool whole, nb::handle parameter) {
        if (!recorder) fail(ErrorKind::Runtime, "Program.end: nothing is being recorded");
        recorder->end(whole);
        recorder.reset();
        if (program.finished) make_inputs(program, leaves_of_class(parameter));
        nb::list reasons;
        for (const Refusal& refusal : program.refusals)
            reasons.append(nb::make_tuple(refusal.text, site(refusal.code, refusal.instruction)));
        return reasons;
    }

    std::vector<int> leaves_of_class(nb::handle parameter) const {
        std::vector<int> found;
        for (const int i : program.historyless) {
            TensorObject* const tensor = program.tracked[static_cast<std::size_t>(i)].tensor;
            if (nb::isinstance(nb::handle(as_object(tensor)), parameter)) found.push_back(i);
        }
        return found;
    }
    // As it is now that leaves may have been written.
    const Program& present() {
        notice_writes(program);
        return program;
    }

    static nb::object site(const Handle& code, std::int32_t instruction) {
        return nb::steal(site_object({code.get(), instruction}));
    }
    static nb::tuple numbers(const Numbers& list) {
        nb::list result;
        for (const int one : list) result.append(one);
        return nb::tuple(result);
    }

    static nb::dict attributes_of(const Step& step) {
        nb::dict result;
        if (step.action->attributes.empty() || step.action->op->fields.empty()) return result;
        std::size_t field = 0;
        for (const Argument& argument : step.action->op->schema.arguments) {
            if (is_tensor(argument)) continue;
            result[argument.name.c_str()] =
                nb::steal(checked(attribute_object(*step.action->op, step.action->attributes.data(), field++)));
        }
        return result;
    }
    // The name of a step that calls Python is the user's, and may be that of an operation.
    static const char* kind_of(const Step& step) {
        const char* kinds[] = {"run", "nothing", "read", "rebind"};
        return step.action->op == &python_step_operation() ? "python" : kinds[static_cast<int>(step.action->kind)];
    }
    // (name, kind, inputs, outputs, written, attributes, line, in backward, draws, leaf)
    nb::list steps() {
        nb::list result;
        for (const Step& step : present().steps) {
            nb::list written;
            for (const KeptWrite& one : step.writes) written.append(one.reg);
            int leaf = -1;
            if (step.action->kind == StepKind::Rebind) {
                const Leaf& of = program.leaves[static_cast<std::size_t>(step.index)];
                if (of.input >= 0) leaf = program.inputs[static_cast<std::size_t>(of.input)].reg;
                if (of.tracked >= 0) leaf = program.tracked[static_cast<std::size_t>(of.tracked)].reg;
            }
            result.append(nb::make_tuple(name_of(step), kind_of(step), numbers(step.inputs), numbers(step.outputs),
                                         nb::tuple(written), attributes_of(step),
                                         site(step.action->code, step.action->instruction), step.action->in_backward,
                                         step.action->generator != nullptr, leaf));
        }
        return result;
    }
    // (memory, shape, dtype, first byte, end, made by) of each register
    nb::list registers() {
        nb::list result;
        for (const KeptRegister& reg : present().registers)
            result.append(nb::make_tuple(reg.memory, nb::steal(checked(size_tuple(reg.layout->shape()))),
                                         dtype_name(reg.dtype), reg.bytes().begin, reg.bytes().end, reg.made_by));
        return result;
    }
    nb::list memories() {
        nb::list result;
        for (const Memory& memory : present().memories)
            result.append(nb::make_tuple(memory.bytes, memory.input, memory.made_by));
        return result;
    }
    // (register, tensor, whether it is the .grad of that) of each input
    nb::list inputs() {
        nb::list result;
        for (const Input& input : present().inputs)
            result.append(nb::make_tuple(input.reg, nb::steal(wrap(input.tensor)), input.grad_of));
        return result;
    }
    // (register, tensor) of each number and each tensor of Python's data
    nb::list constants() {
        nb::list result;
        for (const auto& [reg, value] : present().constants) result.append(nb::make_tuple(reg, nb::steal(wrap(value))));
        return result;
    }
    // (strides, offset), in elements, of each register in its memory
    nb::list layouts() {
        nb::list result;
        for (const KeptRegister& reg : present().registers)
            result.append(nb::make_tuple(nb::steal(checked(size_tuple(reg.layout->strides()))),
                                         reg.offset / static_cast<std::int64_t>(item_size(reg.dtype))));
        return result;
    }
    // Which register the tensor is, at the end of the block; -1: none of this program's.
    int register_of(nb::handle object) {
        const TensorObject* const tensor = as_tensor(object.ptr());
        if (tensor == nullptr)
            fail(ErrorKind::Type, "register_of: expected a Tensor, got %s", Py_TYPE(object.ptr())->tp_name);
        for (const Input& input : present().inputs)
            if (input.present().get() == tensor) return input.reg;
        const KeptBy kept = kept_by(*tensor);
        if (kept.program != &program) return -1;
        const int reg = program.tracked[static_cast<std::size_t>(kept.index)].reg;
        return program.of(reg).made_by < 0 ? -1 : reg;  // it shares the memory of a leaf that is an input now
    }
    // Runs one step by itself, on these tensors.
    nb::list run_step(int number, nb::list inputs, bool wide) {
        const Program& of = present();
        if (number < 0 || static_cast<std::size_t>(number) >= of.steps.size())
            fail(ErrorKind::Value, "run_step: expected a step of the program, got %d", number);
        const Step& step = of.steps[static_cast<std::size_t>(number)];
        if (step.action->kind != StepKind::Run)
            fail(ErrorKind::Value, "run_step: expected a step that runs an operation, got %s", kind_of(step));
        std::vector<Tensor> none(step.inputs.size()), results(step.outputs.size());
        const CallDetails details{.name = step.action->name, .generator = step.action->generator};
        const OpCall call{*step.action->op, none, step.action->attributes.data(), results, step.action->form, &details};
        return repeat(call, std::move(inputs), wide);
    }
    // The streams that steps draw from, each once.
    nb::list generators() {
        nb::list result;
        std::vector<const Generator*> seen;
        for (const Step& step : present().steps) {
            Generator* const one = step.action->generator;
            if (one == nullptr || std::ranges::find(seen, one) != seen.end()) continue;
            seen.push_back(one);
            result.append(nb::cast(one, nb::rv_policy::reference));
        }
        return result;
    }
    void run() {
        const ReplayTimer timer;
        replay(program, -1);
        timer.done(program, "program.run");
    }
};

int traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    if (!nb::inst_ready(object)) return 0;
    const KeptProgram& kept = *nb::inst_ptr<KeptProgram>(object);
    for (const Input& input : kept.program.inputs) Py_VISIT(as_object(input.tensor.get()));
    for (const Handle& held : kept.program.held) Py_VISIT(static_cast<PyObject*>(held.get()));
    return 0;
}
int clear(PyObject* object) {
    Program& program = nb::inst_ptr<KeptProgram>(object)->program;
    program.finished = false;
    const auto held = std::move(program.held);
    program.slices.clear();
    const auto inputs = std::move(program.inputs);
    return 0;
}
PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

// y.forward()
void forward(nb::handle object) {
    TensorObject* const tensor = as_tensor(object.ptr());
    if (tensor == nullptr) fail(ErrorKind::Type, "forward: expected a Tensor, got %s", Py_TYPE(object.ptr())->tp_name);
    const auto [program, index] = kept_by(*tensor);
    if (program == nullptr)
        fail(ErrorKind::Runtime,
             "forward: expected a tensor that a kept block made, got one that nobody kept. To do: compute it inside "
             "`with clew.keep_graph():`, and keep a result of that block, or the program, alive");
    const Handle alive = Handle::borrow(program->self);
    const ReplayTimer timer;
    replay(*program, index);
    timer.done(*program, "forward");
}

nb::object program_of_tensor(nb::handle object) {
    const TensorObject* const tensor = as_tensor(object.ptr());
    Program* const program = tensor ? kept_by(*tensor).program : nullptr;
    return program && program->self ? nb::borrow(static_cast<PyObject*>(program->self)) : nb::none();
}

bool is_filled_again(nb::handle tensor, nb::handle node) {
    const TensorObject* const made = as_tensor(tensor.ptr());
    const Program* const program = made ? kept_by(*made).program : nullptr;
    return program && index_of(*program, as_node(node.ptr())) >= 0;
}

}  // namespace

Program& program_of(nb::handle core_program) { return nb::cast<KeptProgram&>(core_program).program; }

void init_program(nb::module_& module) {
    generator_owner = [](Generator* generator) {
        const nb::object owner = nb::find(generator);
        return owner.is_valid() ? Handle::borrow(owner.ptr()) : Handle();
    };
    nb::class_<KeptProgram>(module, "Program", nb::type_slots(slots), nb::is_weak_referenceable(),
                            "What ran between begin() and end(), as it can be run again.")
        .def(nb::init<>())
        .def("begin", &KeptProgram::begin)
        .def("end", &KeptProgram::end, nb::arg("whole"), nb::arg("parameter"),
             "Of what the block made, tensors of the class `parameter` are inputs from now on.")
        .def_prop_rw(
            "_coded", [](const KeptProgram& kept) { return kept.program.coded; },
            [](KeptProgram& kept, bool on) { kept.program.coded = on; })
        .def("_code",
             [](const KeptProgram& kept) {
                 nb::list result;
                 for (const std::string& line : code_of(kept.program)) result.append(line);
                 return result;
             })
        .def_prop_ro("revision", [](KeptProgram& kept) { return kept.present().revision; })
        .def("run", &KeptProgram::run)
        .def("run_step", &KeptProgram::run_step, nb::arg("number"), nb::arg("inputs"), nb::arg("wide"),
             "The results of one step on these tensors; what it writes in place is written.")
        .def("generators", &KeptProgram::generators)
        .def("check", [](KeptProgram& kept) { check_whole(kept.program); })
        .def("steps", &KeptProgram::steps)
        .def("registers", &KeptProgram::registers)
        .def("memories", &KeptProgram::memories)
        .def("inputs", &KeptProgram::inputs)
        .def("constants", &KeptProgram::constants)
        .def("layouts", &KeptProgram::layouts)
        .def("register_of", &KeptProgram::register_of, nb::arg("tensor"));
    init_python_steps(module);
    module.def(
        "passes",
        [] {
            nb::list passes;
            for (const PassInfo& one : all_passes()) passes.append(nb::make_tuple(one.name, one.gives));
            return passes;
        },
        "The passes over a plan that CLEW_PASSES can leave out: name, and what the pass gives.");
    module.def("kept_forward", &forward, nb::arg("tensor"));
    module.def("kept_program", &program_of_tensor, nb::arg("tensor"),
               "The Program of the block that made the tensor; None where nobody kept it.");
    module.def("is_filled_again", &is_filled_again, nb::arg("tensor"), nb::arg("node"),
               "Whether tensor.forward() makes what the node saved once more.");
    init_program_file(module);
    // For what a second run of the same operations would not do again.
    module.def("announce_once", [](nb::str why) {
        static PyObject* const kept = PySet_New(nullptr);  // never taken down: programs point to these texts
        if (!mode(kInterpreted)) return;
        checked(PySet_Add(kept, why.ptr()));
        Interpreter::tell({.event = Event::Unkept, .tensors = {}, .what = why.c_str()});
    });
}

}  // namespace clew::bind
