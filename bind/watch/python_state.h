// What the Python of a compiled call read that is older than the call, as it was then.
//
// Note [Guards of Python]
// A replay is right while the Python would go the way it went. So each read of state that was there before the call is
// kept with what it found: entries of dicts (globals, attributes of instances and modules), of types, cells, lists,
// slots, the code and defaults of functions. Numbers, strings and None are compared by type and bits, all else by
// identity, with the object held alive, so that an address is never another object's. Tensors, modules and other
// instances are held weakly: when one dies, all that was recorded with it goes. A dict whose version tag has not
// changed needs no look, where it has one; types have such tags, too.
#pragma once
#include <Python.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <nanobind/nanobind.h>

#include "bind/keep/held.h"
#include "bind/watch/values.h"

namespace clew::bind {

class PythonState {
public:
    void entry(PyObject* dict, PyObject* key);  // there or not
    void whole(PyObject* dict);                 // all of it, in order
    void list(PyObject* list);
    void set(PyObject* set);
    void cell(PyObject* cell);
    void function(PyObject* function);
    void instance(PyObject* object);  // its class and its dict
    bool type(PyTypeObject* type);    // all of it; whether it is new here
    void registered_classes();        // of abstract base classes
    void slot(PyObject* object, PyObject* descriptor);
    void thread_local_dict(PyObject* local, PyObject* dict);
    void answer(PyObject* cache, PyObject* arguments, PyObject* value);  // of a functools.lru_cache

    std::size_t size() const;
    bool has_entry(PyObject* dict, PyObject* key) const;
    PyObject* found_first(PyObject* dict, PyObject* key) const;  // what it had; null: nothing, or it was not read
    // The value is no guard any more; null if it was none.
    nanobind::object give_up_entry(PyObject* dict, PyObject* key);
    void take_entry(PyObject* dict, PyObject* key, PyObject* value);
    bool mentions(PyObject* value) const;  // as something that a read found
    // Versions are taken when the call is over.
    void seal();
    // Tensors, modules and other instances are not kept alive any more. `died` is called when one dies, before anything
    // else can have its address.
    void weaken(const nanobind::object& died);
    void weaken(Held& one, const nanobind::object& died);
    // Whether all is as it was; else `failed` says what is not.
    bool holds();
    std::string failed, change;  // " (3 instead of 2)", or empty
    // The line of the call's code that reads what failed, "train.py:5 in step"; empty where there is not just one.
    std::string failed_at() const;

    int traverse(visitproc visit, void* arg) const;
    void clear();

private:
    struct Entry {
        nanobind::object key;
        Held value;  // none: it was not there
    };
    struct Dict {
        nanobind::object dict;
        std::uint64_t version = 0;
        bool whole = false, ordered = false;  // an OrderedDict of several, whose order has no version
        std::vector<Entry> entries;
    };
    struct List {
        nanobind::object list;
        std::vector<Held> items;
        bool holds() const;
    };
    struct Cell {
        nanobind::object cell;
        Held value;
    };
    struct Function {
        nanobind::object function, code, defaults, keyword_defaults;
    };
    struct Instance {
        Held object;
        nanobind::object type, dict;
    };
    struct Type {
        nanobind::object type, bases;
        unsigned int version = 0;
    };
    struct Slot {
        Held object;
        nanobind::object descriptor;
        Held value;
    };

    struct ThreadLocal {
        nanobind::object local, dict;
    };

    // What a cache has for these arguments is seen only by asking it, as the call would.
    struct Answer {
        nanobind::object cache, arguments;
        Held value;
        bool holds() const;
    };

    Dict& of_dict(PyObject* dict);
    bool dict_holds(Dict& dict);
    bool fails(PyObject* holder, PyObject* key, PyObject* now = nullptr, PyObject* then = nullptr);
    std::string name_of_cell(PyObject* cell) const;
    std::string failed_name_;
    enum class Reads { Attribute, Global, Cell } failed_kind_ = Reads::Attribute;
    template <class Visit>
    void each(const Visit& visit) const;  // of all objects
    template <class Visit>
    void each_found(const Visit& visit);  // of those that are known by identity

    std::vector<Dict> dicts_;
    std::vector<List> lists_, sets_;
    std::vector<Cell> cells_;
    std::vector<Function> functions_;
    std::vector<Instance> instances_;
    std::vector<Type> types_;
    std::vector<Slot> slots_;
    std::vector<ThreadLocal> thread_locals_;
    std::vector<Answer> answers_;
    nanobind::object registrations_;
    std::vector<nanobind::object> deaths_;   // weak references
    std::unordered_set<PyObject*> watched_;  // by these
    // Where each of these is, by address, while the call is recorded.
    std::unordered_map<PyObject*, std::size_t> dict_index_, list_index_, set_index_, cell_index_, function_index_,
        instance_index_, type_index_;
    std::unordered_set<PyObject*> mentioned_;  // afterwards
};

}  // namespace clew::bind
