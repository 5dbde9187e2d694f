#include "bind/types/escapes.h"

#include "core/autograd/mode.h"

namespace clew::bind {

PyObject* last_number = nullptr;

namespace {

constexpr unsigned kRemembered = 32;
struct Read {
    PyObject* number = nullptr;
    Ref<HistoryBreak> lost;
};
unsigned newest = 0;

Read* reads() {
    static auto* const all = new Read[kRemembered];  // never taken down: Python may be gone before
    return all;
}

}  // namespace

void note_number(const Tensor& source, const char* how, PyObject* number) {
    if (number == nullptr || !PyFloat_CheckExact(number) || mode(kInBackward | kNoProvenance)) return;
    const bool has_history = source.requires_grad();
    if (!has_history && !source->lost) return;
    newest = (newest + 1) % kRemembered;
    Read& read = reads()[newest];
    read.lost = has_history ? HistoryBreak::make(how) : source->lost;
    last_number = number;
    Py_XSETREF(read.number, Py_NewRef(number));
}

Ref<HistoryBreak> where_read(PyObject* number) {
    if (last_number == nullptr) return {};
    for (unsigned i = 0; i < kRemembered; ++i)
        if (reads()[i].number == number) return reads()[i].lost;
    return {};
}

Ref<HistoryBreak> last_read() { return last_number ? reads()[newest].lost : Ref<HistoryBreak>(); }

}  // namespace clew::bind
