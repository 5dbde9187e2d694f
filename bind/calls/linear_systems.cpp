// What the operations of src/clew/linalg, which are written in Python, compute in C++: they call these functions with
// plain tensors while nothing is recorded.
#include "bind/calls/linear_systems.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/base/error.h"
#include "core/kernels/matrix/triangular.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

Tensor tensor_from(nb::handle object) { return bind::tensor_from(object.ptr(), "linalg"); }
nb::object object_of_tensor(Tensor tensor) { return nb::steal(wrap(std::move(tensor))); }

// The axes before the last `count`, and how many matrices they are.
Dims leading(const Tensor& x, int count) {
    Dims sizes;
    for (int i = 0; i < x.ndim() - count; ++i) sizes.push_back(x.size(i));
    return sizes;
}
Dims with(Dims sizes, std::initializer_list<std::int64_t> rest) {
    for (const std::int64_t size : rest) sizes.push_back(size);
    return sizes;
}

// As (batch, rows, columns); a view where it can be, which it is of what is broadcast from one matrix.
Tensor in_one_batch(const Tensor& x, const Dims& batch, std::int64_t rows, std::int64_t columns) {
    return reshape(expand(x, with(batch, {rows, columns})), Dims{count_elements(batch), rows, columns});
}

// Memory of its own for the solution, which holds the right side. Its last two axes are exchanged unless `left`.
struct Solution {
    Dims batch;
    std::int64_t n, columns;
    Tensor x;

    Solution(const Tensor& a, const Tensor& b, bool left)
        : batch(broadcast_sizes(leading(a, 2), leading(b, 2), "linalg")),
          n(a.size(a.ndim() - 1)),
          columns(b.size(b.ndim() - (left ? 1 : 2))) {
        const Tensor right = left ? b : transpose(b, -2, -1);
        x = empty(Dims{count_elements(batch), n, columns}, b.dtype());
        const Tensor whole = reshape(x, with(batch, {n, columns}));
        kernels::copy(whole.view(), expand(right, whole.sizes()).view());
    }
    nb::object result(bool left) const {
        const Tensor whole = reshape(x, with(batch, {n, columns}));
        return object_of_tensor(left ? whole : contiguous(transpose(whole, -2, -1)));
    }
};

nb::object solve_triangular(nb::handle a, nb::handle b, bool upper, bool left, bool unitriangular) {
    const Tensor A = left ? tensor_from(a) : transpose(tensor_from(a), -2, -1);
    const Solution solution(A, tensor_from(b), left);
    if (solution.x.numel())
        kernels::solve_triangle(in_one_batch(A, solution.batch, solution.n, solution.n).view(), solution.x.view(),
                                upper == left, unitriangular);
    return solution.result(left);
}

nb::object lu_factor(nb::handle a) {
    const Tensor A = tensor_from(a);
    const std::int64_t rows = A.size(A.ndim() - 2), columns = A.size(A.ndim() - 1), steps = std::min(rows, columns);
    const Dims batch = leading(A, 2);
    const Tensor LU = empty(Dims(A.sizes()), A.dtype()), pivots = empty(with(batch, {steps}), DType::Int32),
                 info = zeros(batch, DType::Int32);
    kernels::copy(LU.view(), A.view());
    if (A.numel())
        kernels::lu_factor(reshape(LU, Dims{count_elements(batch), rows, columns}).view(),
                           pivots.data_as<std::int32_t>(), info.data_as<std::int32_t>());
    return nb::make_tuple(object_of_tensor(LU), object_of_tensor(pivots), object_of_tensor(info));
}

void check_pivots(const Tensor& pivots, std::int64_t rows) {
    const auto* const first = pivots.data_as<const std::int32_t>();
    if (!std::all_of(first, first + pivots.numel(), [&](std::int32_t one) { return 1 <= one && one <= rows; }))
        fail(ErrorKind::Runtime, "lu: pivots must be between 1 and %lld inclusive, as lu_factor gives them",
             static_cast<long long>(rows));
}

// P with A = P L U, of ones and zeros.
nb::object lu_permutation(nb::handle given_pivots, std::int64_t rows) {
    const Tensor pivots = contiguous(tensor_from(given_pivots));
    check_pivots(pivots, rows);
    const Tensor P = zeros(with(leading(pivots, 1), {rows, rows}), DType::Bool);
    const std::int64_t steps = pivots.size(pivots.ndim() - 1);
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    for (std::int64_t i = 0; i < (rows ? P.numel() / (rows * rows) : 0); ++i) {
        std::iota(order.begin(), order.end(), 0);
        for (std::int64_t k = 0; k < steps; ++k)
            std::swap(order[static_cast<std::size_t>(k)],
                      order[static_cast<std::size_t>(pivots.data_as<const std::int32_t>()[i * steps + k] - 1)]);
        for (std::int64_t k = 0; k < rows; ++k)
            P.data_as<bool>()[(i * rows + order[static_cast<std::size_t>(k)]) * rows + k] = true;
    }
    return object_of_tensor(P);
}

nb::object lu_solve(nb::handle lu, nb::handle given_pivots, nb::handle b, bool adjoint) {
    const Tensor LU = tensor_from(lu), pivots = contiguous(tensor_from(given_pivots));
    const Solution solution(LU, tensor_from(b), true);
    const std::int64_t n = solution.n, count = count_elements(solution.batch);
    check_pivots(pivots, n);
    if (solution.x.numel() == 0) return solution.result(true);
    const bool shared = pivots.numel() == n;
    const Tensor all = shared ? pivots : contiguous(expand(pivots, with(solution.batch, {n})));
    const auto exchange = [&](bool back) {
        kernels::exchange_rows(solution.x.view(), all.data_as<const std::int32_t>(), shared && count > 1 ? 0 : n, n,
                               back);
    };
    const Tensor A = in_one_batch(LU, solution.batch, n, n), turned = transpose(A, -2, -1);
    if (!adjoint) {
        exchange(false);
        kernels::solve_triangle(A.view(), solution.x.view(), false, true);
        kernels::solve_triangle(A.view(), solution.x.view(), true, false);
    } else {
        kernels::solve_triangle(turned.view(), solution.x.view(), false, false);
        kernels::solve_triangle(turned.view(), solution.x.view(), true, true);
        exchange(true);
    }
    return solution.result(true);
}

}  // namespace

void init_linear_systems(nb::module_& m) {
    m.def("solve_triangular", solve_triangular, nb::arg("a"), nb::arg("b"), nb::arg("upper"), nb::arg("left"),
          nb::arg("unitriangular"), "Inside an operation: X with a X = b, or X a = b.");
    m.def("lu_factor", lu_factor, nb::arg("a"), "Inside an operation: the factors, the pivots, and codes.");
    m.def("lu_permutation", lu_permutation, nb::arg("pivots"), nb::arg("rows"), "Inside an operation: P as booleans.");
    m.def("lu_solve", lu_solve, nb::arg("lu"), nb::arg("pivots"), nb::arg("b"), nb::arg("adjoint"),
          "Inside an operation: X with a X = b, from the factors of a.");
}

}  // namespace clew::bind
