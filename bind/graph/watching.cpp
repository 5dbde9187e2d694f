#include "bind/graph/watching.h"

#include <memory>
#include <utility>
#include <vector>

#include "bind/calls/backward.h"
#include "bind/calls/backward_alarm.h"
#include "bind/calls/backward_log.h"
#include "bind/errors.h"
#include "bind/graph/growth_watch.h"
#include "bind/graph/node_sequence.h"
#include "bind/graph/node_set.h"
#include "bind/graph/replay_events.h"
#include "bind/graph/site.h"
#include "bind/types/node_attributes.h"
#include "bind/types/objects.h"
#include "core/base/allocator.h"
#include "core/base/frame.h"
#include "core/tensor/storage.h"
#include "core/tensor/timeline.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

// A column of numbers as bytes, for numpy.frombuffer.
template <class Number, class Row>
nb::bytes column(const std::vector<Row>& rows, Number (*of)(const Row&)) {
    std::vector<Number> numbers;
    numbers.reserve(rows.size());
    for (const Row& row : rows) numbers.push_back(of(row));
    return nb::bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

std::int64_t number_of(const Storage* const& storage) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(storage));
}

// The numbers of the storages that the graph below these nodes holds.
nb::list saved_storages(const nb::handle roots) {
    NodeSet seen;
    walk_all(sequence(roots), Reach::Backward, seen);
    nb::list found;
    for (std::size_t i = 0; i < seen.size(); ++i)
        each_slot(*seen[i], [&](SavedSlot& slot) {
            if (const Storage* storage = facts_of(slot).storage) found.append(number_of(storage));
        });
    return found;
}

nb::list allocations_of(const Timeline& timeline, const nb::iterable& storages) {
    nb::list found;
    for (nb::handle storage : storages)
        found.append(timeline.allocation_of(reinterpret_cast<const Storage*>(nb::cast<std::uintptr_t>(storage))));
    return found;
}

nb::dict timeline_columns(const Timeline& timeline) {
    using Row = Allocation;
    const auto& rows = timeline.allocations;
    nb::dict result;
    result["live_at_start"] = timeline.live_at_start;
    result["bytes"] = column<std::int64_t, Row>(rows, [](const Row& row) { return row.bytes; });
    result["taken_step"] = column<std::int64_t, Row>(rows, [](const Row& row) { return row.taken_step; });
    result["given_step"] = column<std::int64_t, Row>(rows, [](const Row& row) { return row.given_step; });
    result["taken_ns"] = column<std::int64_t, Row>(rows, [](const Row& row) { return row.taken_ns; });
    result["given_ns"] = column<std::int64_t, Row>(rows, [](const Row& row) { return row.given_ns; });
    result["sequence"] =
        column<std::int64_t, Row>(rows, [](const Row& row) { return static_cast<std::int64_t>(row.sequence); });
    result["site"] = column<std::int64_t, Row>(rows, [](const Row& row) { return std::int64_t{row.site}; });
    result["in_backward"] =
        column<std::int64_t, Row>(rows, [](const Row& row) { return std::int64_t{row.in_backward}; });
    result["release_bytes"] = column<std::int64_t, std::int64_t>(timeline.releases, [](const auto& n) { return n; });
    result["release_step"] =
        column<std::int64_t, std::int64_t>(timeline.release_steps, [](const auto& n) { return n; });
    result["release_ns"] = column<std::int64_t, std::int64_t>(timeline.release_ns, [](const auto& n) { return n; });
    result["released"] = column<std::int64_t, const Storage*>(timeline.released, number_of);
    nb::list sites;
    for (const Site& site : timeline.sites) sites.append(nb::steal(checked(site_object(site))));
    result["sites"] = sites;
    return result;
}

nb::tuple gradients_of(const std::vector<Tensor>& gradients) {
    nb::list list;
    for (const Tensor& gradient : gradients) list.append(nb::steal(checked(wrap(gradient))));
    return nb::tuple(list);
}

// Those that next_functions tells of.
nb::tuple gradients_of_inputs(Node& node, const std::vector<Tensor>& results) {
    std::vector<Tensor> shown;
    for (const int i : shown_inputs(node)) shown.push_back(results[static_cast<std::size_t>(i)]);
    return gradients_of(shown);
}

nb::object next_step(SteppedBackward& steps) {
    BackwardStep step;
    if (!steps.next(step)) return nb::none();
    return nb::make_tuple(nb::borrow(as_object(step.node.get())), gradients_of(step.incoming),
                          gradients_of_inputs(*step.node, step.results));
}

// `gradients` loses its elements: the rule is alone with them, as in a backward.
nb::object rule_of(nb::handle object, nb::handle gradients, bool compute) {
    if (!PyList_Check(gradients.ptr())) fail(ErrorKind::Type, "run_rule: expected a list of gradients");
    Node* node = as_node(object.ptr());
    if (node == nullptr) fail(ErrorKind::Type, "run_rule: expected a Node, got %s", Py_TYPE(object.ptr())->tp_name);
    const Py_ssize_t count = PyList_GET_SIZE(gradients.ptr());
    if (count != node->output_count)
        fail(ErrorKind::Value, "run_rule: expected %d gradients, one for each output, got %zd", int{node->output_count},
             count);
    std::vector<Tensor> incoming;
    for (Py_ssize_t i = 0; i < count; ++i) incoming.emplace_back(as_tensor(PyList_GET_ITEM(gradients.ptr(), i)));
    checked(PyList_SetSlice(gradients.ptr(), 0, count, nullptr));
    const SkipKernels skip(!compute);
    struct Backed {
        explicit Backed(bool on) : before(std::exchange(storages_backed, on)) {}
        ~Backed() { storages_backed = before; }
        const bool before;
    } backed(!compute);
    return gradients_of_inputs(*node, run_rule(*node, incoming));
}

}  // namespace

void init_watching(nb::module_& m) {
    nb::class_<Timeline>(m, "MemoryTimeline", "Writes down every byte of tensor data from now on, until stop().")
        .def(nb::init<>())
        .def("stop", &Timeline::stop, "What happens later is not written down.")
        .def("allocations_of", allocations_of, nb::arg("storages"),
             "For the number of each living storage that of its allocation, or -1 if it was there before.")
        .def("columns", timeline_columns, "What was written, as columns of int64 in bytes, and the sites.");
    nb::class_<SteppedBackward>(m, "SteppedBackward", "A backward that runs one node at a time.")
        .def("next", next_step, "Runs a node: (node, gradients that came, gradients sent on); None at the end.");
    m.def(
        "stepped_backward",
        [](nb::handle tensors, nb::handle gradients, nb::handle retain_graph, nb::handle create_graph) {
            return stepped_backward(tensors.ptr(), gradients.ptr(), retain_graph.ptr(), create_graph.ptr()).release();
        },
        nb::rv_policy::take_ownership, nb::arg("tensors"), nb::arg("gradients").none(), nb::arg("retain_graph").none(),
        nb::arg("create_graph"), "Checks and prepares a backward from these tensors; nothing has run yet.");
    m.def("run_rule", rule_of, nb::arg("node"), nb::arg("gradients"), nb::arg("compute") = true,
          "The gradients of a node's inputs from those of its outputs; no hooks, nothing freed. Empties the list. With "
          "compute=False they have no values, or NotImplementedError says that values decide.");
    m.def(
        "unseen",
        [](nb::callable look) {
            const UnseenPython unseen;
            look();
        },
        nb::arg("look"), "Calls it, and nobody who records or times sees what it computes.");
    m.def(
        "running_node",
        []() -> nb::object {
            if (!running_node.active) return nb::none();
            return nb::make_tuple(nb::steal(checked(site_object(running_node.site))), running_node.sequence);
        },
        "(line, sequence number) of the node whose rule this thread runs, while a MemoryTimeline is on; else None.");
    init_backward_log(m);
    init_replay_events(m);
    init_growth_watch(m);
    init_backward_alarm(m);
    m.def("saved_storages", saved_storages, nb::arg("roots"),
          "The numbers of the storages that the graph below these nodes holds.");
    m.def("tick", [] { return tick(); }, "A fresh number of the clock that numbers nodes and writes.");
}

}  // namespace clew::bind
