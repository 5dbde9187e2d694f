#include "bind/graph/frame.h"

#include "bind/graph/code_table.h"

#if CLEW_READS_FRAMES

#include <opcode.h>

#include <unordered_map>
#include <utility>

#include "bind/errors.h"
#include "core/base/object.h"

namespace clew::bind {
namespace {

enum class Flow { On, Branch, Jump, End };

Flow flow_of(int opcode) {
    switch (opcode) {
        case JUMP_FORWARD:
        case JUMP_BACKWARD:
        case JUMP_BACKWARD_NO_INTERRUPT:
            return Flow::Jump;
        case FOR_ITER:
        case SEND:
#if PY_VERSION_HEX >= 0x030C0000
        case POP_JUMP_IF_FALSE:
        case POP_JUMP_IF_TRUE:
        case POP_JUMP_IF_NONE:
        case POP_JUMP_IF_NOT_NONE:
#else
        case POP_JUMP_FORWARD_IF_FALSE:
        case POP_JUMP_FORWARD_IF_TRUE:
        case POP_JUMP_FORWARD_IF_NONE:
        case POP_JUMP_FORWARD_IF_NOT_NONE:
        case POP_JUMP_BACKWARD_IF_FALSE:
        case POP_JUMP_BACKWARD_IF_TRUE:
        case POP_JUMP_BACKWARD_IF_NONE:
        case POP_JUMP_BACKWARD_IF_NOT_NONE:
        case JUMP_IF_FALSE_OR_POP:
        case JUMP_IF_TRUE_OR_POP:
#endif
            return Flow::Branch;
        case RETURN_VALUE:
        case RAISE_VARARGS:
        case RERAISE:
#if PY_VERSION_HEX >= 0x030C0000
        case RETURN_CONST:
        case INTERPRETER_EXIT:
#endif
            return Flow::End;
        default:
            return Flow::On;
    }
}

bool jumps_back(int opcode) {
    switch (opcode) {
        case JUMP_BACKWARD:
        case JUMP_BACKWARD_NO_INTERRUPT:
#if PY_VERSION_HEX < 0x030C0000
        case POP_JUMP_BACKWARD_IF_FALSE:
        case POP_JUMP_BACKWARD_IF_TRUE:
        case POP_JUMP_BACKWARD_IF_NONE:
        case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
            return true;
        default:
            return false;
    }
}

// A generator begins with what is sent to it, which until 3.12 no instruction is said to put there.
int first_depth(PyCodeObject* code) {
    return (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) &&
           PyCompile_OpcodeStackEffectWithJump(RETURN_GENERATOR, 0, 0) == 0;
}

// Numbers of six bits a byte, the highest first; a further bit says that more follow.
int read_number(const unsigned char*& at) {
    int value = *at & 63;
    while (*at++ & 64) value = value << 6 | (*at & 63);
    return value;
}

}  // namespace

CodeTable::CodeTable(PyCodeObject* code) : stack_size_(code->co_stacksize) {
    const Handle bytes = Handle::steal(checked(PyCode_GetCode(code)));
    auto* const object = static_cast<PyObject*>(bytes.get());
    decode(reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(object)),
           static_cast<std::int32_t>(PyBytes_GET_SIZE(object)));
    reach(0, first_depth(code));
    find_handlers(code->co_exceptiontable);
    follow();
#ifdef PRECALL  // said to take the arguments, which are there until the call
    for (std::size_t i = 1; i < instructions_.size(); ++i)
        if (instructions_[i - 1].opcode == PRECALL) instructions_[i].depth = instructions_[i - 1].depth;
#endif
    if (disputed_)  // an instruction that we misread
        for (Instruction& one : instructions_) one.depth = -1;
}

void CodeTable::decode(const unsigned char* bytes, std::int32_t size) {
    int prefix = 0;
    for (std::int32_t offset = 0; offset < size; offset += kUnit) {
        const int opcode = bytes[offset];
        places_.push_back(opcode == CACHE ? -1 : static_cast<std::int32_t>(instructions_.size()));
        if (opcode == CACHE) continue;
        const int argument = prefix << 8 | bytes[offset + 1];
        instructions_.push_back({offset, opcode, argument, -1});
        prefix = opcode == EXTENDED_ARG ? argument : 0;
    }
}

// They find the exception on the stack, and where it was raised if that is asked for.
void CodeTable::find_handlers(PyObject* table) {
    const auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(table));
    const unsigned char* const end = at + PyBytes_GET_SIZE(table);
    while (at < end) {
        read_number(at);  // where what it handles begins,
        read_number(at);  // and how long that is
        const int target = read_number(at);
        const int depth = read_number(at);
        reach(target * kUnit, (depth >> 1) + (depth & 1) + 1);
    }
}

void CodeTable::reach(std::int32_t offset, int depth) {
    const Instruction* const found = at(offset);
    if (found == nullptr || depth > stack_size_ || (found->depth >= 0 && found->depth != depth)) {
        disputed_ = true;
    } else if (found->depth < 0) {
        const std::int32_t place = places_[static_cast<std::size_t>(offset / kUnit)];
        instructions_[static_cast<std::size_t>(place)].depth = depth;
        waiting_.push_back(place);
    }
}

void CodeTable::follow() {
    while (!waiting_.empty()) {
        const auto place = static_cast<std::size_t>(waiting_.back());
        waiting_.pop_back();
        const Instruction one = instructions_[place];
        const Flow flow = flow_of(one.opcode);
        const std::int32_t next = place + 1 < instructions_.size() ? instructions_[place + 1].offset
                                                                   : static_cast<std::int32_t>(places_.size()) * kUnit;
        const auto depth_after = [&](int jump) {
            return one.depth + PyCompile_OpcodeStackEffectWithJump(one.opcode, one.argument, jump);
        };
        if (flow == Flow::Branch || flow == Flow::Jump)
            reach(next + (jumps_back(one.opcode) ? -one.argument : one.argument) * kUnit, depth_after(1));
        if (flow == Flow::On || flow == Flow::Branch) reach(next, depth_after(0));
    }
}

// Codes are kept alive, so that an address stays theirs.
const CodeTable& table_of(PyCodeObject* code) {
    static constinit std::pair<PyCodeObject*, const CodeTable*> last;  // mostly it is asked for the same again
    if (last.first == code) return *last.second;
    static auto* const known = new std::unordered_map<PyCodeObject*, CodeTable>;
    if (const auto it = known->find(code); it != known->end()) {
        last = {code, &it->second};
        return it->second;
    }
    constexpr std::size_t kMost = 1000;  // a program that makes code without end
    if (known->size() >= kMost) {
        std::unordered_map<PyCodeObject*, CodeTable> old;
        old.swap(*known);
        last = {};
        for (const auto& [each, table] : old) Py_DECREF(each);
    }
    CodeTable table(code);
    Py_INCREF(code);
    return known->emplace(code, std::move(table)).first->second;
}

}  // namespace clew::bind

#endif
