"""One self-contained HTML document: no network, no other file. Reports are made of it."""

from .charts import bars, curve, table, unbroken
from .memory import memory_section
from .page import Page
from .source import change, excerpts

__all__ = ["Page", "bars", "change", "curve", "excerpts", "memory_section", "table", "unbroken"]
