#include "core/base/object.h"

namespace clew {

Runtime runtime;

}  // namespace clew
