#include "core/base/error.h"

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace clew {
namespace {

std::string formatted(const char* pattern, std::va_list arguments) {
    std::va_list measured;
    va_copy(measured, arguments);
    const int size = std::vsnprintf(nullptr, 0, pattern, measured);
    va_end(measured);
    std::string text(static_cast<std::size_t>(size), '\0');
    std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
    return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
Error::Error(const Error& other) = default;
Error::~Error() = default;

std::string format(const char* pattern, ...) {
    std::va_list arguments;
    va_start(arguments, pattern);
    std::string text = formatted(pattern, arguments);
    va_end(arguments);
    return text;
}

void fail(ErrorKind kind, const char* pattern, ...) {
    std::va_list arguments;
    va_start(arguments, pattern);
    std::string text = formatted(pattern, arguments);
    va_end(arguments);
    throw Error(kind, std::move(text));
}

}  // namespace clew
