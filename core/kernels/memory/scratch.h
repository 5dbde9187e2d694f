// Memory that a kernel needs for the time of one call, aligned to 64 bytes. Each thread keeps one block for its next
// call.
#pragma once
#include <cstddef>

namespace clew::kernels {

class Scratch {
public:
    explicit Scratch(std::size_t bytes);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

private:
    void* data_;
    std::size_t bytes_;
};

}  // namespace clew::kernels
