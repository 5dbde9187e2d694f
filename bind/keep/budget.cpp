#include "bind/keep/budget.h"

#include "core/budget/budget.h"

namespace nb = nanobind;

namespace clew::bind {

void init_budget(nb::module_& module) {
    using budget::Budget;
    nb::class_<Budget>(module, "Budget", "Keeps what the graphs of a block save below a number of bytes.")
        .def(nb::init<std::int64_t>())
        .def("begin", &Budget::begin)
        .def("end", &Budget::end)
        .def("check", &Budget::check, "Raises BudgetError if a forward has taken more.")
        .def(
            "report",
            [](const Budget& self) {
                const budget::Report& report = self.report();
                return nb::make_tuple(report.peak, report.dropped, report.drops, report.recomputed,
                                      report.recompute_ns);
            },
            "(peak, bytes dropped, how often, steps computed again, nanoseconds)");
}

}  // namespace clew::bind
