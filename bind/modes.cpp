#include "bind/modes.h"

#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/graph/replay_events.h"
#include "bind/graph/site.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "bind/types/torch_function.h"
#include "core/autograd/ledger.h"
#include "core/autograd/mode.h"
#include "core/base/allocator.h"
#include "core/base/error.h"
#include "core/base/floating_mode.h"
#include "core/base/pool_use.h"
#include "core/base/threads.h"
#include "core/kernels/isa.h"
#include "core/ops/indexing/sparse_gradients.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

std::uint32_t bit_of(const char* name) {
    constexpr std::pair<const char*, std::uint32_t> kBits[] = {
        {"no_grad", kNoGrad},
        {"inference", kInferenceMode},
        {"saved_hooks", kSavedHooks},
        {"anomaly", kAnomaly},
        {"allow_data_writes", kAllowDataWrites},
        {"no_torch_function", kNoTorchFunction},
        {"function_mode", kFunctionMode},
        {"watch_writes", kWatchWrites},
        {"timing", kTiming},
        {"no_provenance", kNoProvenance},
    };
    for (const auto& [known, bit] : kBits)
        if (std::strcmp(known, name) == 0) return bit;
    fail(ErrorKind::Value, "mode: unknown mode '%s'", name);
}

bool set_bits(std::uint32_t bits, bool on) {
    const bool before = mode(bits);
    mode_word = on ? mode_word | bits : mode_word & ~bits;
    return before;
}

nb::dict counters() {
    const GraphCounters& c = graph_counters;
    nb::dict result;
    result["nodes_built"] = c.nodes_built;
    result["nodes_alive"] = c.nodes_alive;
    result["nodes_freed_by_backward"] = c.nodes_freed_by_backward;
    result["nodes_freed_by_scope"] = c.nodes_freed_by_scope;
    result["bytes_saved"] = c.bytes_saved;
    result["bytes_freed_by_backward"] = c.by_backward.bytes;
    result["bytes_released_by_backward"] = c.by_backward.released;
    result["bytes_freed_by_scope"] = c.by_scope.bytes;
    result["bytes_released_by_scope"] = c.by_scope.released;
    result["slots_alive"] = c.slots_alive;
    return result;
}

nb::dict memory() {
    const MemoryStats& m = memory_stats;
    nb::dict result;
    result["live"] = m.live;
    result["cached"] = m.cached;
    result["peak"] = m.peak;
    result["allocations"] = m.allocations;
    result["frees"] = m.frees;
    result["objects"] = m.objects;
    result["pool"] = pool_bytes();
    return result;
}

nb::dict measured() {
    nb::dict result;
    result["forward_kernels"] = timings.forward_kernels;
    result["recording"] = timings.recording;
    result["backward"] = timings.backward;
    result["operations"] = timings.operations;
    return result;
}

nb::list living() {
    nb::list result;
    for (TensorObject* tensor = living_tensors; tensor; tensor = tensor->next)
        if (tensor->layout && tensor->storage) result.append(nb::borrow(as_object(tensor)));
    return result;
}

DType need_dtype(nb::handle object) {
    const auto dtype = dtype_from(object.ptr());
    if (!dtype) fail(ErrorKind::Type, "set_default_dtype: expected a dtype, got %s", Py_TYPE(object.ptr())->tp_name);
    return *dtype;
}

PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(grad_enabled()); }
PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }
PyObject* py_set_num_threads(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        const long count = PyLong_AsLong(object);
        if (count == -1 && PyErr_Occurred()) throw PythonError();
        if (count < 1 || count > INT_MAX)
            fail(ErrorKind::Runtime, "set_num_threads: expects a positive integer, got %ld", count);
        set_num_threads(static_cast<int>(count));
        Py_RETURN_NONE;
    });
}

PyObject* py_set_flush_denormal(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        if (!PyBool_Check(object))
            fail(ErrorKind::Type, "set_flush_denormal: expects a bool, got %s", Py_TYPE(object)->tp_name);
        return PyBool_FromLong(set_flush_denormal(object == Py_True));
    });
}

// Those that the package hands on as they are: inspect.signature reads their text.
PyMethodDef public_functions[] = {
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "is_grad_enabled()\n--\n\nWhether operations are recorded."},
    {"get_num_threads", get_num_threads, METH_NOARGS, "get_num_threads()\n--\n\nHow many threads kernels may use."},
    {"set_num_threads", py_set_num_threads, METH_O,
     "set_num_threads(count, /)\n--\n\nHow many threads kernels may use."},
    {"set_flush_denormal", py_set_flush_denormal, METH_O,
     "set_flush_denormal(mode, /)\n--\n\n"
     "Whether operations of this thread take subnormal numbers (float32: below 1.2e-38) for zero.\n\n"
     "Many processors are slow with these, and the moments of Adam get there where gradients stay zero. Off at\n"
     "first. It holds for NumPy in this thread, too.\n\n"
     "Args:\n    mode: a bool.\n\n"
     "Returns:\n    Whether the processor can.\n\n"
     "Raises:\n    TypeError: ``mode`` is no bool.\n\nExample:\n"
     "    >>> torch.set_flush_denormal(True)\n    True\n"
     "    >>> (torch.tensor(1e-40) * 1).item()\n    0.0\n"
     "    >>> torch.set_flush_denormal(False)\n    True\n"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_modes(nb::module_& m) {
    m.def(
        "look_up_plainly",
        [](nb::handle kind) {
            auto* const type = reinterpret_cast<PyTypeObject*>(kind.ptr());
            type->tp_getattro = PyObject_GenericGetAttr;
            PyType_Modified(type);
        },
        nb::arg("kind"), "Instances of the class are not asked by __getattr__ (Note [Look-up of attributes]).");
    m.def(
        "set_mode", [](const char* name, bool on) { return set_bits(bit_of(name), on); }, nb::arg("name"),
        nb::arg("on"), "Switches a mode of this thread; returns what it was.");
    m.def("sparse_made", [] { return sparse_made; }, "Whether a sparse tensor has been made in this process.");
    m.def(
        "get_mode", [](const char* name) { return mode(bit_of(name)); }, nb::arg("name"),
        "Whether a mode of this thread is on.");
    m.def(
        "set_grad_enabled", [](bool on) { return !set_bits(kNoGrad, !on); }, nb::arg("on"),
        "Switches the recording of operations; returns what it was.");
    m.def(
        "provenance", [](bool on) { set_bits(kNoProvenance, !on); }, nb::arg("on"),
        "Benchmarks only: switches the recording of sites.");
    m.def(
        "timing",
        [](bool on) {
            if (on) timings = {}, forget_replays();
            set_bits(kTiming, on);
        },
        nb::arg("on"), "Starts (and resets) or stops measuring where the time goes.");
    m.def("timings", measured, "Nanoseconds since timing(True).");
    m.def("graph_counters", counters, "What was built, saved and freed so far.");
    m.def("live_tensors", living, "All living tensors.");
    m.def("memory_stats", memory, "The allocator's own counts, in bytes as requested.");
    m.def("reset_peak", reset_peak, "Makes the peak what is live now.");
    m.def("empty_cache", empty_cache, "Gives cached blocks back to the system.");
    m.def(
        "set_default_dtype", [](nb::handle dtype) { set_default_dtype(need_dtype(dtype)); }, nb::arg("dtype"),
        "The dtype of new floating tensors.");
    m.def(
        "get_default_dtype", [] { return nb::steal(dtype_object(default_dtype())); },
        "The dtype of new floating tensors.");
    m.def(
        "promote_types",
        [](nb::handle type1, nb::handle type2) {
            return nb::steal(dtype_object(promote(need_dtype(type1), need_dtype(type2))));
        },
        nb::arg("type1"), nb::arg("type2"), "The smallest dtype that holds both.");
    checked(PyModule_AddFunctions(m.ptr(), public_functions));
    m.def(
        "set_package_folder", [](const char* path) { set_package_folder(path); }, nb::arg("path"),
        "Frames of files in it are no sites.");
    m.def(
        "isa", [] { return std::string(kernels::isa_name(kernels::active_isa())); },
        "The instruction set in use: v2, v3 or v4.");
    m.def(
        "isa_of_processor", [] { return std::string(kernels::isa_name(kernels::best_of_this_cpu())); },
        "The best instruction set that this processor has: v2, v3 or v4.");
    nb::list compiled;
    for (const kernels::Isa isa : {kernels::Isa::v2, kernels::Isa::v3, kernels::Isa::v4})
        if (kernels::is_compiled(isa)) compiled.append(kernels::isa_name(isa));
    m.attr("isas") = nb::tuple(compiled);  // that kernels were compiled for, the lowest first
    m.def(
        "current_site",
        [] {
            const Site site = current_site();
            const Handle code = Handle::steal(site.code);
            return nb::steal(checked(site_object(site)));
        },
        "The innermost line outside clew.");
}

}  // namespace clew::bind
