// What the core knows of Python: the head of an object, opaque handles, and a few function pointers that bind/ sets.
#pragma once
#include <cstdint>
#include <utility>

namespace clew {

// The head of a Python object (checked against PyObject in bind/). Tensors and nodes start with it, so that what a user
// holds and what the graph holds are one thing with one reference count and one identity.
struct Object {
    std::uint32_t references;
    std::uint32_t reserved;  // high half of the count, or flags on newer interpreters: left alone
    void* type;
};

// Where an operation was called: a code object and the offset of the instruction in it. Text is made when somebody
// asks.
struct Site {
    void* code = nullptr;  // owned by whoever keeps the Site
    std::int32_t instruction = -1;
};

// Set once by bind/ when the module is loaded.
struct Runtime {
    void* tensor_type = nullptr;
    void* (*node_type_of)(const char* name) = nullptr;  // the Python class of the nodes of that name; lives for ever
    void (*dealloc)(Object*) = nullptr;                 // the count reached zero
    void (*retain)(void*) = nullptr;                    // any Python object
    void (*release)(void*) = nullptr;
    Site (*current_site)() = nullptr;       // the user's innermost line; returns an owned code
    void (*track)(Object*) = nullptr;       // shows the object to the garbage collector (idempotent)
    void (*check_interrupt)() = nullptr;    // throws PythonError after Ctrl-C
    void* (*leave_python)() = nullptr;      // gives the GIL away ...
    void (*enter_python)(void*) = nullptr;  // ... and takes it back
};
extern Runtime runtime;

inline void retain(Object* object) { ++object->references; }
inline void release(Object* object) {
    if (--object->references == 0) runtime.dealloc(object);
}

// Lets other threads run Python during a kernel that takes longer than about 50 microseconds. Inside, touch raw buffers
// only.
class WithoutGil {
public:
    static constexpr std::int64_t kWorthIt = 200'000;  // elements, or multiply-adds / 16
    explicit WithoutGil(std::int64_t work) : token_(work > kWorthIt ? runtime.leave_python() : nullptr) {}
    ~WithoutGil() {
        if (token_) runtime.enter_python(token_);
    }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

private:
    void* token_;
};

// A counted reference to T. T is an Object, or has retain(T*) and release(T*) of its own.
template <class T>
class Ref {
public:
    Ref() = default;
    Ref(std::nullptr_t) {}
    explicit Ref(T* borrowed) : pointer_(borrowed) {
        if (pointer_) retain(pointer_);
    }
    static Ref steal(T* owned) {
        Ref ref;
        ref.pointer_ = owned;
        return ref;
    }
    Ref(const Ref& other) : Ref(other.pointer_) {}
    Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(pointer_, other.pointer_);
        return *this;
    }
    ~Ref() {
        if (pointer_) release(pointer_);
    }
    T* get() const { return pointer_; }
    T* operator->() const { return pointer_; }
    T& operator*() const { return *pointer_; }
    explicit operator bool() const { return pointer_ != nullptr; }
    bool operator==(const Ref& other) const { return pointer_ == other.pointer_; }
    T* detach() { return std::exchange(pointer_, nullptr); }

private:
    T* pointer_ = nullptr;
};

// A counted reference to a Python object that the core keeps and never looks into: hooks, packed values, code.
class Handle {
public:
    Handle() = default;
    static Handle borrow(void* object) {
        if (object) runtime.retain(object);
        return Handle(object);
    }
    static Handle steal(void* object) { return Handle(object); }
    Handle(const Handle& other) : Handle(borrow(other.object_)) {}
    Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Handle& operator=(Handle other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Handle() {
        if (object_) runtime.release(object_);
    }
    void* get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }
    void* detach() { return std::exchange(object_, nullptr); }

private:
    explicit Handle(void* object) : object_(object) {}
    void* object_ = nullptr;
};

}  // namespace clew
