// A list that grows without moving what is in it.
#pragma once
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/slabs.h"

namespace clew {

// In segments of `kEach` elements (a power of two), whose memory is the slabs'.
template <class T, std::size_t kEach = 16>
class Segmented {
    template <class List, class Element>
    class At {
    public:
        using difference_type = std::ptrdiff_t;
        using value_type = T;
        At() = default;
        At(List* list, std::size_t i) : list_(list), i_(i) {}
        Element& operator*() const { return (*list_)[i_]; }
        Element* operator->() const { return &(*list_)[i_]; }
        At& operator++() {
            ++i_;
            return *this;
        }
        At operator++(int) { return {list_, i_++}; }
        bool operator==(const At& other) const { return i_ == other.i_; }

    private:
        List* list_ = nullptr;
        std::size_t i_ = 0;
    };

public:
    using value_type = T;
    explicit Segmented(Slabs& slabs) : slabs_(&slabs) {}
    Segmented(Segmented&& other) noexcept { swap(other); }
    Segmented& operator=(Segmented&& other) noexcept {
        Segmented(std::move(other)).swap(*this);
        return *this;
    }
    ~Segmented() { clear(); }

    // Made where it stays: T{parts...}, or with nothing but what its members say, which compilers take for less work.
    template <class... Parts>
    T& emplace_back(Parts&&... parts) {
        if (size_ % kEach == 0 && size_ / kEach == segments_.size())
            segments_.push_back(static_cast<T*>(slabs_->take(kEach * sizeof(T))));
        void* const place = segments_[size_ / kEach] + size_ % kEach;
        ++size_;
        if constexpr (sizeof...(parts) == 0)
            return *::new (place) T;
        else
            return *::new (place) T{std::forward<Parts>(parts)...};
    }
    T& push_back(T&& value) { return emplace_back(std::move(value)); }
    void clear() {
        for (T& one : *this) std::destroy_at(&one);
        size_ = 0;
    }
    void pop_back() { std::destroy_at(&(*this)[--size_]); }
    T& operator[](std::size_t i) { return segments_[i / kEach][i % kEach]; }
    const T& operator[](std::size_t i) const { return segments_[i / kEach][i % kEach]; }
    T& back() { return (*this)[size_ - 1]; }
    const T& back() const { return (*this)[size_ - 1]; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    auto begin() { return At<Segmented, T>(this, 0); }
    auto end() { return At<Segmented, T>(this, size_); }
    auto begin() const { return At<const Segmented, const T>(this, 0); }
    auto end() const { return At<const Segmented, const T>(this, size_); }

private:
    void swap(Segmented& other) noexcept {
        std::swap(slabs_, other.slabs_);
        std::swap(segments_, other.segments_);
        std::swap(size_, other.size_);
    }

    Slabs* slabs_ = nullptr;
    std::vector<T*> segments_;
    std::size_t size_ = 0;
};

}  // namespace clew
