"""Operations of users, beside clew's own: one call to autograd, to "meta" and to whoever looks on.

`custom_op` makes one of a function, `register_fake` says its shapes, `register_autograd` its derivative, `opcheck`
tests them; names and signatures are PyTorch's. `operation` is the way in which clew's own operations over NumPy are
defined (schema, forward, rules, class, domain in one place), open to others under a name with a namespace.
"""

from __future__ import annotations

from .._operation import operation as operation
from .._unsupported import missing_from as _missing_from
from ._check import OpCheckError as OpCheckError
from ._check import opcheck as opcheck
from ._definition import CustomOpDef as CustomOpDef
from ._library import Library as Library
from ._library import custom_op as custom_op
from ._library import define as define
from ._library import impl as impl
from ._library import register_autograd as register_autograd
from ._library import register_fake as register_fake
from ._library import register_kernel as register_kernel
from ._library import register_vmap as register_vmap
from ._schema import infer_schema as infer_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "impl",
    "infer_schema",
    "opcheck",
    "operation",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]

__getattr__ = _missing_from(__name__)
