// How long something took.
#pragma once
#include <chrono>
#include <cstdint>

namespace clew::bind {

class Stopwatch {
public:
    std::int64_t nanoseconds() const {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began_).count();
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point began_ = Clock::now();
};

// Adds how long its scope takes.
class Timed {
public:
    explicit Timed(std::int64_t& sum) : sum_(sum) {}
    ~Timed() { sum_ += watch_.nanoseconds(); }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

private:
    std::int64_t& sum_;
    Stopwatch watch_;
};

}  // namespace clew::bind
