// Fills in the function pointers through which the core reaches Python: counts, sites, hooks.

#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/node_attributes.h"
#include "bind/types/objects.h"
#include "core/autograd/hooks.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/base/error.h"
#include "core/ops/indexing/sparse_gradients.h"
#include "core/ops/interpreter.h"

namespace clew::bind {
namespace {

Tensor tensor_or_none(PyObject* result, const char* what) {
    const Handle held = Handle::steal(checked(result));
    if (result == Py_None) return {};
    TensorObject* tensor = as_tensor(result);
    if (tensor == nullptr)
        fail(ErrorKind::Type, "%s: expected a Tensor or None, but hook returned '%s'", what, Py_TYPE(result)->tp_name);
    return Tensor(tensor);
}

PyObject* tuple_of(std::span<Tensor> tensors) {
    PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
    for (std::size_t i = 0; i < tensors.size(); ++i)
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(tensors[i]));
    return tuple;
}

// A hook's answer: None, or as many tensors as it was given (one may come bare).
void take_over(PyObject* result, std::span<Tensor> tensors, const char* what) {
    const Handle held = Handle::steal(checked(result));
    if (result == Py_None) return;
    if (TensorObject* one = as_tensor(result); one && tensors.size() == 1) {
        tensors[0] = Tensor(one);
        return;
    }
    if (!PyTuple_Check(result) && !PyList_Check(result))
        fail(ErrorKind::Type, "%s: expected None or a tuple of gradients, got %s", what, Py_TYPE(result)->tp_name);
    if (PySequence_Fast_GET_SIZE(result) != static_cast<Py_ssize_t>(tensors.size()))
        fail(ErrorKind::Runtime, "%s: hook has returned an incorrect number of values (got %zd, but expected %zu)",
             what, PySequence_Fast_GET_SIZE(result), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        PyObject* value = PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i));
        TensorObject* tensor = as_tensor(value);
        if (tensor == nullptr && value != Py_None)
            fail(ErrorKind::Type, "%s: expected tensors, got %s", what, Py_TYPE(value)->tp_name);
        tensors[i] = Tensor(tensor);
    }
}

Tensor call_tensor_hook(const Handle& hook, const Tensor& gradient) {
    const Handle argument = Handle::steal(wrap(gradient));
    Tensor replaced = tensor_or_none(PyObject_CallOneArg(as_object(hook), as_object(argument)), "hook");
    if (replaced && (!same_sizes(replaced.sizes(), gradient.sizes())))
        fail(ErrorKind::Runtime, "hook: has changed the size of value: expected %s, got %s",
             shape_text(gradient.sizes()).c_str(), shape_text(replaced.sizes()).c_str());
    if (replaced && replaced.dtype() != gradient.dtype())
        fail(ErrorKind::Runtime, "hook: has changed the type of value: expected %s, got %s",
             dtype_name(gradient.dtype()), dtype_name(replaced.dtype()));
    return replaced;
}
void call_pre_hook(const Handle& hook, std::span<Tensor> incoming) {
    const Handle grads = Handle::steal(tuple_of(incoming));
    take_over(PyObject_CallOneArg(as_object(hook), as_object(grads)), incoming, "prehook");
}
void call_post_hook(Node& node, const Handle& hook, std::span<Tensor> results, std::span<Tensor> incoming) {
    const std::vector<int> shown = shown_inputs(node);
    std::vector<Tensor> gradients;
    for (const int i : shown) gradients.push_back(results[static_cast<std::size_t>(i)]);
    const Handle out = Handle::steal(tuple_of(gradients)), in = Handle::steal(tuple_of(incoming));
    take_over(PyObject_CallFunctionObjArgs(as_object(hook), as_object(out), as_object(in), nullptr), gradients, "hook");
    for (std::size_t k = 0; k < shown.size(); ++k) results[static_cast<std::size_t>(shown[k])] = gradients[k];
}
void call_accumulate_hook(const Handle& hook, const Tensor& leaf) {
    const Handle argument = Handle::steal(wrap(leaf));
    const Handle result = Handle::steal(checked(PyObject_CallOneArg(as_object(hook), as_object(argument))));
    if (as_object(result) != Py_None) fail(ErrorKind::Runtime, "Tensor post accumulate grad hooks should return None.");
}

// The stack of saved_tensors_hooks lives in Python (src/clew/autograd/graph.py); the innermost pair is kept here.
PyObject* saved_hooks_module() { return checked(PyImport_ImportModule("clew.autograd.saved_hooks")); }

bool hooks_active() {
    PyObject* module = saved_hooks_module();
    PyObject* active = PyObject_CallMethod(module, "active", nullptr);
    Py_DECREF(module);
    const Handle held = Handle::steal(checked(active));
    const int truth = PyObject_IsTrue(active);
    checked(truth);
    return truth != 0;
}

void call_pack(const Tensor& value, Handle& packed, Handle& unpack_hook) {
    const Interpreter::ShowToAll hook_runs;
    const Handle module = Handle::steal(saved_hooks_module()), argument = Handle::steal(wrap(value));
    const std::uint32_t before = version_of(*value.get());
    const Handle pair =
        Handle::steal(checked(PyObject_CallMethod(as_object(module), "pack", "O", as_object(argument))));
    if (version_of(*value.get()) != before)
        fail(ErrorKind::Runtime,
             "A saved tensor pack hook is modifying its input in place. Tensors passed as input to pack hook can not "
             "be modified; return a changed copy instead");
    packed = Handle::borrow(PyTuple_GetItem(as_object(pair), 0));
    unpack_hook = Handle::borrow(PyTuple_GetItem(as_object(pair), 1));
}

Tensor call_unpack(const Handle& unpack_hook, const Handle& packed) {
    const SkipKernels skip(skips_kernels() && meta_operation == nullptr);
    const Handle value = Handle::steal(checked(PyObject_CallOneArg(as_object(unpack_hook), as_object(packed))));
    TensorObject* tensor = as_tensor(as_object(value));
    if (tensor == nullptr)
        fail(ErrorKind::Type, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s",
             Py_TYPE(as_object(value))->tp_name);
    return Tensor(tensor);
}

void call_before_write(const Tensor& tensor) {
    const Interpreter::ShowToAll hook_runs;
    const Handle module = Handle::steal(checked(PyImport_ImportModule("clew.autograd.mutation"))),
                 argument = Handle::steal(wrap(tensor));
    Py_DECREF(checked(PyObject_CallMethod(as_object(module), "before_write", "O", as_object(argument))));
}

// The result of a function of clew.sparse._gradients; `who` is named where that is no tensor.
template <class... Arguments>
Tensor call_sparse(const char* who, const char* name, const char* format, const Arguments&... arguments) {
    const Handle module = Handle::steal(checked(PyImport_ImportModule("clew.sparse._gradients")));
    return tensor_or_none(PyObject_CallMethod(as_object(module), name, format, arguments...), who);
}
Tensor sparse_sum(const Tensor& before, const Tensor& gradient, bool in_place) {
    const Handle one = Handle::steal(wrap(before)), other = Handle::steal(wrap(gradient));
    return call_sparse("backward", "accumulated", "OOO", as_object(one), as_object(other),
                       in_place ? Py_True : Py_False);
}
Tensor sparse_to_dense(const Tensor& sparse) {
    const Handle one = Handle::steal(wrap(sparse));
    return call_sparse("backward", "made_dense", "O", as_object(one));
}
Tensor sparse_rows(const Tensor& gradient, const Tensor& indices, std::int64_t count, std::int64_t padding) {
    const Handle one = Handle::steal(wrap(gradient)), other = Handle::steal(wrap(indices));
    return call_sparse("embedding", "of_rows", "OOLL", as_object(one), as_object(other), static_cast<long long>(count),
                       static_cast<long long>(padding));
}
Tensor sparse_picked(const Tensor& gradient, const Tensor& index, int axis, Sizes sizes) {
    const Handle one = Handle::steal(wrap(gradient)), other = Handle::steal(wrap(index)),
                 shape = Handle::steal(size_tuple(sizes));
    return call_sparse("gather", "of_picked", "OOiO", as_object(one), as_object(other), axis, as_object(shape));
}

void check_interrupt() {
    if (PyErr_CheckSignals() < 0) throw PythonError();
}

void track(Object* object) {
    PyObject* python = as_object(object);
    if (!PyObject_GC_IsTracked(python)) PyObject_GC_Track(python);
}

}  // namespace

void init_runtime() {
    runtime.tensor_type = &tensor_type;
    runtime.node_type_of = [](const char* name) -> void* { return node_class(name); };
    runtime.dealloc = [](Object* object) { _Py_Dealloc(as_object(object)); };
    runtime.retain = [](void* object) { Py_INCREF(static_cast<PyObject*>(object)); };
    runtime.release = [](void* object) { Py_DECREF(static_cast<PyObject*>(object)); };
    runtime.current_site = current_site;
    runtime.track = track;
    runtime.check_interrupt = check_interrupt;
    runtime.leave_python = []() -> void* { return PyEval_SaveThread(); };
    runtime.enter_python = [](void* thread) { PyEval_RestoreThread(static_cast<PyThreadState*>(thread)); };
    hook_calls = {call_tensor_hook, call_pre_hook, call_post_hook, call_accumulate_hook};
    sparse_calls = {sparse_sum, sparse_to_dense};
    sparse_gradients = {sparse_rows, sparse_picked};
    saved_hooks = {hooks_active, call_pack, call_unpack, site_text, call_before_write};
}

}  // namespace clew::bind
