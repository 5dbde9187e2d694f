// Objects of subclasses of Tensor.
#include "bind/errors.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "bind/types/tensor_attributes.h"
#include "bind/types/torch_function.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/forward/dual_level.h"
#include "core/ops/indexing/sparse_gradients.h"

namespace clew::bind {

PyObject* make_subclass(PyTypeObject* type, PyObject* data, bool requires_grad) {
    TensorObject* source = as_tensor(data);
    if (source == nullptr) fail(ErrorKind::Type, "_make_subclass: expected a Tensor, got %s", Py_TYPE(data)->tp_name);
    if (is_sparse(Tensor(source)) && !is_exact_tensor(data))
        fail(ErrorKind::NotImplemented,
             "_make_subclass: expected a strided tensor, got a sparse one, which no other class can hold; take its "
             "to_dense()");
    TensorObject* made;
    if (type == &tensor_type) {
        made = new_tensor_object();
    } else {
        refuse_dispatch(type);
        PyObject* object = checked(type->tp_alloc(type, 0));
        made = self_of(object);
        construct(made);
        made->set(TensorObject::kTracked, true);
        made->set(TensorObject::kSubclass, class_overrides(type));
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

// (cls, sizes, values): an object of the class of sparse tensors, of the dtype of `values`; the rest of it is Python's.
PyObject* make_sparse(PyObject*, PyObject* args) {
    PyObject *type, *sizes, *values;
    if (!PyArg_ParseTuple(args, "OO!O:_make_sparse", &type, &PyTuple_Type, &sizes, &values)) return nullptr;
    return guarded([&]() -> PyObject* {
        TensorObject* source = as_tensor(values);
        if (source == nullptr || !PyType_Check(type) ||
            !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &tensor_type))
            fail(ErrorKind::Type, "_make_sparse: expected a subclass of Tensor, sizes and a tensor");
        Dims dims;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i) {
            dims.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)));
            if (PyErr_Occurred()) throw PythonError();
        }
        const Tensor plain = Tensor::steal(new_tensor_object());
        plain->storage = Storage::unbacked_for(0, nullptr, nullptr);
        plain->storage->sparse = sparse_made = true;
        plain->layout = Layout::make(dims);
        plain->offset = 0;
        plain->dtype = source->dtype;
        return make_subclass(reinterpret_cast<PyTypeObject*>(type), as_object(plain.get()), false);
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
        result->set(TensorObject::kRequiresGrad, source.requires_grad());
        if (mode(kForwardMode)) carry_tangents(source, result);
        if (is_batched(source)) return made;  // its history is that of its value
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
            return as_subclass_method(PyTuple_GET_ITEM(args, 0), reinterpret_cast<PyObject*>(type));
        const Handle first = Handle::steal(checked(PyTuple_GetSlice(args, 0, plain ? PyTuple_GET_SIZE(args) : 1)));
        const Handle made =
            Handle::steal(checked(PyObject_Call(make, static_cast<PyObject*>(first.get()), plain ? kwargs : nullptr)));
        if (plain) return Py_NewRef(static_cast<PyObject*>(made.get()));
        return make_subclass(type, static_cast<PyObject*>(made.get()), false);
    });
}

}  // namespace clew::bind
