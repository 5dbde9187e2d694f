// Modes, counters and settings as plain functions of the module.
#include "bind/modes.h"

#include <cstring>
#include <utility>

#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/objects.h"
#include "bind/site.h"
#include "core/autograd/ledger.h"
#include "core/autograd/mode.h"
#include "core/base/allocator.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/kernels/blas.h"
#include "core/kernels/isa.h"

namespace clew::bind {
namespace {

std::uint32_t bit_of(const char* name) {
    constexpr std::pair<const char*, std::uint32_t> kBits[] = {
        {"no_grad", kNoGrad},   {"inference", kInferenceMode},          {"saved_hooks", kSavedHooks},
        {"anomaly", kAnomaly},  {"allow_data_writes", kAllowDataWrites}, {"no_torch_function", kNoTorchFunction},
        {"timing", kTiming},    {"no_provenance", kNoProvenance},
    };
    for (const auto& [known, bit] : kBits)
        if (std::strcmp(known, name) == 0) return bit;
    fail(ErrorKind::Value, "mode: unknown mode '%s'", name);
}

// set_mode(name, on) -> what it was
PyObject* set_mode(PyObject*, PyObject* args) {
    const char* name;
    int on;
    if (!PyArg_ParseTuple(args, "sp", &name, &on)) return nullptr;
    return guarded([&] {
        const std::uint32_t bit = bit_of(name);
        const bool before = mode(bit);
        mode_word = on ? mode_word | bit : mode_word & ~bit;
        return PyBool_FromLong(before);
    });
}
PyObject* get_mode(PyObject*, PyObject* name) {
    return guarded([&] {
        const char* text = PyUnicode_AsUTF8(name);
        if (text == nullptr) throw PythonError();
        return PyBool_FromLong(mode(bit_of(text)));
    });
}
// The fast pair for grad modes, which user code enters and leaves often.
PyObject* set_grad_enabled(PyObject*, PyObject* on) {
    const bool before = grad_enabled();
    mode_word = PyObject_IsTrue(on) ? mode_word & ~static_cast<std::uint32_t>(kNoGrad) : mode_word | kNoGrad;
    return PyBool_FromLong(before);
}
PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(grad_enabled()); }

PyObject* counters(PyObject*, PyObject*) {
    const GraphCounters& c = graph_counters;
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "nodes_built", static_cast<long long>(c.nodes_built), "nodes_alive",
                         static_cast<long long>(c.nodes_alive), "nodes_freed_by_backward", static_cast<long long>(c.nodes_freed_by_backward),
                         "nodes_freed_by_scope", static_cast<long long>(c.nodes_freed_by_scope), "bytes_saved",
                         static_cast<long long>(c.bytes_saved), "bytes_freed_by_backward", static_cast<long long>(c.bytes_freed_by_backward),
                         "bytes_freed_by_scope", static_cast<long long>(c.bytes_freed_by_scope), "slots_alive",
                         static_cast<long long>(c.slots_alive));
}

PyObject* timing(PyObject*, PyObject* on) {
    const bool wanted = PyObject_IsTrue(on) == 1;
    if (wanted) timings = {};
    mode_word = wanted ? mode_word | kTiming : mode_word & ~static_cast<std::uint32_t>(kTiming);
    Py_RETURN_NONE;
}
PyObject* get_timings(PyObject*, PyObject*) {
    return Py_BuildValue("{s:L,s:L,s:L,s:L}", "forward_kernels", static_cast<long long>(timings.forward_kernels), "recording",
                         static_cast<long long>(timings.recording), "backward", static_cast<long long>(timings.backward), "operations",
                         static_cast<long long>(timings.operations));
}
PyObject* provenance(PyObject*, PyObject* on) {
    mode_word = PyObject_IsTrue(on) ? mode_word & ~static_cast<std::uint32_t>(kNoProvenance) : mode_word | kNoProvenance;
    Py_RETURN_NONE;
}

PyObject* live_tensors(PyObject*, PyObject*) {
    PyObject* list = PyList_New(0);
    for (TensorObject* tensor = living_tensors; list && tensor; tensor = tensor->next)
        if (tensor->layout) PyList_Append(list, as_object(tensor));
    return list;
}

PyObject* memory(PyObject*, PyObject*) {
    const MemoryStats& m = memory_stats;
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "live", static_cast<long long>(m.live), "cached", static_cast<long long>(m.cached), "peak",
                         static_cast<long long>(m.peak), "allocations", static_cast<long long>(m.allocations), "frees",
                         static_cast<long long>(m.frees), "objects", static_cast<long long>(m.objects));
}
PyObject* py_reset_peak(PyObject*, PyObject*) {
    reset_peak();
    Py_RETURN_NONE;
}
PyObject* py_empty_cache(PyObject*, PyObject*) {
    empty_cache();
    Py_RETURN_NONE;
}

PyObject* py_set_default_dtype(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        const auto dtype = dtype_from(object);
        if (!dtype) fail(ErrorKind::Type, "set_default_dtype: expected a dtype, got %s", Py_TYPE(object)->tp_name);
        set_default_dtype(*dtype);
        Py_RETURN_NONE;
    });
}
PyObject* py_get_default_dtype(PyObject*, PyObject*) { return dtype_object(default_dtype()); }

PyObject* py_set_num_threads(PyObject*, PyObject* count) {
    return guarded([&]() -> PyObject* {
        const long wanted = PyLong_AsLong(count);
        if (wanted == -1 && PyErr_Occurred()) throw PythonError();
        if (wanted < 1) fail(ErrorKind::Runtime, "set_num_threads: expects a positive integer, got %ld", wanted);
        set_num_threads(static_cast<int>(wanted));
        Py_RETURN_NONE;
    });
}
PyObject* py_get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* py_set_blas_path(PyObject*, PyObject* path) {
    const char* text = PyUnicode_AsUTF8(path);
    if (text == nullptr) return nullptr;
    kernels::set_blas_path(text);
    Py_RETURN_NONE;
}
PyObject* py_set_package_folder(PyObject*, PyObject* path) {
    const char* text = PyUnicode_AsUTF8(path);
    if (text == nullptr) return nullptr;
    set_package_folder(text);
    Py_RETURN_NONE;
}
PyObject* py_isa(PyObject*, PyObject*) {
    return guarded([&] { return PyUnicode_FromString(kernels::isa_name(kernels::active_isa())); });
}
PyObject* py_site(PyObject*, PyObject*) {
    const Site site = current_site();
    PyObject* made = site_object(site);
    Py_XDECREF(static_cast<PyObject*>(site.code));
    return made;
}

PyMethodDef functions[] = {
    {"set_mode", set_mode, METH_VARARGS, nullptr},
    {"get_mode", get_mode, METH_O, nullptr},
    {"set_grad_enabled", set_grad_enabled, METH_O, nullptr},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "Whether operations are recorded."},
    {"graph_counters", counters, METH_NOARGS, "What was built, saved and freed so far."},
    {"timing", timing, METH_O, "Starts (and resets) or stops measuring where the time goes."},
    {"timings", get_timings, METH_NOARGS, "Nanoseconds since timing(True)."},
    {"provenance", provenance, METH_O, "Benchmarks only: switches the recording of sites."},
    {"live_tensors", live_tensors, METH_NOARGS, "All living tensors."},
    {"memory_stats", memory, METH_NOARGS, nullptr},
    {"reset_peak", py_reset_peak, METH_NOARGS, nullptr},
    {"empty_cache", py_empty_cache, METH_NOARGS, nullptr},
    {"set_default_dtype", py_set_default_dtype, METH_O, "The dtype of new floating tensors."},
    {"get_default_dtype", py_get_default_dtype, METH_NOARGS, "The dtype of new floating tensors."},
    {"set_num_threads", py_set_num_threads, METH_O, "How many threads kernels may use."},
    {"get_num_threads", py_get_num_threads, METH_NOARGS, "How many threads kernels may use."},
    {"set_blas_path", py_set_blas_path, METH_O, nullptr},
    {"set_package_folder", py_set_package_folder, METH_O, nullptr},
    {"isa", py_isa, METH_NOARGS, "The instruction set in use: v2, v3 or v4."},
    {"current_site", py_site, METH_NOARGS, "The innermost line outside clew."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_modes(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
