// backward() and grad() as Python calls them.
#pragma once
#include <Python.h>

#include <vector>

#include "bind/watch/tracer.h"
#include "core/autograd/engine.h"
#include "core/autograd/mode.h"

namespace clew::bind {

// tensor.backward(gradient, retain_graph, create_graph, inputs): the arguments are as Python gave them, null where it
// gave none.
// What the nodes of `keep` and those below saved stays.
void tensor_backward(const Tensor& root, PyObject* gradient, PyObject* retain_graph, PyObject* create_graph,
                     PyObject* inputs);
// The same backward, one node at a time.
std::unique_ptr<SteppedBackward> stepped_backward(PyObject* tensors, PyObject* gradients, PyObject* retain_graph,
                                                  PyObject* create_graph);

// While who looks on runs Python: neither what it reads nor what it computes is part of what is recorded or timed.
class UnseenPython {
    const Unwatched unwatched_{true};
    const ModeGuard unseen_{kInterpreted | kTiming, false};
};

// Who looks on from C++ is called after each backward, before those of Python. `entered` is when the first was called.
struct BackwardListener {
    virtual ~BackwardListener() = default;
    virtual void after(const std::vector<Tensor>& roots, const Ref<Release>& release, std::int64_t entered) = 0;
};
void add_listener(BackwardListener* listener);
void remove_listener(BackwardListener* listener);
// Nanoseconds that those who look on have taken: who measures a program does not want to measure its watchers.
std::int64_t listeners_spent();

void init_backward(PyObject* module);

}  // namespace clew::bind
