"""``python -m clew.cli``: the ``clew`` command where its entry point is not installed."""

import sys

from . import main

sys.exit(main())
