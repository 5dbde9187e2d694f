#include "bind/calls/backward_log.h"

#include <tuple>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/graph/culprits.h"
#include "bind/graph/site.h"
#include "bind/types/objects.h"
#include "core/autograd/engine.h"
#include "core/autograd/mode.h"
#include "core/autograd/view.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

std::string file_of(const Site& site) {
    const char* text = PyUnicode_AsUTF8(static_cast<PyCodeObject*>(site.code)->co_filename);
    if (text == nullptr) PyErr_Clear();
    return text ? text : "";
}

}  // namespace

BackwardLog::BackwardLog(nb::object ask, std::size_t limit, nb::object at, bool draws)
    : ask_(std::move(ask)), limit_(limit), draws_(draws) {
    if (at.is_none()) return;
    file_ = nb::cast<std::string>(at[0]);
    at_line_ = nb::cast<int>(at[1]);
}

BackwardLog::~BackwardLog() { stop(); }

void BackwardLog::start() {
    if (is_on_) return;
    is_on_ = true;
    thread_ = PyThread_get_thread_ident();
    start_ = {now_ns() - listeners_spent(), timings, call_signature};
    if (draws_) operation_times = &times_;
    add_listener(this);
}

void BackwardLog::stop() {
    if (is_on_) remove_listener(this);
    if (operation_times == &times_) operation_times = nullptr;
    is_on_ = false;
    drop_probe();
}

// It is on the stack of its thread, and can be taken from there by that thread only, and not while a call is handled.
void BackwardLog::drop_probe() {
    probed_ = nullptr;
    if (!probe_) return;
    if (PyThread_get_thread_ident() == thread_ && !Interpreter::handles_call()) return probe_.reset();
    probe_->give_up();
    std::ignore = probe_.release();
}

BackwardLog::Step BackwardLog::between(const Mark& before, const Mark& after) {
    const Timings &then = before.timings, &now = after.timings;
    return {after.at - before.at, now.recording - then.recording, now.forward_kernels - then.forward_kernels,
            now.backward - then.backward, now.operations - then.operations};
}

std::size_t BackwardLog::line_of(const Site& site) {
    if (const std::size_t* known = called_.find(site)) return *known;
    const std::string file = file_of(site);
    const int number = PyCode_Addr2Line(static_cast<PyCodeObject*>(site.code), site.instruction);
    std::size_t i = 0;
    while (i < lines_.size() && (lines_[i]->number != number || lines_[i]->file != file)) ++i;
    if (i == lines_.size()) {
        const bool is_described = at_line_ == -1 || (at_line_ == number && file_ == file);
        lines_.push_back(std::make_unique<Line>(
            Line{.file = file, .number = number, .code = Handle::borrow(site.code), .is_described = is_described}));
    }
    return called_.put(site, i);
}

// Whether the step that ends here was recorded to its end. A probe whose line does not come again is dropped.
bool BackwardLog::ends_probe(Line& line, const Mark& now) {
    if (!probe_ || PyThread_get_thread_ident() != thread_) return false;
    if (Interpreter::handles_call()) {
        probe_->give_up();
        return false;
    }
    if (probed_ == &line) return true;
    if (now.at - probed_->mark.at > kLongest) drop_probe();
    return false;
}

void BackwardLog::note_step(Line& line, const Mark& now, const std::vector<Tensor>& roots) {
    const bool probed = ends_probe(line, now);
    if (line.count++ == 0) {
        line.first = between(start_, now);
    } else if (probed) {  // it took longer
        line.kept = probe_->end(roots);
        drop_probe();
    } else if (line.steps.size() < kMostSteps) {
        line.steps.push_back(between(line.mark, now));
    } else {
        line.steps[line.oldest] = between(line.mark, now);
        line.oldest = (line.oldest + 1) % kMostSteps;
    }
    if (line.count > 1) {
        const std::uint64_t kind = now.calls.since(line.mark.calls);
        if (line.kinds.size() < kMostKinds || line.kinds.contains(kind)) ++line.kinds[kind];
        if (!probed) probe(line, kind);
    }
    line.mark = now;
}

// The next step of this line is recorded, if it seems to be one of many that do the same.
void BackwardLog::probe(Line& line, std::uint64_t kind) {
    constexpr std::int64_t kAlike = 8;
    constexpr std::uint32_t kOthers = kInterpreted | kSavedHooks | kAnomaly | kInferenceMode | kWatchWrites;
    const auto known = line.kinds.find(kind);
    if (line.probed || probe_ || probes_ == kMostProbes || !line.is_described || mode(kOthers) || Recorder::at_work() ||
        known == line.kinds.end() || known->second < kAlike || line.steps.back().wall > kLongest ||
        PyThread_get_thread_ident() != thread_)
        return;
    line.probed = true;
    probed_ = &line;
    ++probes_;
    probe_ = std::make_unique<StepProbe>();
}

void BackwardLog::after(const std::vector<Tensor>& roots, const Ref<Release>& release, std::int64_t entered) {
    const Mark now{entered - listeners_spent(), timings, call_signature};
    const Site site = current_site();
    const Handle code = Handle::steal(site.code);
    if (!code || backward_serial() != 0) return;  // one inside another, as those of `checkpoint`, is part of that one
    const std::size_t number = line_of(site);
    Line& line = *lines_[number];
    note_step(line, now, roots);
    last_ = static_cast<std::int64_t>(number);
    bool is_whole = true, asks = draws_;
    std::vector<Node*> nodes;
    if (line.is_described) {
        nodes.reserve(roots.size());
        for (const Tensor& root : roots) nodes.push_back(gradient_edge(root).node);
        is_whole = line.copy.take(nodes, limit_, numbers_);
        asks |= !is_whole || (asks_for_names_ && line.copy.has_unknown_leaves());
    }
    if (!asks) return;
    const UnseenPython unseen;
    const Handle tuple = Handle::steal(nodes_of(roots)),
                 record = release ? Handle::steal(release_object(release.get())) : Handle::borrow(Py_None);
    Py_DECREF(checked(PyObject_CallFunction(ask_.ptr(), "nOOO", static_cast<Py_ssize_t>(number), as_object(tuple),
                                            as_object(record), is_whole ? Py_True : Py_False)));
    // Once more, with the names that were found.
    if (line.is_described && is_whole) {
        line.copy.take(nodes, limit_, numbers_);
        if (draws_ && line.whole.take(nodes, kMostDrawn, numbers_)) line.whole.add_times(times_);
    }
    times_.clear();
}

std::int64_t BackwardLog::number_of(nb::handle leaf) const {
    TensorObject* tensor = as_tensor(leaf.ptr());
    return tensor ? numbers_.of(tensor) : LeafNumbers::kUnknown;
}

std::int64_t BackwardLog::count(const std::string& file, int number) const {
    for (const auto& line : lines_)
        if (line->number == number && line->file == file) return line->count;
    return 0;
}

nb::list BackwardLog::lines() const {
    const auto as_tuple = [](const Step& step) {
        return nb::make_tuple(step.wall, step.recording, step.forward_kernels, step.backward, step.operations);
    };
    nb::list result;
    for (const auto& line : lines_) {
        nb::list steps;
        for (std::size_t i = 0; i < line->steps.size(); ++i)
            steps.append(as_tuple(line->steps[(line->oldest + i) % line->steps.size()]));
        nb::dict told;
        told["file"] = nb::borrow(static_cast<PyCodeObject*>(line->code.get())->co_filename);
        told["line"] = line->number;
        told["function"] = nb::borrow(static_cast<PyCodeObject*>(line->code.get())->co_qualname);
        told["count"] = line->count;
        told["since_start"] = as_tuple(line->first);
        told["steps"] = steps;
        std::int64_t same = 0;
        for (const auto& [kind, count] : line->kinds) same = std::max(same, count);
        told["same"] = same;
        told["kept"] = line->kept;
        told["graph"] = line->copy.is_taken() ? nb::object(line->copy.tell()) : nb::none();
        told["whole"] = line->whole.is_taken() ? nb::object(line->whole.tell()) : nb::none();
        result.append(told);
    }
    return result;
}

void init_backward_log(nb::module_& m) {
    nb::class_<BackwardLog>(m, "BackwardLog", "Notes each backward: its line, the times since the last, its graph.")
        .def(nb::init<nb::object, std::size_t, nb::object, bool>(), nb::arg("ask"), nb::arg("limit"),
             nb::arg("at").none(), nb::arg("draws"))
        .def("start", &BackwardLog::start, "Begins to listen.")
        .def("stop", &BackwardLog::stop, "Listens no more; what was noted stays.")
        .def("give_number", &BackwardLog::give_number, nb::arg("leaf"), nb::arg("number"),
             "The number by which the leaf is told of from now on.")
        .def("number", &BackwardLog::number_of, nb::arg("leaf"), "The leaf's number, or -1.")
        .def("ask_no_more_for_names", &BackwardLog::ask_no_more_for_names)
        .def("count", &BackwardLog::count, nb::arg("file"), nb::arg("line"),
             "How many backward passes a line has called.")
        .def("lines", &BackwardLog::lines, "What was noted, a dict for each line that called backward.")
        .def("last", &BackwardLog::last, "Which of them called the last; -1: there was none.");
}

}  // namespace clew::bind
