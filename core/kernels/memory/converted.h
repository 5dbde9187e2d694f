// Runs a loop over kernel dtypes on operands that are stored in others, block by block in the first-level cache.
#pragma once
#include "core/kernels/memory/copy.h"
#include "core/kernels/memory/iterate.h"

namespace clew::kernels {

class Conversions {
public:
    // The loop reads `in` from each input that is not of its own kind, and writes `result`.
    Conversions(DType in, DType result, const View& out, std::span<const View> inputs, std::size_t first);

    // loop(data, strides, count), over any number of elements.
    template <class Body>
    void run(const Body& loop, char* const* data, const std::int64_t* strides, std::int64_t count) const {
        alignas(64) char buffers[kMaxInputs + 1][kConverted * 16];
        char* block[kMaxInputs + 1];
        std::int64_t steps[kMaxInputs + 1];
        for (std::int64_t begin = 0; begin < count; begin += kConverted) {
            const std::int64_t length = count - begin < kConverted ? count - begin : kConverted;
            for (int k = 0; k < operands_; ++k) {
                char* const place = data[k] + begin * strides[k];
                const bool convert = paths_[k].count != 0;
                block[k] = convert ? buffers[k] : place;
                steps[k] = !convert ? strides[k] : k > 0 && strides[k] == 0 ? 0 : sizes_[k];
                if (convert && k > 0)
                    paths_[k].run(buffers[k], sizes_[k], place, strides[k], strides[k] == 0 ? 1 : length);
            }
            loop(block, steps, length);
            if (paths_[0].count != 0)
                paths_[0].run(data[0] + begin * strides[0], strides[0], buffers[0], sizes_[0], length);
        }
    }

private:
    int operands_;
    Conversion paths_[kMaxInputs + 1];
    std::int64_t sizes_[kMaxInputs + 1];  // of the elements in the buffers
};

}  // namespace clew::kernels
