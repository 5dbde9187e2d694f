#include "bind/graph/growth_watch.h"

#include <algorithm>

#include "bind/errors.h"
#include "bind/graph/culprits.h"
#include "bind/graph/site.h"
#include "bind/types/node_attributes.h"
#include "core/autograd/engine.h"
#include "core/autograd/leaf.h"
#include "core/autograd/ledger.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr std::int64_t kBlock = 4;  // iterations; the fewest living nodes of a block are compared with the block before
constexpr int kRises = 2;           // so many blocks in a row with more than the one before are a reason to look
constexpr std::int64_t kTimes = 2;  // after such a look only when there are this many times as many: the rise is known
constexpr std::int64_t kForget = 64;              // iterations after which such a look is forgotten
constexpr std::int64_t kRegularly = 8;            // iterations between two looks that have no reason
constexpr std::int64_t kMostForRoutine = 20'000;  // living nodes; a look at more has to have a reason
constexpr std::int64_t kSuspicious = 6;  // from so many iterations on a line that holds more than before is followed up
constexpr std::uint64_t kLeaf = (std::uint64_t{1} << 48) - 1;  // the sequence of AccumulateGrad nodes

std::uint64_t newest_of(const std::vector<Tensor>& roots) {
    std::uint64_t newest = 0;
    for (const Tensor& root : roots) {
        const Node* node = gradient_edge(root).node;
        if (node && node->sequence != kLeaf) newest = std::max<std::uint64_t>(newest, node->sequence);
    }
    return newest;
}

nb::object or_none(std::int64_t iterations) {
    return iterations == LookSchedule::kNever ? nb::none() : nb::object(nb::int_(iterations));
}

}  // namespace

bool Iterations::end(std::uint64_t serial) {
    if (!ends_.empty() && serial <= ends_.back()) return false;
    ends_.push_back(serial);
    if (ends_.size() > kMostEnds) {
        for (std::size_t i = 0; i < kMostEnds / 4; ++i) ends_[i] = ends_[2 * i + 1];
        ends_.erase(ends_.begin() + kMostEnds / 4, ends_.begin() + kMostEnds / 2);
    }
    return true;
}

std::int64_t Iterations::of(std::uint64_t sequence) const {
    return std::ranges::lower_bound(ends_, sequence) - ends_.begin();
}

LookSchedule::LookSchedule(nb::object clock, bool always)
    : clock_(std::move(clock)), always_(always), started_(now()) {}

double LookSchedule::now() const {
    return clock_.is_none() ? static_cast<double>(now_ns()) / 1e9 : nb::cast<double>(clock_());
}

void LookSchedule::end_block() {
    rises_ = low_ > low_before_ ? rises_ + 1 : 0;
    low_before_ = low_;
    low_ = kNever;
    if (kTimes * kTimes * low_before_ < explained_) explained_ = 0;  // what rose then is gone
}

LookSchedule::Reason* LookSchedule::reason(std::int64_t nodes_alive) {
    const std::int64_t since = iteration_ - last_;
    if (iteration_ >= follow_up_) return &suspicion_;
    if (rises_ >= kRises && since >= kBlock && (nodes_alive > explained_ || since >= kForget)) return &rising_;
    return since >= kRegularly && nodes_alive <= kMostForRoutine ? &routine_ : nullptr;
}

bool LookSchedule::is_due(std::int64_t nodes_alive) {
    ++iteration_;
    low_ = std::min(low_, nodes_alive);
    if (iteration_ % kBlock == 0) end_block();
    if (always_) return true;
    Reason* found = reason(nodes_alive);
    if (found == nullptr) return false;
    reason_ = found;
    return found->free > 0 || counted_ <= found->share * (now() - started_);
}

void LookSchedule::looked(double seconds, std::int64_t wait) {
    ++looks_;
    if (reason_->free > 0)
        --reason_->free;
    else
        counted_ += seconds;
    last_ = iteration_;
    follow_up_ = wait == kNever ? kNever : iteration_ + wait;
    if (reason_ == &rising_) explained_ = kTimes * low_before_;
}

std::int64_t LookSchedule::wait(std::int64_t holds, std::int64_t held, std::int64_t most) const {
    if (holds < kSuspicious || holds <= held) return kNever;
    const std::int64_t missing = std::max<std::int64_t>(1, most - holds);
    if (held < kSuspicious / 2) return missing;  // too few to tell how fast it grows: perhaps by one each iteration
    // At most three times as long: what it held then may have been something else.
    const double slowness = static_cast<double>(iteration_ - last_) / static_cast<double>(holds - held);
    return static_cast<std::int64_t>(static_cast<double>(missing) * std::clamp(slowness, 1.0, 3.0));
}

void GrowthListener::start(nb::object look, nb::object records) {
    if (is_on_) return;
    look_ = std::move(look);
    records_ = std::move(records);
    is_on_ = true;
    add_listener(this);
}

void GrowthListener::stop() {
    if (!is_on_) return;
    remove_listener(this);
    is_on_ = false;
    const nb::object look = std::move(look_), records = std::move(records_);  // which may hold this
}

void GrowthListener::after(const std::vector<Tensor>& roots, const Ref<Release>& release, std::int64_t) {
    if (backward_serial()) return;  // inside another backward, as those of `checkpoint` are
    const nb::object look = look_;  // it holds this, while Python may stop it
    if (!ends_an_iteration(roots, release) || !schedule_.is_due(graph_counters.nodes_alive) || !is_on_) return;
    const UnseenPython unseen;
    const nb::object nodes = nb::steal(nodes_of(roots)),
                     record = release ? nb::steal(release_object(release.get())) : nb::none();
    Py_DECREF(checked(PyObject_CallFunctionObjArgs(look.ptr(), nodes.ptr(), record.ptr(), nullptr)));
}

bool GrowthListener::ends_an_iteration(const std::vector<Tensor>& roots, const Ref<Release>& release) {
    if (release) return iterations_.end(release->serial);
    const std::uint64_t newest = newest_of(roots);
    return !is_inner_step(newest) && iterations_.end(newest);
}

// Whether a backward that kept its graph is a step within an iteration.
bool GrowthListener::is_inner_step(std::uint64_t newest) {
    const Site site = current_site();
    const Handle held = Handle::steal(site.code);
    if (!held) return false;
    Caller* caller = callers_.find(site);
    if (caller == nullptr) caller = &callers_.put(site, {});
    if (caller->calls++ % kAskAgain == 0) {
        auto* code = static_cast<PyCodeObject*>(site.code);
        const nb::object records = records_;
        const UnseenPython unseen;
        const bool answer =
            nb::cast<bool>(records(newest, nb::borrow(code->co_filename), PyCode_Addr2Line(code, site.instruction)));
        caller->records = answer;
    }
    return caller->records;
}

void init_growth_watch(nb::module_& m) {
    nb::class_<Iterations>(m, "Iterations", "Where each iteration of the user's loop ended.")
        .def(nb::init<>())
        .def("end", &Iterations::end, nb::arg("serial"), "One ended now; False if nothing was made since the last.")
        .def("of", &Iterations::of, nb::arg("sequence"), "The number of the iteration that made this node.")
        .def_prop_ro("latest", &Iterations::latest, "The number of the one that ended last.")
        .def_prop_ro("remembered", &Iterations::remembered, "Of how many ends the place is known.");
    nb::class_<LookSchedule>(m, "LookSchedule", "When the growth watch looks at the living graphs.")
        .def(nb::init<nb::object, bool>(), nb::arg("clock").none() = nb::none(), nb::arg("always") = false)
        .def("is_due", &LookSchedule::is_due, nb::arg("nodes_alive"), "Counts an iteration, at whose end so many live.")
        .def(
            "looked",
            [](LookSchedule& schedule, double seconds, nb::object wait) {
                schedule.looked(seconds, wait.is_none() ? LookSchedule::kNever : nb::cast<std::int64_t>(wait));
            },
            nb::arg("seconds"), nb::arg("wait").none(), "Notes a look; `wait` iterations later another one is due.")
        .def(
            "wait",
            [](const LookSchedule& schedule, std::int64_t holds, std::int64_t held, std::int64_t most) {
                return or_none(schedule.wait(holds, held, most));
            },
            nb::arg("holds"), nb::arg("held"), nb::arg("most"),
            "In how many iterations a line may hold `most`, which `held` so many at the last look; None: not soon.")
        .def_prop_ro("looks", &LookSchedule::looks, "How many looks were noted.");
    nb::class_<GrowthListener>(m, "GrowthListener", "Counts iterations, and calls back when a look is due.")
        .def(nb::init<nb::object, bool>(), nb::arg("clock").none(), nb::arg("always"))
        .def("start", &GrowthListener::start, nb::arg("look"), nb::arg("records"), "Begins to listen.")
        .def("stop", &GrowthListener::stop, "Listens no more.")
        .def_prop_ro("iterations", &GrowthListener::iterations, nb::rv_policy::reference_internal)
        .def_prop_ro("schedule", &GrowthListener::schedule, nb::rv_policy::reference_internal);
}

}  // namespace clew::bind
