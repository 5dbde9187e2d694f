// A reduction of few elements that is made again and again: all that sizes and strides decide has been decided.
#pragma once
#include "core/kernels/capture.h"
#include "core/kernels/reduction/task.h"

namespace clew::kernels {

class SmallReduction {
public:
    SmallReduction() = default;
    // It is none where the reduction takes more than one call of a loop.
    explicit SmallReduction(const Task& task);
    explicit operator bool() const { return reducer_ != nullptr; }
    void run(void* out, const void* in) const;
    CBlock sum_block(bool wide) const;  // of a sum or a mean of floating-point numbers

private:
    const Reducer* reducer_ = nullptr;
    bool columns_ = false;
    std::int64_t kept_ = 0, reduced_ = 0;  // elements
    std::int64_t out_stride_ = 0, kept_stride_ = 0, reduced_stride_ = 0;
    double divisor_ = 1;
};

}  // namespace clew::kernels
