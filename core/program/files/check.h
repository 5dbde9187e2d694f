// Whether a program that comes from a file can be run without harm.
//
// Note [Checking programs]
// A file may say anything. So all steps run once with kernels skipped (Note [Inference]), which takes no memory: inputs
// and attributes are checked by the operations themselves, and each result must lie where its register says, on the
// memory that it says. What a program works out while it records (what makes a register, what writes a memory) is
// worked out here again, and not read from the file.
#pragma once
#include "core/program/program.h"

namespace clew {

// Fills in what follows from the rest: bytes, made_by, writers, registers, inputs of memories. Throws ReplayFailed with
// the step that is not in order, or Error.
void check_program(Program& program);
// A node that a step made, or a CopySlices around such a one. Throws Error.
void check_node(const Program& program, const KeptNode& kept);

// A node without a step: of a graph that comes from a file alone.
void check_lone_node(Node& node);
void check_slices(Node& node);

}  // namespace clew
