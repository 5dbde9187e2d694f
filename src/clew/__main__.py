"""``python -m clew``: the ``clew`` command where the folder of its entry point is not on the path."""

import sys

from .cli import main

sys.exit(main())
