// What operations, and kinds of nodes, are called in files.
#pragma once
#include <string>

#include "core/ops/opdef.h"

namespace clew {

// "mul", "sum.dim" as in the registry; "native_layer_norm/backward" for a fused rule; "/alias" and others for what only
// programs have; "mul_/in_place" and the like for kinds of nodes with a name of their own. Empty: it has none.
std::string name_in_files(const NodeKind& kind);
// Null: nothing is called so, of what has been defined so far.
const OpDef* op_of_name(const std::string& name);
// Of a fused rule, whose rule it is; else null.
const OpDef* rule_of(const OpDef& op);

}  // namespace clew
