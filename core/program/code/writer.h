// Writes C for a run of captured calls.
//
// Note [Code of calls]
// What is written is a function `run(p, n, call)`. `p` is a table of pointers, to operands and to calls that stay as
// they are; it is read from front to back. Calls over a few elements whose loops are expressions (Note [Loops as
// expressions]) become statements on single elements: what one call makes and another reads is a variable, and memory
// that nothing else reads is not written at all. Over more elements they become loops, and calls that have a block of C
// (Note [Calls as C]) that block: these work in memory. Others are called.
//
// Calls are cut into chunks. Chunks that come out as the same text, one behind the other, are one loop; how often it
// runs is in `n`. So neither the text nor the time to compile it grows with how often a step repeats itself, and there
// are no addresses in the text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/few.h"
#include "core/kernels/expressions.h"

namespace clew::code {

struct Access {
    std::int64_t offset;  // in bytes, from the start of the memory
    std::int64_t stride;  // in elements
    int memory;
    bool written;
};

struct Statement {
    const kernels::Expression* expression = nullptr;
    kernels::CBlock block{};  // without an expression. None: the call itself
    bool in_memory = false;   // the expression as a loop
    kernels::Number numbers[3]{};
    int count = 0;
    bool is_call() const { return expression == nullptr && block.text.empty(); }
    bool by_elements() const { return expression && !in_memory; }
    std::optional<bool> wide() const {
        if (expression) return expression->wide;
        return block.text.empty() ? std::nullopt : std::optional(block.wide);
    }
    Few<Access, 3> accesses{};  // in the order of the call's operands
};

struct MemoryUse {
    bool outside = true;  // somebody else reads it afterwards
    bool input = false;   // two inputs may overlap
};

struct Entry {  // of the table
    int statement;
    int access;  // -1: the call
};

struct Text {
    std::string source;
    std::vector<Entry> table;
    std::vector<long> repeats;
    int folded = 0;             // statements on elements that stand for all
    bool side_by_side = false;  // most of these elements lie in groups that a vector may hold
    bool loops = false;         // there are loops over elements
    bool vectors = false;       // it is loops over many elements
    bool fused = false;         // a product and a sum may be rounded at once
};

inline constexpr int kFewElements = 16, kManyElements = 1024;  // beyond which a call costs little

// Empty source: nothing would be gained.
Text write(std::vector<Statement> statements, const std::vector<MemoryUse>& memories);

}  // namespace clew::code
