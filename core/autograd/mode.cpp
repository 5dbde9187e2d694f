#include "core/autograd/mode.h"

namespace clew {

thread_local constinit std::uint32_t mode_word = 0;

}  // namespace clew
