// Memory as it was, for who tries something and compares.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace clew::code {

// What memory holds now, and puts it back.
class Saved {
public:
    void add(char* begin, char* end) { parts_.push_back({begin, std::string(begin, end)}); }
    void put_back() const {
        for (const auto& [begin, bytes] : parts_) std::memcpy(begin, bytes.data(), bytes.size());
    }
    // Whether the bits are there, where any NaN is as good as another; or numbers near them, if `bound` is not zero: a
    // part of the largest one.
    template <class T>
    bool is_there(double bound) const {
        return std::ranges::all_of(parts_, [&](const auto& part) { return is_part_there<T>(part, bound); });
    }

private:
    using Part = std::pair<char*, std::string>;
    template <class T>
    static bool is_part_there(const Part& part, double bound) {
        const auto& [begin, bytes] = part;
        const double near = bound == 0 ? 0 : bound * largest<T>(bytes);
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
            const std::size_t left = std::min(sizeof(T), bytes.size() - at);
            if (std::memcmp(begin + at, bytes.data() + at, left) == 0) continue;
            if (left < sizeof(T)) return false;
            const double found = number<T>(begin + at), wanted = number<T>(bytes.data() + at);
            if (std::isnan(found) && std::isnan(wanted)) continue;
            if (!(std::abs(found - wanted) <= near) || near == 0) return false;
        }
        return true;
    }
    template <class T>
    static double largest(const std::string& bytes) {
        double most = 0;
        for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T))
            if (const double size = std::abs(number<T>(bytes.data() + at)); std::isfinite(size))
                most = std::max(most, size);
        return most;
    }
    template <class T>
    static double number(const char* place) {
        T value;
        std::memcpy(&value, place, sizeof value);
        return static_cast<double>(value);
    }
    std::vector<Part> parts_;
};

}  // namespace clew::code
