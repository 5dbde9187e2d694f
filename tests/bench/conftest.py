"""The benchmarks are not installed: their folder's parent must be importable, behind everything installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
