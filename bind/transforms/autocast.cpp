#include "bind/transforms/autocast.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "bind/calls/operation_object.h"
#include "bind/errors.h"
#include "bind/types/dtype.h"
#include "bind/types/overridable.h"
#include "bind/watch/tracer.h"
#include "core/autograd/saved.h"
#include "core/base/error.h"
#include "core/ops/functions.h"
#include "core/ops/interpreter.h"

namespace clew::bind {
namespace {

DType lower_dtype() { return mode(kAutocastFloat16) ? DType::Float16 : DType::BFloat16; }

// Tensors of float64 and on the device "meta" are left as they are.
bool is_cast(const Tensor& tensor) {
    const DType dtype = tensor.dtype();
    return (dtype == DType::Float32 || dtype == DType::Float16 || dtype == DType::BFloat16) &&
           (!is_meta(tensor) || skips_kernels());
}

// Note [Casts of weights]
// A leaf that requires a gradient is cast once in a region, so that its gradient is cast once, too. A cast is not taken
// again after a write to the leaf, under another grad mode, or where other interpreters look on: a program that is
// recorded must have it among its calls. The outermost region clears the casts.
struct WeightCast {
    Tensor source, cast;
    const void* memory;
    std::uint32_t version, modes;
    std::uint64_t interpreters;
};
using WeightCasts = std::unordered_map<const TensorObject*, WeightCast>;
thread_local constinit WeightCasts* weight_casts = nullptr;

Tensor cast_to(const Tensor& tensor, DType dtype) {
    if (!is_cast(tensor) || tensor.dtype() == dtype) return tensor;
    const bool weight = dtype != DType::Float32 && tensor.dtype() == DType::Float32 &&
                        tensor->has(TensorObject::kRequiresGrad) && !tensor->base && !mode(kAutocastUncached);
    if (!weight) return cast(tensor, dtype);
    const auto modes = mode_word & (kNoGrad | kInferenceMode | kAutocastFloat16);
    const std::uint64_t interpreters = Interpreter::changes();
    if (weight_casts == nullptr) weight_casts = new WeightCasts;
    WeightCast& known = (*weight_casts)[tensor.get()];
    if (known.cast && known.memory == tensor->storage->data && known.version == version_of(*tensor.get()) &&
        known.modes == modes && known.interpreters == interpreters)
        return known.cast;
    Tensor made = cast(tensor, dtype);
    (*weight_casts)[tensor.get()] = {tensor, made,        tensor->storage->data, version_of(*tensor.get()),
                                     modes,  interpreters};
    return made;
}

// body(tensor) for each tensor among the arguments and in lists of them.
template <class Body>
void for_each_tensor(PyObject* const* values, Py_ssize_t count, const Body& body) {
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (TensorObject* tensor = as_tensor(values[i])) body(Tensor(tensor));
        if (PyList_CheckExact(values[i]) || PyTuple_CheckExact(values[i]))
            for_each_tensor(PySequence_Fast_ITEMS(values[i]), PySequence_Fast_GET_SIZE(values[i]), body);
    }
}

DType widest(PyObject* const* values, Py_ssize_t count) {
    const DType lower = lower_dtype();
    DType widest = lower;
    for_each_tensor(values, count, [&](const Tensor& tensor) {
        if (!is_cast(tensor) || widest == DType::Float32) return;
        if (tensor.dtype() != lower && tensor.dtype() != DType::Float32)
            fail(ErrorKind::Runtime,
                 "autocast: expected tensors of %s or float32, got %s; cast it, or leave the region "
                 "(torch.autocast(\"cpu\", enabled=False))",
                 dtype_name(lower), dtype_name(tensor.dtype()));
        widest = tensor.dtype();
    });
    return widest;
}

// The object, or what takes its place.
Handle cast_argument(PyObject* object, DType dtype) {
    if (TensorObject* tensor = as_tensor(object)) return Handle::steal(wrap(cast_to(Tensor(tensor), dtype)));
    const bool list = PyList_CheckExact(object);
    if (!list && !PyTuple_CheckExact(object)) return Handle::borrow(object);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    Handle made = Handle::steal(checked(list ? PyList_New(count) : PyTuple_New(count)));
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const item = Py_NewRef(as_object(cast_argument(PySequence_Fast_GET_ITEM(object, i), dtype)));
        list ? PyList_SET_ITEM(as_object(made), i, item) : PyTuple_SET_ITEM(as_object(made), i, item);
    }
    return made;
}

bool has_out(const Arguments& given) {
    for (Py_ssize_t i = 0; given.names && i < PyTuple_GET_SIZE(given.names); ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(given.names, i), "out") == 0)
            return given.values[given.count + i] != Py_None;
    return false;
}

// (callable, kind, handler=None): the rule of an operation or a public function.
PyObject* set_rule(PyObject*, PyObject* args) {
    PyObject *callable, *handler = nullptr;
    int kind;
    if (!PyArg_ParseTuple(args, "Oi|O:set_autocast_rule", &callable, &kind, &handler)) return nullptr;
    const bool operation = Py_IS_TYPE(callable, &operation_type);
    if (!operation && function_of_overridable(callable) == nullptr) {
        PyErr_Format(PyExc_TypeError, "set_autocast_rule: expected an operation or a public function, got %R",
                     callable);
        return nullptr;
    }
    AutocastRule& rule = operation ? self_of(callable)->group->autocast : autocast_rule_of_overridable(callable);
    rule = {static_cast<Autocast>(kind), Py_XNewRef(handler)};
    Py_RETURN_NONE;
}

// (tensor): in the dtype of the region; None stays None.
PyObject* cast_lower(PyObject*, PyObject* object) {
    return guarded([&] { return Py_NewRef(as_object(cast_argument(object, lower_dtype()))); });
}

PyObject* clear_casts(PyObject*, PyObject*) {
    WeightCasts casts;
    if (weight_casts) casts.swap(*weight_casts);
    Py_RETURN_NONE;
}

constexpr std::uint32_t kStates = kAutocast | kAutocastFloat16 | kAutocastUncached;
constexpr std::uint32_t state_of(std::uint32_t word) { return (word & kStates) / kAutocast; }
static_assert(kStates == kAutocast * 7);

// Before the first region: what is loaded and shown then is nothing that a compiled function reads.
void begin_first() {
    static bool begun = false;
    if (begun) return;
    const Unwatched unwatched(true);
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "autocast: products of bfloat16 and float16 are computed in float32 and rounded, as clew uses no "
                     "instructions for these dtypes. Results are those of PyTorch's autocast, but programs become "
                     "slower, not faster. To do: autocast(..., enabled=False) where speed matters",
                     2) < 0)
        throw PythonError();
    const Handle rules = Handle::steal(checked(PyImport_ImportModule("clew.amp._lists")));
    begun = true;
}

// (state or None) -> the state before: bit 0 for on, bit 1 for float16, bit 2 for weights that are cast at each use.
PyObject* state(PyObject*, PyObject* object) {
    return guarded([&] {
        const std::uint32_t before = state_of(mode_word);
        if (object != Py_None) {
            const long wanted = PyLong_AsLong(object);
            if (wanted == -1 && PyErr_Occurred()) throw PythonError();
            if (wanted & 1) begin_first();
            mode_word = (mode_word & ~kStates) | ((static_cast<std::uint32_t>(wanted) * kAutocast) & kStates);
        }
        return checked(PyLong_FromUnsignedLong(before));
    });
}

PyMethodDef functions[] = {
    {"autocast_state", state, METH_O,
     "(state): switches autocast of this thread unless None is given; the state that was. 1: on; 2: of float16, not of "
     "bfloat16; 4: weights are cast at each use."},
    {"set_autocast_rule", set_rule, METH_VARARGS,
     "(callable, kind, handler=None): what a region of autocast does with the arguments of an operation or a "
     "function."},
    {"autocast_lower", cast_lower, METH_O,
     "(object): a tensor, or those in a list or tuple, as operations of the lower list get it."},
    {"clear_autocast_casts", clear_casts, METH_NOARGS, "(): forgets the casts of weights of this thread."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

AutocastArguments::AutocastArguments(const AutocastRule& rule, PyObject* callable, const Arguments& given)
    : count_(given.count), names_(given.names), off_(kAutocast, false) {
    const Py_ssize_t all = given.count + (given.names ? PyTuple_GET_SIZE(given.names) : 0);
    const bool plain = has_out(given);
    if (rule.kind == Autocast::Custom) held_.push_back(Handle::borrow(callable)), ++count_;
    const DType dtype = rule.kind == Autocast::Lower     ? lower_dtype()
                        : rule.kind == Autocast::Promote ? widest(given.values, all)
                                                         : DType::Float32;
    for (Py_ssize_t i = 0; i < all; ++i)
        held_.push_back(plain || rule.kind == Autocast::Custom ? Handle::borrow(given.values[i])
                                                               : cast_argument(given.values[i], dtype));
    for (const Handle& value : held_) values_.push_back(as_object(value));
}

void init_autocast(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
