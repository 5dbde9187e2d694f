// Where the interpreter's frames are not known to us no call is recorded, and these are never called.
#include "bind/watch/tracer.h"

#if !CLEW_READS_FRAMES

namespace clew::bind {

bool Tracer::others_trace() { return false; }
bool Tracer::is_older(PyObject*) const { return false; }
void Tracer::add_older(PyObject*) {}
void Tracer::add_argument(PyObject*) {}
nanobind::object Tracer::with_own_floats(PyObject*, int) { return {}; }
FollowedNumber* Tracer::followed(PyObject*) { return nullptr; }
void Tracer::begin_call(PyObject*, PyObject*) {}
void Tracer::start() {}
void Tracer::stop() {}
void Tracer::use(PyObject*) {}
void Tracer::finish() {}

}  // namespace clew::bind

#endif
