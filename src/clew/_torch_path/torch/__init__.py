"""Found where this folder's parent is on the path: `import torch` then means clew, in child processes, too."""

import clew

clew.as_torch()
