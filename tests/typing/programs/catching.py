"""An error of the graph, with its fields."""

import clew
from clew.autograd.errors import GraphFreedError, InplaceError

x = clew.ones(2, requires_grad=True)
y = x.exp().sum()
y.backward()
try:
    y.backward()
except (GraphFreedError, InplaceError) as error:
    node = error.node
    if node is not None and error.made_at is not None:
        print(node.name(), error.made_at.file, error.made_at.line)
