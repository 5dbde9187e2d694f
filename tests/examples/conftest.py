"""The examples are scripts: their folder must be importable, behind everything installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "examples"))
