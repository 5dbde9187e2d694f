// The random generator: mt19937, giving the streams of PyTorch's CPU generator.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace clew {

class Generator {
public:
    static constexpr std::uint64_t kDefaultSeed = 67280421310721;  // PyTorch's, of a generator of one's own

    explicit Generator(std::uint64_t seed = kDefaultSeed) { this->seed(seed); }

    void seed(std::uint64_t value);  // only the low 32 bits reach the engine, as in PyTorch
    std::uint64_t initial_seed() const { return initial_seed_; }

    std::uint32_t random() {
        if (next_ == kStateWords) refill();
        std::uint32_t y = state_[next_++];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        return y ^ (y >> 18);
    }
    std::uint64_t random64() {
        const std::uint64_t high = random();
        return high << 32 | random();
    }
    // Uniform in [0, 1): 24 bits of one word, or 53 bits of two.
    float uniform_float() { return static_cast<float>(random() & 0xffffffu) * 0x1p-24f; }
    double uniform_double() { return static_cast<double>(random64() & 0x1fffffffffffffull) * 0x1p-53; }
    // One standard normal. They are made in pairs: the second waits for the next call, and is forgotten by seed().
    double normal_double();

    // Everything as bytes, in a format of our own.
    std::string get_state() const;
    void set_state(const std::string& bytes);  // Error(Value) when it is not such a state

private:
    static constexpr int kStateWords = 624;
    void refill();

    std::uint32_t state_[kStateWords];
    int next_;
    bool has_normal_;
    double normal_;
    std::uint64_t initial_seed_;
};

// The one that random functions use when they are given none.
Generator& default_generator();

}  // namespace clew
