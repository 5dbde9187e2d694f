// The expressions of loops as functions in C.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/program/code/writer.h"

namespace clew::code {

class Functions {
public:
    // A call of the function, with `arguments` for the inputs; the statement's numbers follow them.
    std::string call(const Statement& of, std::string arguments);
    std::string text() const;  // definitions, with what they need

private:
    std::size_t index_of(const kernels::Expression& expression);
    std::vector<std::string> functions_;
};

inline const char* type_of(const kernels::Expression& expression) { return expression.wide ? "double" : "float"; }

}  // namespace clew::code
