"""Refuses to be imported in a subinterpreter, before the core is loaded there.

The core has one state for a process, as NumPy's has: a subinterpreter that ends would take it along, and the main
interpreter would be left without types.
"""

from __future__ import annotations

import sys
from importlib import import_module

interpreters = import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")

if interpreters.get_current() != interpreters.get_main():
    raise ImportError("clew: expected the main interpreter, got a subinterpreter; use a process or a thread")
