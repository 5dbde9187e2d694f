// What became visible to the garbage collector after the graph above it was made.
//
// A hook may be put on a node that has a graph above it already, a tensor may get an attribute after views of it were
// made. The nodes and tensors above are not tracked then, and a cycle through them would look alive for ever. So before
// a full collection, and only if something of the kind has happened, one pass goes over all living tensors and the
// nodes below them, from old to new, and tracks whatever now leads to Python things.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"

namespace clew::bind {
namespace {

bool late_python = false;

std::vector<Node*> nodes_alive() {
    std::vector<Node*> found, stack;
    std::unordered_set<Node*> seen;
    const auto push = [&](Node* node) {
        if (node && seen.insert(node).second) {
            found.push_back(node);
            stack.push_back(node);
        }
    };
    for (TensorObject* tensor = living_tensors; tensor; tensor = tensor->next) {
        push(tensor->grad_fn.get());
        if (tensor->extras) push(tensor->extras->accumulator.get());
    }
    while (!stack.empty()) {
        Node* node = stack.back();
        stack.pop_back();
        for (std::uint32_t i = 0; i < node->edge_count; ++i) push(node->edge_nodes()[i]);
        if (node->extras) push(node->extras->inner.get());
    }
    std::sort(found.begin(), found.end(), [](Node* a, Node* b) {
        // Accumulators have the highest number and no children: they come first.
        const bool first = a->has(Node::kAccumulate), second = b->has(Node::kAccumulate);
        return first != second ? first : a->sequence < b->sequence;
    });
    return found;
}

void look_again() {
    for (Node* node : nodes_alive()) {
        if (node->has(Node::kPython)) continue;
        bool python = node->extras && node->extras->inner && node->extras->inner->has(Node::kPython);
        for (std::uint32_t i = 0; i < node->edge_count && !python; ++i) {
            const Node* child = node->edge_nodes()[i];
            python = child && child->has(Node::kPython);
        }
        if (python) mark_python(*node);
    }
    // A view's base and a tensor's gradient may be tracked only after the tensor was looked at: until nothing changes.
    for (bool changed = true; changed;) {
        changed = false;
        for (TensorObject* tensor = living_tensors; tensor; tensor = tensor->next) {
            if (tensor->has(TensorObject::kTracked)) continue;
            const Extras* extras = tensor->extras;
            const bool python = tensor->dict || (tensor->grad_fn && tensor->grad_fn->has(Node::kPython)) ||
                                (tensor->base && tensor->base->has(TensorObject::kTracked)) ||
                                (extras && ((extras->accumulator && extras->accumulator->has(Node::kPython)) ||
                                            (extras->grad && extras->grad->has(TensorObject::kTracked))));
            if (!python) continue;
            track_tensor(tensor);
            changed = true;
        }
    }
}

// gc.callbacks: (phase, info)
PyObject* before_collection(PyObject*, PyObject* args) {
    const char* phase = nullptr;
    PyObject* info = nullptr;
    if (!PyArg_ParseTuple(args, "sO", &phase, &info)) return nullptr;
    if (late_python && phase[0] == 's') {
        PyObject* generation = PyDict_GetItemString(info, "generation");
        if (generation && PyLong_AsLong(generation) >= 2) {
            late_python = false;
            look_again();
        }
    }
    Py_RETURN_NONE;
}

PyMethodDef callback_def = {"clew_before_collection", before_collection, METH_VARARGS, nullptr};

}  // namespace

void note_late_python() { late_python = true; }

void track_tensor(TensorObject* self) {
    if (self->has(TensorObject::kTracked)) return;
    self->set(TensorObject::kTracked, true);
    if (!PyObject_GC_IsTracked(as_object(self))) PyObject_GC_Track(as_object(self));
}

void init_collector() {
    PyObject* gc = checked(PyImport_ImportModule("gc"));
    PyObject* callbacks = checked(PyObject_GetAttrString(gc, "callbacks"));
    PyObject* function = checked(PyCFunction_New(&callback_def, nullptr));
    checked(PyList_Append(callbacks, function));
    Py_DECREF(function);
    Py_DECREF(callbacks);
    Py_DECREF(gc);
}

}  // namespace clew::bind
