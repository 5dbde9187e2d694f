// A short list whose memory is that of slabs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/slabs.h"

namespace clew {

// Of many such lists one lies behind the other. What a list has outgrown is given back with the slabs.
template <class T>
class SlabList {
public:
    SlabList() = default;
    SlabList(Slabs& slabs, std::size_t size) {
        reserve(slabs, size);
        std::uninitialized_value_construct_n(data_, size);
        size_ = static_cast<std::uint32_t>(size);
    }
    SlabList(SlabList&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          room_(std::exchange(other.room_, 0)) {}
    SlabList& operator=(SlabList&& other) noexcept {
        SlabList taken(std::move(other));
        std::swap(data_, taken.data_);
        std::swap(size_, taken.size_);
        std::swap(room_, taken.room_);
        return *this;
    }
    ~SlabList() { std::destroy_n(data_, size_); }

    void reserve(Slabs& slabs, std::size_t room) {
        if (room <= room_) return;
        T* const larger = static_cast<T*>(slabs.take(room * sizeof(T)));
        std::uninitialized_move_n(data_, size_, larger);
        std::destroy_n(data_, size_);
        data_ = larger;
        room_ = static_cast<std::uint32_t>(room);
    }
    T& emplace_back(Slabs& slabs, T&& value = T()) {
        reserve(slabs, std::size_t{size_} + 1 > room_ ? 2 * std::size_t{size_} + 1 : room_);
        return *::new (data_ + size_++) T(std::move(value));
    }
    void insert(Slabs& slabs, std::size_t place, T&& value) {
        emplace_back(slabs, std::move(value));
        for (std::size_t i = size_; --i > place;) std::swap(data_[i], data_[i - 1]);
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

private:
    T* data_ = nullptr;
    std::uint32_t size_ = 0, room_ = 0;
};

}  // namespace clew
