#include "core/ops/scalar.h"

#include "core/kernels/copy.h"
#include "core/ops/elementwise.h"

namespace clew {

Tensor number(const Scalar& value) {
    const DType dtype = value.kind == Scalar::Float ? DType::Float64
                        : value.kind == Scalar::Int ? DType::Int64
                                                    : DType::Bool;
    Tensor result = value.kind == Scalar::Float ? scalar(value.real, dtype) : scalar_int(value.integer, dtype);
    result->set(TensorObject::kWrappedNumber, true);
    return result;
}

void fill_with(const Tensor& x, const Scalar& value) {
    if (value.kind == Scalar::Float)
        kernels::fill(x.view(), value.real);
    else
        kernels::fill(x.view(), value.integer);
}

DType dtype_beside(const Tensor& x, std::initializer_list<Scalar> numbers) {
    // A number changes the dtype only where its category is larger than that of the tensor.
    DType dtype = x.dtype();
    for (const Scalar& value : numbers) {
        if (value.kind == Scalar::Float && !is_floating(dtype)) dtype = DType::Float32;
        if (value.kind == Scalar::Int && dtype == DType::Bool) dtype = DType::Int64;
    }
    return dtype;
}

Tensor converted_beside(const Tensor& x, std::initializer_list<Scalar> numbers) {
    return converted(x, dtype_beside(x, numbers));
}

}  // namespace clew
