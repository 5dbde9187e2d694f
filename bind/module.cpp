// The module clew._core.
#include <nanobind/nanobind.h>

#include "bind/backward.h"
#include "bind/budget.h"
#include "bind/compile/compiled.h"
#include "bind/device.h"
#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/forward_mode.h"
#include "bind/function.h"
#include "bind/graph_totals.h"
#include "bind/graph_walk.h"
#include "bind/interop.h"
#include "bind/interpreter.h"
#include "bind/linear_systems.h"
#include "bind/modes.h"
#include "bind/objects.h"
#include "bind/operation.h"
#include "bind/optimizer_step.h"
#include "bind/overridable.h"
#include "bind/program.h"
#include "bind/prune.h"
#include "bind/python_operation.h"
#include "bind/random.h"
#include "bind/site.h"
#include "bind/tensor_attributes.h"
#include "bind/torch_function.h"
#include "bind/vmap.h"
#include "bind/watching.h"
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
