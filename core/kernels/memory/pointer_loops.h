// The loop behind pointers.h.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct PointersTable {
    void (*move)(char** pointers, const std::int64_t* bytes, std::int64_t count);
};

CLEW_DECLARE_TABLE(PointersTable, pointer_loops)

}  // namespace clew::kernels
