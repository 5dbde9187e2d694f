// How a program finds the nodes and the tensors of its block again while they live, without keeping them alive.
#pragma once
#include "core/autograd/leaf.h"
#include "core/program/program.h"

namespace clew {

// The node is told of by Node::kKept and a table; the program's entry is null once it has died.
void keep_node(Program& program, int index);
void forget_nodes(Program& program);
// Of the program's nodes, the one that this is; -1: none.
int index_of(const Program& program, const Node* node);

// In a tensor's extras. `owns`: the tensor keeps the program alive.
void keep_tensor(Program& program, int index, bool owns);
void forget_tensors(Program& program);
// It no longer does.
void disown(const Program& program, int index);
// The program that made the tensor and keeps it, and where it stands there.
struct KeptBy {
    Program* program;
    int index;
};
// Memory that was given out to Python, as an array of NumPy's or by its address, is written without being seen: then
// the values of a leaf that is guarded are compared.
inline int guarded_leaves = 0;
void guard(const Program& program, int index, bool given_out);
void note_given_out(const Tensor& tensor);
bool has_other_values(const TensorObject& tensor);
void note_values_of(const TensorObject& tensor);  // as they are now, nobody has written them
inline bool was_written_unseen(const TensorObject& tensor) { return guarded_leaves != 0 && has_other_values(tensor); }
// A view whose base was written since, so that it got a new node from its base's history when it was asked for it.
bool is_refreshed_view(const Program& program, const TrackedTensor& tracked);
KeptBy kept_by(const TensorObject& tensor);

}  // namespace clew
