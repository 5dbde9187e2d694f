// What ran in a block, step by step, as it can be run again.
//
// Note [Registers and memories]
// A memory is a storage: one that the block made, or one that was there before, which an input looks at. A register is
// one geometry (layout, offset, dtype) on a memory: the block's tensors are registers, and two tensor objects with one
// geometry on one memory are the same register, so that no tensor object need be followed. A step reads registers and
// defines others; views define registers on the memory of what they view. What writes in place defines a new version of
// its memory: it is noted there, with the bytes that it may reach. So the value of a register at a step is known: it is
// made by the step that defined it and all writes before that reach its bytes.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/few.h"
#include "core/base/random.h"
#include "core/base/segmented.h"
#include "core/ops/opdef.h"

namespace clew {

using Numbers = Few<int, 3>;  // of steps, registers

struct Bytes {  // of a storage, from begin up to end
    std::int64_t begin, end;
    bool meets(const Bytes& other) const { return begin < other.end && other.begin < end; }
};

struct KeptRegister {
    LayoutRef layout;
    std::int64_t offset;  // in bytes
    int memory;
    int made_by;  // a step; -1: an input or a constant
    DType dtype;
    bool number;      // stands for a Python number
    int before = -1;  // the register that was added on the same memory before it; -1: it is the first
    Bytes bytes() const;
};
static_assert(sizeof(KeptRegister) <= 32);

struct Memory {
    std::int64_t bytes;
    int input;      // the first input on it; -1: the block made it
    int made_by;    // then: the step
    int last = -1;  // the register that was added last
    Few<int, 2> writers{};
};
static_assert(sizeof(Memory) <= 32);

// A tensor that was there before the block, or the .grad of one.
struct Input {
    Tensor tensor;
    bool grad_of;
    int reg;
    bool requires_grad;
    std::uint64_t history;          // number of its node, 0: none
    std::uint64_t hooks;            // told by hooks_of()
    const void* counter = nullptr;  // of versions, when it was met: a .grad may be replaced in the block
    bool bound = false;             // an argument: another tensor in each call
    bool older = true;              // somebody else had it before the block
    bool apart = false;             // no other input on other memory overlaps it
    // As it was when somebody looked last, and when that was; Note [Leaves of the block] in leaves.h.
    std::uint64_t place = 0;
    std::uint32_t version = 0;
    std::uint64_t looked = 0;
    std::uint64_t changed = 0;  // when it was first seen that somebody else had changed it
    const Tensor& present() const { return grad_of ? present_grad() : tensor; }

private:
    const Tensor& present_grad() const;
};

struct KeptWrite {
    int reg;
    std::uint32_t bump;  // how far it moved the version
    int through;         // the input whose version counter moved; -1: another
};

enum class StepKind : std::uint8_t { Run, Nothing, Read, Rebind };

// What a step does, and at which line: the iterations of a loop have that in common.
struct Action {
    const OpDef* op = nullptr;
    std::span<const char> attributes{};  // of Recorded::slabs
    const char* name = nullptr;
    Generator* generator = nullptr;
    Handle code{};  // the user's line
    std::int32_t instruction = -1;
    int number = -1;  // of Recorded::actions
    Form form = Form::Functional;
    StepKind kind = StepKind::Run;
    Read read = Read::Other;
    bool in_backward = false;  // the engine ran it
    bool varies = false;       // its attributes may be others in each run
};

bool does_the_same(const Action& one, const Action& other);  // one that varies does not

struct Step {
    const Action* action = nullptr;  // of Recorded::actions; several steps may have the same
    Numbers inputs{}, outputs{};     // registers; -1: none
    Few<KeptWrite, 1> writes{};
    int index = -1;  // Read: of what was read; Rebind: of the leaf
};
static_assert(sizeof(Step) <= 64);  // there may be tens of thousands

std::string name_of(const Step& step);  // "mul", "add_", "read.item", "set_grad"

// A node of the block, and which registers its slots hold.
struct KeptSlot {
    int reg = -1;      // -1: empty
    int through = -1;  // the input whose version counter it was saved with
    bool stale = false;
    bool edge = false;  // it has a history of its own
};
struct KeptNode {
    Node* node;  // weak
    int step;
    std::uint64_t born;  // its number then; filled again, it gets a new one
    bool freed_at_end = false;
    bool hooked = false;  // at the end of the block
    Few<KeptSlot, 2> slots{};
    // While one is destroyed, Python may run, and with it the program.
    Node* alive() const { return node && node->references ? node : nullptr; }
};

// A tensor of the block that lived at its end.
struct TrackedTensor {
    TensorObject* tensor;  // weak
    int reg;
    int node;  // of Program::nodes; -1: no history
    std::uint32_t version, behind;
    std::uint64_t place;     // its storage
    std::uint64_t made = 0;  // when it got its value, by the clock that numbers writes
};

// A leaf of the block that somebody else has written, so that it is an input: Note [Leaves of the block] in leaves.h.
struct WrittenLeaf {
    int input;
    std::vector<int> sources;  // inputs that it was made from
    std::uint64_t made;
    Handle made_at;  // the line
    std::int32_t made_instruction = -1;
};
inline std::uint64_t place_of(const TensorObject& tensor) {
    const std::uint64_t identity = identity_of(*tensor.storage);
    return identity ? identity : reinterpret_cast<std::uintptr_t>(tensor.storage.get());
}

// Whose .grad was set: an input's, or that of a tensor of the block, if it lives.
struct Leaf {
    int input = -1, tracked = -1;
    int last = -1;              // the step that sets it last; -1: another entry says so
    std::uint32_t version = 0;  // of its .grad at the end
    int result = -1;            // of the outcome: the .grad, if it is given or lies on memory from before the call
    int gradient = -1;          // of Program::tracked: the .grad
    Tensor tensor{};            // while the block runs
};

struct Refusal {
    std::string text;
    Handle code;
    std::int32_t instruction;
};

// What is the case before the block runs, and has to be when it runs again.
struct GradWitness {
    int input;
    bool present;
};

struct Loop;
struct Slice;
struct Outcome;
void retain(const Outcome* outcome);
void release(const Outcome* outcome);

// What a replay found where Python read one number, or a list of them, and only handed it on.
struct ReadNumber {
    DType dtype;
    alignas(16) char bytes[16];
    Tensor list{};
};

// What Python found when it compared a followed number with a constant: the operators of Python, < <= == != > >=.
struct NumberWitness {
    int read;
    int operation;
    double constant;
    bool outcome;
    bool holds(double number) const;
};

// A followed number, given to an operation: the constant that it is there.
struct NumberUse {
    int read;
    std::size_t constant;  // of Program::constants
};

// What a recorder writes down.
struct Recorded {
    std::unique_ptr<Slabs> slabs = std::make_unique<Slabs>();
    Segmented<KeptRegister> registers{*slabs};
    Segmented<Memory> memories{*slabs};
    Segmented<Action> actions{*slabs};
    Segmented<Step> steps{*slabs};
    Segmented<KeptNode> nodes{*slabs};
    std::vector<Input> inputs;
    std::vector<std::pair<int, Tensor>> constants;  // register, value
    std::vector<Tensor> reads;                      // what each Read found
    std::vector<char> followed;                     // of each: the number may be another one in each run
    std::vector<NumberWitness> comparisons;         // of followed numbers
    std::vector<NumberUse> number_uses;             // of these
    std::vector<std::size_t> varying;               // constants that are set anew for each run
    std::vector<Leaf> leaves;
    std::vector<TrackedTensor> tracked;
    std::vector<int> placed{};  // inputs of which was asked where in their storage they begin
    std::vector<GradWitness> grads;
    std::vector<Refusal> refusals;
    std::vector<Refusal> once;  // why it can't run a second time as a whole
    std::vector<Handle> held;   // Python things that steps need
    bool has_backward = false;
    int add_register(KeptRegister&& reg) {  // its memory is there
        const int number = static_cast<int>(registers.size());
        reg.before = std::exchange(memories[static_cast<std::size_t>(reg.memory)].last, number);
        registers.push_back(std::move(reg));
        return number;
    }
    // Of steps that do the same at the same line, the action and its attributes are kept once.
    const Action* keep(Action&& action);
    void* vary_attributes(Step& step);         // for who changes them between runs: they are nobody else's from now on
    Action& keep_alone(const Action& action);  // for one step
    void forget_known() { known_.reset(); }

private:
    static constexpr std::size_t kKnown = 64, kOfOne = 4;
    struct Known {
        const Action* actions[kKnown][kOfOne] = {};  // by line and operation; the latest first
    };
    std::span<const char> keep_bytes(std::span<const char> bytes);
    Action& add(Action&& action);
    std::unique_ptr<Known> known_;
};

// Memory that a step makes, kept at a place in that of an input.
struct Pinned {
    int memory, into;
    std::int64_t place;  // in bytes
    int reg;             // the first on it
};

struct Program : Recorded {
    bool finished = false;
    bool loaded = false;       // from a file
    bool coded = true;         // code may take over: core/program/code
    bool fused = false;        // which may round a product and a sum at once
    std::uint64_t began = 0;   // by the clock that numbers nodes
    std::uint64_t deaths = 0;  // of nodes and tensors, for who remembers which live
    void* self = nullptr;      // weak: the object that Python has
    // Note [Leaves of the block] in leaves.h.
    std::vector<int> historyless;  // of `tracked`: what the block made and nothing has differentiated
    std::vector<WrittenLeaf> written_leaves;
    std::uint64_t revision = 0;  // how often steps were left out
    int under_way = 0;           // replays

    Program();
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    const KeptRegister& of(int reg) const { return registers[static_cast<std::size_t>(reg)]; }
    const Memory& memory_of(int reg) const { return memories[static_cast<std::size_t>(of(reg).memory)]; }
    bool writes(int step, int reg) const;  // whether the step may reach bytes of the register
    std::size_t recorded_steps() const { return recorded ? recorded : steps.size(); }
    bool decides(const Step& read) const;  // whether the run stops there if the value is another one

    std::size_t recorded = 0;                    // steps that there were before loops were folded; 0: none was
    std::vector<std::unique_ptr<Loop>> loops;    // Note [Loops of programs]
    std::vector<Pinned> pinned;                  // of the body of a loop
    bool is_body = false;                        // of a loop: what it writes is the call's, and lost if that fails
    std::vector<std::unique_ptr<Slice>> slices;  // made when asked for
    Ref<Outcome> outcome;                        // of a compiled call: Note [Outcome]
};

Bytes bytes_of(const Layout& layout, std::int64_t offset, DType dtype);  // offset in bytes
std::int64_t bytes_of(const Program& program);                           // of tensors that it keeps, and of its tables
std::vector<std::string> code_of(const Program& program);                // how it stands with its code, in words
Tensor leaf_of(const Program& program, const Leaf& leaf);                // null: it is gone
void set_constant(Program& program, std::size_t constant, Tensor value);
std::uint64_t hooks_of(const Tensor& tensor);
std::uint64_t history_of(const Tensor& tensor);  // number of its node, 0: none
inline std::int64_t byte_offset(const Tensor& tensor) {
    return tensor->offset * static_cast<std::int64_t>(item_size(tensor.dtype()));
}

struct ReplayFailed : Error {
    ReplayFailed(std::string text, const Step* step);
    Handle code;
    std::int32_t instruction = -1;
    bool of_file = false;  // the program is from a file
    Tensor input;          // that is not as it was, or the tensor whose .grad it is
    bool is_grad = false;
    std::vector<std::int64_t> recorded_shape, got_shape;  // where they differ
};

}  // namespace clew
