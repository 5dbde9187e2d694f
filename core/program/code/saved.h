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
    // Whether the bits are there, where any NaN is as good as another.
    template <class T>
    bool is_there() const {
        return std::ranges::all_of(parts_, [](const auto& part) {
            const auto& [begin, bytes] = part;
            for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
                const std::size_t left = std::min(sizeof(T), bytes.size() - at);
                if (std::memcmp(begin + at, bytes.data() + at, left) == 0) continue;
                if (left < sizeof(T) || !is_nan<T>(begin + at) || !is_nan<T>(bytes.data() + at)) return false;
            }
            return true;
        });
    }

private:
    template <class T>
    static bool is_nan(const char* place) {
        T value;
        std::memcpy(&value, place, sizeof value);
        return std::isnan(value);
    }
    std::vector<std::pair<char*, std::string>> parts_;
};

}  // namespace clew::code
