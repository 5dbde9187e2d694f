#include "core/kernels/expressions.h"

#include <cmath>
#include <map>
#include <utility>

#include "core/kernels/elementwise/elementwise.h"
#include "core/kernels/memory/copy_loops.h"

namespace clew::kernels {
namespace {

struct Line {
    const char* text;
    int inputs, numbers;
    const Loop* plain;          // for each dtype; or, if it is null,
    const ParamLoop* numbered;  // with numbers
    double only_with = NAN;     // the first number, if the expression is that of one
};

Line line(const Loop* loops, int inputs, const char* text) { return {text, inputs, 0, loops, nullptr}; }
Line line(const ParamLoop* loops, int inputs, int numbers, const char* text) {
    return {text, inputs, numbers, nullptr, loops};
}
Line line_with(double number, const ParamLoop* loops, int inputs, const char* text) {
    return {text, inputs, 0, nullptr, loops, number};
}

using Key = std::pair<std::pair<Loop, ParamLoop>, double>;
using Known = std::map<Key, Expression>;

Known make() {
    const auto& arithmetic = kernels::arithmetic();
    const auto& unary = kernels::unary();
    const auto& activation = kernels::activation();
    const auto& parametric = kernels::parametric();
    const auto& ternary = kernels::ternary();
    const Line lines[] = {
        line(arithmetic.add, 2, "a + b"),
        line(arithmetic.sub, 2, "a - b"),
        line(arithmetic.mul, 2, "a * b"),
        line(arithmetic.div, 2, "a / b"),
        line(arithmetic.maximum, 2, "a > b || a != a ? a : b"),
        line(arithmetic.minimum, 2, "a < b || a != a ? a : b"),
        line(unary.neg, 1, "-a"),
        line(unary.abs, 1, "SIZE(a)"),
        line(unary.sign, 1, "(T)((a > 0) - (a < 0))"),
        line(unary.square, 1, "a * a"),
        line(unary.relu, 1, "a < 0 ? 0 : a"),
        line(unary.reciprocal, 1, "1 / a"),
        line(unary.sqrt, 1, "ROOT(a)"),
        line(unary.rsqrt, 1, "1 / ROOT(a)"),
        line(ternary.div_mul, 4, "SIZE(d) > (T)1e-30 && SIZE(d) < (T)1e30 ? a * d : a / b * c"),
        line(activation.sigmoid_backward, 2, "a * (b * (1 - b))"),
        line(activation.tanh_backward, 2, "a * (1 - b * b)"),
        line(activation.leaky_relu, 1, 1, "a * (a > 0 ? 1 : p)"),
        line(activation.leaky_relu_backward, 2, 1, "a * (b > 0 ? 1 : p)"),
        line(activation.hardtanh_backward, 2, 2, "b > p && b < q ? a : b == b ? 0 : b"),
        line(activation.threshold_backward, 2, 1, "b <= p ? 0 : a"),
        line(parametric.fill, 0, 1, "p"),
        line(parametric.add_scaled, 2, 1, "a + p * b"),
        line(parametric.sub_scaled, 2, 1, "a + -p * b"),
        line(parametric.threshold, 1, 2, "a <= p ? q : a"),
        line(parametric.addcmul, 3, 1, "a + p * b * c"),
        line(parametric.addcdiv, 3, 1, "a + p * b / c"),
        line_with(2, parametric.pow, 1, "a * a"),
        line_with(3, parametric.pow, 1, "a * a * a"),
        line_with(0.5, parametric.pow, 1, "ROOT(a)"),
        line_with(-1, parametric.pow, 1, "1 / a"),
        line_with(2, parametric.power_slope, 2, "a * (2 * b)"),
        line_with(3, parametric.power_slope, 2, "a * (3 * (b * b))"),
    };
    Known known;
    for (const DType dtype : {DType::Float32, DType::Float64}) {
        const auto index = static_cast<int>(dtype);
        const bool wide = dtype == DType::Float64;
        known[{{copy_loops().cast[index].to[index], nullptr}, 0}] = {"a", 1, 0, wide};
        for (const Line& one : lines) {
            const std::pair loop{one.plain ? one.plain[index] : nullptr, one.numbered ? one.numbered[index] : nullptr};
            known[{loop, std::isnan(one.only_with) ? 0 : one.only_with}] = {one.text, one.inputs, one.numbers, wide};
        }
    }
    return known;
}

}  // namespace

const Expression* expression_of(const FlatLoop& loop) {
    static const Known* const known = new Known(make());
    const auto find = [&](double number) -> const Expression* {
        const auto found = known->find({{loop.plain, loop.numbered}, number});
        return found == known->end() ? nullptr : &found->second;
    };
    const Expression* const found = find(0);
    const double number = loop.numbers[0].real;  // NaN would be found as any number
    return found || loop.plain || std::isnan(number) ? found : find(number);
}

}  // namespace clew::kernels
