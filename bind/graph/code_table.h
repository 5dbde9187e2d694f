// The instructions of a piece of code, and how deep the interpreter's stack is at each.
//
// Note [Depths of the stack]
// While a frame runs, the interpreter keeps the top of its stack to itself; but the depth at an instruction is the same
// each time, so it can be worked out from the code, as the compiler did: along all jumps, and from where the table of
// exceptions says that handlers begin.
#pragma once
#include <Python.h>

#include <cstdint>
#include <vector>

namespace clew::bind {

struct Instruction {
    std::int32_t offset;
    int opcode, argument;  // as compiled, with the whole argument
    int depth;             // operands included; -1 where nothing leads
};

class CodeTable {
public:
    explicit CodeTable(PyCodeObject* code);
    const Instruction* at(std::int32_t offset) const {  // null if none begins there
        const auto unit = static_cast<std::size_t>(offset / kUnit);
        if (offset < 0 || unit >= places_.size() || places_[unit] < 0) return nullptr;
        return &instructions_[static_cast<std::size_t>(places_[unit])];
    }
    const Instruction* end() const { return instructions_.data() + instructions_.size(); }

private:
    static constexpr std::int32_t kUnit = 2;  // bytes of an opcode and its argument

    void decode(const unsigned char* bytes, std::int32_t size);
    void find_handlers(PyObject* table);
    void follow();
    void reach(std::int32_t offset, int depth);

    std::vector<Instruction> instructions_;
    std::vector<std::int32_t> places_;   // of each code unit, in instructions_; -1 for a cache
    std::vector<std::int32_t> waiting_;  // reached, and not followed yet
    int stack_size_;
    bool disputed_ = false;
};

// Worked out once for each code.
const CodeTable& table_of(PyCodeObject* code);

}  // namespace clew::bind
