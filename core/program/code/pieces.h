// Writes C for strips of captured calls.
//
// Note [Code of strips]
// Of the stages of a strip (core/kernels/memory/strips.h) those that are expressions become loops in C, and what one
// makes and another reads stays in a register. Stages that are not expressions, such as tanh, are run as they are, and
// what lies between two of them is one piece. An element is computed as in the loops, each operation rounded once, so
// the compiler may use vectors and the bits stay.
#pragma once
#include <vector>

#include "core/program/code/writer.h"

namespace clew::code {

// An order of the statements with the same meaning and few pieces: what a stage that is no expression needs comes right
// before it.
std::vector<int> in_few_pieces(const std::vector<Statement>& statements);

// Whether a piece would have more than one statement.
bool is_worth_it(const std::vector<Statement>& statements);

// `run(p, n, call)` runs piece n[1] over n[0] elements. The table has a part of `repeats[i]` entries for piece i: the
// operands that it is given, or one entry for a stage that runs as it is.
Text write_pieces(std::vector<Statement> statements, const std::vector<MemoryUse>& memories);

}  // namespace clew::code
