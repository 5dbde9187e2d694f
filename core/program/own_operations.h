// Operations that only programs have.
#pragma once
#include "core/ops/opdef.h"

namespace clew {

extern const OpDef load_op;   // a constant, as a new tensor
extern const OpDef alias_op;  // another geometry on the same memory
extern const OpDef mark_dirty_op;
extern const OpDef loop_op;  // Note [Loops of programs]
struct Loop;
struct LoopAttrs {
    Loop* loop;  // of the program
};
struct AliasAttrs {
    Layout* layout;      // held by the register
    std::int64_t shift;  // in bytes, from where the input lies
    DType dtype;
};
template <class Attributes>
std::span<const char> as_bytes(const Attributes& attributes) {
    return {reinterpret_cast<const char*>(&attributes), sizeof attributes};
}

}  // namespace clew
