"""`import functorch` means clew's, as `import torch` does."""

import importlib
import sys

import torch  # noqa: F401  makes it so

del sys.modules[__name__]
sys.modules[__name__] = importlib.import_module(__name__)
