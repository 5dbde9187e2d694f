// Errors that the core throws. Text is always `op: what was expected, what was got, what to do`.
#pragma once
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace clew {

enum class ErrorKind { Runtime, Value, Type, Index, NotImplemented, Memory };

class Error : public std::exception {
public:
    Error(ErrorKind kind, std::string text) : kind_(kind), text_(std::move(text)) {}
    ErrorKind kind() const { return kind_; }
    const char* what() const noexcept override { return text_.c_str(); }

private:
    ErrorKind kind_;
    std::string text_;
};

// A Python exception is set already; unwind to the boundary and let it through.
class PythonError : public std::exception {};

template <class... Args>
std::string format(const char* pattern, Args... args) {
    int size = std::snprintf(nullptr, 0, pattern, args...);
    std::string text(static_cast<std::size_t>(size), '\0');
    std::snprintf(text.data(), text.size() + 1, pattern, args...);
    return text;
}
inline std::string format(const char* text) { return text; }

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, const char* pattern, Args... args) {
    throw Error(kind, format(pattern, args...));
}

}  // namespace clew
