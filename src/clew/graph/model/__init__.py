"""The graph as everything here reads it.

Nodes, tensors and what the engine tells of them, the traversal, the account of bytes, the listeners, and the words in
which all of it is told.
"""
