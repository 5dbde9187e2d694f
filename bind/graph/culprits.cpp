#include "bind/graph/culprits.h"

#include <string>

#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/escapes.h"
#include "bind/types/objects.h"
#include "core/autograd/leaf.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

std::string at(const Site& site) { return site.code ? " at " + site_text(site.code, site.instruction) : std::string(); }

// The smallest repair for each way to lose a history.
const char* remedy(const std::string& cause) {
    if (cause == "no_grad" || cause == "inference_mode")
        return "compute it with gradients enabled, outside that block or decorator";
    if (cause == "requires_grad=False") return "leave requires_grad=True on what is to be trained";
    if (cause.ends_with("without create_graph"))
        return "pass create_graph=True to the backward that made this gradient";
    if (cause == "item" || cause == "float" || cause == "tolist")
        return "compute with the tensor itself: a Python number has no history";
    if (cause == "tensor") return "use torch.stack or the tensor itself: tensor() copies values without history";
    if (cause.starts_with("cast to")) return "stay in a floating dtype: integers have no gradient";
    if (cause == "detach" || cause == "data")
        return "remove it there, or call backward on something that requires grad";
    return "its result has no derivative: use a differentiable function in its place";
}

}  // namespace

void raise_no_grad(const Tensor& root, std::size_t i) {
    std::string text = format("element %zu of tensors does not require grad and does not have a grad_fn", i);
    const Ref<HistoryBreak>&lost = root->lost, hint = last_read();
    PyObject *read_at = Py_NewRef(Py_None), *read_by = Py_NewRef(Py_None);
    if (lost && lost->may_be_data) {
        text += format(
            ". It comes from an array, by '%s'%s, and what NumPy computed has no history. To do: compute it with "
            "tensors; or, if the array is data, set requires_grad=True on the tensors whose gradient you want",
            lost->cause, at(lost->site).c_str());
    } else if (lost && lost->is_of_constant_gradient()) {
        text += format(
            ". It was computed from a gradient%s%s that depends on nothing that requires grad, as that of a linear "
            "function: its derivative is zero. To do: take zero for it (autograd.functional.hessian and func.hessian "
            "do); or, if the function is not linear, look for what is cut off in it by detach() or no_grad()",
            lost->site.code ? " taken" : "", at(lost->site).c_str());
    } else if (lost) {
        text += format(". Its history was lost by '%s'%s. To do: %s", lost->cause, at(lost->site).c_str(),
                       remedy(lost->cause));
    } else if (hint) {
        text += format(
            ". Nothing that it was computed from required grad; if Python numbers went into it, the last that was read "
            "from a tensor with history was read by '%s'%s, and a number has no history. To do: compute with the "
            "tensors themselves, or set requires_grad=True on the tensors whose gradient you want",
            hint->cause, at(hint->site).c_str());
        Py_SETREF(read_at, site_object(hint->site));
        Py_SETREF(read_by, PyUnicode_FromString(hint->cause));
    } else {
        text +=
            ". Nothing that it was computed from required grad. To do: set requires_grad=True on the tensors whose "
            "gradient you want";
    }
    raise_with_fields("NoGradError", text.c_str(),
                      {{"lost_at", lost ? site_object(lost->site) : Py_NewRef(Py_None)},
                       {"cause", lost ? PyUnicode_FromString(lost->cause) : Py_NewRef(Py_None)},
                       {"number_read_at", read_at},
                       {"number_read_by", read_by}});
    throw PythonError();
}

PyObject* nodes_of(const std::vector<Tensor>& tensors) {
    std::vector<Edge> edges;
    for (const Tensor& tensor : tensors)
        if (Edge edge = gradient_edge(tensor); edge.node) edges.push_back(std::move(edge));
    PyObject* nodes = checked(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    for (std::size_t i = 0; i < edges.size(); ++i)
        PyTuple_SET_ITEM(nodes, static_cast<Py_ssize_t>(i), Py_NewRef(as_object(edges[i].node)));
    return nodes;
}

void tell_what_to_do(const std::vector<Tensor>& roots, const std::vector<Tensor>& inputs, std::uint64_t began,
                     bool keep_graph) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    PyObject* module = PyImport_ImportModule("clew.graph.explanations.culprits");
    // "N" takes over the references of what it is given, also where the call fails.
    PyObject* told = module ? PyObject_CallMethod(module, "tell_what_to_do", "ONNKO", error, nodes_of(roots),
                                                  nodes_of(inputs), began, keep_graph ? Py_True : Py_False)
                            : nullptr;
    if (told == nullptr) PyErr_Clear();  // the error itself matters more
    Py_XDECREF(told);
    Py_XDECREF(module);
    PyErr_Restore(type, error, traceback);
}

}  // namespace clew::bind
