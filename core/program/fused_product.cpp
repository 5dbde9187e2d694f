#include "core/program/fused_product.h"

#include <cstring>

#include "core/kernels/memory/scratch.h"

namespace clew {

FusedProduct::FusedProduct(std::unique_ptr<kernels::KernelCall> row, std::unique_ptr<kernels::KernelCall> product,
                           std::unique_ptr<kernels::StripCall> strips)
    : row_(std::move(row)), product_(std::move(product)), strips_(std::move(strips)), shape_(*product_->product()) {
    if (!row_) return;
    const std::vector<kernels::Operand> places = row_->operands();
    result_ = places[0].place;
    from_ = places[1].place;
}

void FusedProduct::run() const {
    if (!strips_->is_first()) return product_->run_with(*this);
    if (row_) row_->run();
    product_->run();
    strips_->run();
}

void FusedProduct::before(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    if (!row_) return;
    const std::int64_t item = shape_.item;
    char* to = *result_ + (row * shape_.columns + column) * item;
    for (; rows > 0; --rows, to += shape_.columns * item)
        std::memcpy(to, *from_ + column * item, static_cast<std::size_t>(columns * item));
}

void FusedProduct::after(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    const kernels::Scratch memory(static_cast<std::size_t>(strips_->local_bytes()));
    char* const local = memory.as<char>();
    const std::int64_t width = shape_.columns;
    if (columns == width) return strips_->run_part(row * width, (row + rows) * width, local);
    for (; rows > 0; --rows, ++row) strips_->run_part(row * width + column, row * width + column + columns, local);
}

std::vector<kernels::Operand> FusedProduct::operands() {
    std::vector<kernels::Operand> list;
    for (kernels::KernelCall* const call : {row_.get(), product_.get(), static_cast<KernelCall*>(strips_.get())})
        if (call)
            for (const kernels::Operand& one : call->operands()) list.push_back(one);
    return list;
}

std::size_t FusedProduct::bytes() const {
    return sizeof(*this) + product_->bytes() + strips_->bytes() + (row_ ? row_->bytes() : 0);
}

}  // namespace clew
