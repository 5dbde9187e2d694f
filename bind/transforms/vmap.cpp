#include "bind/transforms/vmap.h"

#include <string_view>
#include <unordered_set>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/autograd/leaf.h"
#include "core/base/error.h"
#include "core/ops/batching/batching.h"
#include "core/ops/forward/dual_level.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

Tensor tensor_from(nb::handle object) { return bind::tensor_from(object.ptr(), "vmap"); }

Batching::Randomness randomness_from(std::string_view name) {
    if (name == "error") return Batching::Error;
    if (name == "different") return Batching::Different;
    if (name == "same") return Batching::Same;
    fail(ErrorKind::Value, "Only allowed values for randomness are 'error', 'different', or 'same'. Got %s",
         std::string(name).c_str());
}

const char* name_of(Batching::Randomness randomness) {
    return randomness == Batching::Error ? "error" : randomness == Batching::Different ? "different" : "same";
}

nb::object given(const Tensor& tensor) { return nb::steal(wrap(tensor)); }

// Whether the graph of the roots, or that of their tangents, has a node that `is` true of, where it is not behind the
// leaves' own.
template <class Is>
bool has_node(nb::handle roots, nb::handle leaves, const Is& is) {
    std::unordered_set<const Node*> seen;
    std::vector<Node*> open;
    const auto visit = [&](Node* node) {
        if (node && seen.insert(node).second) open.push_back(node);
    };
    for (const nb::handle leaf : leaves) seen.insert(gradient_edge(tensor_from(leaf)).node);
    for (const nb::handle root : roots) {
        const Tensor tensor = tensor_from(root);
        visit(gradient_edge(tensor).node);
        for (const auto& level : open_levels())
            if (const Tensor tangent = level->tangent_of(tensor)) visit(gradient_edge(tangent).node);
    }
    while (!open.empty()) {
        Node* const node = open.back();
        open.pop_back();
        if (is(node)) return true;
        for (std::uint32_t i = 0; i < node->edge_count; ++i) visit(node->edge_nodes()[i]);
    }
    return false;
}

// Whether the graph of the roots ends in leaves besides these. Nobody asks for the gradient of a leaf that is gone, as
// those of a transform that has ended.
bool leads_elsewhere(const nb::list& roots, const nb::list& leaves) {
    return has_node(roots, leaves,
                    [](Node* node) { return node->has(Node::kAccumulate) && node->outputs()[0].tensor; });
}

}  // namespace

bool leads_before(PyObject* roots, PyObject* leaves, std::uint64_t began) {
    return has_node(roots, leaves,
                    [&](const Node* node) { return !node->has(Node::kAccumulate) && node->sequence < began; });
}

void init_vmap(nb::module_& module) {
    module.def(
        "begin_batch",
        [](std::int64_t size, const char* randomness) { return begin_batch(size, randomness_from(randomness)); },
        nb::arg("size"), nb::arg("randomness"), "Begins a batch on this thread; gives its number.");
    module.def("refused_writes", &refused_writes,
               "How often a write of samples that are alike into a tensor that is none was refused on this thread.");
    module.def("end_batch", &end_batch, nb::arg("batch"), "Ends the batch that began last.");
    module.def(
        "active_batches",
        [] {
            std::vector<std::pair<std::int64_t, std::int64_t>> found;
            for (const Batching* one : active_batches()) found.emplace_back(one->batch, one->size);
            return found;
        },
        "The number and the size of each batch of this thread, from the outermost.");
    module.def(
        "randomness_of",
        [](std::int64_t batch) {
            for (const Batching* one : active_batches())
                if (one->batch == batch) return name_of(one->randomness);
            fail(ErrorKind::Value, "vmap: expected the number of a batch that is under way");
        },
        nb::arg("batch"), "What random operations do in a batch of this thread.");
    module.def(
        "batch_of",
        [](nb::handle object) {
            const Tensor tensor = tensor_from(object);
            return is_batched(tensor) ? batched(tensor).batch : 0;
        },
        nb::arg("tensor"), "The batch whose sample the tensor is, or 0.");
    module.def(
        "batch_value",
        [](nb::handle object) {
            const Tensor tensor = tensor_from(object);
            if (!is_batched(tensor)) fail(ErrorKind::Value, "vmap: expected a tensor that stands for a batch");
            return given(batched(tensor).value);
        },
        nb::arg("tensor"), "All its samples, along axis 0.");
    module.def(
        "carry_alike",
        [](const nb::list& from, nb::handle to) {
            std::vector<Tensor> sources;
            for (const nb::handle one : from) sources.push_back(tensor_from(one));
            carry_alike(sources, tensor_from(to));
        },
        nb::arg("from_"), nb::arg("to"), "The samples of `to` are alike where those of all of `from` are.");
    module.def("leads_elsewhere", &leads_elsewhere, nb::arg("roots"), nb::arg("leaves"),
               "Whether the graph of the roots, or that of their tangents, ends in leaves besides these.");
    module.def(
        "make_batched",
        [](nb::handle value, std::int64_t batch) { return given(make_batched(tensor_from(value), batch)); },
        nb::arg("value"), nb::arg("batch"), "A tensor that stands for a sample, given all of them.");
}

}  // namespace clew::bind
