// What only CPython 3.11 has, or has in another way than later versions.
#include "bind/watch/watch.h"

#if CLEW_READS_FRAMES && PY_VERSION_HEX < 0x030C0000

#include <opcode.h>

namespace clew::bind {

bool Watch::go_by_version() {
    switch (opcode_) {
        case LOAD_ATTR:
        case LOAD_METHOD:
            tracer_.attribute(top(), name(argument_));
            return true;
        case COMPARE_OP:
            tracer_.compare(top(2), top(1), argument_);
            return true;
        case UNARY_POSITIVE:
            tracer_.contents(top());
            return true;
        case UNARY_NOT:
        case JUMP_IF_FALSE_OR_POP:
        case JUMP_IF_TRUE_OR_POP:
        case POP_JUMP_FORWARD_IF_FALSE:
        case POP_JUMP_FORWARD_IF_TRUE:
        case POP_JUMP_BACKWARD_IF_FALSE:
        case POP_JUMP_BACKWARD_IF_TRUE:
            tracer_.truth(top());
            return true;
        case LOAD_CLASSDEREF:
        case IMPORT_STAR:
        case PRINT_EXPR:
            tracer_.define_class();
            return true;
        default:
            return false;
    }
}

}  // namespace clew::bind

#endif
