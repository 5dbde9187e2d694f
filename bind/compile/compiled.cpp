// clew.compile: a function that runs eagerly once for each kind of call, and is replayed from then on.
#include "bind/compile/compiled.h"

#include <cstring>
#include <deque>
#include <memory>

#include <nanobind/stl/string.h>

#include "bind/compile/variant.h"
#include "bind/errors.h"
#include "bind/objects.h"
#include "bind/site.h"
#include "core/autograd/engine.h"
#include "core/autograd/mode.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr int kMostRecordings = 4;  // of one key: the first, and three whose witnesses failed
constexpr std::uint32_t kEagerModes = kInterpreted | kSavedHooks | kAnomaly | kTiming | kInferenceMode | kWatchWrites |
                                      kInBackward | kMakeMeta | kAllowDataWrites;

bool disabled = false;

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
        stay_eager(*path_of({}), "runs on a Python above 3.11, where calls can't be watched yet");
        return run(positional, named);
#endif
        const CallArguments arguments(positional, named);
        if (is_running(arguments.key)) return run(positional, named);  // from inside of a replay, or on another thread
        if (nb::object result; find(arguments, result)) return result;
        ++misses;
        if (gave_up_ || gives_up()) return run(positional, named);
        const std::shared_ptr<Path> path_held = path_of(arguments.key);  // the call may clear all
        Path& path = *path_held;
        if (path.eager) return run(positional, named);
        if (arguments.unknown) {
            stay_eager(path, arguments.unknown);
            return run(positional, named);
        }
        return record(arguments, path, positional, named);
    }

    std::size_t variants() const { return variants_.size(); }
    void clear() {
        const auto gone = std::exchange(variants_, {});  // their end may run Python, which may come here
        paths_.clear();
        gave_up_ = false;
        misses_in_a_row_ = 0;
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
            if (!path->reason.empty()) result.append(nb::make_tuple(path->reason, path->eager));
        return result;
    }

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(function.ptr());
        for (const auto& one : variants_)
            if (const int result = one->traverse(visit, arg)) return result;
        return 0;
    }

private:
    nb::object run(PyObject* positional, PyObject* named) const {
        PyObject* const result = PyObject_Call(function.ptr(), positional, named);
        if (result == nullptr) throw PythonError();
        return nb::steal(result);
    }

    bool is_running(const std::string& key) const {
        for (const auto& one : variants_)
            if (one->running && one->key == key) return true;
        return false;
    }

    // Recording takes longer than a call: where each call is of a kind of its own, it does not pay.
    bool gives_up() {
        if (++misses_in_a_row_ <= 3 * max_variants_) return false;
        gave_up_ = true;
        stay_eager(*path_of({}), "was called in " + std::to_string(3 * max_variants_) +
                                     " ways in a row, none of them twice (shapes, numbers, objects)");
        return true;
    }
    std::shared_ptr<Path> path_of(const std::string& key) {
        constexpr std::size_t kMost = 1024;
        if (paths_.size() >= kMost && !paths_.contains(key)) paths_.clear();
        std::shared_ptr<Path>& path = paths_[key];
        if (!path) path = std::make_shared<Path>();
        return path;
    }

    bool find(const CallArguments& arguments, nb::object& result) {
        for (std::size_t i = 0; i < variants_.size(); ++i) {
            const std::shared_ptr<Variant> variant = variants_[i];  // the replay may run Python, which may clear all
            if (variant->key != arguments.key) continue;
            if (!variant->state.holds()) {
                last_miss_ = "read another value of Python: " + variant->state.failed;
                continue;
            }
            try {
                result = variant->replay(arguments);
            } catch (const ReplayFailed& failure) {
                // A step in Python raised it: the function will.
                if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
                PyErr_Clear();
                last_miss_ = with_site({failure.what(), failure.code, failure.instruction});
                continue;
            }
            if (i && std::erase(variants_, variant)) variants_.push_front(variant);
            ++hits;
            misses_in_a_row_ = 0;
            return true;
        }
        return false;
    }

    nb::object record(const CallArguments& arguments, Path& path, PyObject* positional, PyObject* named) {
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
        for (const Tensor& tensor : arguments.tensors) {
            tracer.add_argument(as_object(tensor.get()));
            recorder.input_of(tensor);  // the first on its memory, so that what aliases it is told from it
        }
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
        variant->form = std::make_unique<ResultForm>(tracer, arguments);
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

    void keep(std::shared_ptr<Variant> variant, Tracer& tracer, const CallArguments& arguments) {
        variant->keep(tracer, arguments);
        variants_.push_front(std::move(variant));
        if (variants_.size() <= max_variants_) return;
        const auto gone = variants_.back();  // its end may run Python
        variants_.pop_back();
        if (!std::exchange(said_full_, true))
            warn(name() + " has more than " + std::to_string(max_variants_) +
                 " variants; the least recently used goes. To do: call it with fewer shapes and numbers, or give "
                 "max_variants=");
    }

    std::string name() const {
        const std::string text = text_of(function.ptr(), "__qualname__");
        return text.empty() ? Py_TYPE(function.ptr())->tp_name : text;
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
    std::unordered_map<std::string, std::shared_ptr<Path>> paths_;
    std::size_t misses_in_a_row_ = 0;
    bool gave_up_ = false;
    std::vector<std::string> said_;
    std::string last_miss_;
};

CompiledFunction* self(PyObject* object) { return nb::inst_ptr<CompiledFunction>(object); }

PyObject* call(PyObject* object, PyObject* positional, PyObject* named) {
    if (!nb::inst_ready(object)) {
        PyErr_SetString(PyExc_TypeError, "compile: expected a compiled function, got one without __init__");
        return nullptr;
    }
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
    if (!nb::inst_ready(object)) return 0;
    self(object)->clear();
    const nb::object function = std::exchange(self(object)->function, nb::none());
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

PyObject* function_of_compiled(PyObject* object) {
    return nb::isinstance<CompiledFunction>(object) && nb::inst_ready(object) ? self(object)->function.ptr() : nullptr;
}

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
