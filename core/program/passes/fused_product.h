// A matrix product with what is done to its result while that is in the cache.
//
// Note [Products with their surroundings]
// A bias is copied into the result of a product before the product adds to it: of a copy of one row to all rows of the
// result right before it, the product takes the row from where it lies. What follows, as an activation, reads the
// result again. If that is larger than a cache, strips over it right after the product are done block by block, once
// the block is there. The product adds what it adds in the order in which it does alone, so the bits are the same.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/kernels/memory/strips.h"

namespace clew {

// A smaller result stays in a cache.
inline bool is_worth_fusing(const std::optional<kernels::ProductShape>& result) {
    constexpr std::int64_t kWorthIt = 1 << 20;  // bytes
    return result && result->rows * result->columns * result->item >= kWorthIt;
}

// A call that runs strips among other things.
class HasStrips {
public:
    virtual ~HasStrips() = default;
    virtual kernels::StripCall* strips() const = 0;
};

class FusedProduct final : public kernels::KernelCall, public HasStrips, kernels::BlockWork {
public:
    FusedProduct(std::unique_ptr<kernels::KernelCall> product, std::unique_ptr<kernels::StripCall> strips);

    void run() const override;
    kernels::Operands operands() override;  // of the product, the strips
    std::size_t bytes() const override;
    std::int64_t work() const override { return product_->work() + strips_->work(); }
    kernels::StripCall* strips() const override { return strips_.get(); }

private:
    void after(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const override;

    std::unique_ptr<kernels::KernelCall> product_;
    std::unique_ptr<kernels::StripCall> strips_;
    kernels::ProductShape shape_;
};

}  // namespace clew
