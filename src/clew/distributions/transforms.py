"""Functions between spaces whose inverse and Jacobian determinant are known.

Example:
    >>> to_positive = torch.distributions.transforms.ExpTransform()
    >>> x = torch.tensor(2.0)
    >>> y = to_positive(x)
    >>> to_positive.inv(y), to_positive.log_abs_det_jacobian(x, y)
    (tensor(2.), tensor(2.))
"""

from __future__ import annotations

from clew import Tensor

from ._elementwise_transforms import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from ._elementwise_transforms import inside_unit_interval as _inside_unit_interval
from ._part_transforms import CatTransform, ReshapeTransform, StackTransform
from ._transform import ComposeTransform, IndependentTransform, Transform, identity_transform
from ._transform import _InverseTransform as _InverseTransform
from ._vector_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


def _clipped_sigmoid(x: Tensor) -> Tensor:
    return _inside_unit_interval(x.sigmoid())
