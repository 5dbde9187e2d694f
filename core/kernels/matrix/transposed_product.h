// Products of a matrix that lies the other way, for who runs many of them with the same one.
//
// Note [Matrices transposed once]
// A product of small operands whose matrix lies row by row transposes it on its way (Note [Small matrix products]):
// with a vector, that is half of the work. Given a matrix that has been transposed before, it makes the same sums in
// the same order.
#pragma once
#include <memory>

#include "core/kernels/capture.h"

namespace clew::kernels {

class TransposingProduct {
public:
    virtual ~TransposingProduct() = default;
    // The matrix that each run transposes, operand 1 of the call; null: it transposes none.
    virtual const View* transposed() const = 0;
    // A call that transposes it, into memory of as many bytes as its elements take: operands are that memory, and the
    // matrix.
    virtual std::unique_ptr<KernelCall> transpose(char* to) const = 0;
    // The product with what that call has left at `from`: its operands are as before, but for the matrix.
    virtual std::unique_ptr<KernelCall> with_transposed(char* from) const = 0;
};

}  // namespace clew::kernels
