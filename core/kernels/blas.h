// OpenBLAS, loaded when the first product that needs it comes: importing clew does not pay for it.
#pragma once
#include <cstdint>

namespace clew::kernels {

// The library file, told once by Python (package scipy-openblas32). CLEW_OPENBLAS, if set, goes before it.
void set_blas_path(const char* path);

enum CblasOrder : int { kRowMajor = 101 };
enum CblasTranspose : int { kNoTranspose = 111, kTranspose = 112 };

// Row-major entries of one precision; sizes are 32-bit in this build of OpenBLAS.
template <class T>
struct BlasOf {
    void (*gemm)(CblasOrder, CblasTranspose, CblasTranspose, int m, int n, int k, T alpha, const T* a, int lda,
                 const T* b, int ldb, T beta, T* c, int ldc);
    void (*gemv)(CblasOrder, CblasTranspose, int m, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta,
                 T* y, int incy);
    T (*dot)(int n, const T* x, int incx, const T* y, int incy);
};

struct Blas {
    BlasOf<float> float32;
    BlasOf<double> float64;
    template <class T>
    const BlasOf<T>& of() const;
};
template <>
inline const BlasOf<float>& Blas::of<float>() const {
    return float32;
}
template <>
inline const BlasOf<double>& Blas::of<double>() const {
    return float64;
}

// The loaded library, held to one thread. Throws Error(Runtime) when it is missing.
const Blas& blas();

}  // namespace clew::kernels
