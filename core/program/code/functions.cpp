#include "core/program/code/functions.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace clew::code {
namespace {

constexpr const char* kBeginning =
    "typedef void Call(void*);\n"
    "#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)\n"
    "#define FMA32(a, b, c) __builtin_fmaf(a, b, c)\n#define FMA64(a, b, c) __builtin_fma(a, b, c)\n"
    "#else\n#define FMA32(a, b, c) ((a) * (b) + (c))\n#define FMA64(a, b, c) ((a) * (b) + (c))\n#endif\n"
    "#ifdef __clang__\n#define LOOP _Pragma(\"clang loop vectorize(assume_safety)\")\n"
    "#else\n#define LOOP _Pragma(\"GCC ivdep\")\n#endif\n"
    "#define ROOT32(x) __builtin_sqrtf(x)\n#define ROOT64(x) __builtin_sqrt(x)\n"
    "#define SIZE32(x) __builtin_fabsf(x)\n#define SIZE64(x) __builtin_fabs(x)\n";

// Infinity and NaN are no constants of C.
std::string constant(double value, bool wide) {
    const char* const suffix = wide ? "" : "f";
    if (!wide) value = static_cast<double>(static_cast<float>(value));
    if (std::isfinite(value)) return format("%a%s", value, suffix);
    const char* const sign = std::signbit(value) ? "-" : "";
    return std::isnan(value) ? format("(%s__builtin_nan%s(\"\"))", sign, suffix)
                             : format("(%s__builtin_inf%s())", sign, suffix);
}

}  // namespace

std::string Functions::call(const Statement& of, std::string arguments) {
    const bool wide = of.expression->wide;
    for (int k = 0; k < of.expression->numbers; ++k)
        arguments += (arguments.empty() ? "" : ", ") + constant(of.numbers[k].real, wide);
    return format("f%zu(%s)", index_of(*of.expression), arguments.c_str());
}

std::size_t Functions::index_of(const kernels::Expression& expression) {
    const char* const type = type_of(expression);
    std::string parameters;
    const auto add = [&](char name) { parameters += format("%s%s %c", parameters.empty() ? "" : ", ", type, name); };
    for (int k = 0; k < expression.inputs; ++k) add(static_cast<char>('a' + k));
    for (int k = 0; k < expression.numbers; ++k) add(static_cast<char>('p' + k));
    std::string text = expression.text;
    const auto replace = [&](const std::string& from, const std::string& to) {
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
            text.replace(at, from.size(), to);
    };
    replace("(T)", format("(%s)", type));
    replace("ROOT(", expression.wide ? "ROOT64(" : "ROOT32(");
    replace("SIZE(", expression.wide ? "SIZE64(" : "SIZE32(");
    const std::string whole = format("(%s) { return %s; }\n", parameters.c_str(), text.c_str());
    const std::string signature = format("static inline %s ", type);
    const auto found = std::ranges::find(functions_, signature + whole);
    if (found != functions_.end()) return static_cast<std::size_t>(found - functions_.begin());
    functions_.push_back(signature + whole);
    return functions_.size() - 1;
}

std::string Functions::text() const {
    std::string text = kBeginning;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
        const std::size_t parameters = functions_[i].find('(');
        text += functions_[i].substr(0, parameters) + format("f%zu", i) + functions_[i].substr(parameters);
    }
    return text;
}

}  // namespace clew::code
