// Which followed numbers C code may read through an object that it is given.
//
// Note [What C code can reach]
// A number that is only handed on is followed (Note [Followed numbers]). C code that computes with what it is given is
// not watched, and may read each number that it can reach from there: through tuples, lists, dicts and sets, views,
// iterators, bound methods and whatever else objects of C hold, all of which tell the garbage collector. Attributes of
// other instances it reads by their name, which is looked at elsewhere, and what functions and generators hold is read
// by Python that is watched. Of a container from before the call all that it holds becomes a guard.
#include "bind/watch/kinds.h"
#include "bind/watch/tracer.h"

#include <algorithm>
#include <iterator>

#include "bind/types/objects.h"

#if CLEW_READS_FRAMES

namespace clew::bind {
namespace {

int push(PyObject* object, void* open) {
    static_cast<std::vector<PyObject*>*>(open)->push_back(object);
    return 0;
}

bool leads_on(PyObject* object) {
    PyTypeObject* const type = Py_TYPE(object);
    if (!PyObject_IS_GC(object) || type->tp_traverse == nullptr || as_tensor(object)) return false;
    if (PyType_Check(object) || PyModule_Check(object) || PyFunction_Check(object) || PyGen_CheckExact(object) ||
        PyMethod_Check(object) || PyFrame_Check(object) || PyCell_Check(object))
        return false;
    const PyTypeObject* base = type;
    while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
    return !is_python_class(type) || base != &PyBaseObject_Type;
}

// They hand on what they hold, one after the other.
bool is_plain_iterator(PyObject* object) {
    static const PyTypeObject* const types[] = {
        &PyGen_Type,         &PyListIter_Type,         &PyListRevIter_Type,     &PyTupleIter_Type,
        &PyDictIterKey_Type, &PyDictIterValue_Type,    &PyDictIterItem_Type,    &PyDictRevIterKey_Type,
        &PyRangeIter_Type,   &PyDictRevIterValue_Type, &PyDictRevIterItem_Type, &PyReversed_Type};
    return std::ranges::find(types, Py_TYPE(object)) != std::end(types);
}

}  // namespace

void Tracer::use_all(PyObject* root) {
    if (root == nullptr) return;
    std::vector<PyObject*> open{root};
    std::unordered_set<PyObject*> seen;
    while (!open.empty()) {
        PyObject* const object = open.back();
        open.pop_back();
        use(object);
        if (is_python_class(Py_TYPE(object))) touch(object);
        if (!leads_on(object) || !seen.insert(object).second) continue;
        if (is_older(object)) {
            if (object != root && is_builtin_container(object)) contents(object);
            continue;
        }
        Py_TYPE(object)->tp_traverse(object, push, &open);
    }
}

bool Tracer::reads_values(PyObject* iterator) {
    if (!PyIter_Check(iterator) || is_plain_iterator(iterator)) return false;
    if (Py_TYPE(iterator) != &PyZip_Type && Py_TYPE(iterator) != &PyEnum_Type) return leads_on(iterator);
    std::vector<PyObject*> open{iterator};
    for (std::size_t i = 0; i < open.size(); ++i) {  // its iterators may be in a tuple
        PyObject* const object = open[i];
        if (i > 0 && reads_values(object)) return true;
        if (i == 0 || PyTuple_CheckExact(object)) Py_TYPE(object)->tp_traverse(object, push, &open);
    }
    return false;
}

void Tracer::use_if_read(PyObject* iterable) {
    if (reads_values(iterable)) use_all(iterable);
}

}  // namespace clew::bind

#endif
