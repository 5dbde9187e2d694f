// A list of mostly few elements.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace clew {

// So many lie inside of it; only a longer one takes memory of its own, in room for a power of two.
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
        clear();
        take(other);
        return *this;
    }
    ~Few() { clear(); }

    void push_back(const T& value) {
        const T copy = value;  // it may be one of ours
        if (size_ >= kInside && (size_ == kInside || std::has_single_bit(size_))) grow();
        ++size_;
        data()[size_ - 1] = copy;
    }
    void clear() {
        if (size_ > kInside) delete[] outside();
        size_ = 0;
    }
    T* data() { return size_ <= kInside ? reinterpret_cast<T*>(place_) : outside(); }
    const T* data() const { return size_ <= kInside ? reinterpret_cast<const T*>(place_) : outside(); }
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
    T* outside() const {
        T* pointer;
        std::memcpy(&pointer, place_, sizeof pointer);
        return pointer;
    }
    void grow() {
        T* const larger = new T[std::bit_ceil(std::size_t{size_} + 1)];
        std::copy_n(data(), size_, larger);
        if (size_ > kInside) delete[] outside();
        std::memcpy(place_, &larger, sizeof larger);
    }
    void take(Few& other) {
        size_ = std::exchange(other.size_, 0);
        if (size_ > kInside)
            std::memcpy(place_, other.place_, sizeof(T*));
        else
            for (std::uint32_t i = 0; i < size_; ++i)
                reinterpret_cast<T*>(place_)[i] = reinterpret_cast<const T*>(other.place_)[i];
    }

    std::uint32_t size_ = 0;
    alignas(T) unsigned char place_[std::max(kInside * sizeof(T), sizeof(T*))];  // the elements, or where they are
};

}  // namespace clew
