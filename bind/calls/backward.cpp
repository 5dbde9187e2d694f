#include "bind/calls/backward.h"

#include "bind/errors.h"
#include "bind/graph/culprits.h"
#include "bind/graph/site.h"
#include "bind/types/node_attributes.h"
#include "bind/types/objects.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/functions.h"
#include "core/ops/interpreter.h"
#include "core/tensor/storage.h"

namespace clew::bind {
namespace {

// Those who look on: called before and after each backward, and at each node of one that is to be stepped through.
PyObject* before_backward = nullptr;
PyObject* on_backward = nullptr;
PyObject* on_step = nullptr;
std::vector<BackwardListener*> listeners;
std::int64_t spent = 0;

struct TimeSpent {
    const std::int64_t entered = now_ns();
    TimeSpent() = default;
    TimeSpent(const TimeSpent&) = delete;
    ~TimeSpent() { spent += now_ns() - entered; }
};

// A GradientEdge (node, output) stands for the tensor whose gradient it carries: geometry and history are all that is
// needed of it.
Tensor stand_in(PyObject* edge) {
    Node* node = PyTuple_Check(edge) && PyTuple_GET_SIZE(edge) >= 2 ? as_node(PyTuple_GET_ITEM(edge, 0)) : nullptr;
    if (node == nullptr) return {};
    const long index = PyLong_AsLong(PyTuple_GET_ITEM(edge, 1));
    if (index == -1 && PyErr_Occurred()) throw PythonError();
    if (index < 0 || index >= node->output_count || node->outputs()[index].layout == nullptr)
        fail(ErrorKind::Index, "GradientEdge: %s has no output %ld", node->kind->node_name, index);
    const OutputRecord& record = node->outputs()[index];
    if (record.tensor) return Tensor(record.tensor);
    TensorObject* made = new_tensor_object();
    Tensor result = Tensor::steal(made);
    made->layout = LayoutRef(record.layout);
    made->dtype = node->output_dtypes()[index];
    if (made->layout->numel == 1) made->storage = zeros(Dims{1}, made->dtype)->storage;  // its gradient is made like it
    if (node->has(Node::kAccumulate)) {
        made->set(TensorObject::kRequiresGrad, true);
        extras_of(*made).accumulator = NodeRef(node);
    } else {
        made->grad_fn = NodeRef(node);
        made->output_index = static_cast<std::uint16_t>(index);
    }
    return result;
}

std::vector<Tensor> read_tensors(PyObject* object, const char* what, bool allow_none) {
    std::vector<Tensor> tensors;
    if (object == nullptr || object == Py_None) return tensors;
    if (TensorObject* one = as_tensor(object)) {
        tensors.emplace_back(one);
        return tensors;
    }
    if (Tensor one = stand_in(object)) {
        tensors.push_back(std::move(one));
        return tensors;
    }
    PyObject* sequence = checked(PySequence_Fast(object, "backward: expected a tensor or a sequence of tensors"));
    const Handle held = Handle::steal(sequence);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
        PyObject* element = PySequence_Fast_GET_ITEM(sequence, i);
        TensorObject* tensor = as_tensor(element);
        if (Tensor stands_for = tensor ? Tensor() : stand_in(element)) {
            tensors.push_back(std::move(stands_for));
            continue;
        }
        if (tensor == nullptr && !(allow_none && element == Py_None))
            fail(ErrorKind::Type, "%s: expected tensors, got %s at position %zd", what, Py_TYPE(element)->tp_name, i);
        tensors.emplace_back(tensor);
    }
    return tensors;
}

struct Options {
    bool keep_graph, create_graph;
};

void notify(const std::vector<Tensor>& roots, const Ref<Release>& release);
BackwardResult run_shown(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients,
                         const Options& options);

Options read_options(PyObject* retain_graph, PyObject* create_graph) {
    const int create = create_graph ? PyObject_IsTrue(create_graph) : 0;
    checked(create);
    const bool given = retain_graph && retain_graph != Py_None;
    const int keep = given ? PyObject_IsTrue(retain_graph) : create;
    checked(keep);
    return {keep != 0, create != 0};
}

std::vector<Tensor> run(const std::vector<Tensor>& roots, std::vector<Tensor> gradients, PyObject* retain_graph,
                        PyObject* create_graph, const std::vector<Tensor>& inputs, bool accumulate, const char* kind) {
    check_inputs(inputs, accumulate);
    fit_to_roots(roots, gradients);
    const Options options = read_options(retain_graph, create_graph);
    BackwardRequest request{.roots = roots,
                            .gradients = gradients,
                            .keep_graph = options.keep_graph,
                            .create_graph = options.create_graph,
                            .kind = kind,
                            .inputs = inputs,
                            .accumulate_inputs = accumulate};
    if (before_backward) {
        const TimeSpent time;
        const UnseenPython unseen;
        const Handle listener = Handle::borrow(before_backward), nodes = Handle::steal(nodes_of(roots));
        Py_DECREF(
            checked(PyObject_CallOneArg(static_cast<PyObject*>(listener.get()), static_cast<PyObject*>(nodes.get()))));
    }
    const bool shown = on_step && inputs.empty() && backward_serial() == 0;
    const std::uint64_t began = graph_clock;
    BackwardResult result = [&] {
        try {
            return shown ? run_shown(roots, gradients, options) : run_backward(request);
        } catch (...) {
            set_python_error();
            tell_what_to_do(roots, inputs, began, options.keep_graph);
            throw PythonError();
        }
    }();
    if (!accumulate && !options.create_graph) make_plain(result.captured);
    if (!accumulate && options.create_graph) note_constant_gradients(result.captured);
    if (on_backward || !listeners.empty()) notify(roots, result.release);
    return std::move(result.captured);
}

}  // namespace

void tensor_backward(const Tensor& root, PyObject* gradient, PyObject* retain_graph, PyObject* create_graph,
                     PyObject* inputs) {
    const std::vector<Tensor> roots{root}, wanted = read_tensors(inputs, "backward", false);
    if (inputs && inputs != Py_None && wanted.empty())
        fail(ErrorKind::Runtime, "'inputs' argument to backward() cannot be empty.");
    if (gradient && gradient != Py_None && as_tensor(gradient) == nullptr)
        fail(ErrorKind::Type, "gradients can be either Tensors or None, but got %s", Py_TYPE(gradient)->tp_name);
    run(roots, read_tensors(gradient, "backward", true), retain_graph, create_graph, wanted, true, "backward");
}

void add_listener(BackwardListener* listener) { listeners.push_back(listener); }
void remove_listener(BackwardListener* listener) { std::erase(listeners, listener); }
std::int64_t listeners_spent() { return spent; }

std::unique_ptr<SteppedBackward> stepped_backward(PyObject* tensors, PyObject* gradients, PyObject* retain_graph,
                                                  PyObject* create_graph) {
    std::vector<Tensor> roots = read_tensors(tensors, "step", false);
    std::vector<Tensor> given = read_tensors(gradients, "step", true);
    fit_to_roots(roots, given);
    const Options options = read_options(retain_graph, create_graph);
    return std::make_unique<SteppedBackward>(std::move(roots), std::move(given), options.keep_graph,
                                             options.create_graph);
}

namespace {

void notify(const std::vector<Tensor>& roots, const Ref<Release>& release) {
    const TimeSpent time;
    for (std::size_t i = 0; i < listeners.size();) {
        BackwardListener* const listener = listeners[i];
        listener->after(roots, release, time.entered);
        if (i < listeners.size() && listeners[i] == listener) ++i;  // else it stopped listening
    }
    if (on_backward == nullptr) return;
    const UnseenPython unseen;
    const Handle listener = Handle::borrow(on_backward), nodes = Handle::steal(nodes_of(roots)),
                 record = release ? Handle::steal(release_object(release.get())) : Handle::borrow(Py_None);
    Py_DECREF(checked(PyObject_CallFunctionObjArgs(static_cast<PyObject*>(listener.get()),
                                                   static_cast<PyObject*>(nodes.get()),
                                                   static_cast<PyObject*>(record.get()), nullptr)));
}

PyObject* tuple_of(std::vector<Tensor>&& gradients) {
    PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(gradients.size())));
    for (std::size_t i = 0; i < gradients.size(); ++i)
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(std::move(gradients[i])));
    return tuple;
}

BackwardResult run_shown(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients,
                         const Options& options) {
    SteppedBackward steps(roots, gradients, options.keep_graph, options.create_graph);
    BackwardStep step;
    while (steps.next(step)) {
        if (on_step == nullptr) continue;  // it was told enough
        const Handle listener = Handle::borrow(on_step), incoming = Handle::steal(tuple_of(std::move(step.incoming))),
                     results = Handle::steal(tuple_of(std::move(step.results)));
        Py_DECREF(checked(PyObject_CallFunctionObjArgs(
            static_cast<PyObject*>(listener.get()), as_object(step.node.get()), static_cast<PyObject*>(incoming.get()),
            static_cast<PyObject*>(results.get()), nullptr)));
    }
    return steps.finish();
}

// (tensors, gradients | None, retain_graph, create_graph, inputs | None, accumulate) -> captured gradients, None where
// not reached
PyObject* py_run_backward(PyObject*, PyObject* args) {
    PyObject *tensors, *gradients, *retain_graph, *create_graph, *inputs;
    int accumulate;
    if (!PyArg_ParseTuple(args, "OOOOOp", &tensors, &gradients, &retain_graph, &create_graph, &inputs, &accumulate))
        return nullptr;
    return guarded([&]() -> PyObject* {
        const auto wanted = read_tensors(inputs, accumulate ? "backward" : "grad", false);
        auto captured = run(read_tensors(tensors, accumulate ? "backward" : "grad", false),
                            read_tensors(gradients, "backward", true), retain_graph, create_graph, wanted,
                            accumulate != 0, accumulate ? "backward" : "grad");
        return tuple_of(std::move(captured));
    });
}

template <PyObject** listener>
PyObject* set_listener(PyObject*, PyObject* callback) {
    Py_XSETREF(*listener, callback == Py_None ? nullptr : Py_NewRef(callback));
    Py_RETURN_NONE;
}

PyObject* py_backward_serial(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(backward_serial()); }
PyObject* py_backward_serials(PyObject*, PyObject*) {
    PyObject* list = PyList_New(0);
    for (const std::uint64_t serial : backward_serials()) {
        PyObject* number = list ? PyLong_FromUnsignedLongLong(serial) : nullptr;
        if (number) PyList_Append(list, number);
        Py_XDECREF(number);
    }
    return list;
}
PyObject* py_backward_reaches(PyObject*, PyObject* object) {
    return guarded([&] {
        Node* node = as_node(object);
        if (node == nullptr)
            fail(ErrorKind::Type, "backward_reaches: expected a Node, got %s", Py_TYPE(object)->tp_name);
        return PyBool_FromLong(backward_reaches(*node));
    });
}
PyObject* py_backward_accumulates(PyObject*, PyObject*) { return PyBool_FromLong(backward_accumulates()); }
PyObject* py_increment_version(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        TensorObject* tensor = as_tensor(object);
        if (tensor == nullptr)
            fail(ErrorKind::Runtime, "increment_version expect a Iterable[Tensor] as input, got %s",
                 Py_TYPE(object)->tp_name);
        if (tensor->has(TensorObject::kInference))
            fail(ErrorKind::Runtime, "increment_version: inference tensors do not track version counter");
        const Tensor counted(tensor);
        bump_version(counted, "increment_version");
        if (mode(kInterpreted)) Interpreter::tell({.event = Event::Counted, .tensors = Tensors(&counted, 1)});
        Py_RETURN_NONE;
    });
}

PyMethodDef functions[] = {
    {"backward_serial", py_backward_serial, METH_NOARGS, "The number of the backward that this thread is in, or 0."},
    {"backward_serials", py_backward_serials, METH_NOARGS, "The numbers of all backward passes under way."},
    {"backward_reaches", py_backward_reaches, METH_O,
     "Whether the backward that this thread is in asks a node for gradients."},
    {"backward_accumulates", py_backward_accumulates, METH_NOARGS,
     "Whether it accumulates into all leaves: it was given no inputs."},
    {"increment_version", py_increment_version, METH_O, "Counts a write that was made elsewhere."},
    {"run_backward", py_run_backward, METH_VARARGS, nullptr},
    {"before_backward", set_listener<&before_backward>, METH_O,
     "Calls back with (roots) before each backward; None stops it."},
    {"on_backward", set_listener<&on_backward>, METH_O,
     "Calls back with (roots, release) after each backward; None stops it."},
    {"on_step", set_listener<&on_step>, METH_O,
     "Runs each backward() node by node and calls back with (node, incoming, results); None stops it."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_backward(PyObject* module) {
    explain_no_grad = raise_no_grad;
    checked(PyModule_AddFunctions(module, functions));
}

}  // namespace clew::bind
