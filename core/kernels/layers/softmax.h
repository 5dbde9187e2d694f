// Softmax and its logarithm along one axis of any stride; floating only, all views of one dtype and the same sizes.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

void softmax(const View& out, const View& in, int axis);
void log_softmax(const View& out, const View& in, int axis);

// The gradient of the input from the gradient and the value of the result.
void softmax_backward(const View& out, const View& grad, const View& result, int axis);
void log_softmax_backward(const View& out, const View& grad, const View& result, int axis);

}  // namespace clew::kernels
