// An operation is one struct that holds all of it:
//
//     struct Mul {
//         static constexpr OpText text{.schema = "mul(Operand self, Operand other)", .node = "MulBackward0", ...};
//         static void forward(const Tensor& a, const Tensor& b, Tensor& out);
//         static constexpr auto rules = std::tuple{
//             [](const Tensor& g, In<1> b) { return mul(g, b); },
//             [](const Tensor& g, In<0> a) { return mul(g, a); },
//         };
//     };
//
// What a rule's parameters say: Note [What a rule's parameters say] in rules.h.
//
// Note [Domains]
// `domain` describes arguments of calls, in Python's notation: "positive" (all tensors have positive values), "real,
// dim=1; real, dim=0, keepdim=True" (two calls), "self=real(a, b), mat2=real(b, c)" (tensors of given shapes; letters
// are sizes). Tests are made from it (tests/sampling.py has the words; tests/ops/test_registry.py): derivatives of
// first and second order, and a comparison with PyTorch. So an operation without one fails, unless it says why:
// "unsampled, 'reason'".
//
// forward's parameters are the inputs (`const Tensor&`; `Tensors` takes as many as the list has), `const Attrs&`,
// `Generator&` if it draws random numbers, and the outputs (`Tensor&`). An output that is not empty on entry is a
// destination to write into (in-place and out=), with its own dtype. An operation whose number of outputs depends on
// its arguments (split) takes them all as `std::span<Tensor>`, and has `static std::size_t outputs(Tensors inputs,
// const Attrs&)`: apply's caller asks it how many to bring.
#pragma once
#include <cstring>
#include <tuple>
#include <type_traits>

#include "core/ops/rules.h"

namespace clew {

// ------------------------------------------------------------------------------------- from struct to OpDef
template <class Op>
OpDef& definition();

namespace opdef_detail {

Generator& generator_of(const OpCall& call);  // its own, or the one that the thread has chosen

// Hands out forward's arguments from left to right.
template <class Attrs>
struct Cursor {
    OpCall& call;
    std::size_t fixed_inputs;
    std::size_t input = 0, output = 0;

    template <class P>
    decltype(auto) next() {
        if constexpr (std::is_same_v<P, Tensors>) {
            const std::size_t count = call.inputs.size() - fixed_inputs;
            input += count;
            return call.inputs.subspan(input - count, count);
        } else if constexpr (std::is_same_v<P, const Tensor&>) {
            return static_cast<const Tensor&>(call.inputs[input++]);
        } else if constexpr (std::is_same_v<P, const Attrs&>) {
            return *static_cast<const Attrs*>(call.attributes);
        } else if constexpr (std::is_same_v<P, std::span<Tensor>>) {
            return call.outputs;
        } else if constexpr (std::is_same_v<P, Generator&>) {
            return generator_of(call);
        } else {
            static_assert(std::is_same_v<P, Tensor&>,
                          "forward takes const Tensor&, Tensors, const Attrs&, Generator& and Tensor& outputs");
            return static_cast<Tensor&>(call.outputs[output++]);
        }
    }
};

// Does forward take a Generator&?
template <class... P>
constexpr bool draws(std::tuple<P...>*) {
    return (std::is_same_v<P, Generator&> || ...);
}

template <class Op, class... P>
void forward_with(OpCall& call, std::tuple<P...>*) {
    using Attrs = typename AttrsOf<Op>::type;
    Cursor<Attrs> cursor{call, (std::size_t{std::is_same_v<P, const Tensor&>} + ... + 0)};
    std::apply([](auto&&... arguments) { Op::forward(std::forward<decltype(arguments)>(arguments)...); },
               std::tuple<P...>{cursor.template next<P>()...});
}
template <class... P>
constexpr std::uint32_t count_outputs(std::tuple<P...>*) {
    return (std::uint32_t{std::is_same_v<P, Tensor&>} + ... + 0);
}

void assign(bool& field, const Value& value);
void assign(std::int64_t& field, const Value& value);
void assign(double& field, const Value& value);
void assign(Scalar& field, const Value& value);
void assign(Dims& field, const Value& value);
void assign(Axes& field, const Value& value);
void assign(Text& field, const Value& value);
void assign(DType& field, const Value& value);
template <class T>
void assign(std::optional<T>& field, const Value& value) {
    if (value.tag == Value::None) {
        field.reset();
    } else {
        T inner{};
        assign(inner, value);
        field = inner;
    }
}
void read(const bool& field, Value& value);
void read(const std::int64_t& field, Value& value);
void read(const double& field, Value& value);
void read(const Scalar& field, Value& value);
void read(const Dims& field, Value& value);
void read(const Axes& field, Value& value);
void read(const Text& field, Value& value);
void read(const DType& field, Value& value);
template <class T>
void read(const std::optional<T>& field, Value& value) {
    if (field) read(*field, value);
}

bool same(const bool& one, const bool& other);
bool same(const std::int64_t& one, const std::int64_t& other);
bool same(const double& one, const double& other);
bool same(const Scalar& one, const Scalar& other);
bool same(const Dims& one, const Dims& other);
bool same(const Axes& one, const Axes& other);
bool same(const Text& one, const Text& other);
bool same(const DType& one, const DType& other);
template <class T>
bool same(const std::optional<T>& one, const std::optional<T>& other) {
    return one.has_value() == other.has_value() && (!one || same(*one, *other));
}

template <class T>
Field field_at(std::size_t offset) {
    return {[](void* place, const Value& value) { assign(*static_cast<T*>(place), value); },
            [](const void* place, Value& value) { read(*static_cast<const T*>(place), value); },
            [](const void* place, const void* other) {
                return same(*static_cast<const T*>(place), *static_cast<const T*>(other));
            },
            offset};
}

template <class Attrs, auto Member>
Field make_field() {
    static const Attrs any{};
    const auto& member = any.*Member;
    const auto offset = reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(&any);
    return field_at<std::remove_cvref_t<decltype(member)>>(static_cast<std::size_t>(offset));
}
// What definitions have in common, once and not inline in each.
OpDef* begin(const OpText& text);
void set_fields(OpDef& def, std::uint32_t bytes, std::initializer_list<Field> fields);
void add_rule(OpDef& def, const Saves* saves);  // null: this input has no derivative

// Stands for a value of any type.
struct Anything {
    explicit Anything(std::size_t) {}
    template <class T>
    operator T() const;
};
template <class Attrs, std::size_t... I>
constexpr bool has_members(std::index_sequence<I...>) {
    return requires { Attrs{Anything{I}...}; };
}

template <class Op, std::size_t... I>
void make_fields(OpDef& def, std::index_sequence<I...>) {
    static_assert(!has_members<typename Op::Attrs>(std::make_index_sequence<sizeof...(I) + 1>{}),
                  "all members of Attrs are fields: calls are compared by them");
    set_fields(def, sizeof(typename Op::Attrs), {make_field<typename Op::Attrs, std::get<I>(Op::fields)>()...});
}

// Fields for the attributes that the schema names, laid out one after the other; for definitions without a struct.
void lay_out_attributes(OpDef& def);
void name_nodes(OpDef& def, const char* name);
void finish(OpDef& def);  // parses texts, checks that schema and struct agree, adds to the registry
const OpDef* fused_rule(const OpDef& op, void (*forward)(OpCall&));
void run_from_operands(OpCall& call, void (*fused_backward)(BackwardCall&));  // what a fused rule's forward calls

// An operation without a name in Python is made when it is first called; a file may name it before.
struct Maker {
    explicit Maker(OpDef& (*make)());
    OpDef& (*make)();
    const Maker* next;
};
template <class Op>
inline const Maker maker{&definition<Op>};

}  // namespace opdef_detail

// Makes those that nobody has called yet.
void make_all_operations();

// What stands before the operation's own attributes in those of its fused rule. The inputs are the gradients of all
// outputs, what is saved of all inputs, and what is saved of all outputs.
struct FusedHeader {
    std::uint64_t needed;
    std::uint64_t outputs;
};

template <class Op>
using Attributes = typename opdef_detail::AttrsOf<Op>::type;

template <class Op>
OpDef& definition() {
    static OpDef& def = *[] {
        using namespace opdef_detail;
        (void)&maker<Op>;
        using ForwardArgs = typename Signature<decltype(&Op::forward)>::Args;
        using Attrs = Attributes<Op>;
        static_assert(std::is_trivially_copyable_v<Attrs>, "attributes are copied as bytes");
        OpDef* const made = begin(Op::text);
        if constexpr (!std::is_same_v<Attrs, NoAttrs>)
            make_fields<Op>(*made,
                            std::make_index_sequence<std::tuple_size_v<std::remove_const_t<decltype(Op::fields)>>>{});
        made->forward = [](OpCall& call) { forward_with<Op>(call, static_cast<ForwardArgs*>(nullptr)); };
        made->output_count = count_outputs(static_cast<ForwardArgs*>(nullptr));
        made->draws = draws(static_cast<ForwardArgs*>(nullptr));
        if constexpr (requires { Op::rules; }) {
            made->differentiable = true;
            if constexpr (rule_count<Op> != 0) made->differentiable_outputs = 1;
            if constexpr (requires { Op::zero_gradient; }) made->zero_gradient = true;
            if constexpr (rules_read_attributes<Op>()) made->kept_bytes = made->attribute_bytes;
            made->backward = [](BackwardCall& call) {
                backward_by_rules<Op>(call, std::make_index_sequence<rule_count<Op>>{});
            };
            std::apply(
                [&](auto... rule) {
                    const auto add = [&]<class Rule>(Rule) {
                        if constexpr (std::is_same_v<Rule, std::nullptr_t>) {
                            add_rule(*made, nullptr);
                        } else {
                            constexpr Saves saves = saves_of(static_cast<typename Signature<Rule>::Args*>(nullptr));
                            add_rule(*made, &saves);
                        }
                    };
                    (add(rule), ...);
                },
                Op::rules);
            made->constants |= ~std::uint64_t{0} << rule_count<Op>;
            if constexpr (requires { Op::constants; }) made->constants |= Op::constants;
        } else if constexpr (requires { &Op::backward; }) {
            made->differentiable = true;
            made->backward = &Op::backward;
            made->kept_bytes = made->attribute_bytes;
            if constexpr (requires { Op::constants; }) made->constants = Op::constants;
            if constexpr (requires { &Op::saves; })
                made->joint_saves = [](Tensors inputs, std::uint64_t needs, const void* attributes) {
                    const auto ask = [&](const Attrs& attrs) {
                        if constexpr (requires { Op::saves(inputs, needs, attrs); })
                            return Op::saves(inputs, needs, attrs);
                        else
                            return Op::saves(needs, attrs);
                    };
                    return attributes ? ask(*static_cast<const Attrs*>(attributes)) : ask(Attrs{});
                };
        }
        if constexpr (requires { &Op::outputs; })
            made->count_outputs = [](Tensors inputs, const void* attributes) {
                return Op::outputs(inputs, attributes ? *static_cast<const Attrs*>(attributes) : Attrs{});
            };
        if constexpr (requires { &Op::writes; })
            made->writes_if = [](const void* attributes) { return Op::writes(*static_cast<const Attrs*>(attributes)); };
        finish(*made);
        if constexpr (requires { &Op::fused_backward; })
            made->fused = fused_rule(*made, [](OpCall& call) { run_from_operands(call, &Op::fused_backward); });
        return made;
    }();
    return def;
}

template <class... Ops>
struct Register {
    Register() { (definition<Ops>(), ...); }
};

}  // namespace clew
