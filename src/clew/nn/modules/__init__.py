"""Layers, activations, losses and containers."""

from . import (
    activation,
    attention,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    embedding,
    flatten,
    instancenorm,
    lazy,
    linear,
    loss,
    margin_loss,
    module_log,  # noqa: F401  tells the graph which module runs, when it asks
    normalization,
    padding,
    parameter_container,
    pixelshuffle,
    pooling,
    rnn,
    sync_batchnorm,
    transformer,
    unpooling,
    upsampling,
)
from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .batchnorm import *  # noqa: F403
from .channelshuffle import *  # noqa: F403
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .flatten import *  # noqa: F403
from .instancenorm import *  # noqa: F403
from .lazy import *  # noqa: F403
from .linear import *  # noqa: F403
from .loss import *  # noqa: F403
from .margin_loss import *  # noqa: F403
from .module import Module
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .parameter_container import *  # noqa: F403
from .pixelshuffle import *  # noqa: F403
from .pooling import *  # noqa: F403
from .rnn import *  # noqa: F403
from .sync_batchnorm import *  # noqa: F403
from .transformer import *  # noqa: F403
from .unpooling import *  # noqa: F403
from .upsampling import *  # noqa: F403

__all__ = ["Module"]
__all__ += activation.__all__
__all__ += attention.__all__
__all__ += batchnorm.__all__
__all__ += channelshuffle.__all__
__all__ += container.__all__
__all__ += conv.__all__
__all__ += distance.__all__
__all__ += dropout.__all__
__all__ += embedding.__all__
__all__ += flatten.__all__
__all__ += instancenorm.__all__
__all__ += lazy.__all__
__all__ += linear.__all__
__all__ += loss.__all__
__all__ += margin_loss.__all__
__all__ += normalization.__all__
__all__ += padding.__all__
__all__ += parameter_container.__all__
__all__ += pixelshuffle.__all__
__all__ += pooling.__all__
__all__ += rnn.__all__
__all__ += sync_batchnorm.__all__
__all__ += transformer.__all__
__all__ += unpooling.__all__
__all__ += upsampling.__all__
