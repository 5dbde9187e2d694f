// Methods of objects whose type is written in C.
#include "bind/watch/kinds.h"
#include "bind/watch/tracer.h"

#include <cstring>
#include <iterator>
#include <sstream>
#include <unordered_set>

#include "bind/errors.h"
#include "bind/types/objects.h"

#if CLEW_READS_FRAMES

namespace nb = nanobind;

namespace clew::bind {
namespace {

// Methods of the built-in types that change the object.
bool writes_object(const std::string& name) {
    static const std::unordered_set<std::string> all = [] {
        std::istringstream words(
            "append extend insert pop remove clear sort reverse __setitem__ "
            "__delitem__ __iadd__ __imul__ update popitem setdefault move_to_end add discard "
            "appendleft popleft extendleft rotate __ior__ __setattr__ __delattr__ send throw "
            "close __next__ __setstate__ __init__ difference_update intersection_update symmetric_difference_update ");
        return std::unordered_set<std::string>(std::istream_iterator<std::string>(words), {});
    }();
    return all.contains(name);
}

// Methods of lists, tuples and dicts that don't read what these hold.
bool hands_on(PyObject* self, const std::string& name) {
    static const char* const all[] = {
        "append",      "insert",      "extend",   "clear",       "reverse",  "pop",         "popitem", "get",
        "items",       "values",      "keys",     "copy",        "update",   "setdefault",  "__len__", "__iter__",
        "__getitem__", "__setitem__", "__init__", "__delitem__", "__iadd__", "__reversed__"};
    return !PyAnySet_Check(self) && is_one_of(name, all);
}

// Whether the method puts an argument as it is into a list or a dict of the call.
bool puts_in(PyObject* self, const std::string& name, std::size_t place) {
    if (PyList_Check(self))
        return (name == "append" && place == 0) || ((name == "insert" || name == "__setitem__") && place == 1);
    return PyDict_Check(self) && (name == "setdefault" || name == "__setitem__" || name == "pop") && place == 1;
}

// Or what the argument holds.
bool takes_over(PyObject* self, const std::string& name, PyObject* argument) {
    if (PyList_Check(self)) return (name == "extend" || name == "__iadd__") && !Tracer::reads_values(argument);
    return PyDict_Check(self) && PyDict_Check(argument) && (name == "update" || name == "__ior__");
}

}  // namespace

bool is_clews_callable(PyObject* callee) {
    const std::string module = text_of(callee, "__module__");
    return module == "clew" || module.starts_with("clew.");
}

bool is_descriptor_that_writes(PyObject* object) {
    if (Py_TYPE(object) != &PyMethodDescr_Type && Py_TYPE(object) != &PyWrapperDescr_Type) return false;
    return writes_object(utf8(reinterpret_cast<PyDescrObject*>(object)->d_name));
}

// `name` of an object of a type that is written in C.
void Tracer::call_builtin(PyObject* callee, PyObject* self, const std::string& name, PyObject* const* arguments,
                          std::size_t count) {
    use(self);
    if (as_tensor(self)) {
        for (std::size_t i = 0; i < count; ++i) contents(arguments[i]);
        static const char* const geometric[] = {
            "detach", "requires_grad_", "detach_", "contiguous", "is_contiguous", "numel",         "nelement", "size",
            "dim",    "ndimension",     "stride",  "__len__",    "_is_view",      "storage_offset"};
        if (is_one_of(name, geometric)) note(as_tensor(self));
        if (name == "item" || name == "__float__" || name == "tolist") {
            expect_number();
            return;
        }
        const std::string* const known = known_call("Tensor." + name);
        if (known == nullptr) stay_eager("calls Tensor." + name + ", whose reads cannot be tracked");
        return;
    }
    if (is_deque(self) && name == "append" && count == 1) {
        if (is_older(self)) effects.push_back({Effect::Append, nb::borrow(self), {}, nb::borrow(arguments[0])});
        return;
    }
    if (is_deque(self) && !is_older(self)) {
        use_all(self);
        for (std::size_t i = 0; i < count; ++i) contents(arguments[i]);
        return;
    }
    if (Py_TYPE(self) == &PyDictProxy_Type) {
        if (is_older(self)) add_older(behind_proxy(self));
        return call_method(behind_proxy(self), name, arguments, count);
    }
    if (is_builtin_container(self)) return call_method(self, name, arguments, count);
    if (PyType_Check(self)) {
        for (std::size_t i = 0; i < count; ++i) contents(arguments[i]);
        if (name == "__new__" && count > 2 && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(self), &PyType_Type))
            return define_class();
        if (name == "__new__" || name == "fromkeys" || name == "__call__") {
            if (name == "__call__") return call_type(reinterpret_cast<PyTypeObject*>(self), arguments, count);
            return;
        }
        if (name == "mro" || name == "__subclasscheck__" || name == "__instancecheck__") return;
        if (is_clews_callable(callee)) return call_known("clew." + name, arguments, count);
        return call_known(std::string(reinterpret_cast<PyTypeObject*>(self)->tp_name) + "." + name, arguments, count);
    }
    // Of object itself.
    static const char* const plain[] = {"__init__", "__init_subclass__", "__new__", "__eq__", "__ne__", "__hash__"};
    if (is_one_of(name, plain)) {
        for (std::size_t i = 0; i < count; ++i) contents(arguments[i]);
        return;
    }
    if (name == "__getattribute__" && count == 1) return instance_attribute(self, arguments[0], true);
    if (name == "__setattr__" && count == 2) {
        if (!is_older(self)) return;
        PyObject* const dict = dict_of(self);
        PyObject* const found = _PyType_Lookup(Py_TYPE(self), arguments[0]);
        if (dict == nullptr || (found && Py_TYPE(found)->tp_descr_set))
            return stay_eager("sets a slot of an object from before the call");
        state.instance(self);
        // That of modules looks at no more of a value than its class.
        static PyObject* const setter = PyUnicode_InternFromString("__setattr__");
        if (is_clews_callable(_PyType_Lookup(Py_TYPE(self), setter)) && stores_count(dict, arguments[0])) return;
        return set_entry(dict, arguments[0], arguments[1]);
    }
    if (PyGen_CheckExact(self) || PyIter_Check(self)) {
        if (is_older(self)) stay_eager("continues an iterator from before the call");
        return;
    }
    static const char* const immutable[] = {"torch.dtype", "torch.device", "torch.Size", "torch.finfo", "torch.iinfo"};
    if (is_one_of(Py_TYPE(self)->tp_name, immutable)) return;
    call_known(std::string(Py_TYPE(self)->tp_name) + "." + name, arguments, count);
}

// What the argument holds, the call has in a container of its own from now on.
void Tracer::take_over(PyObject* argument) { is_older(argument) ? iterate(argument) : use(argument); }

void Tracer::call_method(PyObject* self, const std::string& name, PyObject* const* arguments, std::size_t count) {
    if (PyUnicode_Check(self) && (name == "format" || name == "format_map" || name == "__mod__"))
        for (std::size_t i = 0; i < count; ++i)
            if (!PyUnicode_Check(arguments[i]) && !PyLong_Check(arguments[i]) && !PyFloat_Check(arguments[i]))
                return stay_eager("formats an object");
    for (std::size_t i = 0; i < count; ++i)
        if (!puts_in(self, name, i)) note_identity(arguments[i]);
    const bool writes = writes_object(name) && !PyUnicode_Check(self);
    const bool given = is_argument(self), older = is_older(self);
    if (older && PyList_CheckExact(self) && name == "append" && count == 1) {
        effects.push_back({Effect::Append, nb::borrow(self), {}, nb::borrow(arguments[0])});
        return;
    }
    if (name == "__setitem__" && count == 2 && (older || given))
        return set_item_itself(self, arguments[0], arguments[1]);
    if (name == "__setitem__" && count == 2 && PySlice_Check(arguments[0])) contents(arguments[1]);
    const bool one_entry = name == "get" || name == "__getitem__" || name == "setdefault" || name == "pop";
    if (older && PyDict_Check(self) && one_entry && count) {
        for (std::size_t i = 0; i < count; ++i) contents(arguments[i]);
        look_up_entry(self, arguments[0]);
        if (writes && (name == "pop" || PyDict_GetItemWithError(self, arguments[0]) == nullptr))
            stay_eager("changes a dict from before the call");
        return;
    }
    if (!older && !hands_on(self, name)) use_all(self);
    for (std::size_t i = 0; i < count; ++i)
        if (!writes || older || given)
            contents(arguments[i]);
        else if (takes_over(self, name, arguments[i]))
            take_over(arguments[i]);
        else if (!puts_in(self, name, i))
            contents(arguments[i]);
    if (writes && (older || given))
        return stay_eager(std::string("changes a ") + Py_TYPE(self)->tp_name + " from before the call by " + name);
    static const char* const lookers[] = {"items", "values", "keys", "copy", "__iter__", "__len__", "__getitem__"};
    if (older) contents(self, !is_one_of(name, lookers));
}

}  // namespace clew::bind

#endif
