"""Layers, activations and losses as functions."""

from clew import _core
from clew._methods import publish

from . import (
    activation,
    activation_in_place,
    activation_piecewise,
    adaptive_pooling,
    attention,
    bags,
    channel_dropout,
    class_loss,
    conv,
    distance,
    folding,
    grid_sampling,
    layer,
    loss,
    lp_pooling,
    margin_loss,
    normalization,
    padding,
    pixels,
    pooling,
    resampling,
    softmaxes,
    triplet_loss,
    unpooling,
    upsample_names,
)
from .activation import *  # noqa: F403
from .activation_in_place import *  # noqa: F403
from .activation_piecewise import *  # noqa: F403
from .adaptive_pooling import *  # noqa: F403
from .attention import *  # noqa: F403
from .bags import *  # noqa: F403
from .channel_dropout import *  # noqa: F403
from .class_loss import *  # noqa: F403
from .conv import *  # noqa: F403
from .distance import *  # noqa: F403
from .folding import *  # noqa: F403
from .grid_sampling import *  # noqa: F403
from .layer import *  # noqa: F403
from .loss import *  # noqa: F403
from .lp_pooling import *  # noqa: F403
from .margin_loss import *  # noqa: F403
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .pixels import *  # noqa: F403
from .pooling import *  # noqa: F403
from .resampling import *  # noqa: F403
from .softmaxes import *  # noqa: F403
from .triplet_loss import *  # noqa: F403
from .unpooling import *  # noqa: F403
from .upsample_names import *  # noqa: F403

__all__: list[str] = []
__all__ += activation.__all__
__all__ += activation_in_place.__all__
__all__ += activation_piecewise.__all__
__all__ += adaptive_pooling.__all__
__all__ += attention.__all__
__all__ += bags.__all__
__all__ += channel_dropout.__all__
__all__ += class_loss.__all__
__all__ += conv.__all__
__all__ += distance.__all__
__all__ += folding.__all__
__all__ += grid_sampling.__all__
__all__ += layer.__all__
__all__ += loss.__all__
__all__ += lp_pooling.__all__
__all__ += margin_loss.__all__
__all__ += normalization.__all__
__all__ += padding.__all__
__all__ += pixels.__all__
__all__ += pooling.__all__
__all__ += resampling.__all__
__all__ += softmaxes.__all__
__all__ += triplet_loss.__all__
__all__ += unpooling.__all__
__all__ += upsample_names.__all__

publish(__all__, globals(), __name__)
# Layers call the operation itself, which is public only here.
_core.ask_as("linear", globals()["linear"])
