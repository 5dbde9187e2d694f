"""Nothing beside the registry lists operations: such a list is out of date the day one is added."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import sampling

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tools", "bench", "examples", "tests/fuzz", "tests/hostile", "core", "bind")
# So many names of operations are a list of them.
MANY = 4

# What looks like one, and why it is none.
KNOWN = {
    "src/clew/_tensor_conversions.py: _CONVERSIONS": "the methods are made from it",
    "src/clew/_tensor.py: _OF_SPARSE": "methods that only sparse tensors have",
    "src/clew/amp/_lists.py: _NORMALIZATIONS": "which take two dtypes in PyTorch",
    "src/clew/cli/check/comparing.py: _CHOOSES": "whose indices ties leave open",
    "src/clew/cli/check/equivalents.py: NOT_UNIQUE": "whose results are not unique",
    "src/clew/cli/check/equivalents.py: _TABLE": "says what each is in PyTorch",
    "src/clew/cli/check/equivalents.py: _NOT_CHECKED": "what can't be compared, for reasons beside it",
    "src/clew/cli/check/observer.py: _NOT_METHODS": "methods that compute nothing",
    "src/clew/fx/_codegen.py: magic_methods": "Python's signs for them",
    "src/clew/fx/node.py: _DRAWING": "a call is kept though nobody reads its result",
    "src/clew/fx/proxy.py: _PASSED_ON": "functions that PyTorch records by their own name",
    "src/clew/sparse/_operations.py: _name": "the operations are made from it",
    "src/clew/sparse/_operations.py: ": "the methods are made from it",
    "src/clew/nn/init.py: _NO_GAIN": "words of calculate_gain",
    "src/clew/nn/parameter.py: _allowed": "what needs no shape",
    "src/clew/profiler/recording.py: _NAMES": "what PyTorch calls them",
    "src/clew/profiler/recording.py: _READS": "which give one number to Python",
    "src/clew/ops/scatter_reduce.py: _REDUCTIONS": "words of scatter_reduce",
    "src/clew/ops/scatter_reduce.py: ": "words of index_reduce",
    "src/clew/graph/pictures/flops.py: _RULES": "says how much each computes",
    "src/clew/graph/pictures/flops.py: _LOOKUPS": "which compute nothing",
    "src/clew/graph/pictures/flops.py: _COPIES": "which compute nothing",
    "src/clew/graph/numerics/advice.py: _LOG_OF": "says what to use instead",
    "src/clew/graph/numerics/advice.py: _ONE_MINUS": "says what to use instead",
    "src/clew/graph/numerics/advice.py: _OVERFLOWS": "says what to do about it",
    "src/clew/graph/numerics/remedies.py: _ZERO": "says why each passes nothing on",
    "src/clew/graph/numerics/remedies.py: _SMALL": "says what to do about it",
    "src/clew/graph/numerics/remedies.py: _LARGE": "says what to do about it",
    "src/clew/keep/targets/elementwise.py: ARITHMETIC": "says what each computes",
    "src/clew/keep/targets/elementwise.py: COMPARING": "says what each computes",
    "src/clew/keep/targets/elementwise.py: LOGICAL": "says what each computes",
    "src/clew/keep/targets/functions.py: FUNCTIONS": "functions of scalars in other languages",
    "bench/libraries/laplace.py: ": "words of the library",
    "bench/plots.py: SHOWN": "as many as a figure has room for",
    "tests/fuzz/fuzz_catalogue.py: LEFT_OUT": "what can't be compared, for reasons beside it",
    "tests/fuzz/fuzz_session.py: READS_STRIDES": "nothing else says that values depend on strides",
}


def names() -> set[str]:
    overloads = (*sampling.overloads(), *sampling.compositions())
    return {form for one in overloads for form in (one.operation, one.operation.strip("_"), one.operation + "_")}


def literals(node: ast.AST) -> list[str]:
    """The strings of a display or of the alternatives of a pattern, with those in it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.split(r"[|()?^$ ]+", node.value) if "|" in node.value else [node.value]
    if isinstance(node, ast.Dict):
        return [text for one in node.keys if one for text in literals(one)]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [text for one in node.elts for text in literals(one)]
    return literals(node.value) if isinstance(node, ast.Starred) else []


def displays(tree: ast.AST) -> Iterator[tuple[str, int, list[str]]]:
    """Name, line and strings of what is no `__all__`, the outermost ones."""
    for node in ast.iter_child_nodes(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            continue
        found = literals(node)
        if len(found) > 1:
            yield "", node.lineno, found
        elif isinstance(target, ast.Name):
            yield from ((target.id, line, texts) for _, line, texts in displays(node))
        else:
            yield from displays(node)


def in_python(path: Path) -> Iterator[tuple[str, int, list[str]]]:
    """Without exports: names of what the module itself defines."""
    tree = ast.parse(path.read_text())
    own = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
    own |= {one.id for node in tree.body if isinstance(node, ast.Assign) for one in node.targets if hasattr(one, "id")}
    return (found for found in displays(tree) if not own.issuperset(found[2]))


def in_cpp(path: Path) -> Iterator[tuple[str, int, list[str]]]:
    text = path.read_text()
    for found in re.finditer(r'\{(\s*"[^"\n]*"\s*,?)+\}', text):
        yield "", text.count("\n", 0, found.start()) + 1, re.findall(r'"([^"]*)"', found[0])
    if compared := re.findall(r'== "(\w+)"|strcmp\(\w+, "(\w+)"\)', text):
        yield "compared", 1, [one or other for one, other in compared]


def test_no_list_of_operations_is_kept():
    known, seen, found = names(), set(), []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".py", ".cpp", ".h"):
                continue
            for name, line, texts in in_python(path) if path.suffix == ".py" else in_cpp(path):
                operations = [text for text in texts if text.rpartition(".")[2] in known]
                place = str(path.relative_to(ROOT))
                if len(operations) < MANY or 2 * len(operations) <= len(texts):
                    continue
                seen.add(f"{place}: {name}")
                if f"{place}: {name}" not in KNOWN:
                    found.append(f"{place}:{line}: {name} {operations[:8]}")
    assert not found, "\n".join(found)
    assert seen == KNOWN.keys(), "some are gone"


def test_the_core_compares_no_names_of_operations():
    """An operation that differs says so by a flag, or is told by its identity; texts that are read have tables."""
    compared = re.compile(r'\bstrcmp\(|\b(op|kind|def|step|call)[.>\w-]*name\(?\)? [=!]= "')
    read = {"core/kernels/isa.cpp", "core/ops/rebind.cpp"}
    paths = [path for path in (ROOT / "core").rglob("*") if path.suffix in (".cpp", ".h")]
    found = {str(path.relative_to(ROOT)) for path in paths if compared.search(path.read_text())}
    assert found == read


def test_lists_are_found(tmp_path):
    python, cpp = tmp_path / "one.py", tmp_path / "one.cpp"
    python.write_text('"""add"""\n__all__ = ["add"]\nNAMES = ["add", *("mul", "exp")]\nX = re.compile("sin|cos$")\n')
    cpp.write_text('bool x(const char* name) {\n  return name == "add" || name == "mul"; }\nauto y = {"sin", "cos"};\n')
    assert list(in_python(python)) == [("NAMES", 3, ["add", "mul", "exp"]), ("X", 4, ["sin", "cos", ""])]
    assert list(in_cpp(cpp)) == [("", 3, ["sin", "cos"]), ("compared", 1, ["add", "mul"])]
