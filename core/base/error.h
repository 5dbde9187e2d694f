// Errors that the core throws. Text is always `op: what was expected, what was got, what to do`.
#pragma once
#include <exception>
#include <string>

namespace clew {

enum class ErrorKind { Runtime, Value, Type, Index, NotImplemented, Memory };

class Error : public std::exception {
public:
    Error(ErrorKind kind, std::string text);
    Error(const Error& other);
    ~Error() override;
    ErrorKind kind() const { return kind_; }
    const char* what() const noexcept override { return text_.c_str(); }

private:
    ErrorKind kind_;
    std::string text_;
};

// A Python exception is set already; unwind to the boundary and let it through.
class PythonError : public std::exception {};

// As printf.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void fail(ErrorKind kind, const char* pattern, ...);

}  // namespace clew
