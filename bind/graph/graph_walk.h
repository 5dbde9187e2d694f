// Walks over a graph that answer questions about it without making a Python object for each node.
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_graph_walk(nanobind::module_& m);

}  // namespace clew::bind
