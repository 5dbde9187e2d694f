// What to say of state that is not as it was.
#include <string_view>
#include <vector>

#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/keep/wording.h"
#include "bind/types/objects.h"
#include "bind/watch/kinds.h"
#include "bind/watch/python_state.h"

namespace nb = nanobind;

namespace clew::bind {

namespace {

bool is_globals(PyObject* holder) { return PyDict_Check(holder) && PyDict_GetItemString(holder, "__builtins__"); }

std::string of_holder(PyObject* holder) {
    if (is_globals(holder))
        if (PyObject* const name = PyDict_GetItemString(holder, "__name__"); name && PyUnicode_Check(name))
            return std::string(" of module ") + utf8(name);
    return std::string(" of a ") +
           (PyType_Check(holder) ? reinterpret_cast<PyTypeObject*>(holder)->tp_name : Py_TYPE(holder)->tp_name);
}

}  // namespace

bool PythonState::fails(PyObject* holder, PyObject* key, PyObject* now, PyObject* then) {
    for (const Instance& one : instances_)
        if (one.dict.ptr() == holder) holder = one.object.ptr();
    const std::string cell = PyCell_Check(holder) ? name_of_cell(holder) : "";
    failed_kind_ = !cell.empty() ? Reads::Cell : is_globals(holder) ? Reads::Global : Reads::Attribute;
    failed_name_ = !cell.empty() ? cell : key && PyUnicode_Check(key) ? utf8(key) : "";
    failed = !cell.empty() ? cell + " of a closure"
                           : std::string(key && PyUnicode_Check(key) ? utf8(key) : "an entry") + of_holder(holder);
    const bool may_be_told = now && then && is_atom(now) && is_atom(then);
    change = may_be_told ? " (" + short_repr(now) + " instead of " + short_repr(then) + ")" : "";
    return false;
}

// Entries keep no line. It is found once, when a function stays eager: the only line that reads such a name.
std::string PythonState::failed_at() const {
    if (failed_name_.empty()) return {};
    std::vector<nb::object> codes;  // what follows runs Python
    for (const Function& one : functions_) codes.push_back(one.code);
    std::string found;
    try {
        const nb::object instructions = nb::module_::import_("dis").attr("get_instructions");
        for (const nb::object& code : codes)
            for (const nb::handle instruction : instructions(code)) {
                const nb::object name = instruction.attr("opname"), argument = instruction.attr("argval");
                const std::string_view text = utf8(name.ptr());
                const bool reads = failed_kind_ == Reads::Attribute ? text == "LOAD_ATTR" || text == "LOAD_METHOD"
                                   : failed_kind_ == Reads::Global  ? text == "LOAD_GLOBAL" || text == "LOAD_NAME"
                                                                    : text == "LOAD_DEREF";
                if (!reads || !PyUnicode_Check(argument.ptr()) || failed_name_ != utf8(argument.ptr())) continue;
                const std::string site = site_text(code.ptr(), nb::cast<std::int32_t>(instruction.attr("offset")));
                if (!found.empty() && site != found) return {};
                found = site;
            }
    } catch (const nb::python_error&) {
        return {};
    }
    return found;
}

// As a function that the call ran calls it.
std::string PythonState::name_of_cell(PyObject* cell) const {
    for (const Function& one : functions_) {
        PyObject* const cells = reinterpret_cast<PyFunctionObject*>(one.function.ptr())->func_closure;
        for (Py_ssize_t i = 0; cells && i < PyTuple_GET_SIZE(cells); ++i) {
            if (PyTuple_GET_ITEM(cells, i) != cell) continue;
            const nb::object names = nb::steal(PyCode_GetFreevars(reinterpret_cast<PyCodeObject*>(one.code.ptr())));
            if (names.is_valid() && i < PyTuple_GET_SIZE(names.ptr())) return utf8(PyTuple_GET_ITEM(names.ptr(), i));
            PyErr_Clear();
        }
    }
    return {};
}

}  // namespace clew::bind
