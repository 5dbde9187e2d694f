// The arguments of a compiled call: what chooses a variant, and the tensors in them.
#pragma once
#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "core/tensor/tensor.h"

namespace clew::bind {

// Note [Keys]
// Two calls may share a variant if their keys are the same bytes: shapes, strides, dtypes, requires_grad and whether
// there is a .grad of tensors, which of them are the same object; numbers and strings by type and bits; containers by
// content; all other objects by identity (a variant keeps these alive, so that an address stays theirs); the modes.
// Content are the items of tuples, with names too, lists, dicts and slices, ranges, the numbers and strings in a set in
// the order in which it gives them, and the function and the object of a bound method. Instances of classes that
// compare by content, as dataclasses do, are known by identity until the function was given two of them (ByContent).
// The value of a float that is itself an argument is no part of it: a variant may follow it (Note [Followed numbers]).
struct ArgumentLists {
    std::string key{};
    std::vector<Tensor> tensors{};         // each once
    std::vector<PyObject*> containers{};   // borrowed, in order: lists, dicts, tuples and what else goes by content
    std::vector<PyObject*> objects{};      // known by identity
    std::vector<double> floats{};          // that are arguments themselves
    std::vector<std::size_t> addresses{};  // of objects: where they stand in the key
};

using ByContent = std::vector<PyTypeObject*>;
bool may_go_by_content(PyObject* object);  // an instance whose attributes and class are all that it is

class CallArguments {
    std::unique_ptr<ArgumentLists> lists_;  // of a call before, if there is one that is over: it has its memory

public:
    std::string& key;
    std::vector<Tensor>& tensors;
    std::vector<PyObject*>&containers, &objects;
    std::vector<double>& floats;
    std::vector<std::size_t>& addresses;
    const char* unknown = nullptr;  // why such a call can't be told from others

    CallArguments(PyObject* positional, PyObject* named, const ByContent& by_content);
    ~CallArguments();
    CallArguments(const CallArguments&) = delete;
    CallArguments& operator=(const CallArguments&) = delete;
    std::string key_with_floats() const;
    std::string key_without_objects() const;

private:
    const ByContent& by_content_;
    void add(PyObject* object, int depth);
    bool add_container(PyObject* object);
    void add_object(PyObject* object);
    bool add_by_content(PyObject* object, int depth);  // false: it goes by identity
    bool add_set(PyObject* set, int depth);
    void add_entries(PyObject* dict, int depth);
    void add_tensor(PyObject* object);
    void add_text(PyObject* text);
    void add_bytes(const void* bytes, std::size_t count) { key.append(static_cast<const char*>(bytes), count); }
    template <class T>
    void add_value(const T& value) {
        add_bytes(&value, sizeof value);
    }
};

}  // namespace clew::bind
