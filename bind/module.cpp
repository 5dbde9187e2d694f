// The module clew._core.
#include <nanobind/nanobind.h>

#include "bind/calls/backward.h"
#include "bind/calls/function.h"
#include "bind/calls/linear_systems.h"
#include "bind/calls/operation.h"
#include "bind/calls/optimizer_step.h"
#include "bind/calls/python_operation.h"
#include "bind/data/interop.h"
#include "bind/errors.h"
#include "bind/graph/graph_totals.h"
#include "bind/graph/graph_walk.h"
#include "bind/graph/prune.h"
#include "bind/graph/site.h"
#include "bind/graph/watching.h"
#include "bind/keep/budget.h"
#include "bind/keep/compiled.h"
#include "bind/keep/program.h"
#include "bind/modes.h"
#include "bind/transforms/autocast.h"
#include "bind/transforms/forward_mode.h"
#include "bind/transforms/interpreter.h"
#include "bind/transforms/vmap.h"
#include "bind/types/device.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "bind/types/overridable.h"
#include "bind/types/random.h"
#include "bind/types/tensor_attributes.h"
#include "bind/types/torch_function.h"
#include "core/base/error.h"

NB_MODULE(_core, m) {
    using namespace clew::bind;
    PyObject* module = m.ptr();
    nanobind::set_leak_warnings(false);  // CPython itself leaves modules behind at exit
    nanobind::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const clew::Error&) {
            set_python_error();
        } catch (const clew::PythonError&) {
            set_python_error();
        }
    });
    try {
        init_runtime();
        checked(PyModule_AddObjectRef(module, "Site", init_site_type()));
        init_dtypes(module);
        init_node_type(module);
        init_tensor_type(module);
        init_torch_function(module);
        init_overridable(module);
        init_operations(module);
        bind_operators();
        init_backward(module);
        init_function(module);
        init_python_operations(module);
        init_autocast(module);
        init_interop(module);
        init_optimizer_step(module);
        init_graph_walk(m);
        init_graph_totals(m);
        init_prune(module);
        init_modes(m);
        init_linear_systems(m);
        init_interpreter(m);
        init_vmap(m);
        init_forward_mode(m);
        init_program(m);
        init_budget(m);
        init_compile(m);
        init_watching(m);
        init_random(module);
        init_devices(module);
        init_collector();
    } catch (const clew::PythonError&) {
        throw nanobind::python_error();
    } catch (const clew::Error& error) {
        throw std::runtime_error(error.what());
    }
}
