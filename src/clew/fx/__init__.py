"""`torch.fx`: programs recorded as graphs, changed, and written as Python code again.

`symbolic_trace` runs a module or a function on proxies and records what is done with them as a `Graph` of `Node`s. A
`GraphModule` runs the graph by Python code that it writes; `Interpreter` runs it node by node.
"""

from .._unsupported import missing_from
from . import graph, graph_module, immutable_collections, interpreter, node, proxy, subgraph_rewriter, traceback
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "graph",
    "graph_module",
    "has_side_effect",
    "immutable_collections",
    "interpreter",
    "map_arg",
    "node",
    "proxy",
    "replace_pattern",
    "subgraph_rewriter",
    "symbolic_trace",
    "traceback",
    "wrap",
]

__getattr__ = missing_from(__name__)
