// A matrix product with what is done to its result while that is in the cache.
//
// Note [Products with their surroundings]
// The result of a product that is larger than a cache goes to memory and comes back twice: a bias is copied into it
// before, an activation reads it after. So a copy of one row to all rows of the result right before a product, and
// strips over the result right after it, are done block by block: before the product begins with a block, and once the
// block is there. The product adds what it adds in the order in which it does alone, so the bits are the same.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "core/kernels/memory/strips.h"

namespace clew {

// A call that runs strips among other things.
class HasStrips {
public:
    virtual ~HasStrips() = default;
    virtual kernels::StripCall* strips() const = 0;
};

class FusedProduct final : public kernels::KernelCall, public HasStrips, kernels::BlockWork {
public:
    // `row` may be null.
    FusedProduct(std::unique_ptr<kernels::KernelCall> row, std::unique_ptr<kernels::KernelCall> product,
                 std::unique_ptr<kernels::StripCall> strips);

    void run() const override;
    std::vector<kernels::Operand> operands() override;  // of the row, the product, the strips
    std::size_t bytes() const override;
    std::int64_t work() const override { return product_->work() + strips_->work(); }
    kernels::StripCall* strips() const override { return strips_.get(); }

private:
    void before(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const override;
    void after(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const override;

    std::unique_ptr<kernels::KernelCall> row_, product_;
    std::unique_ptr<kernels::StripCall> strips_;
    kernels::ProductShape shape_;
    char *const *result_ = nullptr, *const *from_ = nullptr;  // of the row: where it is copied to, and where it lies
};

}  // namespace clew
