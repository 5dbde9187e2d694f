#include "bind/keep/compiled_function.h"

#include <algorithm>
#include <utility>

#include <nanobind/stl/string.h>

#include "bind/calls/operation_object.h"
#include "bind/errors.h"
#include "bind/graph/replay_events.h"
#include "bind/graph/site.h"
#include "bind/keep/wording.h"
#include "bind/types/objects.h"
#include "bind/types/torch_function.h"
#include "bind/watch/kinds.h"
#include "core/autograd/engine.h"
#include "core/autograd/mode.h"
#include "core/program/loops/loop.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr int kMostRecordings = 4;            // of one key: the first, and three whose guards failed
constexpr std::size_t kMoreThanVariants = 8;  // calls in a row that are recorded beyond those that are kept
constexpr std::uint64_t kMissesOfEager = 16;  // in a row, after which a variant of a path that is eager goes
constexpr std::size_t kHitsForRecording = 4;  // about as many save what one recording costs
constexpr std::uint32_t kEagerModes = kInterpreted | kSavedHooks | kAnomaly | kInferenceMode | kWatchWrites |
                                      kInBackward | kMakeMeta | kAllowDataWrites | kFunctionMode;

const std::string kAnotherValue = "read another value of Python: ";
bool disabled = false;

std::string with_site(const Cause& cause) {
    const std::string site = cause.code ? site_text(cause.code.get(), cause.instruction) : "";
    return site.empty() ? cause.text : cause.text + " (" + site + ")";
}

// What to do about it, where that can be said in general.
std::string with_advice(std::string reason) {
    static constexpr struct {
        const char *part, *advice;
    } kAdvice[] = {
        {"cannot be tracked", "call it outside of the function"},
        {"assigns to a global", "return the value, or set an attribute of an object"},
        {"checkpoint(use_reentrant=False)", "take use_reentrant=True, or checkpoint outside of the function"},
        {"which it has counted up", "count, or take a scheduler's step, outside of the function"},
    };
    for (const auto& [part, advice] : kAdvice)
        if (reason.find(part) != reason.npos) return std::move(reason) + ". To do: " + advice;
    return reason;
}

nb::object weak_reference_to(PyObject* object) { return nb::steal(checked(PyWeakref_NewRef(object, nullptr))); }

// What can't be referred to weakly a variant keeps alive, so that no other object gets its address.
Held reference_to(PyObject* object) {
    if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return weak_reference_to(object);
    Held address = nb::borrow(object);
    address.loosen();
    return address;
}

PyObject* referent_of(const Held& reference) {
    return reference.owned() ? PyWeakref_GET_OBJECT(reference.ptr()) : reference.ptr();
}

// Modules, classes, functions of a module: given again, though perhaps not in the next call.
bool is_there_for_long(PyObject* object) {
    static PyObject* const lasting[] = {from_module("clew.nn", "Module"), from_module("clew.optim", "Optimizer"),
                                        from_module("enum", "Enum")};
    if (PyFunction_Check(object)) return text_of(object, "__qualname__").find('<') == std::string::npos;
    if (PyType_Check(object) || PyModule_Check(object) || PyCFunction_Check(object) || is_clews(Py_TYPE(object)) ||
        Py_TYPE(object) == &operation_type)
        return true;
    return std::ranges::any_of(lasting, [&](PyObject* type) {
        return PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(type));
    });
}

// Why the replay failed; empty: it did not.
template <class Body>
std::string failure_of(const Body& body) {
    try {
        body();
        return {};
    } catch (const ReplayFailed& failure) {
        // A step in Python raised it: the function will.
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
        PyErr_Clear();
        std::string text = failure.what();
        static const std::string of_blocks = "; run the block again";  // a function records itself again
        if (const auto at = text.find(of_blocks); at != text.npos) text.erase(at, of_blocks.size());
        return with_site({std::move(text), failure.code, failure.instruction});
    }
}

}  // namespace

bool set_compile_disabled(bool off) { return std::exchange(disabled, off); }

nb::object CompiledFunction::call(PyObject* positional, PyObject* named) {
    if (disabled) return run(positional, named);
    if (Recorder* const other = Recorder::at_work()) other->gives_way();
    if (mode(kInterpreted)) Interpreter::make_way();
    if (mode(kEagerModes) || backward_serial() || Recorder::at_work() || Tracer::others_trace())
        return run(positional, named);
#if !CLEW_READS_FRAMES
    ++misses;
    stay_eager(*path_of({}), "runs on a Python above 3.13, where calls can't be watched yet");
    return run(positional, named);
#endif
    const CallArguments arguments(positional, named, by_content_);
    if (is_running(arguments.key)) return run(positional, named);  // from inside of a replay, or on another thread
    if (nb::object result; to_check && check(arguments, positional, named, result)) return result;
    if (nb::object result; find(arguments, result)) return result;
    const std::size_t known = by_content_.size();
    know_by_content(arguments);
    if (by_content_.size() == known) return call_with(arguments, positional, named);
    return call_with(CallArguments(positional, named, by_content_), positional, named);
}

// No variant fits.
nb::object CompiledFunction::call_with(const CallArguments& arguments, PyObject* positional, PyObject* named) {
    ++misses;
    if (gave_up_) return run_eagerly(*path_of({}), positional, named);
    // The call may clear all of them.
    const std::string kind = arguments.key_without_objects();
    const std::shared_ptr<Path> path = path_of(arguments.key), exact = path_of(arguments.key_with_floats()),
                                alike = path_of("alike " + kind);
    for (const auto& one : {path, exact, alike}) {
        if (!one->eager) continue;
        drop_missing(arguments.key);
        return run_eagerly(*one, positional, named);
    }
    if ((path->rest && path->rest--) || gives_up()) return run(positional, named);
    if (arguments.unknown) {
        stay_eager(*path, arguments.unknown);
        return run(positional, named);
    }
    if (const char* const type = meets_new_objects(arguments, kind)) {
        stay_eager(*alike, std::string("is given another ") + type +
                               " in each call, which can be compared by identity only. To do: give tensors, "
                               "numbers, or tuples, dicts and dataclasses of these");
        return run(positional, named);
    }
    return record(arguments, *path, *exact, positional, named);
}

// Each try of a variant costs up to a replay. Where none is recorded any more, those that fail for long are not tried.
void CompiledFunction::drop_missing(const std::string& key) {
    std::vector<std::shared_ptr<Variant>> gone;  // their end may run Python, which may come here
    std::erase_if(*variants_, [&](const auto& one) {
        const bool drop = one->key == key && !one->running && one->misses_in_a_row >= kMissesOfEager;
        if (drop) gone.push_back(one);
        return drop;
    });
}

// Its instances are told apart by what they hold, once the function was given two of them.
void CompiledFunction::know_by_content(const CallArguments& arguments) {
    for (PyObject* const object : arguments.objects) {
        PyTypeObject* const type = Py_TYPE(object);
        if (!PyType_SUPPORTS_WEAKREFS(type) || !may_go_by_content(object)) continue;
        if (std::ranges::find(by_identity_, type) != by_identity_.end()) continue;
        const auto known =
            std::ranges::find_if(met_, [&](const Met& one) { return one.type.ptr() == as_object(type); });
        if (known == met_.end())
            met_.push_back({nb::borrow(as_object(type)), weak_reference_to(object)});
        else if (PyWeakref_GET_OBJECT(known->first.ptr()) != object)
            by_content_.push_back(type);
    }
}

// Of what type they are; null: all of them may be given again.
const char* CompiledFunction::meets_new_objects(const CallArguments& arguments, const std::string& kind) {
    constexpr int kPatience = 2;
    const char* found = nullptr;
    Kind& known = kinds_[kind];
    std::vector<Held> given;
    for (PyObject* const object : arguments.objects) {
        if (is_there_for_long(object)) continue;
        if (std::ranges::none_of(known.given, [&](const Held& one) { return referent_of(one) == object; }))
            found = Py_TYPE(object)->tp_name;
        given.push_back(reference_to(object));
    }
    if (!found || known.in_a_row++ < kPatience) {
        known.given.insert(known.given.end(), given.begin(), given.end());
        return nullptr;
    }
    return found;
}

void CompiledFunction::clear() {
    const auto gone = std::exchange(*variants_, {});  // their end may run Python, which may come here
    paths_.clear();
    gave_up_ = false;
    misses_in_a_row_ = debt_ = 0;
    kinds_.clear();
    met_.clear();
    by_content_.clear();
    by_identity_.clear();
}

std::int64_t CompiledFunction::bytes() const {
    std::int64_t sum = 0;
    for (const auto& one : *variants_) sum += bytes_of(one->program);
    return sum;
}

nb::list CompiledFunction::describe() const {
    nb::list result;
    for (const auto& one : *variants_)
        result.append(nb::make_tuple(one->program.recorded_steps(), one->program.loops.size(),
                                     steps_in_loops(one->program), one->state.size(), one->hits, one->misses,
                                     one->last_miss, one->times.eager, one->times.recording, one->times.planning,
                                     one->times.replay, one->told_arguments(), one->recorded_for));
    return result;
}

nb::list CompiledFunction::code() const {
    nb::list result;
    for (const auto& one : *variants_)
        for (const std::string& line : code_of(one->program)) result.append(line);
    return result;
}

nb::list CompiledFunction::reasons() const {
    nb::list result;
    for (const auto& [key, path] : paths_)
        if (!path->reason.empty()) result.append(nb::make_tuple(path->reason, path->eager));
    return result;
}

int CompiledFunction::traverse(visitproc visit, void* arg) const {
    Py_VISIT(function.ptr());
    for (const auto& one : *variants_)
        if (const int result = one->traverse(visit, arg)) return result;
    return 0;
}

nb::object CompiledFunction::run(PyObject* positional, PyObject* named) const {
    return nb::steal(checked(PyObject_Call(function.ptr(), positional, named)));
}

nb::object CompiledFunction::run_eagerly(const Path& path, PyObject* positional, PyObject* named) const {
    if (strict_) warn(name() + " stays eager: it " + path.reason);
    return run(positional, named);
}

bool CompiledFunction::is_running(const std::string& key) const {
    for (const auto& one : *variants_)
        if (one->running && one->key == key) return true;
    return false;
}

// Recording takes longer than a call: where each call is of a kind of its own, it does not pay.
bool CompiledFunction::gives_up() {
    const std::size_t most = max_variants_ + kMoreThanVariants;
    debt_ += kHitsForRecording;
    const bool in_a_row = ++misses_in_a_row_ > most;
    if (!in_a_row && debt_ <= 2 * kHitsForRecording * most) return false;
    gave_up_ = true;
    std::string text = in_a_row ? "was called in " + std::to_string(most) +
                                      " ways in a row, none of them twice (shapes, numbers, objects)"
                                : "was called with arguments that keep changing (shapes, numbers, objects), so that "
                                  "recording costs more than replays save";
    if (variants_->size() > 1)
        text += ", as with " + variants_->front()->told_arguments() + " and " + (*variants_)[1]->told_arguments();
    stay_eager(*path_of({}), std::move(text));
    return true;
}

std::shared_ptr<CompiledFunction::Path> CompiledFunction::path_of(const std::string& key) {
    constexpr std::size_t kMost = 1024;
    if (paths_.size() >= kMost && !paths_.contains(key)) paths_.clear();
    std::shared_ptr<Path>& path = paths_[key];
    if (!path) path = std::make_shared<Path>();
    return path;
}

bool CompiledFunction::find(const CallArguments& arguments, nb::object& result) {
    missed_.clear();
    for (std::size_t i = 0; i < variants_->size(); ++i) {
        const std::shared_ptr<Variant> variant = (*variants_)[i];  // the replay may run Python, which may clear all
        if (variant->key != arguments.key || !variant->fits(arguments)) continue;
        if (!variant->state.holds()) {
            note_miss(*variant, kAnotherValue + variant->state.failed, variant->state.change);
            continue;
        }
        const ReplayTimer timer;
        if (std::string text = failure_of([&] { result = variant->replay(arguments); }); !text.empty()) {
            note_miss(*variant, std::move(text));
            continue;
        }
        timer.done(variant->program, "", function.ptr());
        if (i && std::erase(*variants_, variant)) variants_->push_front(variant);
        ++hits;
        variant->misses_in_a_row = 0;
        misses_in_a_row_ = 0;
        debt_ -= debt_ > 0;
        if (!kinds_.empty() && !arguments.addresses.empty()) kinds_.erase(arguments.key_without_objects());
        return true;
    }
    return false;
}

// " (train.py:5 in step)": where Python read what differed in the last call that no variant fitted.
std::string CompiledFunction::line_of_last_miss() const {
    std::vector<std::shared_ptr<Variant>> missed;  // finding the line runs Python, which may clear all
    for (const auto& one : *variants_)
        if (last_miss_ == kAnotherValue + one->state.failed) missed.push_back(one);
    for (const auto& one : missed)
        if (const std::string site = one->state.failed_at(); !site.empty()) return " (" + site + ")";
    return {};
}

void CompiledFunction::note_miss(Variant& variant, std::string text, const std::string& values) {
    ++variant.misses;
    ++variant.misses_in_a_row;
    variant.last_miss = text + values;
    if (missed_.empty()) missed_ = variant.last_miss;
    last_miss_ = std::move(text);
}

bool CompiledFunction::check(const CallArguments& arguments, PyObject* positional, PyObject* named,
                             nb::object& result) {
    const auto fits = [&](const auto& one) {
        return one->key == arguments.key && one->fits(arguments) && one->state.holds();
    };
    const auto found = std::ranges::find_if(*variants_, fits);
    if (found == variants_->end()) return false;
    const std::shared_ptr<Variant> variant = *found;  // the replay may run Python, which may clear all
    if (variant->program.recorded) {                  // what is compared is step by step: it is recorded anew
        variants_->erase(found);
        return false;
    }
    Rehearsal replayed;
    if (!failure_of([&] { replayed = variant->rehearse(arguments); }).empty()) return false;
    --to_check;
    const Checked both = check_call(*variant, replayed, function.ptr(), arguments, positional, named);
    if (!both.recording.result.is_valid()) throw PythonError();
    if (const Step* const step = both.difference.step) throw ReplayFailed("check: " + both.difference.text, step);
    ++checked_calls;
    result = both.recording.result;
    return true;
}

nb::object CompiledFunction::record(const CallArguments& arguments, Path& path, Path& exact, PyObject* positional,
                                    PyObject* named) {
    if (std::exchange(*lost_, false))  // it may have been another kind of call
        last_miss_ = "read a tensor or an object that is gone since; make it an argument";
    std::string given = wording_of_call(positional, named), missed = missed_;  // the call may come here, too
    Recording recording = record_call(function.ptr(), arguments, positional, named);
    if (!recording.result.is_valid()) {
        constexpr int kPatience = 3, kLongest = 20;
        if (++path.raised >= kPatience) path.rest = 1 << std::min(path.raised, kLongest);
        throw PythonError();
    }
    path.raised = 0;
    if (recording.cause.text.empty()) {
        recording.variant->given = std::move(given);
        recording.variant->recorded_for = std::move(missed);
        keep(recording.variant);
        if (++exact.recordings >= kMostRecordings)
            stay_eager(exact,
                       last_miss_ + line_of_last_miss() + ", " + std::to_string(kMostRecordings) +
                           " times in all. To do: make what varies a tensor, or count in an attribute of an object");
    } else {
        path.reason = with_site(recording.cause);
        if (!by_content_.empty() && path.reason.find("of an argument") != path.reason.npos)  // which is changed
            by_identity_.insert(by_identity_.end(), by_content_.begin(), by_content_.end()), by_content_.clear();
        // What is done once only (a cache, the state of an optimizer) is not done again.
        if (++path.failures >= 3) stay_eager(path, with_advice(path.reason));
    }
    return recording.result;
}

void CompiledFunction::keep(const std::shared_ptr<Variant>& variant) {
    variant->program.coded = coded;
    variant->program.fused = fused;
    variants_->push_front(variant);
    variant->weaken(
        nb::cpp_function([list = std::weak_ptr(variants_), one = std::weak_ptr(variant), lost = lost_](nb::handle) {
            const auto gone = one.lock();  // its end may run Python
            if (const auto all = list.lock(); all && gone) *lost |= std::erase(*all, gone) > 0;
        }));
    if (variants_->size() <= max_variants_) return;
    const auto gone = variants_->back();  // its end may run Python
    variants_->pop_back();
    if (!std::exchange(said_full_, true))
        warn(name() + " has more than " + std::to_string(max_variants_) +
             " variants; the least recently used goes. To do: call it with fewer shapes and numbers, or give "
             "max_variants=");
}

std::string CompiledFunction::name() const {
    const std::string text = text_of(function.ptr(), "__qualname__");
    return text.empty() ? Py_TYPE(function.ptr())->tp_name : text;
}

void CompiledFunction::stay_eager(Path& path, std::string reason) {
    path.eager = true;
    path.reason = reason;
    for (const std::string& said : said_)
        if (said == reason && !strict_) return;
    said_.push_back(reason);
    warn(name() + " stays eager: it " + reason);
}

void CompiledFunction::warn(const std::string& text) const {
    const nb::object errors = nb::module_::import_("clew.autograd.errors");
    if (strict_) {
        PyErr_SetString(nb::object(errors.attr("KeepError")).ptr(), ("compile: " + text).c_str());
        throw PythonError();
    }
    checked(PyErr_WarnEx(nb::object(errors.attr("KeepWarning")).ptr(), ("compile: " + text).c_str(), 1));
}

}  // namespace clew::bind
