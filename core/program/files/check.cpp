#include "core/program/files/check.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "core/autograd/mode.h"
#include "core/base/frame.h"
#include "core/ops/dispatch.h"
#include "core/ops/interpreter.h"
#include "core/program/files/names.h"
#include "core/program/record/recorder.h"
#include "core/program/replay/guards.h"

namespace clew {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

class Check {
public:
    explicit Check(Program& program)
        : program_(program), regs_(program.registers.size()), places_(program.memories.size()) {}

    void go() {
        const ModeGuard quietly(kNoGrad | kInBackward, true);
        const ModeGuard plainly(kInterpreted | kTiming | kInferenceMode | kSavedHooks | kMakeMeta, false);
        const SkipKernels skip(true);
        [[maybe_unused]] const DispatchFrame frame;
        for (std::size_t i = 0; i < program_.registers.size(); ++i) check_register(static_cast<int>(i));
        for (std::size_t i = 0; i < program_.inputs.size(); ++i) add_input(static_cast<int>(i));
        for (const auto& [reg, value] : program_.constants) add_constant(reg, value);
        for (at_ = 0; at_ < static_cast<int>(program_.steps.size()); ++at_) {
            try {
                check_step(step());
            } catch (const ReplayFailed&) {
                throw;
            } catch (const Error& error) {
                wrong(error.what());
            }
        }
        check_ends();
    }

private:
    Step& step() { return program_.steps[static_cast<std::size_t>(at_)]; }
    KeptRegister& reg(int index) { return program_.registers[static_cast<std::size_t>(index)]; }
    Memory& memory(int index) { return program_.memories[static_cast<std::size_t>(index)]; }
    [[noreturn]] void wrong(const std::string& what) {
        throw ReplayFailed(format("step %d (%s): %s", at_, step().action->op->name, what.c_str()), &step());
    }
    void need(bool holds, const char* what) {
        if (!holds) wrong(what);
    }
    static void ensure(bool holds, const char* what) {
        if (!holds) fail(ErrorKind::Value, "%s", what);
    }

    void check_register(int index) {
        KeptRegister& of = reg(index);
        const std::int64_t bytes = memory(of.memory).bytes;
        ensure(bytes >= 0 && bytes <= kMostBytes, "a memory of so many bytes");
        Storage size;
        size.bytes = bytes;
        const auto item = static_cast<std::int64_t>(item_size(of.dtype));
        ensure(of.offset % item == 0, "a register between two elements");
        for (const std::int64_t one : of.layout->shape()) ensure(one >= 0, "a register of negative size");
        check_inside_storage("register", *of.layout, of.offset / item, of.dtype, size);
        of.made_by = -1;
        of.before = std::exchange(memory(of.memory).last, index);
    }

    // A tensor without values that looks as the register says.
    Tensor stand_in(const KeptRegister& of, StorageRef storage) {
        const Tensor made = Tensor::steal(new_tensor_object());
        made->storage = std::move(storage);
        made->layout = of.layout;
        made->offset = of.offset / static_cast<std::int64_t>(item_size(of.dtype));
        made->dtype = of.dtype;
        return made;
    }
    StorageRef& place_of_memory(int index) {
        StorageRef& place = places_[static_cast<std::size_t>(index)];
        if (!place) take_place(index, Storage::make(memory(index).bytes));
        return place;
    }
    void take_place(int index, StorageRef storage) {
        known_[storage.get()] = index;
        places_[static_cast<std::size_t>(index)] = std::move(storage);
    }
    Tensor& value(int index) { return regs_[static_cast<std::size_t>(index)]; }

    void add_input(int index) {
        const Input& input = program_.inputs[static_cast<std::size_t>(index)];
        const KeptRegister& of = reg(input.reg);
        ensure(!value(input.reg), "two inputs in one register");
        if (memory(of.memory).input < 0) memory(of.memory).input = index;
        value(input.reg) = stand_in(of, place_of_memory(of.memory));
    }
    void add_constant(int index, const Tensor& constant) {
        const KeptRegister& of = reg(index);
        ensure(!value(index) && !places_[static_cast<std::size_t>(of.memory)], "a constant that shares memory");
        ensure(same_geometry(constant, of) && byte_offset(constant) == of.offset &&
                   constant->storage->bytes == memory(of.memory).bytes && !is_meta(constant) &&
                   constant->has(TensorObject::kWrappedNumber) == of.number,
               "a constant of another shape than its register");
        take_place(of.memory, constant->storage);
        value(index) = constant;
    }

    void check_step(Step& one) {
        for (const int input : one.inputs) need(input < 0 || bool(value(input)), "reads what nothing has made");
        switch (one.action->kind) {
            case StepKind::Run:
                check_run(one);
                break;
            case StepKind::Nothing:
                need(one.action->op == &mark_dirty_op || one.action->op->is(kAxesInPlace), "expected to do something");
                need(!one.inputs.empty() && one.inputs[0] >= 0 && one.action->form == Form::InPlace, "has no operand");
                need(one.outputs.empty(), "has results");
                break;
            case StepKind::Read: {
                need(one.inputs.size() == 1 && one.inputs[0] >= 0 && one.outputs.empty(), "expected one operand");
                const Tensor& then = program_.reads[static_cast<std::size_t>(one.index)];
                need(same_geometry(then, reg(one.inputs[0])) || same_sizes_and_dtype(then, reg(one.inputs[0])),
                     "has read something else");
                need(one.action->read != Read::Bool || then.numel() == 1, "reads one truth of several values");
                break;
            }
            case StepKind::Rebind:
                check_rebind(one);
                break;
        }
        check_writes(one);
    }
    static bool same_sizes_and_dtype(const Tensor& tensor, const KeptRegister& of) {
        return tensor.dtype() == of.dtype && same_sizes(tensor.sizes(), of.layout->shape());
    }

    void check_rebind(const Step& one) {
        need(one.inputs.size() == 1 && one.outputs.empty(), "expected one operand");
        const Leaf& leaf = program_.leaves[static_cast<std::size_t>(one.index)];
        const int of = leaf.input >= 0     ? program_.inputs[static_cast<std::size_t>(leaf.input)].reg
                       : leaf.tracked >= 0 ? program_.tracked[static_cast<std::size_t>(leaf.tracked)].reg
                                           : -1;
        if (of < 0 || one.inputs[0] < 0) return;
        need(reg(of).dtype == reg(one.inputs[0]).dtype &&
                 same_sizes(reg(of).layout->shape(), reg(one.inputs[0]).layout->shape()),
             "a .grad of another shape or dtype");
    }

    void check_run(Step& one) {
        const OpDef& op = *one.action->op;
        need(op.forward != nullptr, "expected an operation that computes something");
        need(bool(one.action->generator) == op.draws, "draws from another generator");
        if (const OpDef* const rule = rule_of(op))
            check_fused(one, *rule);
        else
            check_operands(one);
        Generator scratch;
        const CallDetails details{.name = one.action->name, .generator = op.draws ? &scratch : nullptr};
        std::vector<Tensor> inputs, outputs;
        for (const int input : one.inputs) inputs.push_back(input < 0 ? Tensor() : value(input));
        if (one.action->form == Form::Functional) outputs.resize(one.outputs.size());
        if (one.action->form == Form::InPlace) outputs = {inputs[0]};
        OpCall call{op, inputs, one.action->attributes.data(), outputs, one.action->form, &details};
        bool told = true;
        try {
            one.action->form == Form::Accumulate ? op.forward(call) : run_forward(call);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::NotImplemented) throw;
            told = false;  // its sizes depend on values
        }
        if (one.action->form == Form::InPlace) need(!told || call.outputs[0].same(inputs[0]), "writes something else");
        if (one.action->form == Form::Functional)
            for (std::size_t i = 0; i < one.outputs.size(); ++i)
                define(one.outputs[i], told ? call.outputs[i] : Tensor(), told);
    }

    // As many tensors as the schema has, and none missing that must be there.
    void check_operands(const Step& one) {
        const OpDef& op = *one.action->op;
        const bool only_here = op.text.schema == nullptr;  // constant, alias, accumulate
        std::size_t wanted = only_here ? (one.action->form == Form::Accumulate ? 2 : 1) : 0, in_list = 0, place = 0;
        if (!only_here) wanted = static_cast<std::size_t>(std::ranges::count_if(op.schema.arguments, is_tensor));
        need(op.variadic ? one.inputs.size() + 1 >= wanted : one.inputs.size() == wanted, "has other operands");
        if (op.variadic) in_list = one.inputs.size() + 1 - wanted;
        if (only_here) {
            for (const int input : one.inputs) need(input >= 0, "misses an operand");
        } else {
            for (const Argument& argument : op.schema.arguments) {
                if (!is_tensor(argument)) continue;
                for (std::size_t n = argument.type == ArgType::TensorList ? in_list : 1; n > 0; --n)
                    need(one.inputs[place++] >= 0 || argument.optional, "misses an operand");
            }
        }
        const bool writes = one.action->form == Form::InPlace;
        need((op.is(kInPlace) && writes) || op.is(kWritesInput) == writes, "writes where it should not, or not");
        need((one.action->form == Form::Accumulate) == (&op == &accumulate_op) &&
                 (one.action->form == Form::Functional || one.action->form == Form::InPlace ||
                  one.action->form == Form::Accumulate),
             "expected another form of call");
        std::vector<Tensor> inputs;
        for (const int input : one.inputs) inputs.push_back(input < 0 ? Tensor() : value(input));
        const std::size_t outputs = one.action->form != Form::Functional ? 0
                                    : op.count_outputs ? op.count_outputs(inputs, one.action->attributes.data())
                                                       : op.output_count;
        need(one.outputs.size() == outputs, "has another number of results");
        need(writes ? !one.inputs.empty() && one.inputs[0] >= 0 : true, "writes nothing");
    }

    // The gradients of all results, what is saved of all inputs, and what is saved of all results.
    void check_fused(const Step& one, const OpDef& of) {
        FusedHeader header;
        std::memcpy(&header, one.action->attributes.data(), sizeof header);
        const auto inputs = static_cast<std::size_t>(std::ranges::count_if(of.schema.arguments, is_tensor));
        need(one.action->form == Form::Functional && header.outputs == of.output_count &&
                 header.needed >> inputs == 0 && one.outputs.size() == inputs &&
                 one.inputs.size() == inputs + 2 * header.outputs,
             "has other operands or results");
    }

    void define(int index, const Tensor& made, bool told) {
        if (index < 0) return;
        need(!told || bool(made), "gives no such result");
        KeptRegister& of = reg(index);
        StorageRef storage = told ? made->storage : Storage::make(memory(of.memory).bytes);
        need(!told || (same_geometry(made, of) && byte_offset(made) == of.offset), "gives a result of another shape");
        StorageRef& place = places_[static_cast<std::size_t>(of.memory)];
        if (!place) {
            need(!known_.contains(storage.get()) && storage->bytes == memory(of.memory).bytes,
                 "gives a result on other memory");
            memory(of.memory).made_by = at_;
            take_place(of.memory, storage);
        } else {
            need(told && place.get() == storage.get(), "gives a result on other memory");
        }
        if (value(index)) return;
        of.made_by = at_;
        value(index) = stand_in(of, place);
    }

    // What the call writes follows from its operation; the file says how versions move.
    void check_writes(const Step& one) {
        std::vector<int> written;
        if (one.action->form == Form::InPlace || one.action->form == Form::Accumulate) written.push_back(one.inputs[0]);
        const std::uint64_t writes = one.action->op->written_by(one.action->attributes.data());
        for (std::size_t i = 0; i < one.inputs.size() && i < 64; ++i)
            if ((writes >> i & 1) && one.inputs[i] >= 0 && !(i == 0 && one.action->form == Form::InPlace))
                written.push_back(one.inputs[i]);
        need(std::ranges::equal(one.writes, written, {}, &KeptWrite::reg), "writes something else");
        for (const KeptWrite& write : one.writes) {
            const int at = reg(write.reg).memory;
            need(write.through < 0 || reg(program_.inputs[static_cast<std::size_t>(write.through)].reg).memory == at,
                 "moves the version of another memory");
            memory(at).writers.push_back(at_);
        }
    }

    void check_ends() {
        for (const TrackedTensor& tracked : program_.tracked) {
            ensure(bool(value(tracked.reg)), "a tensor that nothing has made");
            if (tracked.tensor)
                ensure(same_geometry(Tensor(tracked.tensor), reg(tracked.reg)), "a tensor of another shape");
        }
        for (KeptNode& kept : program_.nodes)
            for (const KeptSlot& slot : kept.slots)
                ensure(slot.reg < 0 || bool(value(slot.reg)), "a node saves nothing");
    }

    Program& program_;
    std::vector<Tensor> regs_;
    std::vector<StorageRef> places_;
    std::unordered_map<const Storage*, int> known_;
    int at_ = 0;
};

}  // namespace

void check_program(Program& program) { Check(program).go(); }

}  // namespace clew
