// What the registry knows of an operation, and what a call of one is. opdef.h makes an OpDef from a struct.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/autograd/node.h"
#include "core/ops/derivative_class.h"
#include "core/ops/schema.h"

namespace clew {

using Tensors = std::span<const Tensor>;

class Generator;
struct OpDef;

// What a call does with its results.
enum class Form : std::uint8_t {
    Functional,  // new tensors
    InPlace,     // written over input 0; `outputs` is empty
    Out,  // written into `outputs`, which may get other memory by it: a Functional call, then an InPlace or Rebind
    Accumulate,  // input 1 is added to input 0, a gradient that the engine sums up: no history, no version
    Function,    // an autograd.Function, whose forward calls operations
    Rebind,      // input 0 looks at the memory of input 1 from now on (x.data = y), or owns it as its .grad
    Read,        // values of input 0 go to Python, or their memory does
};

// How Python, or an operation that decides by values, gets to see a tensor's values.
enum class Read : std::uint8_t { Item, Bool, Float, Int, Index, ToList, Numpy, Buffer, DataPtr, Other };
const char* name_of(Read how);  // "item", "tolist"
Read read_of_name(const char* name);

// What few calls have.
struct CallDetails {
    const char* name = nullptr;      // where it isn't the operation's: in the write log, in errors, of a read
    Generator* generator = nullptr;  // of an operation that draws; null: the one that the thread has chosen
    const Tensor* before = nullptr;  // InPlace: what input 0 was, where the rule reads it; null: not copied yet
    Read read = Read::Other;         // of Form::Read
};

// One call on its way through dispatch(). forward() gets it, too.
struct OpCall {
    const OpDef& op;
    Tensors inputs;
    const void* attributes;
    std::span<Tensor> outputs;
    Form form = Form::Functional;
    const CallDetails* details = nullptr;

    const char* name() const { return details ? details->name : nullptr; }
};

struct Saves {
    std::uint32_t inputs = 0;  // bit i: keep input i
    std::uint32_t outputs = 0;
};

enum OpFlag : std::uint32_t {
    kMethod = 1,       // x.op(...)
    kFunction = 2,     // clew.op(...)
    kInPlace = 4,      // x.op_(...) is derived
    kOutArgument = 8,  // op(..., out=) is derived
    kView = 16,        // the result looks at the memory of input 0
    kNonDifferentiable = 32,
    kHidden = 64,         // only for rules and for Python code of ours: clew._core.ops.<name>
    kProperty = 128,      // x.op without parentheses
    kWritesInput = 256,   // input 0 is written (copy_, fill_ ...): only the in-place form exists
    kManyViews = 512,     // a view with any number of outputs: split, unbind
    kElementwise = 2048,  // rules too go element by element: Note [Strips]
    kComposite = 1024,    // forward calls operations that record themselves; dispatch() only passes it on
    kNamespace = 4096,    // linalg_qr is clew.linalg.qr: no function of clew itself
    kOutAlike = 8192,     // out= must have the result's dtype; without these three, one that the result can be cast to
    kOutTruth = 16384,    // out= must be bool or uint8
    kOutSetsDType = 32768,       // out= says what `dtype` is, if that isn't given
    kAxesInPlace = 65536,        // with kWritesInput: only the geometry of input 0 changes, which may overlap itself
    kElementByElement = 131072,  // what is written in Python: results lie as Note [The layout of results] says
    kOutAny = 262144,            // out= may have any dtype: all of them have the results
    kSizedByValues = 524288,     // the result's sizes depend on values of inputs
    kGeometryOnly = 1048576,     // reads shapes and strides only, so that no history is lost
    kOptimizerStep = 4194304,    // what errors advise about a write depends on it
    kCopies = 8388608,           // from tensors with memory to those without, too
    kChooses = 2097152,          // takes some elements and not others: gradients of the others are zero
    kAnyDType = 16777216,        // forward takes storage types as they are: Note [Forwards in compute dtypes]
    kUninitialized = 33554432,   // what the result holds means nothing
    kTakesNumber = 67108864,     // a number as operand is a tensor like any other: no rule looks at its value
    kLeadingAxes = 134217728,    // axes before those that it looks at are a batch; more of them change nothing
    kBoth = kMethod | kFunction,
};

// How vmap runs an operation whose class does not say it: Note [How a call is batched] in batching/batching.h.
enum class BatchBy : std::uint8_t {
    Class,
    Whole,  // along axes, a composite that is taken as one call
    Matmul,
    Mm,
    Bmm,
    Mv,
    Dot,
    Addmm,
    Addmv,
    Baddbmm,
    Product,  // those of rules
    BatchedProduct,
    Size,  // what it names stands behind that of the batch; the same for the next two
    Expand,
    Repeat,
    Permute,
    MatrixTranspose,
    Squeeze,
    Strided,
    NewAxis,      // along axes, of which the result has one more
    IndexedAxis,  // along an axis, with the same row of indices for all samples
    Index,        // masks among the indices decide the size of the result
    Pool1,
    Pool2,
    Pool3,
    Convolution,
    LayerNorm,
    BatchNorm,
    Embedding,
};

struct OpText {
    const char* schema;
    const char* node = "";           // PyTorch's name of the node
    const char* in_place_node = "";  // of op_(), where that is another
    const char* number_node = "";    // of op_() with a number for the second operand, which then has no edge
    const char* operators =
        "";  // "__mul__ __rmul__": Python's operators that mean this; __r...__ with operands exchanged
    std::uint32_t flags = kBoth;
    const char* outputs = "result";  // names, for _saved_<name>
    const char* derivative = "";     // what kind of function it is: Note [Derivative classes]
    BatchBy batching = BatchBy::Class;
    const char* domain = "";  // arguments that tests may call it with: Note [Domains]
    // What it computes, with the formula, in a sentence or two. All else that __doc__ says follows from the registry.
    const char* doc = "";
    // A call and what Python prints then, as doctest reads it. tests/test_examples_in_docstrings.py runs it in PyTorch,
    // too.
    const char* example = "";
};

struct NoAttrs {
    bool operator==(const NoAttrs&) const = default;
};

// How one attribute is read from Python, shown and compared.
struct Field {
    void (*assign)(void* place, const Value& value);
    void (*read)(const void* place, Value& value);
    bool (*equal)(const void* place, const void* other);  // to the bit
    std::size_t offset;                                   // of its place in the attributes
    void set(void* attributes, const Value& value) const { assign(static_cast<char*>(attributes) + offset, value); }
    void get(const void* attributes, Value& value) const { read(static_cast<const char*>(attributes) + offset, value); }
    bool same(const void* attributes, const void* others) const {
        return equal(static_cast<const char*>(attributes) + offset, static_cast<const char*>(others) + offset);
    }
};

struct OpDef : NodeKind {
    OpDef();  // these three once, not inline in every definition
    OpDef(const OpDef& other);
    ~OpDef();

    OpText text{};
    Schema schema;
    void (*forward)(OpCall&) = nullptr;
    std::uint32_t output_count = 1;
    std::vector<Saves> saved_by_rule;                                                             // rule by rule
    Saves (*joint_saves)(Tensors inputs, std::uint64_t needs, const void* attributes) = nullptr;  // or all at once
    std::size_t (*count_outputs)(Tensors inputs,
                                 const void* attributes) = nullptr;  // where arguments decide; else output_count
    bool differentiable = false;
    bool variadic = false;     // a Tensor[] among the inputs
    bool draws = false;        // from a generator
    bool in_python = false;    // forward is Python
    std::uint64_t writes = 0;  // bit i: input i is written, as the schema says: Tensor(a!)
    std::uint64_t (*writes_if)(const void* attributes) = nullptr;  // where attributes decide
    DerivativeClass derivative;
    std::uint64_t constants = 0;  // bit i: the i-th argument of tensors has no derivative
    // Bit i: output i has a derivative. Rules, one for each input, know of the first; the others are means to it.
    bool zero_gradient = false;  // its rule gives zeros
    std::uint64_t differentiable_outputs = ~std::uint64_t{0};
    std::uint32_t attribute_bytes = 0;  // of a call; kept_bytes are those of a node
    std::vector<Field> fields;          // in the order of the schema's arguments that are no tensors
    std::vector<std::string> output_names;
    std::string in_place_name;             // "mul_": what errors and the write log say
    const OpDef* in_place_form = nullptr;  // the same with another name for its nodes
    const OpDef* number_form = nullptr;
    const OpDef* fused = nullptr;  // its backward as one call: Note [Rules that run kernels]
    bool is(OpFlag flag) const { return (text.flags & flag) != 0; }
    // Whether two calls have the same attributes, to the bit. Lists have room that nobody has written.
    bool same_attributes(std::span<const char> one, std::span<const char> other) const;
    std::uint64_t written_by(const void* attributes) const { return writes_if ? writes_if(attributes) : writes; }
    // Whether some call could give this one of `count` inputs a gradient: not an index, a mask, a weight of a loss.
    bool has_derivative(int input, int count) const;
};

// What passes dispatch() but is no operation of the registry.
OpDef unregistered(const char* name, void (*forward)(OpCall&));

// All operations, in the order in which they were registered; and by full name.
const std::vector<OpDef*>& all_operations();

}  // namespace clew
