// Programs as plain Python data, of which src/clew/keep/files.py makes files.
#pragma once
#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "core/program/program.h"

namespace clew::bind {

Program& program_of(nanobind::handle core_program);

// Attributes of a step: those of the schema; before them, of a fused rule, what FusedHeader has.
nanobind::list attributes_to_python(const OpDef& op, const char* attributes);
std::vector<char> attributes_from_python(const OpDef& op, nanobind::handle list);

nanobind::object geometry_to_python(const Layout& layout, std::int64_t offset, DType dtype);
struct Geometry {
    LayoutRef layout;
    std::int64_t offset;
    DType dtype;
};
Geometry geometry_from_python(nanobind::handle data);
// (file, function, line), or None.
nanobind::object site_to_python(const Handle& code, std::int32_t instruction);
Handle site_from_python(nanobind::handle data);

// A number below `limit`, from -1 on where that says that there is none.
int index_from_python(nanobind::handle number, std::size_t limit, bool optional = false);

// Fails for what a file can't hold: Functions, hooks. `op` begins the message.
void check_plain(const char* op, const Node& node);
[[noreturn]] void refuse_node(const char* op, const Node& node, const char* what);
std::string kind_name(const char* op, const Node& node);
// Also of those that nobody has asked for in this process. Null: nothing of ours is called so.
const OpDef* op_in_file(const std::string& name);
const NodeKind& kind_of_name(const std::string& name);

// Nodes of the graphs of living tensors, the oldest first.
nanobind::list nodes_to_python(const Program& program, const std::vector<int>& kept);
std::vector<int> nodes_below(const Program& program, Node* root, std::vector<int> found);
void nodes_from_python(Program& program, nanobind::list data, std::vector<NodeRef>& made);

nanobind::dict program_to_python(nanobind::handle core_program, nanobind::list named);
// `attached`: tensors of the block belong to the program from now on; else it is only checked.
void program_from_python(nanobind::handle core_program, nanobind::handle data, bool attached);

void init_graph_file(nanobind::module_& module);
void init_program_file(nanobind::module_& module);

}  // namespace clew::bind
