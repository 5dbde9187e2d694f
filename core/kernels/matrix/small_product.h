// One product of small matrices that is made again and again: all that sizes and strides decide has been decided.
#pragma once
#include <cstdint>

#include "core/kernels/capture.h"
#include "core/kernels/matrix/matrix.h"
#include "core/kernels/view.h"

namespace clew::kernels {

class SmallProduct {
public:
    // As gemm(); it is none where gemm() would go another way than Note [Small matrix products].
    SmallProduct(const View& out, const View& a, const View& b, Number alpha, Number beta);
    explicit operator bool() const { return m_ > 0; }
    void run(void* out, const void* a, const void* b) const {
        is_double_ ? run_as<double>(out, a, b) : run_as<float>(out, a, b);
    }

    CBlock block() const;

private:
    struct Strides {
        std::int64_t row, column;
    };
    template <class T>
    void set(const View& out, const View& a, const View& b, Number alpha, Number beta);
    template <class T>
    void run_as(void* out, const void* a, const void* b) const;

    bool is_double_ = false;
    std::int64_t m_ = 0, n_ = 0, k_ = 0;
    Strides out_{}, a_{}, b_{};
    double alpha_ = 1, beta_ = 0;
};

}  // namespace clew::kernels
