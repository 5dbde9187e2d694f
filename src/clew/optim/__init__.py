"""Optimizers: they change parameters so that a loss goes down."""

from .._unsupported import missing_from as _missing_from
from . import lr_scheduler, swa_utils
from .adam import Adam, AdamW
from .adam_variants import NAdam, RAdam
from .adaptive import Adadelta, Adagrad, Adamax, RMSprop
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer
from .other_steps import ASGD, Adafactor, Rprop, SparseAdam
from .sgd import SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]

__getattr__ = _missing_from(__name__)
