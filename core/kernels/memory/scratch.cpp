#include "core/kernels/memory/scratch.h"

#include <new>
#include <utility>

namespace clew::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kMostKept = std::size_t{8} << 20;

struct Kept {
    void* data = nullptr;
    std::size_t bytes = 0;
    ~Kept() { ::operator delete(data, kAlignment); }
};
thread_local Kept kept;

}  // namespace

Scratch::Scratch(std::size_t bytes) : data_(nullptr), bytes_(bytes) {
    if (bytes == 0) return;
    if (kept.bytes >= bytes) {
        data_ = std::exchange(kept.data, nullptr);
        bytes_ = std::exchange(kept.bytes, 0);
    }
    if (data_ == nullptr) data_ = ::operator new(bytes_, kAlignment);
}

Scratch::~Scratch() {
    if (data_ == nullptr) return;
    if (bytes_ > kept.bytes && bytes_ <= kMostKept) {
        std::swap(data_, kept.data);
        std::swap(bytes_, kept.bytes);
    }
    ::operator delete(data_, kAlignment);
}

}  // namespace clew::kernels
