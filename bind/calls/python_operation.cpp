// The C++ half of src/clew/_operation.py: a definition in the registry like any other, whose forward and backward call
// Python. Its attributes have no struct; they lie as the schema says.
#include "bind/calls/python_operation.h"

#include <cstring>
#include <string>

#include "bind/calls/function.h"
#include "bind/calls/operation.h"
#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/watch/tracer.h"
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/tensor/packing.h"

namespace clew::bind {
namespace {

struct PythonOp : OpDef {
    std::string schema_line, node, outputs, derivative, domain, doc;  // what `text` points to
    PyObject *run, *infer, *rule;
};

// The result as the output, or written into it if it is a destination.
void give(const OpDef& op, const Tensor& result, Tensors inputs, Tensor& output) {
    if (!output) {
        output = result;
        if (!op.is(kElementByElement)) return;
        const LayoutRef layout = layout_among(result.sizes(), inputs);
        if (!kernels_skipped() && lie_alike(*layout, result.layout())) return;
        output = empty(layout, result.dtype());
        return kernels::copy(output.view(), result.view());
    }
    check_destination(op.name, output, result.sizes(), result.dtype());
    kernels::copy(output.view(), result.view());
}

PyObject* tensor_list(Tensors tensors) {
    PyObject* list = checked(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
    for (std::size_t i = 0; i < tensors.size(); ++i)
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), wrap(tensors[i]));
    return list;
}

// run(*arguments) -> a tuple of the results; arguments are in the order of the schema.
void python_forward(OpCall& call) {
    const auto& op = static_cast<const PythonOp&>(call.op);
    const bool inferring = kernels_skipped();
    if (inferring && op.infer == Py_None) need_values(op.name);
    const Handle arguments = Handle::steal(checked(PyTuple_New(static_cast<Py_ssize_t>(op.schema.arguments.size()))));
    std::size_t input = 0, field = 0;
    Py_ssize_t place = 0;
    for (const Argument& argument : op.schema.arguments) {
        PyObject* value;
        if (argument.type == ArgType::TensorList) {  // as many as the others leave
            const std::size_t others = op.schema.arguments.size() - op.fields.size() - 1;
            value = tensor_list(call.inputs.subspan(input, call.inputs.size() - others));
            input += call.inputs.size() - others;
        } else {
            value = is_tensor(argument) ? wrap(call.inputs[input++])
                                        : checked(attribute_object(op, call.attributes, field++));
        }
        PyTuple_SET_ITEM(static_cast<PyObject*>(arguments.get()), place++, value);
    }
    const ModeGuard guard(kNoGrad | kInBackward, true), plainly(kAutocast, false);
    // Elementwise operations are inferred by running one element.
    const SkipKernels skip(inferring && !op.is(kElementByElement));
    const Unwatched unwatched(std::strstr(op.name, "::") == nullptr);  // that of users is watched
    const Handle results = Handle::steal(
        checked(PyObject_CallObject(inferring ? op.infer : op.run, static_cast<PyObject*>(arguments.get()))));
    const SkipKernels rest(inferring);
    auto* tuple = static_cast<PyObject*>(results.get());
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != static_cast<Py_ssize_t>(call.outputs.size()))
        fail(ErrorKind::Type, "%s: expected its forward to give %zu result(s)", op.name, call.outputs.size());
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
        give(op, Tensor(as_tensor(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i)))), call.inputs, call.outputs[i]);
}

// What a rule of Python reads of a node, where there is none.
Handle node_of_operands(const OpDef& op, const RuleOperands& operands) {
    const Handle types = Handle::steal(checked(PyImport_ImportModule("types")));
    Handle node =
        Handle::steal(checked(PyObject_CallMethod(static_cast<PyObject*>(types.get()), "SimpleNamespace", nullptr)));
    const auto put = [&](const std::string& name, PyObject* value) {
        const Handle held = Handle::steal(checked(value));
        checked(PyObject_SetAttrString(static_cast<PyObject*>(node.get()), ("_saved_" + name).c_str(), value));
    };
    std::size_t input = 0, field = 0;
    for (const Argument& argument : op.schema.arguments)
        put(argument.name,
            is_tensor(argument) ? wrap(operands.inputs[input++]) : attribute_object(op, operands.attributes, field++));
    for (std::size_t i = 0; i < operands.outputs.size(); ++i) put(op.output_names[i], wrap(operands.outputs[i]));
    return node;
}

// rule(node, gradients, needs) -> gradients
void python_backward(BackwardCall& call) {
    const auto& op = static_cast<const PythonOp&>(call.operands ? *call.operands->op : *call.node->kind);
    const Handle node =
        call.operands ? node_of_operands(op, *call.operands) : Handle::steal(Py_NewRef(as_object(call.node)));
    const ModeGuard plainly(kAutocast, false);
    const Handle rule = Handle::steal(checked(PyMethod_New(op.rule, static_cast<PyObject*>(node.get()))));
    call_python_rule(call, static_cast<PyObject*>(rule.get()));
}

// define_operation(schema, node, in_place_node, outputs, flags, domain, derivative, doc, run, infer, rule, saves,
// constants, differentiable_outputs): `saves` has, for each input, what its rule keeps: a bit for each input, a bit for
// each output.
PyObject* define_operation(PyObject*, PyObject* args) {
    const char *schema, *node, *in_place_node, *outputs, *domain, *derivative, *doc;
    PyObject *run, *infer, *rule, *saves;
    unsigned flags;
    unsigned long long constants, differentiable_outputs;
    if (!PyArg_ParseTuple(args, "ssssIsssOOOO!KK", &schema, &node, &in_place_node, &outputs, &flags, &domain,
                          &derivative, &doc, &run, &infer, &rule, &PyList_Type, &saves, &constants,
                          &differentiable_outputs))
        return nullptr;
    return guarded([&]() -> PyObject* {
        auto* op = new PythonOp{};  // as long as the program, like all definitions
        op->schema_line = schema, op->node = node, op->outputs = outputs, op->domain = domain, op->doc = doc,
        op->derivative = derivative;
        op->run = Py_NewRef(run), op->infer = Py_NewRef(infer), op->rule = Py_NewRef(rule);
        op->text = {.schema = op->schema_line.c_str(),
                    .node = op->node.c_str(),
                    .flags = flags,
                    .outputs = op->outputs.c_str(),
                    .derivative = op->derivative.c_str(),
                    .domain = op->domain.c_str(),
                    .doc = op->doc.c_str()};
        op->forward = python_forward;
        op->in_python = true;
        if (PyList_GET_SIZE(saves)) op->backward = python_backward, op->differentiable = true;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(saves); ++i) {
            Saves kept;
            if (!PyArg_ParseTuple(PyList_GET_ITEM(saves, i), "II", &kept.inputs, &kept.outputs)) throw PythonError();
            op->saved_by_rule.push_back(kept);
        }
        op->constants = constants;
        op->differentiable_outputs = differentiable_outputs;
        opdef_detail::lay_out_attributes(*op);
        op->kept_bytes = op->attribute_bytes;
        opdef_detail::finish(*op);
        if (op->outputs.empty()) op->output_names.clear();
        op->output_count = static_cast<std::uint32_t>(op->output_names.size());
        if (*in_place_node) {
            auto* form = new PythonOp(*op);
            opdef_detail::name_nodes(*form, (form->node = in_place_node).c_str());
            op->in_place_form = form;
        }
        return publish(*op);
    });
}

PyMethodDef functions[] = {
    {"define_operation", define_operation, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_python_operations(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
