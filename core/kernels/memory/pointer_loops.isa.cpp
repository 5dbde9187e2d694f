#include "core/kernels/memory/pointer_loops.h"

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

void move(char** pointers, const int64_t* bytes, int64_t count) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) pointers[i] += bytes[i];
}

}  // namespace

CLEW_EXPORT_TABLE(PointersTable, pointer_loops, {move});

}  // namespace clew::kernels
