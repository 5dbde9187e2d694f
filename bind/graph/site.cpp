// Note [Sites]
// Every node keeps a code object and an instruction offset; text is made when somebody asks. The public way to a frame
// makes a frame object (25 to 55 ns), so for the interpreters of frame.h we read the interpreter's own frame (2 to 10
// ns); others take the public way. Frames inside the clew package are skipped: file name objects are shared by all code
// of a module, so a small table from file name object to "is it ours" answers by pointer.
#include "bind/graph/frame.h"

#include "bind/graph/site.h"

#include <cstring>

#include <structmember.h>

#include "bind/errors.h"
#include "bind/types/type.h"

namespace clew::bind {
namespace {

std::string package_folder;
// Its frames lie between a `with` of the user's and ours, which is a generator.
std::string contextlib_file;

// From file name object to whether it lies in the package, or between its frames. Names are kept alive, so that a
// pointer is never reused.
struct Names {
    static constexpr std::size_t kSlots = 1024;
    struct Entry {
        PyObject* name;
        bool ours;
    } entries[kSlots] = {};
    std::size_t count = 0;

    static std::size_t slot_of(PyObject* name) {
        return (reinterpret_cast<std::uintptr_t>(name) >> 4) * 0x9E3779B97F4A7C15ull >> 54;
    }

    bool ours(PyObject* name) {
        for (std::size_t i = slot_of(name);; i = (i + 1) % kSlots) {
            if (entries[i].name == name) return entries[i].ours;
            if (entries[i].name == nullptr) return add(name);
        }
    }
    bool add(PyObject* name) {
        if (count >= kSlots / 2) clear();  // a program that makes files of code without end
        const char* text = PyUnicode_AsUTF8(name);
        if (text == nullptr) PyErr_Clear();
        const bool ours =
            text && !package_folder.empty() &&
            (std::strncmp(text, package_folder.c_str(), package_folder.size()) == 0 || text == contextlib_file);
        std::size_t i = slot_of(name);
        while (entries[i].name) i = (i + 1) % kSlots;
        entries[i] = {Py_NewRef(name), ours};
        ++count;
        return ours;
    }
    void clear() {
        for (Entry& entry : entries) {
            Py_XDECREF(entry.name);
            entry = {};
        }
        count = 0;
    }
};
Names names;

std::string file_of_module(const char* name) {
    PyObject* const module = PyImport_ImportModule(name);
    PyObject* const path = module ? PyObject_GetAttrString(module, "__file__") : nullptr;
    const char* const found = path ? PyUnicode_AsUTF8(path) : nullptr;
    if (found == nullptr) PyErr_Clear();
    std::string text = found ? found : "<none>/";
    Py_XDECREF(path);
    Py_XDECREF(module);
    return text;
}

}  // namespace

#if CLEW_READS_FRAMES

[[gnu::hot]] Site current_site() {
    for (auto* frame = innermost(); frame; frame = frame->previous) {
        if (!runs_python(frame)) continue;
        PyCodeObject* code = code_of(frame);
        if (code == nullptr || names.ours(code->co_filename)) continue;
        Py_INCREF(code);
        return {code, instruction_of(frame, code)};
    }
    return {};
}

namespace {

bool is_of_library(PyObject* file) {
    static const std::string folder = [] {
        const std::string text = file_of_module("os");
        return text.substr(0, text.rfind('/') + 1);
    }();
    const char* const text = PyUnicode_AsUTF8(file);
    if (text == nullptr) return PyErr_Clear(), false;
    if (std::strncmp(text, "<frozen ", 8) == 0) return true;
    return std::strncmp(text, folder.c_str(), folder.size()) == 0 && std::strstr(text, "-packages/") == nullptr;
}

}  // namespace

Site users_site() {
    for (auto* frame = innermost(); frame; frame = frame->previous) {
        if (!runs_python(frame)) continue;
        PyCodeObject* const code = code_of(frame);
        if (code == nullptr || names.ours(code->co_filename) || is_of_library(code->co_filename)) continue;
        Py_INCREF(code);
        return {code, instruction_of(frame, code)};
    }
    return current_site();
}

namespace {

// The function of a frame as users write it, without modules that are not public. Empty where it has no such name.
std::string written_name(_PyInterpreterFrame* frame) {
    PyObject* const module = PyDict_GetItemString(frame->f_globals, "__name__");
    const char* const text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
    const char* const name = PyUnicode_AsUTF8(code_of(frame)->co_qualname);
    if (text == nullptr || name == nullptr) return PyErr_Clear(), std::string();
    std::string result = text;
    for (std::size_t at; (at = result.find("._")) != std::string::npos;)
        result.erase(at, result.find('.', at + 1) - at);
    std::string function = name;
    function.erase(std::min(function.find(".<locals>"), function.size()));
    return result + "." + function;
}

bool is_public(const std::string& name) {
    for (std::size_t at = name.find("._"); at != std::string::npos; at = name.find("._", at + 1))
        if (name.compare(at, 3, ".__") != 0) return false;
    return true;
}

}  // namespace

std::string public_callee() {
    // The outermost function that the user called; a wrapper, which has a private name, is passed over for what it
    // wraps.
    std::string outermost, found;
    for (auto* frame = innermost(); frame; frame = frame->previous) {
        if (!runs_python(frame)) continue;
        PyCodeObject* const code = code_of(frame);
        if (code == nullptr || !(names.ours(code->co_filename) || is_of_library(code->co_filename))) break;
        outermost = written_name(frame);
        if (is_public(outermost)) found = outermost;
    }
    return found.empty() ? outermost : found;
}

#else

std::string public_callee() { return {}; }

Site users_site() { return current_site(); }

[[gnu::hot]] Site current_site() {
    PyFrameObject* frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame) {
        PyCodeObject* code = PyFrame_GetCode(frame);
        if (!names.ours(code->co_filename)) {
            const Site site{code, PyFrame_GetLasti(frame)};
            Py_DECREF(frame);
            return site;
        }
        Py_DECREF(code);
        PyFrameObject* back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    return {};
}

#endif

void set_package_folder(const char* folder) {
    package_folder = folder;
    contextlib_file = file_of_module("contextlib");
    names.clear();
}

namespace {

int line_of(const Site& site) { return PyCode_Addr2Line(static_cast<PyCodeObject*>(site.code), site.instruction); }

struct SiteObject {
    PyObject_HEAD PyObject* file;
    PyObject* function;
    int line;
};

// What users call a cell of a notebook, IPython knows (src/clew/_cells.py). The names of their files begin with "<", or
// lie in a folder of the kernel's.
bool may_be_cell(const char* file) { return file[0] == '<' || std::strstr(file, "ipykernel_") != nullptr; }

PyObject* text_of_cell(SiteObject& site) {
    const Handle module = Handle::steal(PyImport_ImportModule("clew._cells"));
    if (!module) return nullptr;
    return PyObject_CallMethod(static_cast<PyObject*>(module.get()), "site_text", "OiO", site.file, site.line,
                               site.function);
}

PyObject* site_repr(PyObject* self) {
    auto* site = reinterpret_cast<SiteObject*>(self);
    const char* file = PyUnicode_AsUTF8(site->file);
    if (file == nullptr) return nullptr;
    if (may_be_cell(file)) return text_of_cell(*site);
    const char* slash = std::strrchr(file, '/');
    return PyUnicode_FromFormat("%s:%d in %U", slash ? slash + 1 : file, site->line, site->function);
}

void site_dealloc(PyObject* self) {
    auto* site = reinterpret_cast<SiteObject*>(self);
    Py_XDECREF(site->file);
    Py_XDECREF(site->function);
    PyObject_Free(self);
}

PyObject* site_compare(PyObject* a, PyObject* b, int op) {
    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    auto *left = reinterpret_cast<SiteObject*>(a), *right = reinterpret_cast<SiteObject*>(b);
    const bool equal = left->line == right->line && PyUnicode_Compare(left->file, right->file) == 0 &&
                       PyUnicode_Compare(left->function, right->function) == 0;
    return PyBool_FromLong(equal == (op == Py_EQ));
}
Py_hash_t site_hash(PyObject* self) {
    auto* site = reinterpret_cast<SiteObject*>(self);
    const auto file = static_cast<Py_uhash_t>(PyObject_Hash(site->file));  // may overflow: unsigned
    const auto hash = static_cast<Py_hash_t>(file * 31 + static_cast<Py_uhash_t>(site->line));
    return hash == -1 ? -2 : hash;
}

PyMemberDef site_members[] = {
    {"file", T_OBJECT_EX, offsetof(SiteObject, file), READONLY, "the file, as the code object names it"},
    {"line", T_INT, offsetof(SiteObject, line), READONLY, "the line"},
    {"function", T_OBJECT_EX, offsetof(SiteObject, function), READONLY, "the function's name"},
    {nullptr, 0, 0, 0, nullptr},
};

PyTypeObject site_type = blank_type();

}  // namespace

PyObject* init_site_type() {
    site_type.tp_name = "clew.Site";
    site_type.tp_basicsize = sizeof(SiteObject);
    site_type.tp_dealloc = site_dealloc;
    site_type.tp_repr = site_repr;
    site_type.tp_richcompare = site_compare;
    site_type.tp_hash = site_hash;
    site_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    site_type.tp_members = site_members;
    site_type.tp_doc = "A line of the user's code: where an operation was called.";
    checked(PyType_Ready(&site_type));
    return Py_NewRef(reinterpret_cast<PyObject*>(&site_type));
}

PyObject* site_object(const Site& site) {
    if (site.code == nullptr) Py_RETURN_NONE;
    auto* code = static_cast<PyCodeObject*>(site.code);
    auto* made = PyObject_New(SiteObject, &site_type);
    if (made == nullptr) return nullptr;
    made->file = Py_NewRef(code->co_filename);
    made->function = Py_NewRef(code->co_name);
    made->line = line_of(site);
    return reinterpret_cast<PyObject*>(made);
}

std::string site_text(void* code, std::int32_t instruction) {
    PyObject* site = site_object({code, instruction});
    if (site == nullptr) {
        PyErr_Clear();
        return "an unknown line";
    }
    PyObject* text = PyObject_Str(site);
    Py_DECREF(site);
    const char* utf8 = text ? PyUnicode_AsUTF8(text) : nullptr;
    std::string result = utf8 ? utf8 : "an unknown line";
    Py_XDECREF(text);
    PyErr_Clear();
    return result;
}

}  // namespace clew::bind
