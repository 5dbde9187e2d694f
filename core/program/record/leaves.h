// Leaves that the block made, once somebody else writes to them.
//
// Note [Leaves of the block]
// A leaf that the block makes is made again by each replay. Once something outside the block writes to it (copy_, an
// optimizer's step, x.data = ...), the replay would undo that: from then on the leaf is an input, and the steps that
// made it are taken out of the program, with all that only they read. A parameter becomes an input at the block's end.
// What is no leaf of autograd's, and was made from no input, as a buffer, follows the same rule.
//
// A leaf's memory is what becomes an input. The steps that make it are the one that took the memory, and the writes to
// it before anything else reads it: so initialization is one of them, and an optimizer's step in the block is none.
//
// A leaf that was made from inputs is written, and one of these has changed, too: then nobody can say which of the two
// holds, and a replay that reads the leaf fails. So it is noted of each input when a change of it was first seen
// (`Input::changed`), and of each tensor when it got its value (`TrackedTensor::made`).
#pragma once
#include <span>

#include "core/program/program.h"
#include "core/program/replay/slice.h"

namespace clew {

// At the end of the block, or of reading it from a file.
void note_values(Program& program);
// These, of Program::tracked, become inputs, if they can.
void make_inputs(Program& program, std::span<const int> leaves);
// Before anything uses the program: leaves that were written become inputs.
void notice_writes(Program& program);
// Fails where the slice would undo a write, or where a leaf and what it was made from have both changed.
void check_writes(const Program& program, const Slice& slice);
void check_leaves(const Program& program);  // of the whole program, the second only
// After the commit.
void settle_values(Program& program, const Slice& slice);

}  // namespace clew
