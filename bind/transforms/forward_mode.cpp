#include "bind/transforms/forward_mode.h"

#include <vector>

#include <nanobind/stl/vector.h>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/base/error.h"
#include "core/ops/forward/dual_level.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

Tensor tensor_from(nb::handle object) { return bind::tensor_from(object.ptr(), "forward_ad"); }

nb::object given(const Tensor& tensor) { return tensor ? nb::steal(wrap(tensor)) : nb::none(); }

std::vector<std::int64_t> numbers() {
    std::vector<std::int64_t> found;
    for (const auto& level : open_levels()) found.push_back(level->number());
    return found;
}

}  // namespace

void init_forward_mode(nb::module_& module) {
    module.def("open_dual_level", &open_level, "Opens a dual level on this thread; gives its number.");
    module.def("close_dual_level", &close_level, nb::arg("level"), "Closes the level that was opened last.");
    module.def("dual_levels", &numbers, "The levels that are open on this thread, from the outermost.");
    module.def(
        "suspend_dual_level",
        [](std::int64_t level, bool suspended) { return std::exchange(level_of(level).suspended, suspended); },
        nb::arg("level"), nb::arg("suspended"),
        "Whether calls pass the level as if no tensor had a tangent; gives what it was before.");
    module.def(
        "make_dual",
        [](std::int64_t level, nb::handle primal, nb::handle tangent) {
            return given(make_dual(level_of(level), tensor_from(primal), tensor_from(tangent)));
        },
        nb::arg("level"), nb::arg("primal"), nb::arg("tangent"), "A view of the primal that has the tangent.");
    module.def(
        "primal_of",
        [](std::int64_t level, nb::handle dual) { return given(primal_of(level_of(level), tensor_from(dual))); },
        nb::arg("level"), nb::arg("dual"), "A view of the tensor that has no tangent along the level.");
    module.def(
        "tangent_of",
        [](std::int64_t level, nb::handle dual) { return given(tangent_of(level_of(level), tensor_from(dual))); },
        nb::arg("level"), nb::arg("dual"), "The tangent of the tensor along the level, or None.");
    module.def(
        "give_tangent",
        [](std::int64_t level, nb::handle output, nb::handle tangent, const std::vector<nb::object>& inputs) {
            std::vector<Tensor> tensors;
            for (const nb::object& input : inputs) tensors.push_back(tensor_from(input));
            give_tangent(level_of(level), tensor_from(output), tensor_from(tangent), tensors);
        },
        nb::arg("level"), nb::arg("output"), nb::arg("tangent"), nb::arg("inputs"),
        "Gives what a Function made of its inputs its tangent along the level.");
    module.def(
        "write_tangent",
        [](std::int64_t level, nb::handle tensor, nb::handle tangent) {
            write_tangent(level_of(level), tensor_from(tensor), tangent.is_none() ? Tensor() : tensor_from(tangent));
        },
        nb::arg("level"), nb::arg("tensor"), nb::arg("tangent").none(),
        "The tangent of a tensor that was written; None is zeros.");
    module.def(
        "asks_for_derivative", [](nb::handle tensor) { return asks_for_derivative(tensor_from(tensor)); },
        nb::arg("tensor"), "Whether a graph or a dual level asks for the derivative by this tensor.");
    module.def(
        "carry_tangents", [](nb::handle from, nb::handle to) { carry_tangents(tensor_from(from), tensor_from(to)); },
        nb::arg("source"), nb::arg("target"),
        "Gives `target` the tangents that `source`, the same value, has along all levels.");
}

}  // namespace clew::bind
