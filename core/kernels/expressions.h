// What loops compute, as C: for who makes code of several of them (core/program/code).
//
// Note [Loops as expressions]
// A loop that is here does no more than its expression says, element by element, in the arithmetic of its dtype, each
// operation rounded once. So a compiler that is told to keep it so (-ffp-contract=off) makes code with the loop's bits.
// Loops over long formulas (exp, tanh) are not here: they have no such short form, and are called as they are.
#pragma once
#include "core/kernels/capture.h"

namespace clew::kernels {

struct Expression {
    // Of inputs a, b, c and numbers p, q, which are of type T. ROOT(x) and SIZE(x) are sqrt and fabs of that type.
    const char* text;
    int inputs, numbers;
    bool wide;  // T is double, or else float
};

// Null: it has none.
const Expression* expression_of(const FlatLoop& loop);

}  // namespace clew::kernels
