#include "bind/types/random.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "core/ops/creation/random.h"
#include "core/ops/interpreter.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

nb::bytes state_of(const Generator& generator) {
    const std::string state = generator.get_state();
    return nb::bytes(state.data(), state.size());
}

// What draws or changes a stream without an operation.
void announce(const Generator& generator) {
    if (mode(kInterpreted)) Interpreter::tell({.event = Event::Seeded, .tensors = {}, .what = &generator});
}

void seed(Generator& generator, std::uint64_t value) {
    announce(generator);
    generator.seed(value);
}

std::uint64_t random64(Generator& generator) {
    announce(generator);
    return generator.random64();
}

void set_state(Generator& generator, const nb::bytes& state) {
    announce(generator);
    generator.set_state(std::string(state.c_str(), state.size()));
}

// Note [Places in a stream]
// What runs again with the numbers of its first run goes back to where the stream was, and then on from where it is.
// If no operation that draws runs, neither is a change of the stream, and nobody is told: a replay needs to repeat
// neither. How many numbers it drew is not asked, as that may depend on values (rrelu, poisson).
class Place {
public:
    explicit Place(Generator& generator) : generator_(generator), state_(generator.get_state()) {}
    void enter() const { generator_.set_state(state_); }
    void leave(const Place& now) const {
        const bool drew = times_drawn() != now.drawn_ || generator_.get_state() != state_;
        generator_.set_state(now.state_);
        if (drew) announce(generator_);
    }

private:
    Generator& generator_;
    std::string state_;
    std::uint64_t drawn_ = times_drawn();
};

}  // namespace

void init_random(PyObject* object) {
    nb::module_ module = nb::borrow<nb::module_>(object);
    // What clew.Generator wraps.
    nb::class_<Generator>(module, "RandomStream")
        .def(nb::init<>())
        .def("seed", &seed, nb::arg("value"))
        .def("initial_seed", &Generator::initial_seed)
        .def("random64", &random64)
        .def("get_state", &state_of)
        .def("set_state", &set_state, nb::arg("state"));
    nb::class_<Place>(module, "PlaceInStream").def("enter", &Place::enter).def("leave", &Place::leave, nb::arg("now"));
    module.def("place_in_default_stream", [] { return Place(default_generator()); });
    module.def("default_stream", &default_generator, nb::rv_policy::reference);
    // The stream that this thread draws from; None is the default one. Gives what it was before.
    module.def(
        "choose_stream", [](Generator* stream) { return choose_generator(stream); }, nb::arg("stream").none(),
        nb::rv_policy::reference);
}

}  // namespace clew::bind
