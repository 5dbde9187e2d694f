"""One self-contained HTML document: no network, no other file. Reports are made of it."""

from .charts import bars, table
from .page import Page

__all__ = ["Page", "bars", "table"]
