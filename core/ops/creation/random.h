// Random numbers in tensors, and whose they are.
//
// Note [Memory order of random fills]
// PyTorch fills a tensor in the order of its memory, not of its indices, so that x.t().uniform_() is the transposed of
// x.uniform_(). Normal numbers are made sixteen at a time where memory is contiguous, and one by one where it is not.
#pragma once
#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/base/random.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/tensor/tensor.h"

namespace clew {

// What random operations of this thread draw from: the default generator, or another for as long as one is chosen.
Generator& current_generator();
// How often operations of this thread have asked for it. One that draws for some values only asks, too.
std::uint64_t times_drawn();
Generator* choose_generator(Generator* generator);  // null: the default one; gives what was chosen before

// These fill x, in the order of its memory. Errors begin with `op`.
void draw_uniform(Generator& generator, const char* op, const Tensor& x, double from, double to);
void draw_normal(Generator& generator, const char* op, const Tensor& x, double mean, double deviation);
void draw_integers(Generator& generator, const char* op, const Tensor& x, std::int64_t low, std::int64_t high);
// The greatest integer of a dtype; of a floating one, that up to which all integers are exact.
std::int64_t greatest_integer(DType dtype);
void draw_bernoulli(Generator& generator, const Tensor& x, double probability);

// Calls body(data of type T, contiguous), for floating tensors.
template <class Body>
void with_floating(const char* op, const Tensor& x, const Body& body) {
    if (kernels_skipped() && is_floating(x.dtype())) return;
    if (x.dtype() == DType::Float32)
        body(x.data_as<float>());
    else if (x.dtype() == DType::Float64)
        body(x.data_as<double>());
    else
        fail(ErrorKind::NotImplemented, "%s: not implemented for dtype %s; use a floating dtype", op,
             dtype_name(x.dtype()));
}

// Fresh memory with the geometry of x: its strides if x is dense, else the same order of axes without gaps. PyTorch's
// *_like make this, and random numbers lie in it as in memory.
Tensor empty_like(const Tensor& x, DType dtype);

// The same elements with the axes from the outermost in memory to the innermost.
Tensor in_memory_order(const Tensor& x);
// The parts of contiguous complex numbers, one after the other.
Tensor parts_of(const Tensor& x);
// Calls draw(contiguous tensor) and puts what it made where it belongs. Halves are rounded from float32, the parts of
// complex numbers drawn one after the other.
template <class Draw>
void fill_in_memory_order(const Tensor& self, const Draw& draw) {
    if (kernels_skipped()) return;
    if (is_floating(self.dtype()) && is_storage_type(self.dtype())) {
        const Tensor drawn = empty_like(self, compute_dtype(self.dtype()));
        fill_in_memory_order(drawn, draw);
        return kernels::copy(self.view(), drawn.view());
    }
    if (is_complex(self.dtype()) && self.contiguous()) return draw(parts_of(self));
    if (self.contiguous()) return draw(self);
    const Tensor target = in_memory_order(self);
    if (target.contiguous()) return draw(target);
    const Tensor drawn = empty(target.sizes(), self.dtype());
    fill_in_memory_order(drawn, draw);
    kernels::copy(target.view(), drawn.view());
}

}  // namespace clew
