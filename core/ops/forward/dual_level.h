// Forward mode: the interpreter that carries tangents along.
//
// Note [Dual levels]
// While a level is open, tensors may have a tangent along it (Note [Tangents] in core/autograd/tangent.h), and each
// call on such tensors is followed by calls that give the tangents of what it made: jvp() says which. These are calls
// like any other: they are recorded where gradients are, in a backward as well, and levels further out see them and
// carry their own tangents along. So derivatives nest in any order.
//
// A level has its place beneath all batches of vmap: tensors that have tangents are values, never samples, and a tensor
// that stands for samples has the tangents of its value. Derivatives of what nodes saved are right under vmap for that
// reason, as gradients are (Note [Derivatives under vmap] in src/clew/func/_batches.py).
//
// A tangent lies in memory as its value does where that is dense, and without gaps else: a view of the value, whose
// strides the call was given for, is one of the tangent as well. as_strided names places in memory: what it looks at is
// found in the root's tangent by geometry.
//
// A write into a tensor takes its tangent from what was there before; nothing is ever written into a tangent that
// somebody else could see. A write through a view changes that part of the root's, which begins as zeros.
#pragma once
#include <memory>
#include <vector>

#include "core/autograd/tangent.h"
#include "core/ops/interpreter.h"

namespace clew {

class DualLevel : public Interpreter {
public:
    explicit DualLevel(std::int64_t number) { tangents_.number = number; }

    std::int64_t number() const { return tangents_.number; }
    void handle(OpCall& call) override;
    bool takes_whole(const OpCall& call) const override;

    // Of a value; null where there is none.
    Tensor tangent_of(const Tensor& tensor);
    // Of a new tensor, whatever it is a view of.
    void give_tangent(const Tensor& tensor, Tensor tangent);
    // Whether the tensor has a tangent, be it of zeros, which are not always there.
    bool knows(const Tensor& tensor) { return find(tensor) != nullptr; }
    // Of what a Function returned: a view of an input shares the input's.
    void give_output(const Tensor& output, Tensor tangent, Tensors inputs);
    // Of a tensor that was written; null: zeros from now on.
    void write_tangent(const Tensor& tensor, Tensor tangent);

    // What a slot keeps: a root of its own, which nobody writes.
    Ref<Tangent> saved(const Tensor& tensor, Tensor tangent);
    const Tangent* along(const Tangents& tangents) const { return clew::tangent_along(tangents, tangents_); }

    bool suspended = false;  // calls pass it as if no tensor had a tangent

private:
    Tangent* find(const Tensor& tensor);
    std::vector<Tensor> tangents_of(Tensors tensors);
    void push_functional(OpCall& call, std::vector<Tensor> tangents);
    void push_in_place(OpCall& call, std::vector<Tensor> tangents);
    void push_axes_in_place(OpCall& call, const Tensor& tangent);
    void push_sum(OpCall& call, const std::vector<Tensor>& tangents);
    void share(const Tensor& source, const Tensor& view, Tensor tangent);
    void share_part(const Tensor& source, const Tensor& view);

    TangentsOfLevel tangents_;
};

// The tangent of something that lies so: Note [Dual levels].
Tensor laid_as(Tensor tangent, const Layout& layout);

// Opens a level on this thread; gives its number. The last that was opened is closed first.
std::int64_t open_level();
void close_level(std::int64_t number);
// Of this thread, from the outermost.
using DualLevels = std::vector<std::unique_ptr<DualLevel>>;
const DualLevels& open_levels();
DualLevel& level_of(std::int64_t number);

// For tensors that may stand for samples.
Tensor make_dual(DualLevel& level, const Tensor& primal, const Tensor& tangent);  // a view of the primal
Tensor primal_of(DualLevel& level, const Tensor& dual);                           // a view without tangent
Tensor tangent_of(DualLevel& level, const Tensor& dual);                          // or null
// Of what a Function made of its inputs, and of an input that it wrote: null means zeros there.
void give_tangent(DualLevel& level, const Tensor& output, const Tensor& tangent, Tensors inputs);
void write_tangent(DualLevel& level, const Tensor& output, const Tensor& tangent);
// Whether a graph or a level asks for the derivative by this tensor.
bool asks_for_derivative(const Tensor& tensor);
// `to` gets the tangents of `from` along all levels: it is the same value with another history.
void carry_tangents(const Tensor& from, const Tensor& to);

}  // namespace clew
