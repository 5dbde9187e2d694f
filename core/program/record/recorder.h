// Writes down what runs in a block: the interpreter that makes a Program.
#pragma once
#include <algorithm>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "core/base/flat_table.h"
#include "core/ops/interpreter.h"
#include "core/program/own_operations.h"
#include "core/program/program.h"
#include "core/program/results/outcome.h"

namespace clew {

// A table by number has room for so many, or more.
template <class T>
void reach(std::vector<T>& table, std::size_t size, T none) {
    constexpr std::size_t kFirst = 64;
    if (table.size() < size) table.resize(std::max({kFirst, 2 * table.size(), size}), none);
}

// Where what it has met stands in the program.
struct RecorderTables {
    // By identity. Those that are given while it records follow each other.
    FlatTable<std::uint64_t, int> older_memories_;
    std::vector<int> last_on_;  // from this one on: the register that was added last there; -1: none
    std::uint64_t first_identity_ = last_identity + 1;
    std::vector<char> noted_nodes_;                    // of a call: by number, from program.began on
    std::unordered_map<const Storage*, int> foreign_;  // by address: held
    std::vector<StorageRef> held_;
    std::unordered_map<const TensorObject*, int> inputs_;           // tensors from before the block; their register
    std::unordered_map<const TensorObject*, std::uint64_t> hooks_;  // of tensors that had some before
    std::unordered_set<const TensorObject*> cells_;                 // leaves whose .grad was read or set
    std::unordered_map<const TensorObject*, int> outlined_results_;
    std::unordered_map<const Storage*, const TensorObject*> gradient_on_;  // which gradient of the call lies there
    std::unordered_map<const Node*, int> outlined_nodes_;
    // Of memory with many registers: these by where they lie, and up to which they are noted.
    std::unordered_multimap<std::uint64_t, int> registers_at_;
    std::unordered_map<int, int> noted_on_;
    std::vector<int> shared_reads_;  // steps that hand out memory
    std::vector<int> set_by_;        // of each leaf: the step
};

class Recorder : public Interpreter, private RecorderTables {
public:
    explicit Recorder(Program& program) : program_(program) {}
    ~Recorder() override;

    // One block at a time in a process: tensors carry a mark.
    void begin();
    void begin_call();  // whose nodes go with it, unless they are outlined
    // To measure: whatever else wants to record or to replay ends it, with nothing kept; so do kMostPassive steps.
    static constexpr std::size_t kMostPassive = 10'000;
    void begin_passive();
    bool is_on() const { return on_; }
    bool gives_way() override;
    // Records no more, from any thread; it stays on the stack of its own until it is ended there.
    void abandon();
    // Takes it from the stack. What the block made and still lives is kept, if the program is `whole`: nothing was
    // refused, and no error left the block.
    void end(bool whole);

    // The same of a call that gives these tensors: they are outlined, not kept (core/program/results/outcome.h).
    // `arguments` may be others in the next call; of `contexts`, nodes of autograd.Functions, each replay is given new
    // ones; `hooked` are nodes whose hooks are added again.
    void end_call(bool whole, Tensors results, Tensors arguments, std::vector<Node*> contexts,
                  std::vector<Node*> hooked);
    // The input that this tensor from before the block is; it becomes one.
    int input_of(const Tensor& tensor);
    void meet(const Tensor& older) { resolve(older); }

    bool failed() const { return failed_; }

    static Recorder* at_work();
    const std::unordered_map<const TensorObject*, std::uint64_t>& hooked_before() const { return hooks_; }
    void hold(Handle what) { program_.held.push_back(std::move(what)); }

    void handle(OpCall& call) override;
    bool takes_whole(const OpCall& call) const override { return call.form == Form::Function && !abandoned_; }
    bool sees_backward() const override { return !abandoned_; }
    void notice(const Notice& notice) override;

private:
    // recorder.cpp
    struct Origin {  // of a step, as it is before the call runs
        Handle code;
        std::int32_t instruction;
        Numbers inputs{};
    };
    Origin origin_of(const OpCall& call);
    Action action_of(const OpCall& call, Origin& origin) const;  // takes its code
    Step& add_step(Action&& action, Numbers&& inputs);
    void run(OpCall& call);
    void read(OpCall& call);
    void rebind(OpCall& call);
    void load_constant(OpCall& call);
    void refuse(std::string text);
    void refuse_meta(const OpCall& call);
    void once(std::string text);
    void note_backward(Tensors roots);

    // passive_recorder.cpp
    bool is_over() { return passive_ && is_passive_over(); }
    bool is_passive_over();
    void forget();

    // values.cpp
    // The register that was added last on this memory; -1: none was.
    int last_on(Storage& storage) const {
        const std::uint64_t identity = identity_of(storage);
        const std::uint64_t place = identity - first_identity_;
        if (identity < first_identity_) return last_on_older(storage);
        return place < last_on_.size() ? last_on_[place] : -1;
    }
    int last_on_older(const Storage& storage) const;
    int memory_of(Storage& storage) const {  // -1: none
        const int last = last_on(storage);
        return last < 0 ? -1 : program_.of(last).memory;
    }
    int memory_of(const Tensor& tensor) const { return memory_of(*tensor->storage); }
    int make_memory(Storage& storage, int made_by = -1);  // it has none; the next register goes there
    int memory_to(Storage& storage) {
        const int memory = memory_of(storage);
        return memory < 0 ? make_memory(storage) : memory;
    }
    int memory_to(const Tensor& tensor) { return memory_to(*tensor->storage); }
    // Among this register and those before it on its memory: one that looks there. -1: none does.
    int find(int last, const Layout& layout, std::int64_t offset, DType dtype);
    int find_among_many(int last, const Layout& layout, std::int64_t offset, DType dtype);
    int find(int last, const Tensor& tensor) {
        return find(last, tensor.layout(), byte_offset(tensor), tensor.dtype());
    }
    int first_before(int reg) const;     // on its memory
    int resolve(const Tensor& tensor) {  // what a step reads
        if (!tensor) return -1;
        if ((tensor->flags & (TensorObject::kPreexisting | TensorObject::kWrappedNumber)) == 0) {
            const int last = last_on(*tensor->storage);
            if (last >= 0 && lies_there(tensor, last)) return last;
        }
        return resolve_other(tensor);
    }
    bool lies_there(const Tensor& tensor, int reg) const {  // with the same layout object, too
        const KeptRegister& known = program_.of(reg);
        return known.layout == tensor->layout && known.offset == byte_offset(tensor) && known.dtype == tensor.dtype() &&
               !known.number;
    }
    int resolve_other(const Tensor& tensor);
    int resolve_number(const Tensor& tensor);
    int resolve_unmet(const Tensor& tensor);
    int define(const Tensor& tensor, int step);  // what it makes
    int add_register(int memory, const Tensor& tensor, int made_by);
    int add_input(const Tensor& tensor, const Tensor& shown, bool grad_of, int memory);
    int alias_of(int memory, const Tensor& tensor);
    void count(const Tensor& tensor);
    int input_with_counter(int memory, const void* counter) const;
    Tensor older_on(const Tensor& tensor) const;
    int register_of(const SavedSlot& slot);
    KeptSlot kept_slot(const SavedSlot& slot);
    bool is_noted(const Node& node) const;
    // Of a call: that what it leads to was noted, too, is known.
    bool stays_in(const Node* node) const { return !node || node->has(Node::kAccumulate) || is_noted(*node); }
    void note_node(Node* node, int step);
    void note_history(const Tensor& tensor, int step) {
        if (tensor && (tensor->grad_fn || tensor->base)) note_nodes_of(*tensor.get(), step);
    }
    void note_nodes_of(const TensorObject& tensor, int step);

    // outline.cpp
    int outline_result(const Tensor& tensor);
    int input_that_lost(const Ref<HistoryBreak>& lost) const;
    void outline_gradient(const Leaf& leaf);
    int input_with_base(const Tensor& tensor) const;
    void check_ages();
    int outline_node(Node* node);
    EdgeOutline outline_edge(const Edge& edge);
    void outline_slots(NodeOutline& outline, Node& node);

    // tracked_tensors.cpp
    void leave();
    void unmark();
    void look_back();
    void look_at_gradients();
    bool outlives(int memory);
    void track_tensors();
    void note_leaves(const std::unordered_map<const TensorObject*, int>& places);
    void note_ends();

    inline static Recorder* under_way_ = nullptr;

    Program& program_;
    bool on_ = false;
    bool passive_ = false;
    bool call_ = false;
    bool abandoned_ = false;
    bool leads_out_ = false;    // a node of the call has an edge to one that was not noted
    std::thread::id thread_{};  // on whose stack it is
    bool failed_ = false;       // an operation raised
    const TensorObject* grad_read_ = nullptr;
    std::vector<Node*> contexts_, hooked_;
    std::vector<Tensor> asked_;  // inputs of autograd.grad, from before the block
    int functions_ = 0;          // under way, one in another
    Handle last_code_;
};

// Set by bind/: who keeps a generator that Python made alive.
extern Handle (*generator_owner)(Generator*);

bool shares_memory(Read how);  // with Python: numpy, buffer, data_ptr

}  // namespace clew
