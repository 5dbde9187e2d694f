// One product of small matrices that is made again and again: all that sizes and strides decide has been decided.
#pragma once
#include <cstdint>

#include "core/kernels/capture.h"
#include "core/kernels/matrix/small_gemm.h"
#include "core/kernels/view.h"

namespace clew::kernels {

class SmallProduct {
public:
    // As gemm(); it is none where gemm() would go another way than Note [Small matrix products].
    SmallProduct(const View& out, const View& a, const View& b, Number alpha, Number beta);
    explicit operator bool() const { return shape_.m > 0; }
    void run(void* out, const void* a, const void* b) const {
        is_double_ ? run_as<double>(out, a, b) : run_as<float>(out, a, b);
    }

    CBlock block() const;

private:
    template <class T>
    void set(const View& out, const View& a, const View& b, Number alpha, Number beta);
    template <class T>
    void run_as(void* out, const void* a, const void* b) const;

    bool is_double_ = false;
    SmallGemmShape shape_{};
    double alpha_ = 1, beta_ = 0;
};

}  // namespace clew::kernels
