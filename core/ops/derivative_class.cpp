#include "core/ops/derivative_class.h"

#include <string>

#include "core/base/error.h"

namespace clew {
namespace {

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

// Calls body(part) for each of the parts between separators.
template <class Body>
void for_each_part(std::string_view text, char separator, const Body& body) {
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        body(trimmed(text.substr(begin, end - begin)));
        begin = end + 1;
    }
}

// The place of the argument among the tensors (and lists of them), or among the others.
int place_of(std::string_view name, bool among_tensors, const Schema& schema) {
    int place = 0;
    for (const Argument& argument : schema.arguments) {
        if (is_tensor(argument) != among_tensors) continue;
        if (argument.name == name) return place;
        ++place;
    }
    fail(ErrorKind::Value, "%s: its derivative names %s, which is no %s of its schema", schema.name.c_str(),
         std::string(name).c_str(), among_tensors ? "tensor" : "attribute");
}

}  // namespace

DerivativeClass parse_derivative_class(std::string_view text, const Schema& schema) {
    DerivativeClass found;
    found.text = text;
    if (text.empty()) return found;
    if (text == "elementwise") {
        found.kind = DerivativeClass::Elementwise;
        return found;
    }
    found.kind = DerivativeClass::Linear;
    const std::size_t end = std::min(text.find(';'), text.size());
    for_each_part(text.substr(0, end), '+', [&](std::string_view term) {
        for_each_part(term, '*', [&, &factors = found.terms.emplace_back()](std::string_view factor) {
            factors.push_back(place_of(factor, true, schema));
        });
    });
    if (end < text.size())
        for_each_part(text.substr(end + 1), ',',
                      [&](std::string_view name) { found.zeroed.push_back(place_of(name, false, schema)); });
    return found;
}

}  // namespace clew
