// A list of mostly few elements.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace clew {

// So many lie inside of it; only a longer one takes memory of its own.
template <class T, std::uint32_t kInside>
class Few {
    static_assert(std::is_trivially_copyable_v<T> && kInside > 0);

public:
    Few() {}
    Few(std::initializer_list<T> list) {
        for (const T& one : list) push_back(one);
    }
    Few(const Few& other) : Few() { *this = other; }
    Few(Few&& other) noexcept { take(other); }
    Few& operator=(const Few& other) {
        if (this == &other) return *this;
        clear();
        for (const T& one : other) push_back(one);
        return *this;
    }
    Few& operator=(Few&& other) noexcept {
        if (this == &other) return *this;
        give_back();
        take(other);
        return *this;
    }
    ~Few() { give_back(); }

    void push_back(const T& value) {
        const T copy = value;  // it may be one of ours
        if (size_ == room_) grow();
        data()[size_++] = copy;
    }
    void clear() { size_ = 0; }
    T* data() { return room_ == kInside ? inside_ : outside_; }
    const T* data() const { return room_ == kInside ? inside_ : outside_; }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T& operator[](std::size_t i) { return data()[i]; }
    const T& operator[](std::size_t i) const { return data()[i]; }
    const T& front() const { return data()[0]; }
    const T& back() const { return data()[size_ - 1]; }

private:
    void grow() {
        T* const larger = new T[2 * std::size_t{room_}];
        std::copy_n(data(), size_, larger);
        give_back();
        outside_ = larger;
        room_ *= 2;
    }
    void give_back() {
        if (room_ != kInside) delete[] outside_;
    }
    void take(Few& other) {
        size_ = std::exchange(other.size_, 0);
        room_ = std::exchange(other.room_, kInside);
        if (room_ == kInside)
            std::copy_n(other.inside_, size_, inside_);
        else
            outside_ = other.outside_;
    }

    std::uint32_t size_ = 0, room_ = kInside;
    union {
        T inside_[kInside];
        T* outside_;
    };
};

}  // namespace clew
