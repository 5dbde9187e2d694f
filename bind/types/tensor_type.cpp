// Tensor as a Python type: life and death, what the collector sees, and the slots of Python's protocols.
#include <cstring>
#include <string>

#include "bind/calls/indexing.h"
#include "bind/calls/operation.h"
#include "bind/errors.h"
#include "bind/types/escapes.h"
#include "bind/types/objects.h"
#include "bind/types/tensor_attributes.h"
#include "bind/types/torch_function.h"
#include "bind/types/type.h"
#include "core/autograd/leaf.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"

namespace clew::bind {

Tensor tensor_from(PyObject* object, const char* op) {
    TensorObject* const tensor = as_tensor(object);
    if (tensor == nullptr) fail(ErrorKind::Type, "%s: expected a Tensor, got %s", op, Py_TYPE(object)->tp_name);
    return Tensor(tensor);
}

PyTypeObject tensor_type = blank_type();

namespace {

// A tensor is tracked only while it may be part of a cycle: it has attributes, or leads to a node that holds Python
// things.
int tensor_traverse(PyObject* object, visitproc visit, void* arg) {
    TensorObject* self = self_of(object);
    Py_VISIT(static_cast<PyObject*>(self->dict));
    Py_VISIT(as_object(self->grad_fn.get()));
    Py_VISIT(as_object(self->base.get()));
    if (self->extras) {
        Py_VISIT(as_object(self->extras->grad.get()));
        Py_VISIT(as_object(self->extras->accumulator.get()));
        if (self->extras->kept) Py_VISIT(static_cast<PyObject*>(self->extras->kept->owner.get()));
    }
    return 0;
}

int tensor_clear(PyObject* object) {
    Py_CLEAR(*reinterpret_cast<PyObject**>(&self_of(object)->dict));
    return 0;
}

[[gnu::hot]] void tensor_dealloc(PyObject* object) {
    TensorObject* self = self_of(object);
    if (self->has(TensorObject::kTracked)) PyObject_GC_UnTrack(object);
    if (self->grad_fn) unlink_output(self);
    unlink(self);
    if (self->extras) self->extras->kept.reset();
    if (self->weak_references) PyObject_ClearWeakRefs(object);
    if (self->dict) Py_CLEAR(*reinterpret_cast<PyObject**>(&self->dict));
    destruct(self);
    if (Py_TYPE(object) == &tensor_type)
        free_tensor_object(self);
    else
        Py_TYPE(object)->tp_free(object);
}

// Only subclasses have operators of their own; Tensor's come from the registry.
enum OperatorCode {
    kAdd,
    kSub,
    kMul,
    kTrueDiv,
    kFloorDiv,
    kMod,
    kMatMul,
    kAnd,
    kOr,
    kXor,
    kLeftShift,
    kRightShift,
    kPow,
    kNeg,
    kAbs,
    kInvert,
    kLt,
    kLe,
    kEq,
    kNe,
    kGt,
    kGe,
    kOperators
};
Operator operators[kOperators] = {
    {"__add__", "add", "add", "add_"},
    {"__sub__", "sub", "__rsub__", "sub_"},
    {"__mul__", "mul", "mul", "mul_"},
    {"__truediv__", "div", "__rtruediv__", "div_"},
    {"__floordiv__", "__floordiv__", "__rfloordiv__", "floor_divide_"},
    {"__mod__", "remainder", "__rmod__", "remainder_"},
    {"__matmul__", "matmul", "__rmatmul__"},
    {"__and__", "__and__", "bitwise_and", "__iand__"},
    {"__or__", "__or__", "bitwise_or", "__ior__"},
    {"__xor__", "__xor__", "bitwise_xor", "__ixor__"},
    {"__lshift__", "__lshift__", "__rlshift__", "__ilshift__"},
    {"__rshift__", "__rshift__", "__rrshift__", "__irshift__"},
    {"__pow__", "__pow__", "__rpow__", "__ipow__"},
    {"__neg__", "neg"},
    {"__abs__", "abs"},
    {"__invert__", "__invert__"},
    {"__lt__", "lt", "gt"},
    {"__le__", "le", "ge"},
    {"__eq__", "eq", "eq"},
    {"__ne__", "ne", "ne"},
    {"__gt__", "gt", "lt"},
    {"__ge__", "ge", "le"},
};

template <int Op>
[[gnu::hot]] PyObject* binary_slot(PyObject* a, PyObject* b) {
    return binary_operator(operators[Op], a, b);
}
template <int Op>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
    return in_place_operator(operators[Op], a, b);
}
template <int Op>
[[gnu::hot]] PyObject* unary_slot(PyObject* a) {
    return unary_operator(operators[Op], a);
}

PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return binary_operator(operators[kPow], a, b);
}
PyObject* in_place_power_slot(PyObject* a, PyObject* b, PyObject*) { return in_place_operator(operators[kPow], a, b); }

PyObject* compare_slot(PyObject* a, PyObject* b, int op) {
    constexpr int which[] = {kLt, kLe, kEq, kNe, kGt, kGe};
    return binary_operator(operators[which[op]], a, b);
}

Py_hash_t tensor_hash(PyObject* self) {
    const auto address = reinterpret_cast<std::uintptr_t>(self);
    const auto hash = static_cast<Py_hash_t>(address >> 4 | address << 60);
    return hash == -1 ? -2 : hash;
}

// What a slot returns in C, from what a class answers.
PyObject* asked_slot(const char* name, PyObject* object) { return ask_method(name, {&object, 1, nullptr}); }

PyObject* positive_slot(PyObject* self) {
    if (!is_asked_about(self)) return Py_NewRef(self);
    return guarded([&] { return asked_slot("positive", self); });
}

int bool_slot(PyObject* object) {
    return guarded(
        [&] {
            if (is_asked_about(object)) {
                const Handle answer = Handle::steal(asked_slot("__bool__", object));
                return PyObject_IsTrue(static_cast<PyObject*>(answer.get()));
            }
            const Tensor self(self_of(object));
            if (self.numel() != 1)
                fail(ErrorKind::Runtime, "bool: Boolean value of Tensor with %s is ambiguous; use .any() or .all()",
                     self.numel() == 0 ? "no values" : "more than one value");
            return read_complex(escape(self, Read::Bool)) != Complex<double>(0) ? 1 : 0;
        },
        -1);
}
// As in PyTorch: the imaginary part may only be lost where it is 0.
void check_is_real(const Tensor& self, const char* name) {
    if (is_complex(self.dtype()) && read_complex(self).imag != 0)
        fail(ErrorKind::Runtime,
             "%s: value cannot be converted to type double without overflow: it has an imaginary "
             "part; take .real first",
             name);
}

PyObject* float_slot(PyObject* object) {
    return guarded([&]() -> PyObject* {
        if (is_asked_about(object)) return asked_slot("__float__", object);
        const Tensor self(self_of(object));
        if (self.numel() != 1)
            fail(ErrorKind::Runtime, "float: a Tensor with %lld elements cannot be converted to Scalar",
                 static_cast<long long>(self.numel()));
        const Tensor read = escape(self, Read::Float);
        check_is_real(read, "float");
        PyObject* number = PyFloat_FromDouble(read_number(read));
        note_number(read, "float", number);
        return number;
    });
}
PyObject* int_slot(PyObject* object) {
    return guarded([&]() -> PyObject* {
        if (is_asked_about(object)) return asked_slot("__int__", object);
        const Tensor self(self_of(object));
        if (self.numel() != 1)
            fail(ErrorKind::Runtime, "int: a Tensor with %lld elements cannot be converted to Scalar",
                 static_cast<long long>(self.numel()));
        const Tensor read = escape(self, Read::Int);
        check_is_real(read, "int");
        if (is_floating(read.dtype())) return PyLong_FromDouble(read_number(read));
        return PyLong_FromLongLong(read_integer(read));
    });
}
PyObject* index_slot(PyObject* object) {
    return guarded([&]() -> PyObject* {
        if (is_asked_about(object)) return asked_slot("__index__", object);
        const Tensor self(self_of(object));
        if (self.numel() != 1 || is_inexact(self.dtype()))
            fail(ErrorKind::Type, "index: only integer tensors of a single element can be converted to an index");
        return PyLong_FromLongLong(read_integer(escape(self, Read::Index)));
    });
}

Py_ssize_t length_slot(PyObject* object) {
    return guarded(
        [&]() -> Py_ssize_t {
            if (is_asked_about(object)) {
                const Handle answer = Handle::steal(asked_slot("__len__", object));
                return PyNumber_AsSsize_t(static_cast<PyObject*>(answer.get()), PyExc_OverflowError);
            }
            const Tensor self(self_of(object));
            if (self.ndim() == 0) fail(ErrorKind::Type, "len() of a 0-d tensor");
            return self.size(0);
        },
        -1);
}

PyObject* iterate_slot(PyObject* object) {
    return guarded([&]() -> PyObject* {
        if (self_of(object)->layout->ndim == 0) fail(ErrorKind::Type, "iteration over a 0-d tensor");
        const Handle rows = Handle::steal(checked(PyObject_CallMethod(object, "unbind", nullptr)));
        return checked(PyObject_GetIter(static_cast<PyObject*>(rows.get())));
    });
}

// src/clew/_tensor.py knows what may be looked for.
int contains_slot(PyObject* object, PyObject* element) {
    return guarded(
        [&] {
            PyObject* const arguments[] = {object, element};
            const Handle found =
                Handle::steal(is_asked_about(object) ? ask_method("__contains__", {arguments, 2, nullptr})
                                                     : checked(PyObject_CallMethod(object, "_contains", "O", element)));
            return PyObject_IsTrue(static_cast<PyObject*>(found.get()));
        },
        -1);
}

PyObject* repr_slot(PyObject* self) {
    if (is_asked_about(self)) return guarded([&] { return asked_slot("__repr__", self); });
    PyObject* module = PyImport_ImportModule("clew._tensor_str");
    PyObject* text = module ? PyObject_CallMethod(module, "tensor_repr", "O", self) : nullptr;
    Py_XDECREF(module);
    return text;
}

PyNumberMethods number_methods;
PyMappingMethods mapping_methods;
PySequenceMethods sequence_methods;

void fill_slots() {
    PyNumberMethods& n = number_methods;
    n.nb_add = binary_slot<kAdd>;
    n.nb_subtract = binary_slot<kSub>;
    n.nb_multiply = binary_slot<kMul>;
    n.nb_true_divide = binary_slot<kTrueDiv>;
    n.nb_floor_divide = binary_slot<kFloorDiv>;
    n.nb_remainder = binary_slot<kMod>;
    n.nb_matrix_multiply = binary_slot<kMatMul>;
    n.nb_and = binary_slot<kAnd>;
    n.nb_or = binary_slot<kOr>;
    n.nb_xor = binary_slot<kXor>;
    n.nb_lshift = binary_slot<kLeftShift>;
    n.nb_rshift = binary_slot<kRightShift>;
    n.nb_power = power_slot;
    n.nb_inplace_add = in_place_slot<kAdd>;
    n.nb_inplace_subtract = in_place_slot<kSub>;
    n.nb_inplace_multiply = in_place_slot<kMul>;
    n.nb_inplace_true_divide = in_place_slot<kTrueDiv>;
    n.nb_inplace_floor_divide = in_place_slot<kFloorDiv>;
    n.nb_inplace_remainder = in_place_slot<kMod>;
    n.nb_inplace_and = in_place_slot<kAnd>;
    n.nb_inplace_or = in_place_slot<kOr>;
    n.nb_inplace_xor = in_place_slot<kXor>;
    n.nb_inplace_lshift = in_place_slot<kLeftShift>;
    n.nb_inplace_rshift = in_place_slot<kRightShift>;
    n.nb_inplace_power = in_place_power_slot;
    n.nb_negative = unary_slot<kNeg>;
    n.nb_absolute = unary_slot<kAbs>;
    n.nb_invert = unary_slot<kInvert>;
    n.nb_positive = positive_slot;
    n.nb_bool = bool_slot;
    n.nb_float = float_slot;
    n.nb_int = int_slot;
    n.nb_index = index_slot;
    mapping_methods.mp_length = length_slot;
    mapping_methods.mp_subscript = tensor_getitem;
    mapping_methods.mp_ass_subscript = tensor_setitem;
    sequence_methods.sq_length = length_slot;
    sequence_methods.sq_contains = contains_slot;
}

}  // namespace

void init_tensor_type(PyObject* module) {
    fill_slots();
    PyTypeObject& type = tensor_type;
    type.tp_name = "torch.Tensor";
    type.tp_basicsize = sizeof(TensorObject);
    type.tp_dealloc = tensor_dealloc;
    type.tp_repr = repr_slot;
    type.tp_as_number = &number_methods;
    type.tp_as_mapping = &mapping_methods;
    type.tp_as_sequence = &sequence_methods;
    type.tp_hash = tensor_hash;
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE;
    type.tp_doc =
        "Tensor(*data, dtype=None, device=None)\n--\n\nAn n-dimensional array that may have a history. See "
        "clew.tensor.";
    type.tp_traverse = tensor_traverse;
    type.tp_clear = tensor_clear;
    type.tp_richcompare = compare_slot;
    type.tp_iter = iterate_slot;
    type.tp_weaklistoffset = offsetof(TensorObject, weak_references);
    type.tp_dictoffset = offsetof(TensorObject, dict);
    type.tp_free = PyObject_GC_Del;
    type.tp_as_buffer = tensor_buffer_methods();
    add_tensor_attributes(type);
    checked(PyType_Ready(&type));
    // Programs patch torch.Tensor, operators too: Python then updates the slots of this type and of its subclasses.
    type.tp_flags &= ~Py_TPFLAGS_IMMUTABLETYPE;
    checked(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(&type)));
}

void bind_operators() {
    for (Operator& op : operators) {
        op.group = group_for_operator(op.dunder);
        if (op.reflected_name) op.reflected = group_for_operator(("__r" + std::string(op.dunder + 2)).c_str());
    }
}

}  // namespace clew::bind
