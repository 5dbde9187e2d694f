"""docs/operations.md, from the registry."""

from __future__ import annotations

from clew import _core
from clew._operation_docs import parts_of
from tools.stub_signatures import HIDDEN


def operations_page() -> str:
    lines = [
        "# Operations",
        "",
        "This page is written by `tools/make_stubs.py` from the registry. *Saves* lists, for each input, what a node",
        "saves for its backward. A node saves it only if that input needs a gradient. `help(torch.exp)` also shows an",
        "operation's shapes, dtypes and errors. [Examples](#examples) are below.",
        "",
        "| operation | node | saves | what it does |",
        "|---|---|---|---|",
    ]
    examples: list[str] = []
    for _, operation in sorted(vars(_core.ops).items()):
        for overload in operation.overloads:
            if overload["flags"] & HIDDEN:
                continue
            schema = overload["schema"].replace("|", "\\|")
            text, example = parts_of(overload)
            doc = text.replace("\n", " ").replace("|", "\\|")
            examples += [example] if example and example not in examples else []
            node = f"`{overload['node']}`" if overload["node"] and overload["differentiable"] else ""
            row = f"| `{schema}` | {node} | {overload['saves']} | {doc} |"
            if row not in lines:  # x.abs_ has the entry of x.abs
                lines.append(row)
    lines += [
        "",
        "## Examples",
        "",
        "In the order of the table. PyTorch prints the same.",
        "",
        "```python",
        *examples,
        "```",
    ]
    return "\n".join(lines) + "\n"
