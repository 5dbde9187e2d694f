#include "bind/calls/backward_alarm.h"

#include <utility>

#include "bind/errors.h"

namespace nb = nanobind;

namespace clew::bind {

void BackwardAlarm::set(std::int64_t passes, nb::object callback) {
    stop();
    left_ = passes;
    callback_ = std::move(callback);
    is_on_ = true;
    add_listener(this);
}

void BackwardAlarm::stop() {
    if (!is_on_) return;
    remove_listener(this);
    is_on_ = false;
    const nb::object callback = std::move(callback_);  // which may hold this
}

void BackwardAlarm::after(const std::vector<Tensor>&, const Ref<Release>&, std::int64_t) {
    if (--left_ > 0) return;
    const nb::object callback = callback_;
    stop();
    const UnseenPython unseen;
    Py_DECREF(checked(PyObject_CallNoArgs(callback.ptr())));
}

void init_backward_alarm(nb::module_& m) {
    nb::class_<BackwardAlarm>(m, "BackwardAlarm", "Calls back once, after so many backward passes.")
        .def(nb::init<>())
        .def("set", &BackwardAlarm::set, nb::arg("passes"), nb::arg("callback"), "Ends the alarm that was set before.")
        .def("stop", &BackwardAlarm::stop, "No alarm; no effect if there is none.")
        .def_prop_ro("left", &BackwardAlarm::left, "How many backward passes are left.");
}

}  // namespace clew::bind
