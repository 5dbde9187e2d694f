// What functions that walk over graphs take: sequences of tensors and nodes.
#pragma once
#include <nanobind/nanobind.h>

#include "bind/errors.h"
#include "bind/graph/node_set.h"
#include "bind/types/objects.h"
#include "core/base/error.h"

namespace clew::bind {

// The nodes that one element of a sequence of tensors and nodes stands for.
template <class Visit>
void each_root_of(nanobind::handle object, const Visit& visit) {
    if (Node* node = as_node(object.ptr()))
        visit(node);
    else if (TensorObject* tensor = as_tensor(object.ptr()))
        each_root(*tensor, visit);
    else
        fail(ErrorKind::Type, "graph walk: expected tensors and nodes, got %s", Py_TYPE(object.ptr())->tp_name);
}

// A sequence whose elements stay where they are while it is read.
inline nanobind::tuple sequence(nanobind::handle object) {
    return nanobind::steal<nanobind::tuple>(checked(PySequence_Tuple(object.ptr())));
}

inline void walk_all(const nanobind::tuple& roots, Reach reach, NodeSet& seen) {
    for (const nanobind::handle root : roots) each_root_of(root, [&](Node* node) { walk(node, reach, seen); });
}

inline TensorObject& tensor_argument(nanobind::handle object) {
    TensorObject* tensor = as_tensor(object.ptr());
    if (tensor == nullptr) fail(ErrorKind::Type, "expected a Tensor, got %s", Py_TYPE(object.ptr())->tp_name);
    return *tensor;
}

}  // namespace clew::bind
