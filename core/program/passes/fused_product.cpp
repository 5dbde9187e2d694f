#include "core/program/passes/fused_product.h"

#include "core/kernels/memory/scratch.h"

namespace clew {

FusedProduct::FusedProduct(std::unique_ptr<kernels::KernelCall> product, std::unique_ptr<kernels::StripCall> strips)
    : product_(std::move(product)), strips_(std::move(strips)), shape_(*product_->product()) {}

void FusedProduct::run() const {
    if (!strips_->is_first()) return product_->run_with(*this);
    product_->run();
    strips_->run();
}

void FusedProduct::after(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    const kernels::Scratch memory(static_cast<std::size_t>(strips_->local_bytes()));
    char* const local = memory.as<char>();
    const std::int64_t width = shape_.columns;
    if (columns == width) return strips_->run_part(row * width, (row + rows) * width, local);
    for (; rows > 0; --rows, ++row) strips_->run_part(row * width + column, row * width + column + columns, local);
}

kernels::Operands FusedProduct::operands() {
    kernels::Operands list = product_->operands();
    for (const kernels::Operand& one : strips_->operands()) list.push_back(one);
    return list;
}

std::size_t FusedProduct::bytes() const { return sizeof(*this) + product_->bytes() + strips_->bytes(); }

}  // namespace clew
