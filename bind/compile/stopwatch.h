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

}  // namespace clew::bind
