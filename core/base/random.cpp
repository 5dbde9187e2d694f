#include "core/base/random.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "core/base/error.h"

namespace clew {
namespace {

// What get_state gives: this head, then the words of the engine.
struct SavedHead {
    char name[16];
    std::uint64_t initial_seed;
    double normal;
    std::int32_t next;
    std::int32_t has_normal;
};
constexpr char kStateName[16] = "clew mt19937 v1";

}  // namespace

void Generator::seed(std::uint64_t value) {
    initial_seed_ = value;
    state_[0] = static_cast<std::uint32_t>(value);
    for (std::uint32_t i = 1; i < kStateWords; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
    next_ = kStateWords;
    has_normal_ = false;
    normal_ = 0;
}

// Matsumoto and Nishimura, "Mersenne Twister" (1998). Three loops, so that no index needs a remainder.
void Generator::refill() {
    constexpr int shift = 397;
    const auto twist = [](std::uint32_t high, std::uint32_t low) {
        return ((high & 0x80000000u) | (low & 0x7fffffffu)) >> 1 ^ (low & 1u ? 0x9908b0dfu : 0u);
    };
    int i = 0;
    for (; i < kStateWords - shift; ++i) state_[i] = state_[i + shift] ^ twist(state_[i], state_[i + 1]);
    for (; i < kStateWords - 1; ++i) state_[i] = state_[i + shift - kStateWords] ^ twist(state_[i], state_[i + 1]);
    state_[i] = state_[shift - 1] ^ twist(state_[i], state_[0]);
    next_ = 0;
}

double Generator::normal_double() {
    if (has_normal_) {
        has_normal_ = false;
        return normal_;
    }
    const double angle = 2 * std::numbers::pi * uniform_double();
    const double radius = std::sqrt(-2 * std::log1p(-uniform_double()));
    normal_ = radius * std::sin(angle);
    has_normal_ = true;
    return radius * std::cos(angle);
}

std::string Generator::get_state() const {
    SavedHead head{};
    std::memcpy(head.name, kStateName, sizeof(head.name));
    head.initial_seed = initial_seed_;
    head.normal = normal_;
    head.next = next_;
    head.has_normal = has_normal_;
    std::string bytes(sizeof(head) + sizeof(state_), '\0');
    std::memcpy(bytes.data(), &head, sizeof(head));
    std::memcpy(bytes.data() + sizeof(head), state_, sizeof(state_));
    return bytes;
}

void Generator::set_state(const std::string& bytes) {
    SavedHead head{};
    const std::size_t expected = sizeof(head) + sizeof(state_);
    if (bytes.size() != expected)
        fail(ErrorKind::Value,
             "set_state: expected the %zu bytes that get_state gives, got %zu; pass its result unchanged", expected,
             bytes.size());
    std::memcpy(&head, bytes.data(), sizeof(head));
    if (std::memcmp(head.name, kStateName, sizeof(head.name)) != 0 || head.next < 0 || head.next > kStateWords)
        fail(ErrorKind::Value,
             "set_state: expected bytes that get_state gave, got others; a state of PyTorch can't be read");
    std::memcpy(state_, bytes.data() + sizeof(head), sizeof(state_));
    initial_seed_ = head.initial_seed;
    normal_ = head.normal;
    next_ = head.next;
    has_normal_ = head.has_normal != 0;
}

Generator& default_generator() {
    static Generator generator;
    return generator;
}

}  // namespace clew
