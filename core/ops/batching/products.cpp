// Products of matrices: the batch is one more leading axis of a matmul.
#include <algorithm>
#include <cmath>

#include "core/ops/batching/rules.h"
#include "core/ops/functions.h"

namespace clew::batching {
namespace {

bool fits(const Call& call, std::size_t i, int rank) { return call.has(i) && call.rank(i) == rank; }

// Of inputs a and b, whose samples are at least vectors.
Tensor multiplied(const Call& call, std::size_t a, std::size_t b) {
    const int rank_a = call.rank(a), rank_b = call.rank(b);
    Tensor left = call.values[a], right = call.values[b];
    if (rank_a == 1 && rank_b == 1) {
        if (!call.batched(a)) std::swap(left, right);
        if (call.batched(a) && call.batched(b)) return squeeze(matmul(unsqueeze(left, 1), unsqueeze(right, 2)), 1);
        return matmul(left, right);
    }
    if (rank_b == 1 && rank_a == 2 && !call.batched(a)) return matmul(right, t(left));
    if (rank_b == 1 && call.batched(b)) {
        Tensor columns = unsqueeze(right, 2);
        if (rank_a > 2) columns = at_rank(columns, rank_a);
        return squeeze(matmul(left, columns), -1);
    }
    if (rank_a == 1 && rank_b == 2 && !call.batched(b)) return matmul(left, right);
    if (rank_a == 1 && call.batched(a)) {
        Tensor rows = unsqueeze(left, 1);
        if (rank_b > 2) rows = at_rank(rows, rank_b);
        return squeeze(matmul(rows, right), -2);
    }
    const int rank = std::max(rank_a, rank_b);
    if (call.batched(a) && rank_a > 1) left = at_rank(left, rank);
    if (call.batched(b) && rank_b > 1) right = at_rank(right, rank);
    return matmul(left, right);
}

template <int kA, int kB>
bool product_of(const Call& call) {
    if (!fits(call, 0, kA) || !fits(call, 1, kB) || call.call.form != Form::Functional) return false;
    const Tensor& a = call.call.inputs[0];
    const Tensor& b = call.call.inputs[1];
    if (a.dtype() != b.dtype() || a.size(kA - 1) != b.size(std::max(kB - 2, 0)) || (kA == 3 && a.size(0) != b.size(0)))
        return false;
    Tensor result = multiplied(call, 0, 1);
    if (kA == 1 && kB == 1) result = reshape(result, Dims{call.by.size});
    call.give(0, result);
    return true;
}

bool matmul_of(const Call& call) {
    if (!call.has(0) || !call.has(1) || call.rank(0) == 0 || call.rank(1) == 0) return false;
    Tensor result = multiplied(call, 0, 1);
    if (call.rank(0) == 1 && call.rank(1) == 1) result = reshape(result, Dims{call.by.size});
    call.give(0, result);
    return true;
}

// NaN if it is complex.
double factor(const Value& value) {
    if (value.tag == Value::Complex) return std::nan("");
    return value.tag == Value::Float ? value.real : static_cast<double>(value.integer);
}

// beta * self + alpha * (a @ b)
template <int kA, int kB>
bool added_product(const Call& call) {
    if (!call.has(0) || !fits(call, 1, kA) || !fits(call, 2, kB) || call.call.form != Form::Functional) return false;
    const Tensor& a = call.call.inputs[1];
    const Tensor& b = call.call.inputs[2];
    if (a.dtype() != b.dtype() || call.call.inputs[0].dtype() != a.dtype() ||
        a.size(kA - 1) != b.size(std::max(kB - 2, 0)) || (kA == 3 && a.size(0) != b.size(0)))
        return false;
    const AttributeCopy attributes(call.op(), call.call.attributes);
    const double beta = factor(attributes.get("beta")), alpha = factor(attributes.get("alpha"));
    if (alpha == 0 || std::isnan(alpha) || std::isnan(beta)) return false;
    const int rank = kA + kB - 2 - (kA == 3 ? 1 : 0);
    if (call.rank(0) > rank) return false;
    Tensor result = call.batched(1) || call.batched(2) ? multiplied(call, 1, 2) : matmul(a, b);
    if (alpha != 1) result = mul(result, alpha);
    if (beta != 0) {
        Tensor self = call.batched(0) ? at_rank(call.values[0], rank) : call.values[0];
        if (beta != 1) self = mul(self, beta);
        result = add(self, result);
    }
    call.give(0, result);
    return true;
}

// Products of rules, whose factors may be read transposed.
template <int kRank>
bool product_of_rules(const Call& call) {
    if (!fits(call, 0, kRank) || !fits(call, 1, kRank)) return false;
    const AttributeCopy attributes(call.op(), call.call.attributes);
    const auto factor = [&](std::size_t i, const char* flag) {
        Tensor value = call.batched(i) ? at_rank(call.values[i], kRank) : call.values[i];
        return attributes.get(flag).integer ? transpose(value, value.ndim() - 2, value.ndim() - 1) : value;
    };
    call.give(0, matmul(factor(0, "transpose_self"), factor(1, "transpose_other")));
    return true;
}

}  // namespace

Rule product_rule(BatchBy batching) {
    switch (batching) {
        case BatchBy::Matmul:
            return matmul_of;
        case BatchBy::Mm:
            return product_of<2, 2>;
        case BatchBy::Bmm:
            return product_of<3, 3>;
        case BatchBy::Mv:
            return product_of<2, 1>;
        case BatchBy::Dot:
            return product_of<1, 1>;
        case BatchBy::Addmm:
            return added_product<2, 2>;
        case BatchBy::Addmv:
            return added_product<2, 1>;
        case BatchBy::Baddbmm:
            return added_product<3, 3>;
        case BatchBy::Product:
            return product_of_rules<2>;
        case BatchBy::BatchedProduct:
            return product_of_rules<3>;
        default:
            return nullptr;
    }
}

}  // namespace clew::batching
