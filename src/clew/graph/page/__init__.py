"""One self-contained HTML document: no network, no other file. Reports are made of it."""

from .charts import bars, table
from .memory import memory_section
from .page import Page
from .source import change, excerpt

__all__ = ["Page", "bars", "change", "excerpt", "memory_section", "table"]
