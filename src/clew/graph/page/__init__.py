"""One self-contained HTML document: no network, no other file. Reports are made of it."""

from .charts import bars, curve, table
from .memory import memory_section
from .page import Page
from .source import change, excerpt

__all__ = ["Page", "bars", "change", "curve", "excerpt", "memory_section", "table"]
