#include "bind/tensor_attributes.h"

#include <cstring>

#include "bind/backward.h"
#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/interop.h"
#include "bind/objects.h"
#include "bind/prune.h"
#include "bind/site.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/prune.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

TensorObject* self_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }
Tensor tensor_of(PyObject* object) { return Tensor(self_of(object)); }

// ---------------------------------------------------------------------------------------------------------- properties
PyObject* get_shape(PyObject* self, void*) {
    return guarded([&] { return size_tuple(self_of(self)->layout->shape()); });
}
PyObject* get_dtype(PyObject* self, void*) { return dtype_object(self_of(self)->dtype); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(self_of(self)->layout->ndim); }
PyObject* get_requires_grad(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self).requires_grad()); }
int set_requires_grad_flag(PyObject* self, PyObject* value, void*) {
    return guarded(
        [&] {
            if (value == nullptr || !PyBool_Check(value))
                fail(ErrorKind::Runtime, "requires_grad: it must be a bool, got %s",
                     value ? Py_TYPE(value)->tp_name : "a deletion");
            set_requires_grad(tensor_of(self), value == Py_True);
            return 0;
        },
        -1);
}
PyObject* get_grad_fn(PyObject* self, void*) {
    return guarded([&] { return wrap(grad_fn_of(tensor_of(self))); });
}
// For those that look at all tensors: what a tensor holds now. grad_fn brings a view's up to date, or refuses to.
PyObject* get_held_node(PyObject* self, void*) {
    return guarded([&] { return wrap(self_of(self)->grad_fn); });
}
PyObject* get_is_leaf(PyObject* self, void*) {
    return guarded([&] { return PyBool_FromLong(!grad_fn_of(tensor_of(self))); });
}
PyObject* get_grad(PyObject* self, void*) {
    return guarded([&] {
        const Tensor tensor = tensor_of(self);
        Tensor grad = grad_of(tensor);
        if (!grad && tensor->grad_fn && !tensor->has(TensorObject::kRetainsGrad))
            checked(PyErr_WarnEx(PyExc_UserWarning,
                                 "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                                 ".grad attribute won't be "
                                 "populated during autograd.backward(). If you indeed want the .grad field to be "
                                 "populated for a non-leaf "
                                 "Tensor, use .retain_grad() on the non-leaf Tensor.",
                                 1));
        return wrap(std::move(grad));
    });
}
int set_grad_attribute(PyObject* self, PyObject* value, void*) {
    return guarded(
        [&] {
            const Tensor tensor = tensor_of(self);
            if (value == nullptr || value == Py_None) {
                set_grad(tensor, Tensor());
                return 0;
            }
            TensorObject* grad = as_tensor(value);
            if (grad == nullptr)
                fail(ErrorKind::Type, "assigned grad expected to be a Tensor or None but got grad of type %s",
                     Py_TYPE(value)->tp_name);
            if (grad == tensor.get()) fail(ErrorKind::Runtime, "can't assign Variable as its own grad");
            if (grad->dtype != tensor->dtype)
                fail(ErrorKind::Runtime, "assigned grad has data of a different type: expected %s, got %s",
                     dtype_name(tensor.dtype()), dtype_name(grad->dtype));
            if (!same_sizes(grad->layout->shape(), tensor.sizes()))
                fail(ErrorKind::Runtime, "assigned grad has data of a different size: expected %s, got %s",
                     shape_text(tensor.sizes()).c_str(), shape_text(grad->layout->shape()).c_str());
            set_grad(tensor, Tensor(grad));
            return 0;
        },
        -1);
}
PyObject* get_version(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        if (self_of(self)->has(TensorObject::kInference))
            fail(ErrorKind::Runtime, "Inference tensors do not track version counter.");
        return PyLong_FromUnsignedLong(version_of(*self_of(self)));
    });
}
PyObject* get_base(PyObject* self, void*) { return wrap(Tensor(self_of(self)->base.get())); }
PyObject* get_output_index(PyObject* self, void*) { return PyLong_FromLong(self_of(self)->output_index); }
PyObject* get_retains_grad(PyObject* self, void*) {
    return PyBool_FromLong(self_of(self)->has(TensorObject::kRetainsGrad));
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(self_of(self)->dtype)); }
PyObject* get_nbytes(PyObject* self, void*) { return PyLong_FromLongLong(bytes_of(tensor_of(self))); }
PyObject* get_false(PyObject*, void*) { Py_RETURN_FALSE; }
PyObject* get_storage_id(PyObject* self, void*) { return PyLong_FromVoidPtr(self_of(self)->storage.get()); }
PyObject* get_storage_bytes(PyObject* self, void*) { return PyLong_FromLongLong(self_of(self)->storage->bytes); }
PyObject* get_is_wrapped(PyObject* self, void*) {
    return PyBool_FromLong(self_of(self)->has(TensorObject::kWrappedNumber));
}

PyObject* get_data(PyObject* self, void*) {
    return guarded([&] {
        const Tensor tensor = tensor_of(self);
        Tensor result = alias(tensor, tensor->layout, tensor->offset);
        own_version(result, 0);
        if (tensor.requires_grad())
            result->lost = HistoryBreak::make("data");
        else
            result->lost = tensor->lost;
        return wrap(std::move(result));
    });
}
// x.data = t is no write: x looks at t's memory from now on, and graphs keep what they saved.
int set_data(PyObject* self, PyObject* value, void*) {
    return guarded(
        [&] {
            TensorObject* given = value ? as_tensor(value) : nullptr;
            if (given == nullptr)
                fail(ErrorKind::Type, "data: expected a Tensor, got %s",
                     value ? Py_TYPE(value)->tp_name : "a deletion");
            rebind(tensor_of(self), Tensor(given));
            return 0;
        },
        -1);
}

PyObject* record_of(const char* type, const char* text, PyObject* site, unsigned long long serial) {
    PyObject* module = checked(PyImport_ImportModule("clew.graph.model.records"));
    PyObject* made = std::strcmp(type, "HistoryBreak") == 0
                         ? PyObject_CallMethod(module, type, "sN", text, site)
                         : PyObject_CallMethod(module, type, "sNK", text, site, serial);
    Py_DECREF(module);
    return checked(made);
}
PyObject* get_lost(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        const Ref<HistoryBreak>& lost = self_of(self)->lost;
        if (!lost) Py_RETURN_NONE;
        return record_of("HistoryBreak", lost->cause, site_object(lost->site), 0);
    });
}
PyObject* get_last_write(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        const WriteLog* log = self_of(self)->storage->log;
        if (log == nullptr || log->last.op == nullptr) Py_RETURN_NONE;
        return record_of("Write", log->last.op, site_object(log->last.site), log->last.serial);
    });
}

PyObject* get_dict(PyObject* self, void*);

PyGetSetDef properties[] = {
    {"__dict__", get_dict, nullptr, nullptr, nullptr},
    {"shape", get_shape, nullptr, "the sizes", nullptr},
    {"dtype", get_dtype, nullptr, "the type of the elements", nullptr},
    {"ndim", get_ndim, nullptr, "the number of axes", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad_flag, "whether operations on it are recorded", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "the node that made it; None for a leaf", nullptr},
    {"_held_node", get_held_node, nullptr, "the node that it holds now; grad_fn brings a view's up to date", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "made by the user, not by a recorded operation", nullptr},
    {"grad", get_grad, set_grad_attribute, "the gradient that backward accumulated; None before", nullptr},
    {"data", get_data, set_data, "the same memory outside the graph, with a version counter of its own", nullptr},
    {"_version", get_version, nullptr, "how often it was modified in place", nullptr},
    {"_base", get_base, nullptr, "the tensor that this is a view of, or None", nullptr},
    {"output_nr", get_output_index, nullptr, "which output of grad_fn it is", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "whether retain_grad() was called", nullptr},
    {"itemsize", get_itemsize, nullptr, "bytes of one element", nullptr},
    {"nbytes", get_nbytes, nullptr, "bytes of all elements", nullptr},
    {"is_cuda", get_false, nullptr, "False: the only device is the CPU", nullptr},
    {"is_sparse", get_false, nullptr, "False", nullptr},
    {"is_quantized", get_false, nullptr, "False", nullptr},
    {"_storage_id", get_storage_id, nullptr, "equal for tensors that share memory", nullptr},
    {"_storage_nbytes", get_storage_bytes, nullptr, "bytes of the whole storage", nullptr},
    {"_is_wrapped_number", get_is_wrapped, nullptr, "stands for a Python number", nullptr},
    {"_lost", get_lost, nullptr, "why it has no history although its data came from a tensor that had", nullptr},
    {"_last_write", get_last_write, nullptr, "the last in-place write to its memory", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

// ---------------------------------------------------------------------------------------------------------- methods
PyObject* backward(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"gradient", "retain_graph", "create_graph", "inputs", "keep", nullptr};
    PyObject *gradient = nullptr, *retain_graph = nullptr, *create_graph = nullptr, *inputs = nullptr, *keep = nullptr;
    if (PyTuple_GET_SIZE(args) || kwargs)
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO$O:backward", const_cast<char**>(names), &gradient,
                                         &retain_graph, &create_graph, &inputs, &keep))
            return nullptr;
    return guarded([&]() -> PyObject* {
        const SpareGuard spared(nodes_of_list(keep));
        tensor_backward(tensor_of(self), gradient, retain_graph, create_graph, inputs);
        Py_RETURN_NONE;
    });
}

PyObject* as_subclass_method(PyObject* self, PyObject* type);

// What a method gives for an object of a subclass has the subclass, as results of operations do.
PyObject* like_self(PyObject* self, Tensor result) {
    const Handle plain = Handle::steal(wrap(std::move(result)));
    auto* object = static_cast<PyObject*>(plain.get());
    if (object == self || !needs_dispatch(self)) return Py_NewRef(object);
    return checked(as_subclass_method(object, reinterpret_cast<PyObject*>(Py_TYPE(self))));
}

PyObject* detach_method(PyObject* self, PyObject*) {
    return guarded([&] { return like_self(self, detach(tensor_of(self))); });
}

PyObject* detach_in_place(PyObject* self, PyObject*) {
    return guarded([&] {
        const Tensor tensor = tensor_of(self);
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
PyObject* offset_method(PyObject* self, PyObject*) { return PyLong_FromLongLong(self_of(self)->offset); }
PyObject* data_ptr_method(PyObject* self, PyObject*) {
    return guarded([&] {
        escape(tensor_of(self), "data_ptr");
        return PyLong_FromVoidPtr(tensor_of(self).data());
    });
}
PyObject* element_size_method(PyObject* self, PyObject*) { return PyLong_FromSize_t(item_size(self_of(self)->dtype)); }
PyObject* is_contiguous_method(PyObject* self, PyObject*) { return PyBool_FromLong(self_of(self)->layout->contiguous); }
PyObject* is_inference_method(PyObject* self, PyObject*) {
    return PyBool_FromLong(self_of(self)->has(TensorObject::kInference));
}
PyObject* is_view_method(PyObject* self, PyObject*) { return PyBool_FromLong(static_cast<bool>(self_of(self)->base)); }
PyObject* contiguous_method(PyObject* self, PyObject*) {
    return guarded([&] { return like_self(self, contiguous(tensor_of(self))); });
}
PyObject* cast_method(PyObject* self, PyObject* dtype) {
    return guarded([&]() -> PyObject* {
        const auto wanted = dtype_from(dtype);
        if (!wanted) fail(ErrorKind::Type, "to: expected a dtype, got %s", Py_TYPE(dtype)->tp_name);
        return wrap(cast(tensor_of(self), *wanted));
    });
}

// (cls, data, requires_grad=False): an object of a subclass on data's memory, a leaf.
PyObject* make_subclass_method(PyObject*, PyObject* args) {
    PyObject *type, *data;
    int requires_grad = 0;
    if (!PyArg_ParseTuple(args, "OO|p:_make_subclass", &type, &data, &requires_grad)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &tensor_type))
            fail(ErrorKind::Type, "_make_subclass: expected a subclass of Tensor");
        return make_subclass(reinterpret_cast<PyTypeObject*>(type), data, requires_grad != 0);
    });
}

// The same tensor, history included, as an object of a subclass.
PyObject* as_subclass_method(PyObject* self, PyObject* type) {
    return guarded([&]() -> PyObject* {
        if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &tensor_type))
            fail(ErrorKind::Type, "as_subclass: expected a subclass of Tensor");
        const Tensor source = tensor_of(self);
        PyObject* made = make_subclass(reinterpret_cast<PyTypeObject*>(type), self, false);
        const Tensor result(self_of(made));
        result->lost = source->lost;
        result->base = source->base;
        result->history_version = source->history_version;
        result->view_kind = source->view_kind;
        result->grad_fn = source->grad_fn;
        result->output_index = source->output_index;
        result->set(TensorObject::kRequiresGrad, false);
        if (!source->grad_fn && source.requires_grad()) {
            if (grad_enabled())
                set_history(result, Tensor(engine_ops.clone(source))->grad_fn, 0);
            else
                mark_view(result, source, ViewKind::NoGrad);
        }
        share_version(result, source);
        return made;
    });
}

PyObject* add_hook_to(const NodeRef& node, std::vector<Hook> NodeExtras::* list, int output, PyObject* function) {
    const std::uint64_t id = add_hook(*node, list, output, Handle::borrow(function));
    note_late_python();
    return Py_BuildValue("NK", wrap(node), static_cast<unsigned long long>(id));
}

// -> (node, id), from which clew.utils.hooks makes a handle
PyObject* add_tensor_hook(PyObject* self, PyObject* function) {
    return guarded([&]() -> PyObject* {
        const Tensor tensor = tensor_of(self);
        if (!tensor.requires_grad())
            fail(ErrorKind::Runtime, "register_hook: cannot register a hook on a tensor that doesn't require gradient");
        if (!PyCallable_Check(function))
            fail(ErrorKind::Type, "register_hook: expected a callable, got %s", Py_TYPE(function)->tp_name);
        Edge edge = gradient_edge(tensor);
        // Note [Views that lead nowhere]: no gradient will come, but the hook has its place.
        if (!edge) edge = {accumulator_of(tensor), 0};
        PyObject* handle =
            add_hook_to(NodeRef(edge.node), &NodeExtras::tensor_hooks, static_cast<int>(edge.index), function);
        track_tensor(tensor.get());
        return handle;
    });
}
PyObject* add_accumulate_hook(PyObject* self, PyObject* function) {
    return guarded([&]() -> PyObject* {
        const Tensor tensor = tensor_of(self);
        if (!tensor.requires_grad())
            fail(
                ErrorKind::Runtime,
                "register_post_accumulate_grad_hook: cannot register a hook on a tensor that doesn't require gradient");
        if (grad_fn_of(tensor))
            fail(ErrorKind::Runtime,
                 "register_post_accumulate_grad_hook: post accumulate grad hooks cannot be registered on non-leaf "
                 "tensors");
        PyObject* handle = add_hook_to(NodeRef(accumulator_of(tensor)), &NodeExtras::accumulate_hooks, 0, function);
        track_tensor(tensor.get());
        return handle;
    });
}
PyObject* remove_hook_method(PyObject*, PyObject* args) {
    PyObject* node;
    unsigned long long id;
    if (!PyArg_ParseTuple(args, "OK", &node, &id)) return nullptr;
    return guarded([&] { return PyBool_FromLong(as_node(node) && remove_hook(*as_node(node), id)); });
}
// (node, where: "pre" | "post", function) -> (node, id)
PyObject* add_node_hook(PyObject*, PyObject* args) {
    PyObject *node, *function;
    const char* where;
    if (!PyArg_ParseTuple(args, "OsO", &node, &where, &function)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (as_node(node) == nullptr)
            fail(ErrorKind::Type, "register_hook: expected a Node, got %s", Py_TYPE(node)->tp_name);
        return add_hook_to(NodeRef(as_node(node)),
                           std::strcmp(where, "pre") == 0 ? &NodeExtras::pre_hooks : &NodeExtras::post_hooks, 0,
                           function);
    });
}
// The node that a tensor's gradient goes to, and which of its outputs the tensor is.
PyObject* gradient_edge_method(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        const Edge edge = gradient_edge(tensor_of(self));
        return Py_BuildValue("NI", wrap(NodeRef(edge.node)), edge.index);
    });
}

PyMethodDef methods[] = {
    {"backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(backward)), METH_VARARGS | METH_KEYWORDS,
     "backward($self, /, gradient=None, retain_graph=None, create_graph=False, inputs=None, *, "
     "keep=None)\n--\n\nAccumulates "
     "gradients into the "
     "leaves of the graph."},
    {"detach", detach_method, METH_NOARGS, "detach($self, /)\n--\n\nThe same memory outside the graph."},
    {"detach_", detach_in_place, METH_NOARGS, "detach_($self, /)\n--\n\nLeaves the graph: becomes a leaf."},
    {"requires_grad_", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(requires_grad_method)),
     METH_VARARGS | METH_KEYWORDS, "requires_grad_($self, /, requires_grad=True)\n--\n\nSets the flag, returns self."},
    {"retain_grad", retain_grad_method, METH_NOARGS,
     "retain_grad($self, /)\n--\n\nMakes backward keep the gradient of a tensor that is no leaf."},
    {"item", item_method, METH_NOARGS, "item($self, /)\n--\n\nThe value of a one-element tensor as a Python number."},
    {"size", size_method, METH_VARARGS, "size($self, dim=None, /)\n--\n\nThe sizes, or one of them."},
    {"stride", stride_method, METH_VARARGS,
     "stride($self, dim=None, /)\n--\n\nThe strides in elements, or one of them."},
    {"dim", dim_method, METH_NOARGS, "dim($self, /)\n--\n\nThe number of axes."},
    {"ndimension", dim_method, METH_NOARGS, "ndimension($self, /)\n--\n\nThe number of axes."},
    {"numel", numel_method, METH_NOARGS, "numel($self, /)\n--\n\nThe number of elements."},
    {"nelement", numel_method, METH_NOARGS, "nelement($self, /)\n--\n\nThe number of elements."},
    {"storage_offset", offset_method, METH_NOARGS,
     "storage_offset($self, /)\n--\n\nWhere it starts in its storage, in elements."},
    {"data_ptr", data_ptr_method, METH_NOARGS, "data_ptr($self, /)\n--\n\nThe address of the first element."},
    {"element_size", element_size_method, METH_NOARGS, "element_size($self, /)\n--\n\nBytes of one element."},
    {"is_contiguous", is_contiguous_method, METH_NOARGS,
     "is_contiguous($self, /)\n--\n\nWhether the elements lie in row-major order without gaps."},
    {"is_inference", is_inference_method, METH_NOARGS,
     "is_inference($self, /)\n--\n\nWhether it was made under inference_mode."},
    {"_is_view", is_view_method, METH_NOARGS, "_is_view($self, /)\n--\n\nWhether autograd knows it as a view."},
    {"contiguous", contiguous_method, METH_NOARGS,
     "contiguous($self, /)\n--\n\nItself if contiguous, else a copy that is."},
    {"_cast", cast_method, METH_O, "_cast($self, dtype, /)\n--\n\nItself or a copy in another dtype."},
    {"_make_subclass", make_subclass_method, METH_VARARGS | METH_STATIC,
     "_make_subclass(cls, data, requires_grad=False, /)\n--\n\nThe same tensor as an object of a subclass."},
    {"as_subclass", as_subclass_method, METH_O,
     "as_subclass($self, cls, /)\n--\n\nThe same tensor as an object of a subclass."},
    {"_add_hook", add_tensor_hook, METH_O, nullptr},
    {"_add_accumulate_hook", add_accumulate_hook, METH_O, nullptr},
    {"_gradient_edge", gradient_edge_method, METH_NOARGS, nullptr},
    {"_remove_hook", remove_hook_method, METH_VARARGS | METH_STATIC, nullptr},
    {"_add_node_hook", add_node_hook, METH_VARARGS | METH_STATIC, nullptr},
    {"numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_numpy)), METH_VARARGS | METH_KEYWORDS,
     "numpy($self, /, *, force=False)\n--\n\nThe same memory as a NumPy array."},
    {"tolist", tensor_tolist, METH_NOARGS, "tolist($self, /)\n--\n\nNested lists of Python numbers."},
    {nullptr, nullptr, 0, nullptr},
};

// An attribute means a dict, and a dict may close a cycle: from now on the collector sees the tensor.
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
    const int status = PyObject_GenericSetAttr(self, name, value);
    if (self_of(self)->dict && !self_of(self)->has(TensorObject::kTracked)) {
        track_tensor(self_of(self));
        note_late_python();
    }
    return status;
}
PyObject* get_dict(PyObject* self, void*) {
    PyObject* dict = PyObject_GenericGetDict(self, nullptr);
    if (dict && !self_of(self)->has(TensorObject::kTracked)) {
        track_tensor(self_of(self));
        note_late_python();
    }
    return dict;
}

// Tensor(data) and Tensor(2, 3): read in Python, as all constructors of that kind. A subclass may have arguments of its
// own; the first is the data.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded([&]() -> PyObject* {
        static PyObject* make = nullptr;
        if (make == nullptr) {
            const Handle module = Handle::steal(checked(PyImport_ImportModule("clew._typed")));
            make = checked(PyObject_GetAttrString(static_cast<PyObject*>(module.get()), "make_default"));
        }
        const bool plain = type == &tensor_type;
        if (!plain && PyTuple_GET_SIZE(args) > 0 && as_tensor(PyTuple_GET_ITEM(args, 0)))
            return make_subclass(type, PyTuple_GET_ITEM(args, 0), false);
        const Handle first = Handle::steal(checked(PyTuple_GetSlice(args, 0, plain ? PyTuple_GET_SIZE(args) : 1)));
        const Handle made =
            Handle::steal(checked(PyObject_Call(make, static_cast<PyObject*>(first.get()), plain ? kwargs : nullptr)));
        if (plain) return Py_NewRef(static_cast<PyObject*>(made.get()));
        return make_subclass(type, static_cast<PyObject*>(made.get()), false);
    });
}

}  // namespace

PyObject* make_subclass(PyTypeObject* type, PyObject* data, bool requires_grad) {
    TensorObject* source = as_tensor(data);
    if (source == nullptr) fail(ErrorKind::Type, "_make_subclass: expected a Tensor, got %s", Py_TYPE(data)->tp_name);
    TensorObject* made;
    if (type == &tensor_type) {
        made = new_tensor_object();
    } else {
        PyObject* object = checked(type->tp_alloc(type, 0));
        made = self_of(object);
        construct(made);
        made->set(TensorObject::kTracked, true);
        PyObject* handler = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__torch_function__"));
        const bool off = PyObject_HasAttrString(handler, "_is_disabled_torch_function");
        made->set(TensorObject::kSubclass, !off);
        Py_DECREF(handler);
    }
    const Handle held = Handle::steal(as_object(made));
    made->storage = source->storage;
    made->layout = source->layout;
    made->offset = source->offset;
    made->dtype = source->dtype;
    // A part of a buffer that others look at gets a counter of its own: writing to one parameter of a flat buffer does
    // not make what was saved of another stale. Overlapping writes are found by the write log.
    if (source->base || source->storage->references > 2)
        own_version(Tensor(made), 0);
    else
        share_version(Tensor(made), Tensor(source));
    if (requires_grad) set_requires_grad(Tensor(made), true);
    return Py_NewRef(as_object(made));
}

void add_tensor_attributes(PyTypeObject& type) {
    type.tp_getset = properties;
    type.tp_methods = methods;
    type.tp_setattro = set_attribute;
    type.tp_getattro = PyObject_GenericGetAttr;
    type.tp_new = tensor_new;
}

}  // namespace clew::bind
