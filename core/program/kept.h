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
// The program that made the tensor and keeps it, and where it stands there.
struct KeptBy {
    Program* program;
    int index;
};
// A view whose base was written since, so that it got a new node from its base's history when it was asked for it.
bool is_refreshed_view(const Program& program, const Living& living);
KeptBy kept_by(const TensorObject& tensor);

}  // namespace clew
