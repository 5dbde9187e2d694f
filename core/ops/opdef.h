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
// Note [What a rule's parameters say]
// rules[i] gives the gradient of input i. Its parameters declare what is saved: In<1> means that input 1 is kept, and
// only if input 0 needs a gradient; Out<> keeps the output; Shape<i> reads the shape of input i, which must be the
// input of this rule, and keeps nothing; `const Attrs&` reads the attributes. A rule need not undo broadcasting or
// promotion: the engine sums and casts what it returns to what the input was. A rule that uses the gradient once may
// take it as `Tensor&&`: Note [Reusing the memory of a gradient]. Where inputs share work, a struct has
// `static void backward(BackwardCall&)` and `static Saves saves(needs, attrs)` instead; where what to save depends on
// how many inputs there are, `saves(Tensors inputs, needs, attrs)`. An input without derivative (an index, a mask) has
// nullptr for a rule, or none at the end; a struct without rules tells of it by `constants`: bit i is the i-th tensor
// or list of tensors in the schema.
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

#include "core/autograd/saved.h"
#include "core/ops/registry.h"

namespace clew {

// ------------------------------------------------------------------------------------------------- parameters of rules
template <int I>
struct In {
    static constexpr int index = I;
    Tensor value;
    operator const Tensor&() const { return value; }
    const Tensor& operator*() const { return value; }
    const Tensor* operator->() const { return &value; }
};
template <int I = 0>
struct Out {
    static constexpr int index = I;
    Tensor value;
    operator const Tensor&() const { return value; }
    const Tensor& operator*() const { return value; }
    const Tensor* operator->() const { return &value; }
};
template <int I>
struct Shape {
    static constexpr int index = I;
    const Layout& layout;
    DType dtype;
    Sizes sizes() const { return layout.shape(); }
    int ndim() const { return layout.ndim; }
    std::int64_t numel() const { return layout.numel; }
    operator Sizes() const { return layout.shape(); }
};

// For joint rules.
Tensor saved_input(BackwardCall& call, int input);
Tensor saved_output(BackwardCall& call, int output);
inline const Layout& input_layout(BackwardCall& call, int input) {
    if (call.operands) return call.operands->inputs[static_cast<std::size_t>(input)].layout();
    const Edge edge = call.node->edge(input);
    return *edge.node->outputs()[edge.index].layout;
}
inline DType input_dtype(BackwardCall& call, int input) {
    if (call.operands) return call.operands->inputs[static_cast<std::size_t>(input)].dtype();
    const Edge edge = call.node->edge(input);
    return edge.node->output_dtypes()[edge.index];
}
// Whether these two are known: a node knows them of inputs that need a gradient.
inline bool knows_input(BackwardCall& call, int input) {
    return call.operands ? bool(call.operands->inputs[static_cast<std::size_t>(input)]) : bool(call.node->edge(input));
}
inline const Layout& output_layout(BackwardCall& call, int output) {
    return call.operands ? call.operands->outputs[static_cast<std::size_t>(output)].layout()
                         : *call.node->outputs()[output].layout;
}
template <class Attrs>
const Attrs& attributes_of(BackwardCall& call) {
    return *static_cast<const Attrs*>(call.operands ? call.operands->attributes : call.node->attributes());
}

// ------------------------------------------------------------------------------------------------- from struct to
// OpDef
namespace opdef_detail {

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
    using Args = std::tuple<A...>;
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
    using Args = std::tuple<A...>;
};

template <class Op>
struct AttrsOf {
    using type = NoAttrs;
};
template <class Op>
    requires requires { typename Op::Attrs; }
struct AttrsOf<Op> {
    using type = typename Op::Attrs;
};

template <class P>
struct IsIn : std::false_type {};
template <int I>
struct IsIn<In<I>> : std::true_type {};
template <class P>
struct IsOut : std::false_type {};
template <int I>
struct IsOut<Out<I>> : std::true_type {};
template <class P>
struct IsShape : std::false_type {};
template <int I>
struct IsShape<Shape<I>> : std::true_type {};

template <class P>
constexpr void add_save(Saves& saves) {
    if constexpr (IsIn<P>::value) saves.inputs |= 1u << P::index;
    if constexpr (IsOut<P>::value) saves.outputs |= 1u << P::index;
}
template <class... P>
constexpr Saves saves_of(std::tuple<P...>*) {
    Saves saves;
    (add_save<P>(saves), ...);
    return saves;
}

template <class Attrs, class P>
decltype(auto) rule_argument(BackwardCall& call, [[maybe_unused]] bool is_last) {
    if constexpr (IsIn<P>::value) {
        return P{saved_input(call, P::index)};
    } else if constexpr (IsOut<P>::value) {
        return P{saved_output(call, P::index)};
    } else if constexpr (IsShape<P>::value) {
        return P{input_layout(call, P::index), input_dtype(call, P::index)};
    } else if constexpr (std::is_same_v<P, const Attrs&>) {
        return attributes_of<Attrs>(call);
    } else if constexpr (std::is_same_v<P, Tensor&&>) {
        return is_last ? std::move(call.incoming[0]) : Tensor(call.incoming[0]);
    } else {
        static_assert(std::is_same_v<P, const Tensor&>,
                      "a rule takes const Tensor& or Tensor&& (the gradient), In, Out, Shape or const Attrs&");
        return static_cast<const Tensor&>(call.incoming[0]);
    }
}
template <class Attrs, class Rule, class... P>
Tensor call_rule(const Rule& rule, BackwardCall& call, bool is_last, std::tuple<P...>*) {
    return rule(rule_argument<Attrs, P>(call, is_last)...);
}

template <class Op, std::size_t... I>
void backward_by_rules(BackwardCall& call, std::index_sequence<I...>) {
    using Attrs = typename AttrsOf<Op>::type;
    const auto one = [&]<std::size_t K>() {
        using Rule = std::tuple_element_t<K, std::remove_const_t<decltype(Op::rules)>>;
        if constexpr (!std::is_same_v<Rule, std::nullptr_t>)
            if (call.needs(K))
                call.results[K] = call_rule<Attrs>(std::get<K>(Op::rules), call, call.needed >> K == 1,
                                                   static_cast<typename Signature<Rule>::Args*>(nullptr));
    };
    (one.template operator()<I>(), ...);
}

template <class Op>
constexpr std::size_t rule_count = std::tuple_size_v<std::remove_const_t<decltype(Op::rules)>>;

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
void read(const Text& field, Value& value);
void read(const DType& field, Value& value);
template <class T>
void read(const std::optional<T>& field, Value& value) {
    if (field) read(*field, value);
}

template <class Attrs, auto Member>
Field make_field() {
    return {[](void* attributes, const Value& value) { assign(static_cast<Attrs*>(attributes)->*Member, value); },
            [](const void* attributes, Value& value) { read(static_cast<const Attrs*>(attributes)->*Member, value); }};
}
template <class Op, std::size_t... I>
std::vector<Field> make_fields(std::index_sequence<I...>) {
    return {make_field<typename Op::Attrs, std::get<I>(Op::fields)>()...};
}

// Fields for the attributes that the schema names, laid out one after the other; for definitions without a struct.
void lay_out_attributes(OpDef& def);
void name_nodes(OpDef& def, const char* name);
void finish(OpDef& def);  // parses texts, checks that schema and struct agree, adds to the registry

}  // namespace opdef_detail

template <class Op>
using Attributes = typename opdef_detail::AttrsOf<Op>::type;

template <class Op>
OpDef& definition() {
    static OpDef& def = *[] {
        using namespace opdef_detail;
        using ForwardArgs = typename Signature<decltype(&Op::forward)>::Args;
        using Attrs = Attributes<Op>;
        static_assert(std::is_trivially_copyable_v<Attrs>, "attributes are copied as bytes");
        auto* made = new OpDef;
        made->text = Op::text;
        if constexpr (!std::is_same_v<Attrs, NoAttrs>) {
            made->attribute_bytes = sizeof(Attrs);
            made->fields = make_fields<Op>(
                std::make_index_sequence<std::tuple_size_v<std::remove_const_t<decltype(Op::fields)>>>{});
        }
        made->forward = [](OpCall& call) { forward_with<Op>(call, static_cast<ForwardArgs*>(nullptr)); };
        made->output_count = count_outputs(static_cast<ForwardArgs*>(nullptr));
        made->draws = draws(static_cast<ForwardArgs*>(nullptr));
        if constexpr (requires { Op::rules; }) {
            made->differentiable = true;
            if constexpr (rule_count<Op> != 0) made->differentiable_outputs = 1;
            made->backward = [](BackwardCall& call) {
                backward_by_rules<Op>(call, std::make_index_sequence<rule_count<Op>>{});
            };
            std::apply(
                [&](auto... rule) {
                    const auto add = [&]<class Rule>(Rule) {
                        if constexpr (std::is_same_v<Rule, std::nullptr_t>) {
                            made->constants |= std::uint64_t{1} << made->saved_by_rule.size();
                            made->saved_by_rule.push_back({});
                        } else
                            made->saved_by_rule.push_back(
                                saves_of(static_cast<typename Signature<Rule>::Args*>(nullptr)));
                    };
                    (add(rule), ...);
                },
                Op::rules);
            made->constants |= ~std::uint64_t{0} << rule_count<Op>;
            if constexpr (requires { Op::constants; }) made->constants |= Op::constants;
        } else if constexpr (requires { &Op::backward; }) {
            made->differentiable = true;
            made->backward = &Op::backward;
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
        finish(*made);
        return made;
    }();
    return def;
}

template <class... Ops>
struct Register {
    Register() { (definition<Ops>(), ...); }
};

}  // namespace clew
