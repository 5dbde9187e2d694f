// An object that a guard knows by identity.
#pragma once
#include <Python.h>

#include <utility>

#include <nanobind/nanobind.h>

namespace clew::bind {

class Held {
public:
    Held() = default;
    Held(nanobind::object object) : object_(object.release().ptr()) {}
    Held(const Held& other) : object_(other.object_), owned_(other.owned_) {
        if (owned_) Py_XINCREF(object_);
    }
    Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)), owned_(other.owned_) {}
    Held& operator=(Held other) noexcept {
        std::swap(object_, other.object_);
        std::swap(owned_, other.owned_);
        return *this;
    }
    ~Held() {
        if (owned_) Py_XDECREF(object_);
    }

    PyObject* ptr() const { return object_; }
    bool is_valid() const { return object_ != nullptr; }
    bool owned() const { return owned_ && object_ != nullptr; }
    // From now on whoever has this has to drop it before the object dies.
    void loosen() {
        if (std::exchange(owned_, false)) Py_XDECREF(object_);
    }

private:
    PyObject* object_ = nullptr;
    bool owned_ = true;
};

}  // namespace clew::bind
