// Calls of functools.lru_cache: what it answers is older than the call, or was made by it once.
#include "bind/watch/kinds.h"
#include "bind/watch/tracer.h"

#include <algorithm>
#include <utility>

#include "bind/errors.h"
#include "bind/types/objects.h"

#if CLEW_READS_FRAMES

namespace nb = nanobind;

namespace clew::bind {
namespace {

bool is_cache(PyObject* callee) {
    static PyObject* const type = from_module("functools", "_lru_cache_wrapper");
    return as_object(Py_TYPE(callee)) == type;
}

std::int64_t misses_of(PyObject* cache) {
    const nb::object info = nb::steal(checked(PyObject_CallMethod(cache, "cache_info", nullptr)));
    return nb::cast<std::int64_t>(nb::steal(checked(PySequence_GetItem(info.ptr(), 1))));
}

// What equal values of are the same question for ever.
bool can_be_asked(PyObject* argument) {
    static const char* const immutable[] = {"torch.dtype", "torch.device", "torch.Size"};
    return is_atom(argument) || is_one_of(Py_TYPE(argument)->tp_name, immutable);
}

}  // namespace

// Whether the call is a question to a cache.
bool Tracer::ask(PyObject* callee, PyObject* const* arguments, std::size_t count) {
    if (!plain_call_ || !is_cache(callee) || !is_older(callee)) return false;
    if (!std::all_of(arguments, arguments + count, can_be_asked)) return false;
    const nb::object tuple = nb::steal(checked(PyTuple_New(static_cast<Py_ssize_t>(count))));
    for (std::size_t i = 0; i < count; ++i) {
        contents(arguments[i]);
        PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(arguments[i]));
    }
    question_ = {current_, nb::borrow(callee), tuple, misses_of(callee)};
    return true;
}

void Tracer::take_answer(PyObject* answer) {
    if (misses_of(question_.cache.ptr()) != question_.misses) return fills_cache();
    const Question asked = std::exchange(question_, {});
    state.answer(asked.cache.ptr(), asked.arguments.ptr(), answer);
    add_older(answer);
}

void Tracer::fills_cache() {
    stay_eager("fills the cache of " + text_of(question_.cache.ptr(), "__qualname__") +
               ", where the next call finds it");
    question_ = {};
}

}  // namespace clew::bind

#endif
