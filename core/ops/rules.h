// Rules, from lambdas to what the engine calls.
//
// Note [What a rule's parameters say]
// rules[i] gives the gradient of input i. Its parameters declare what is saved: In<1> means that input 1 is kept, and
// only if input 0 needs a gradient; Out<> keeps the output; Shape<i> reads the shape of input i, which must be the
// input of this rule, and keeps nothing; `const Attrs&` reads the attributes, which nodes keep only for that. A rule
// need not undo broadcasting or promotion: the engine sums and casts what it returns to what the input was. A rule that
// uses the gradient once may take it as `Tensor&&`: Note [Reusing the memory of a gradient]. Where inputs share work, a
// struct has `static void backward(BackwardCall&)` and `static Saves saves(needs, attrs)` instead; where what to save
// depends on how many inputs there are, `saves(Tensors inputs, needs, attrs)`. An input without derivative (an index, a
// mask) has nullptr for a rule, or none at the end; a struct without rules tells of it by `constants`: bit i is the
// i-th tensor or list of tensors in the schema.
#pragma once
#include <tuple>
#include <type_traits>

#include "core/autograd/saved.h"
#include "core/ops/registry.h"

namespace clew {

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

template <class Attrs, class Rule>
constexpr bool reads_attributes() {
    if constexpr (std::is_same_v<Rule, std::nullptr_t>)
        return false;
    else
        return []<class... P>(std::tuple<P...>*) {
            return (std::is_same_v<P, const Attrs&> || ...);
        }(static_cast<typename Signature<Rule>::Args*>(nullptr));
}
template <class Op>
constexpr bool rules_read_attributes() {
    return []<class... Rule>(std::tuple<Rule...>*) {
        return (reads_attributes<typename AttrsOf<Op>::type, Rule>() || ...);
    }(static_cast<std::remove_const_t<decltype(Op::rules)>*>(nullptr));
}

template <class Op>
constexpr std::size_t rule_count = std::tuple_size_v<std::remove_const_t<decltype(Op::rules)>>;

}  // namespace opdef_detail
}  // namespace clew
