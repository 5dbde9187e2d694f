// Methods of tensors that are no operations.
#include <optional>

#include "bind/calls/backward.h"
#include "bind/data/interop.h"
#include "bind/errors.h"
#include "bind/graph/prune.h"
#include "bind/types/asked.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "bind/types/tensor_attributes.h"
#include "bind/types/tensor_docs.h"
#include "core/autograd/leaf.h"
#include "core/autograd/prune.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/batching/batched.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/interpreter.h"
#include "core/program/record/weak_bindings.h"

namespace clew::bind {
namespace {

PyObject* backward(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"gradient", "retain_graph", "create_graph", "inputs", "keep", nullptr};
    PyObject *gradient = nullptr, *retain_graph = nullptr, *create_graph = nullptr, *inputs = nullptr, *keep = nullptr;
    if (PyTuple_GET_SIZE(args) || kwargs)
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO$O:backward", const_cast<char**>(names), &gradient,
                                         &retain_graph, &create_graph, &inputs, &keep))
            return nullptr;
    return guarded([&]() -> PyObject* {
        std::optional<SpareGuard> spared;
        if (keep) spared.emplace(nodes_of_list(keep));
        tensor_backward(tensor_of(self), gradient, retain_graph, create_graph, inputs);
        Py_RETURN_NONE;
    });
}

PyObject* detach_method(PyObject* self, PyObject*) {
    return guarded([&] { return wrap(detach(tensor_of(self))); });
}

PyObject* detach_in_place(PyObject* self, PyObject*) {
    return guarded([&] {
        const Tensor tensor = tensor_of(self);
        if (is_batched(tensor)) return set_batched(tensor, detach(batched(tensor).value)), Py_NewRef(self);
        if (tensor->base) fail(ErrorKind::Runtime, "detach_: Can't detach views in-place. Use detach() instead.");
        if (tensor->grad_fn) {
            unlink_output(tensor.get());
            const NodeRef donated = std::exchange(tensor->grad_fn, nullptr);
            tensor->output_index = 0;
            tensor->lost = HistoryBreak::make("detach");
        }
        tensor->set(TensorObject::kRequiresGrad, false);
        tensor->set(TensorObject::kRetainsGrad, false);
        return Py_NewRef(self);
    });
}

PyObject* requires_grad_method(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"requires_grad", nullptr};
    int on = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:requires_grad_", const_cast<char**>(names), &on)) return nullptr;
    return guarded([&] {
        set_requires_grad(tensor_of(self), on != 0);
        return Py_NewRef(self);
    });
}

PyObject* retain_grad_method(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        retain_grad(tensor_of(self));
        Py_RETURN_NONE;
    });
}

PyObject* item_method(PyObject* self, PyObject*) {
    return guarded([&] { return item(tensor_of(self)); });
}

PyObject* size_method(PyObject* self, PyObject* args) {
    PyObject* which = nullptr;
    if (!PyArg_ParseTuple(args, "|O:size", &which)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Tensor tensor = tensor_of(self);
        if (which == nullptr || which == Py_None) return size_tuple(tensor.sizes());
        const long axis = PyLong_AsLong(which);
        if (axis == -1 && PyErr_Occurred()) throw PythonError();
        if (tensor.ndim() == 0)
            fail(ErrorKind::Index, "size: Dimension specified as %ld but tensor has no dimensions", axis);
        return PyLong_FromLongLong(tensor.size(wrap_axis(axis, tensor.ndim(), "size")));
    });
}

PyObject* stride_method(PyObject* self, PyObject* args) {
    PyObject* which = nullptr;
    if (!PyArg_ParseTuple(args, "|O:stride", &which)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Tensor tensor = tensor_of(self);
        if (which && which != Py_None) {
            const long axis = PyLong_AsLong(which);
            if (axis == -1 && PyErr_Occurred()) throw PythonError();
            return PyLong_FromLongLong(tensor.stride(wrap_axis(axis, tensor.ndim(), "stride")));
        }
        PyObject* tuple = checked(PyTuple_New(tensor.ndim()));
        for (int i = 0; i < tensor.ndim(); ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(tensor.stride(i)));
        return tuple;
    });
}

PyObject* dim_method(PyObject* self, PyObject*) { return PyLong_FromLong(self_of(self)->layout->ndim); }
PyObject* numel_method(PyObject* self, PyObject*) { return PyLong_FromLongLong(self_of(self)->layout->numel); }
PyObject* offset_method(PyObject* self, PyObject*) {
    return guarded([&] {
        const Tensor tensor = tensor_of(self);
        Interpreter::tell({.event = Event::PlaceRead, .tensors = Tensors(&tensor, 1)});
        return PyLong_FromLongLong(tensor->offset);
    });
}
PyObject* data_ptr_method(PyObject* self, PyObject*) {
    return guarded([&] {
        if (is_meta(tensor_of(self))) return PyLong_FromLong(0);
        const Tensor read = escape(tensor_of(self), Read::DataPtr);
        note_given_out(read);
        return PyLong_FromVoidPtr(read.data());
    });
}
PyObject* element_size_method(PyObject* self, PyObject*) { return PyLong_FromSize_t(item_size(self_of(self)->dtype)); }
PyObject* is_contiguous_method(PyObject* self, PyObject*) { return PyBool_FromLong(self_of(self)->layout->contiguous); }
PyObject* is_inference_method(PyObject* self, PyObject*) {
    return PyBool_FromLong(self_of(self)->has(TensorObject::kInference));
}
PyObject* is_view_method(PyObject* self, PyObject*) { return PyBool_FromLong(static_cast<bool>(self_of(self)->base)); }
PyObject* contiguous_method(PyObject* self, PyObject*) {
    return guarded([&] { return wrap(contiguous(tensor_of(self))); });
}
PyObject* cast_method(PyObject* self, PyObject* dtype) {
    return guarded([&]() -> PyObject* {
        const auto wanted = dtype_from(dtype);
        if (!wanted) fail(ErrorKind::Type, "to: expected a dtype, got %s", Py_TYPE(dtype)->tp_name);
        return wrap(cast(tensor_of(self), *wanted));
    });
}

}  // namespace

PyMethodDef tensor_methods[] = {
    asked_method<"backward", backward>(docs::backward),
    asked_method<"detach", detach_method>(METH_NOARGS, docs::detach),
    asked_method<"detach_", detach_in_place>(METH_NOARGS, docs::detach_in_place),
    asked_method<"requires_grad_", requires_grad_method>(docs::requires_grad_in_place),
    asked_method<"retain_grad", retain_grad_method>(METH_NOARGS, docs::retain_grad),
    asked_method<"item", item_method>(METH_NOARGS, docs::item),
    asked_method<"size", size_method>(METH_VARARGS, docs::size),
    asked_method<"stride", stride_method>(METH_VARARGS, docs::stride),
    asked_method<"dim", dim_method>(METH_NOARGS, docs::dim),
    {"ndimension", method_of_none<"dim", dim_method>, METH_NOARGS, docs::ndimension},
    asked_method<"numel", numel_method>(METH_NOARGS, docs::numel),
    {"nelement", method_of_none<"numel", numel_method>, METH_NOARGS, docs::nelement},
    asked_method<"storage_offset", offset_method>(METH_NOARGS, docs::storage_offset),
    asked_method<"data_ptr", data_ptr_method>(METH_NOARGS, docs::data_ptr),
    asked_method<"element_size", element_size_method>(METH_NOARGS, docs::element_size),
    asked_method<"is_contiguous", is_contiguous_method>(METH_NOARGS, docs::is_contiguous),
    asked_method<"is_inference", is_inference_method>(METH_NOARGS, docs::is_inference),
    asked_method<"_is_view", is_view_method>(METH_NOARGS,
                                             "_is_view($self, /)\n--\n\nWhether autograd knows it as a view."),
    asked_method<"contiguous", contiguous_method>(METH_NOARGS, docs::contiguous),
    {"_cast", cast_method, METH_O, "_cast($self, dtype, /)\n--\n\nItself or a copy in another dtype."},
    {"_make_subclass", make_subclass_method, METH_VARARGS | METH_STATIC,
     "_make_subclass(cls, data, requires_grad=False, /)\n--\n\nThe same tensor as an object of a subclass."},
    {"_make_sparse", make_sparse, METH_VARARGS | METH_STATIC,
     "_make_sparse(cls, sizes, values)\n--\n\nAn object of the class of sparse tensors, of the dtype of `values`."},
    {"as_subclass", as_subclass_method, METH_O, docs::as_subclass},
    {"_add_hook", add_tensor_hook, METH_O, nullptr},
    {"_add_accumulate_hook", add_accumulate_hook, METH_O, nullptr},
    {"_gradient_edge", gradient_edge_method, METH_NOARGS, nullptr},
    {"_remove_hook", remove_hook_method, METH_VARARGS | METH_STATIC, nullptr},
    {"_add_node_hook", add_node_hook, METH_VARARGS | METH_STATIC, nullptr},
    asked_method<"numpy", tensor_numpy>(docs::numpy),
    asked_method<"tolist", tensor_tolist>(METH_NOARGS, docs::tolist),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace clew::bind
