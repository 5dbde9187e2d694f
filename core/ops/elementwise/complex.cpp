// Complex numbers and their parts.
//
// Note [Derivatives of complex functions]
// A gradient is that of a real loss, as in PyTorch: dL/dx + i dL/dy for z = x + i y (twice the conjugate Wirtinger
// derivative). So the rule of a holomorphic f is g * conj(f'), and a real input of a complex operation gets the real
// part, which the engine's cast takes.
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

Tensor imaginary_unit() { return number(Scalar::of(0.0, 1.0)); }

void need_complex(const char* op, const Tensor& x, const char* advice) {
    if (!is_complex(x.dtype()))
        fail(ErrorKind::Runtime, "%s: expected a tensor of a complex dtype, got %s; %s", op, dtype_name(x.dtype()),
             advice);
}

struct Conj {
    static constexpr OpText text{
        .schema = "_conj(Tensor self)", .node = "ConjBackward0", .flags = kHidden | kElementwise, .domain = "complex"};
    static void forward(const Tensor& x, Tensor& out) { unary("conj", kernels::unary().conj, x, out); }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return conj(g); }};
};

struct Angle {
    static constexpr OpText text{
        .schema = "angle(Tensor self)",
        .node = "AngleBackward0",
        .flags = kBoth | kOutArgument | kElementByElement,
        .domain = "nonzero",
        .doc = "The angle of a complex number in the plane, between -pi and pi; 0 or pi for real ones.",
        .example =
            ">>> torch.angle(torch.tensor([1j, -1.0, 1.0 + 1.0j]))\n"
            "tensor([1.5708, 3.1416, 0.7854])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("angle", kernels::unary().angle, is_integral(x.dtype()) ? converted(x, default_dtype()) : x, out,
              Result::Real);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> z) {
        if (!is_complex(z->dtype())) return zeros_like(g);
        const Tensor square = mul(real(z), real(z)), radius = add(square, mul(imag(z), imag(z)));
        return where(compare(kEq, radius, 0), zero(), mul(mul(g, imaginary_unit()), div(z, radius)));
    }};
};

Dims broadcast_strides(const Tensor& x, const Dims& sizes) {
    Dims strides;
    const int lead = sizes.size() - x.ndim();
    for (int axis = 0; axis < sizes.size(); ++axis)
        strides.push_back(axis < lead || x.size(axis - lead) == 1 ? 0 : x.stride(axis - lead));
    return strides;
}

struct MakeComplex {
    static constexpr OpText text{.schema = "complex(Tensor real, Tensor imag)",
                                 .node = "ComplexBackward0",
                                 .flags = kFunction | kOutArgument | kOutAlike | kElementByElement,
                                 .domain = "unit",
                                 .doc = "real + i imag; both have the same floating dtype.",
                                 .example =
                                     ">>> torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0]))\n"
                                     "tensor([1.+3.j, 2.-4.j])"};
    static void forward(const Tensor& x, const Tensor& y, Tensor& out) {
        if (x.dtype() != y.dtype())
            fail(ErrorKind::Runtime,
                 "complex: Expected object of scalar type %s but got scalar type %s for the second argument",
                 dtype_name(x.dtype()), dtype_name(y.dtype()));
        if (!is_floating(x.dtype()))
            fail(ErrorKind::Runtime, "complex: Expected both inputs to be Half, Float or Double tensors but got %s",
                 dtype_name(x.dtype()));
        const Dims sizes = broadcast_sizes(x.sizes(), y.sizes(), "complex");
        out = empty(result_layout(sizes, std::array{x, y}), complex_dtype(x.dtype()));
        kernels::copy(part_of(out, 0).view(),
                      {x.data(), x.dtype(), out.ndim(), sizes.begin(), broadcast_strides(x, sizes).begin()});
        kernels::copy(part_of(out, 1).view(),
                      {y.data(), y.dtype(), out.ndim(), sizes.begin(), broadcast_strides(y, sizes).begin()});
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g) { return real(g); }, [](const Tensor& g) { return imag(g); }};
};

struct Real {
    static constexpr OpText text{.schema = "_real(Tensor self)",
                                 .node = "RealBackward0",
                                 .flags = kHidden | kView | kLeadingAxes,
                                 .derivative = "",
                                 .domain = "complex"};
    static void forward(const Tensor& x, Tensor& out) {
        need_complex("real", x, "a real tensor is its own real part");
        out = part_of(x, 0);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return g; }};  // the engine casts it
};
struct Imag {
    static constexpr OpText text{.schema = "_imag(Tensor self)",
                                 .node = "ImagBackward0",
                                 .flags = kHidden | kView | kLeadingAxes,
                                 .domain = "complex"};
    static void forward(const Tensor& x, Tensor& out) {
        need_complex("imag", x, "imag is not implemented for tensors with non-complex dtypes");
        out = part_of(x, 1);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return mul(g, imaginary_unit()); }};
};

struct ViewAsReal {
    static constexpr OpText text{
        .schema = "view_as_real(Tensor self)",
        .node = "ViewAsRealBackward0",
        .flags = kFunction | kView | kLeadingAxes,
        .domain = "complex",
        .doc = "A real view of a complex tensor, with the parts along a new last axis of size 2.",
        .example =
            ">>> torch.view_as_real(torch.tensor([1.0 + 2.0j, 3.0 - 4.0j]))\n"
            "tensor([[ 1.,  2.],\n"
            "        [ 3., -4.]])"};
    static void forward(const Tensor& x, Tensor& out) {
        need_complex("view_as_real", x, "make one with complex() or view_as_complex()");
        Dims sizes(x.sizes()), strides;
        for (const std::int64_t stride : x.strides()) strides.push_back(2 * stride);
        sizes.push_back(2), strides.push_back(1);
        out = alias(x, Layout::make(sizes, strides), 2 * x->offset);
        out->dtype = real_dtype(x.dtype());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return view_as_complex(contiguous(g)); }};
};
struct ViewAsComplex {
    static constexpr OpText text{.schema = "view_as_complex(Tensor self)",
                                 .node = "ViewAsComplexBackward0",
                                 .flags = kFunction | kView | kLeadingAxes,
                                 .domain = "self=real(a, b, 2)",
                                 .doc = "A complex view of a real tensor whose last axis, of size 2, holds the parts.",
                                 .example =
                                     ">>> torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, -4.0]]))\n"
                                     "tensor([1.+2.j, 3.-4.j])"};
    static void forward(const Tensor& x, Tensor& out) {
        if (x.dtype() != DType::Float32 && x.dtype() != DType::Float64)
            fail(ErrorKind::Runtime, "view_as_complex: expected a tensor of dtype float32 or float64, got %s",
                 dtype_name(x.dtype()));
        const int last = x.ndim() - 1;
        if (last < 0) fail(ErrorKind::Runtime, "view_as_complex: Input tensor must have one or more dimensions");
        if (x.size(last) != 2) fail(ErrorKind::Runtime, "view_as_complex: Tensor must have a last dimension of size 2");
        if (x.stride(last) != 1)
            fail(ErrorKind::Runtime, "view_as_complex: Tensor must have a last dimension with stride 1");
        Dims sizes(x.sizes()), strides;
        sizes.erase(last);
        for (int axis = 0; axis < last; ++axis) {
            if (x.stride(axis) % 2 && x.size(axis) > 1)
                fail(ErrorKind::Runtime,
                     "view_as_complex: Tensor must have a stride divisible by 2 for all but last dimension");
            strides.push_back(x.stride(axis) / 2);
        }
        if (x->offset % 2)
            fail(ErrorKind::Runtime, "view_as_complex: Tensor must have a storage_offset divisible by 2");
        out = alias(x, Layout::make(sizes, strides), x->offset / 2);
        out->dtype = complex_dtype(x.dtype());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return view_as_real(g); }};
};

}  // namespace

Tensor part_of(const Tensor& z, int which) {
    Dims strides;
    for (const std::int64_t stride : z.strides()) strides.push_back(2 * stride);
    Tensor part = alias(z, Layout::make(z.sizes(), strides), 2 * z->offset + which);
    part->dtype = real_dtype(z.dtype());
    return part;
}

Tensor conj(const Tensor& x) {
    if (!is_complex(x.dtype())) return x;
    if (!x->has(TensorObject::kWrappedNumber)) return run<Conj>(x);
    const Scalar value = number_in(x);  // of Python: stays one, and no step of a program
    return number(Scalar::of(value.real, -value.imag));
}
Tensor real(const Tensor& x) { return is_complex(x.dtype()) ? run<Real>(x) : x; }
Tensor imag(const Tensor& x) { return run<Imag>(x); }
Tensor view_as_real(const Tensor& x) { return run<ViewAsReal>(x); }
Tensor view_as_complex(const Tensor& x) { return run<ViewAsComplex>(x); }

static const Register<Conj, Angle, MakeComplex, Real, Imag, ViewAsReal, ViewAsComplex> complex_operations;

}  // namespace clew
