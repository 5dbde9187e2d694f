// clew.compile: a function that runs eagerly once for each kind of call, and is replayed from then on.
#include "bind/compile/compiled.h"

#include <cstring>
#include <deque>
#include <memory>

#include <nanobind/stl/string.h>

#include "bind/compile/results.h"
#include "bind/errors.h"
#include "bind/objects.h"
#include "bind/site.h"
#include "core/autograd/engine.h"
#include "core/autograd/mode.h"
#include "core/program/replay.h"
#include "core/program/slice.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr int kMostRecordings = 4;  // of one key: the first, and three whose witnesses failed
constexpr std::uint32_t kEagerModes = kInterpreted | kSavedHooks | kAnomaly | kTiming | kInferenceMode | kWatchWrites |
                                      kInBackward | kMakeMeta | kAllowDataWrites;

bool disabled = false;

struct Variant {
    std::string key;
    Program program;
    PythonState state;
    std::unique_ptr<ResultForm> form;
    int value = -1;
    std::vector<nb::object> objects;                   // that the key knows by address
    std::vector<std::pair<int, std::size_t>> bound;    // input, argument
    std::vector<std::pair<std::size_t, Tensor>> same;  // arguments that the call also reached in another way
    std::vector<Option> options;
    std::vector<Counter> counters;
    // Inputs that lie in an entry which the call sets: state that goes from call to call.
    struct Carried {
        int input;
        nb::object dict, key, type;
    };
    std::vector<Carried> carried;
};

// Calls with one key.
struct Path {
    int recordings = 0;
    bool eager = false;
    std::string reason;
};

class CompiledFunction {
public:
    CompiledFunction(nb::object function, std::size_t max_variants, bool strict)
        : function(std::move(function)), max_variants_(max_variants), strict_(strict) {}

    nb::object function;
    std::uint64_t hits = 0, misses = 0;

    nb::object call(PyObject* positional, PyObject* named) {
        if (disabled || mode(kEagerModes) || backward_serial() || Recorder::at_work() || Tracer::others_trace())
            return run(positional, named);
#if PY_VERSION_HEX >= 0x030C0000
        ++misses;
        stay_eager(paths_[{}], "runs on a Python above 3.11, where calls can't be watched yet");
        return run(positional, named);
#endif
        const Arguments arguments(positional, named);
        if (nb::object result; find(arguments, result)) return result;
        ++misses;
        Path& path = paths_[arguments.key];
        if (path.eager) return run(positional, named);
        if (arguments.unknown) {
            stay_eager(path, arguments.unknown);
            return run(positional, named);
        }
        return record(arguments, path, positional, named);
    }

    std::size_t variants() const { return variants_.size(); }
    void clear() {
        variants_.clear();
        paths_.clear();
    }
    // (steps, witnesses) of each variant
    nb::list describe() const {
        nb::list result;
        for (const auto& one : variants_) result.append(nb::make_tuple(one->program.steps.size(), one->state.size()));
        return result;
    }
    nb::list reasons() const {
        nb::list result;
        for (const auto& [key, path] : paths_)
            if (!path.reason.empty()) result.append(nb::make_tuple(path.reason, path.eager));
        return result;
    }

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(function.ptr());
        for (const auto& one : variants_) {
            if (const int result = one->state.traverse(visit, arg)) return result;
            if (const int result = one->form->traverse(visit, arg)) return result;
            for (const nb::object& object : one->objects) Py_VISIT(object.ptr());
            for (const Option& option : one->options) Py_VISIT(option.dict.ptr());
            for (const Counter& counter : one->counters) Py_VISIT(counter.dict.ptr());
            for (const Variant::Carried& carried : one->carried) Py_VISIT(carried.dict.ptr());
            for (const Input& input : one->program.inputs)
                if (input.tensor) Py_VISIT(as_object(input.tensor.get()));
        }
        return 0;
    }

private:
    nb::object run(PyObject* positional, PyObject* named) const {
        PyObject* const result = PyObject_Call(function.ptr(), positional, named);
        if (result == nullptr) throw PythonError();
        return nb::steal(result);
    }

    bool find(const Arguments& arguments, nb::object& result) {
        for (std::size_t i = 0; i < variants_.size(); ++i) {
            const std::shared_ptr<Variant> variant = variants_[i];  // the replay may run Python, which may clear all
            if (variant->key != arguments.key) continue;
            if (!variant->state.holds()) {
                last_miss_ = "read another value of Python: " + variant->state.failed;
                continue;
            }
            try {
                result = replay(*variant, arguments);
            } catch (const ReplayFailed& failure) {
                last_miss_ = failure.what();
                continue;
            }
            if (i) {
                variants_.erase(variants_.begin() + static_cast<std::ptrdiff_t>(i));
                variants_.push_front(variant);
            }
            ++hits;
            return true;
        }
        return false;
    }

    static nb::object replay(Variant& variant, const Arguments& arguments) {
        for (const auto& [argument, tensor] : variant.same)
            if (!arguments.tensors[argument].same(tensor)) throw ReplayFailed("got another tensor", nullptr);
        for (std::size_t i = 0; i < arguments.containers.size(); ++i) {
            PyObject* const one = arguments.containers[i];
            if (!PyTuple_CheckExact(one) && variant.state.mentions(one))
                throw ReplayFailed("got a container that it reaches in another way, too", nullptr);
        }
        std::vector<Input>& inputs = variant.program.inputs;
        for (const auto& [input, argument] : variant.bound)
            inputs[static_cast<std::size_t>(input)].tensor = arguments.tensors[argument];
        struct Unbind {
            Variant& variant;
            ~Unbind() {
                for (const Variant::Carried& one : variant.carried)
                    variant.program.inputs[static_cast<std::size_t>(one.input)].tensor = Tensor();
                for (const auto& [input, argument] : variant.bound)
                    variant.program.inputs[static_cast<std::size_t>(input)].tensor = Tensor();
            }
        } const unbind{variant};
        for (const Variant::Carried& one : variant.carried) bind(inputs[static_cast<std::size_t>(one.input)], one);
        for (const Option& one : variant.options) set_option(variant.program, one);
        for (const Counter& one : variant.counters)
            if (PyObject* const now = PyDict_GetItemWithError(one.dict.ptr(), one.key.ptr());
                now == nullptr || !PyLong_CheckExact(now))
                throw ReplayFailed("read something else than an int that it counts with", nullptr);
        std::vector<ReadNumber> read;
        const std::vector<Tensor> tensors = replay_call(variant.program, read);
        std::vector<nb::object> numbers;
        for (const ReadNumber& one : read) {
            const Tensor scalar = empty({}, one.dtype);
            std::memcpy(scalar.data(), one.bytes, item_size(one.dtype));
            numbers.push_back(nb::steal(checked(item(scalar))));
        }
        std::vector<Tensor> chosen;
        for (const int i : variant.program.outcome->given) chosen.push_back(tensors[static_cast<std::size_t>(i)]);
        ResultForm::Made made{chosen, numbers, arguments};
        nb::object result = variant.form->make(variant.value, made);
        variant.form->make_effects(made);
        for (const Counter& one : variant.counters) {
            const nb::object next = nb::steal(
                checked(PyNumber_Add(PyDict_GetItemWithError(one.dict.ptr(), one.key.ptr()), one.change.ptr())));
            checked(PyDict_SetItem(one.dict.ptr(), one.key.ptr(), next.ptr()));
        }
        return result;
    }

    static void bind(Input& input, const Variant::Carried& from) {
        PyObject* const now = PyDict_GetItemWithError(from.dict.ptr(), from.key.ptr());
        if (now == nullptr || as_object(Py_TYPE(now)) != from.type.ptr())
            throw ReplayFailed("read something else than a tensor that it set in the call before", nullptr);
        input.tensor = Tensor(as_tensor(now));
    }
    static void set_option(Program& program, const Option& one) {
        PyObject* const now = PyDict_GetItemWithError(one.dict.ptr(), one.key.ptr());
        if (now == nullptr || !PyFloat_CheckExact(now))
            throw ReplayFailed("read an option of the optimizer that is no float", nullptr);
        Step& step = program.steps[static_cast<std::size_t>(one.step)];
        Value value;
        value.tag = Value::Float;
        value.real = PyFloat_AS_DOUBLE(now);
        step.op->fields[one.field].set(step.attributes.data(), value);
    }

    nb::object record(const Arguments& arguments, Path& path, PyObject* positional, PyObject* named) {
        auto variant = std::make_shared<Variant>();
        variant->key = arguments.key;
        Program& program = variant->program;
        Recorder recorder(program);
        recorder.begin();
        Tracer tracer(recorder, program);
        tracer.add_older(function.ptr());
        for (PyObject* const object : arguments.objects) {
            tracer.add_older(object);
            variant->objects.push_back(nb::borrow(object));
        }
        for (PyObject* const container : arguments.containers) tracer.add_argument(container);
        tracer.begin_call(function.ptr(), positional);
        const std::uint32_t modes = mode_word;
        tracer.start();
        const nb::object result = nb::steal(PyObject_Call(function.ptr(), positional, named));
        tracer.stop();
        tracer.finish();
        if (!result.is_valid()) {
            recorder.end_call(false, {}, {});
            throw PythonError();
        }
        Cause cause = tracer.cause.value_or(Cause{});
        if (cause.text.empty() && mode_word != modes) cause.text = "leaves gradients switched on or off otherwise";
        if (cause.text.empty() && recorder.failed()) cause.text = "catches the error of an operation";
        variant->form = std::make_unique<ResultForm>(tracer, arguments, program);
        if (cause.text.empty()) {
            variant->value = variant->form->add(result.ptr());
            variant->form->add_effects();
            cause.text = variant->form->unknown;
        }
        recorder.end_call(cause.text.empty(), variant->form->tensors, arguments.tensors);
        if (cause.text.empty() && !program.refusals.empty()) {
            const Refusal& first = program.refusals[0];
            cause = {first.text, first.code, first.instruction};
        }
        ++path.recordings;
        if (cause.text.empty()) {
            keep(std::move(variant), tracer, arguments);
            if (path.recordings >= kMostRecordings) stay_eager(path, last_miss_);
        } else {
            path.reason = with_site(cause);
            // What is done once only (a cache, the state of an optimizer) is not done again.
            if (path.recordings >= 3) stay_eager(path, path.reason);
        }
        return result;
    }

    void keep(std::shared_ptr<Variant> variant, Tracer& tracer, const Arguments& arguments) {
        Program& program = variant->program;
        variant->form->settle(program);
        carry(*variant, tracer);
        variant->options = std::move(tracer.options);
        std::erase_if(variant->options, [&](const Option& one) {
            return tracer.state.has_entry(one.dict.ptr(), one.key.ptr());  // its value is a witness
        });
        variant->counters = std::move(tracer.counters);
        variant->form->forget_call();
        variant->state = std::move(tracer.state);
        variant->state.seal();
        for (std::size_t i = 0; i < arguments.tensors.size(); ++i) {
            const Tensor& argument = arguments.tensors[i];
            if (variant->state.mentions(as_object(argument.get()))) {
                variant->same.emplace_back(i, argument);
                for (Input& input : program.inputs) input.bound = input.bound && !input.tensor.same(argument);
                continue;
            }
            for (std::size_t input = 0; input < program.inputs.size(); ++input)
                if (program.inputs[input].tensor.same(argument)) {
                    variant->bound.emplace_back(static_cast<int>(input), i);
                }
        }
        for (const auto& [input, argument] : variant->bound)
            program.inputs[static_cast<std::size_t>(input)].tensor = Tensor();
        variants_.push_front(std::move(variant));
        if (variants_.size() <= max_variants_) return;
        variants_.pop_back();
        if (!std::exchange(said_full_, true))
            warn(name() + " has more than " + std::to_string(max_variants_) +
                 " variants; the least recently used goes. To do: call it with fewer shapes and numbers, or give "
                 "max_variants=");
    }

    static void carry(Variant& variant, Tracer& tracer) {
        for (const Effect& one : tracer.effects) {
            if (one.kind != Effect::SetItem || !as_tensor(one.value.ptr())) continue;
            const nb::object before = tracer.state.give_up_entry(one.holder.ptr(), one.key.ptr());
            if (!before.is_valid()) continue;
            Input* const input = carried_input(variant.program, before.ptr());
            if (input == nullptr || tracer.state.mentions(before.ptr())) {
                tracer.state.take_entry(one.holder.ptr(), one.key.ptr(), before.ptr());
                continue;
            }
            input->bound = true;
            input->tensor = Tensor();
            variant.carried.push_back({static_cast<int>(input - variant.program.inputs.data()), one.holder, one.key,
                                       nb::borrow(as_object(Py_TYPE(before.ptr())))});
        }
    }
    static Input* carried_input(Program& program, PyObject* object) {
        Input* found = nullptr;
        for (Input& input : program.inputs) {
            if (!input.tensor || as_object(input.tensor.get()) != object) continue;
            if (found || input.grad_of || input.bound) return nullptr;
            found = &input;
        }
        return found;
    }

    std::string name() const {
        const nb::object text = nb::steal(PyObject_GetAttrString(function.ptr(), "__qualname__"));
        if (text.is_valid() && PyUnicode_Check(text.ptr())) return PyUnicode_AsUTF8(text.ptr());
        PyErr_Clear();
        return Py_TYPE(function.ptr())->tp_name;
    }
    static std::string with_site(const Cause& cause) {
        const std::string site = cause.code ? site_text(cause.code.get(), cause.instruction) : "";
        return site.empty() ? cause.text : cause.text + " (" + site + ")";
    }
    void stay_eager(Path& path, std::string reason) {
        path.eager = true;
        path.reason = reason;
        for (const std::string& said : said_)
            if (said == reason) return;
        said_.push_back(reason);
        warn(name() + " stays eager: it " + reason);
    }
    void warn(const std::string& text) const {
        const nb::object errors = nb::module_::import_("clew.autograd.errors");
        if (strict_) {
            PyErr_SetString(nb::object(errors.attr("KeepError")).ptr(), ("compile: " + text).c_str());
            throw PythonError();
        }
        checked(PyErr_WarnEx(nb::object(errors.attr("KeepWarning")).ptr(), ("compile: " + text).c_str(), 1));
    }

    std::size_t max_variants_;
    bool strict_, said_full_ = false;
    std::deque<std::shared_ptr<Variant>> variants_;  // the most recently used first
    std::unordered_map<std::string, Path> paths_;
    std::vector<std::string> said_;
    std::string last_miss_;
};

CompiledFunction* self(PyObject* object) { return nb::inst_ptr<CompiledFunction>(object); }

PyObject* call(PyObject* object, PyObject* positional, PyObject* named) {
    return guarded([&] { return self(object)->call(positional, named).release().ptr(); });
}
PyObject* bind_to(PyObject* object, PyObject* instance, PyObject*) {
    return instance == nullptr || instance == Py_None ? Py_NewRef(object) : PyMethod_New(object, instance);
}
int traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    return nb::inst_ready(object) ? self(object)->traverse(visit, arg) : 0;
}
int clear(PyObject* object) {
    self(object)->clear();
    const nb::object function = std::move(self(object)->function);
    return 0;
}
PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

}  // namespace

void init_compile(nb::module_& module) {
    nb::class_<CompiledFunction>(module, "CompiledFunction", nb::type_slots(slots), nb::is_weak_referenceable(),
                                 "A function that is recorded once for each kind of call.")
        .def(nb::init<nb::object, std::size_t, bool>(), nb::arg("function"), nb::arg("max_variants"), nb::arg("strict"))
        .def_ro("hits", &CompiledFunction::hits)
        .def_ro("misses", &CompiledFunction::misses)
        .def_prop_ro("variants", &CompiledFunction::variants)
        .def_ro("eager", &CompiledFunction::function)
        .def("cache_clear", &CompiledFunction::clear)
        .def("_describe", &CompiledFunction::describe)
        .def("_reasons", &CompiledFunction::reasons);
    module.def("set_compile_disabled", [](bool off) { return std::exchange(disabled, off); });
    module.def("set_known_calls", &set_known_calls);
}

}  // namespace clew::bind
