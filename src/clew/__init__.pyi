"""What `import clew` gives. Written by tools/make_stubs.py from src/clew/__init__.py and the registry."""

import builtins

from . import autograd as autograd
from . import memory as memory
from . import ops as ops
from ._core import Node as Node
from ._core import Tensor as Tensor
from ._core import dtype as dtype
from ._core import get_num_threads as get_num_threads
from ._core import set_flush_denormal as set_flush_denormal
from ._core import set_num_threads as set_num_threads
from ._device import contiguous_format as contiguous_format
from ._device import device as device
from ._device import get_default_device as get_default_device
from ._device import jagged as jagged
from ._device import layout as layout
from ._device import memory_format as memory_format
from ._device import preserve_format as preserve_format
from ._device import set_default_device as set_default_device
from ._device import sparse_bsc as sparse_bsc
from ._device import sparse_bsr as sparse_bsr
from ._device import sparse_coo as sparse_coo
from ._device import sparse_csc as sparse_csc
from ._device import sparse_csr as sparse_csr
from ._device import strided as strided
from ._numeric import can_cast as can_cast
from ._numeric import finfo as finfo
from ._numeric import get_default_dtype as get_default_dtype
from ._numeric import iinfo as iinfo
from ._numeric import is_complex as is_complex
from ._numeric import is_floating_point as is_floating_point
from ._numeric import is_nonzero as is_nonzero
from ._numeric import is_tensor as is_tensor
from ._numeric import numel as numel
from ._numeric import promote_types as promote_types
from ._numeric import result_type as result_type
from ._numeric import set_default_dtype as set_default_dtype
from ._numeric import typename as typename
from ._size import Size as Size
from ._size import broadcast_shapes as broadcast_shapes
from ._storage import TypedStorage as TypedStorage
from ._storage import UntypedStorage as UntypedStorage
from ._storage import is_storage as is_storage
from ._switches import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from ._switches import get_float32_matmul_precision as get_float32_matmul_precision
from ._switches import set_float32_matmul_precision as set_float32_matmul_precision
from ._switches import use_deterministic_algorithms as use_deterministic_algorithms
from ._tensor_protocols import from_dlpack as from_dlpack
from ._tensor_protocols import frombuffer as frombuffer
from ._typed import set_default_tensor_type as set_default_tensor_type
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd import is_anomaly_enabled as is_anomaly_enabled
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from . import _C as _C
from . import __config__ as __config__
from . import _utils as _utils
from . import amp as amp
from . import backends as backends
from . import cli as cli
from . import compiler as compiler
from . import cuda as cuda
from . import distributed as distributed
from . import distributions as distributions
from . import fft as fft
from . import func as func
from . import futures as futures
from . import fx as fx
from . import graph as graph
from . import hub as hub
from . import jit as jit
from . import keep as keep
from . import library as library
from . import linalg as linalg
from . import multiprocessing as multiprocessing
from . import nn as nn
from . import onnx as onnx
from . import optim as optim
from . import overrides as overrides
from . import profiler as profiler
from . import quasirandom as quasirandom
from . import random as random
from . import serialization as serialization
from . import sparse as sparse
from . import special as special
from . import testing as testing
from . import types as types
from . import utils as utils
from . import version as version
from clew.autograd.errors import BudgetError as BudgetError
from clew.amp.grad_scaler import GradScaler as GradScaler
from clew.autograd.errors import KeepError as KeepError
from clew.autograd.errors import KeepWarning as KeepWarning
from clew.autograd.errors import ProgramError as ProgramError
from clew.autograd.errors import ReplayError as ReplayError
from clew._checks import _assert as _assert
from clew._checks import _check as _check
from clew._checks import _check_index as _check_index
from clew._checks import _check_is_size as _check_is_size
from clew._checks import _check_type as _check_type
from clew._checks import _check_value as _check_value
from clew._checks import _check_with as _check_with
from clew.sparse import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
from clew.sparse import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
from clew._as_torch import as_torch as as_torch
from clew.amp.autocast_mode import autocast as autocast
from clew.nn.functional import bilinear as bilinear
from clew.nn.functional import channel_shuffle as channel_shuffle
from clew.amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from clew.keep.compiled import compile as compile
from clew.nn.functional import cosine_similarity as cosine_similarity
from clew.sparse import dsmm as dsmm
from clew.graph.explanations.explain import explain as explain
from clew.amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from clew.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from clew.amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from clew.nn.functional import hardshrink as hardshrink
from clew.sparse import hsmm as hsmm
from clew.amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from clew.amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from clew.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from clew.fft._short_time import istft as istft
from clew.keep.block import keep_graph as keep_graph
from clew.serialization._loading import load as load
from clew.keep.program import load_program as load_program
from clew.nn.functional import native_channel_shuffle as native_channel_shuffle
from clew.nn.functional import pairwise_distance as pairwise_distance
from clew.linalg._low_rank import pca_lowrank as pca_lowrank
from clew.nn.functional import pixel_shuffle as pixel_shuffle
from clew.nn.functional import pixel_unshuffle as pixel_unshuffle
from clew.keep.python_steps import pure as pure
from clew.nn.functional import rms_norm as rms_norm
from clew.serialization._saving import save as save
from clew.nn.functional import selu_ as selu_
from clew.amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from clew.amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from clew.amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from clew._tensor_str import set_printoptions as set_printoptions
from clew.sparse._construction import sparse_compressed_tensor as sparse_compressed_tensor
from clew.sparse._construction import sparse_coo_tensor as sparse_coo_tensor
from clew.sparse._construction import sparse_csc_tensor as sparse_csc_tensor
from clew.sparse._construction import sparse_csr_tensor as sparse_csr_tensor
from clew.sparse import spmm as spmm
from clew.fft._short_time import stft as stft
from clew.linalg._low_rank import svd_lowrank as svd_lowrank
from clew.func._vmap import vmap as vmap
from clew.graph.memory.why_alive import why_alive as why_alive
from ._functions import _rrelu_slopes as _rrelu_slopes
from ._functions import abs as abs
from ._functions import abs_ as abs_
from ._functions import absolute as absolute
from ._functions import absolute_ as absolute_
from ._functions import acos as acos
from ._functions import acos_ as acos_
from ._functions import acosh as acosh
from ._functions import acosh_ as acosh_
from ._functions import adaptive_avg_pool1d as adaptive_avg_pool1d
from ._functions import adaptive_max_pool1d as adaptive_max_pool1d
from ._functions import add as add
from ._functions import add_ as add_
from ._functions import addcdiv as addcdiv
from ._functions import addcdiv_ as addcdiv_
from ._functions import addcmul as addcmul
from ._functions import addcmul_ as addcmul_
from ._functions import addmm as addmm
from ._functions import addmm_ as addmm_
from ._functions import addmv as addmv
from ._functions import addmv_ as addmv_
from ._functions import all as all
from ._functions import amax as amax
from ._functions import amin as amin
from ._functions import angle as angle
from ._functions import any as any
from ._functions import arccos as arccos
from ._functions import arccos_ as arccos_
from ._functions import arccosh as arccosh
from ._functions import arccosh_ as arccosh_
from ._functions import arcsin as arcsin
from ._functions import arcsin_ as arcsin_
from ._functions import arcsinh as arcsinh
from ._functions import arcsinh_ as arcsinh_
from ._functions import arctan as arctan
from ._functions import arctan2 as arctan2
from ._functions import arctan2_ as arctan2_
from ._functions import arctan_ as arctan_
from ._functions import arctanh as arctanh
from ._functions import arctanh_ as arctanh_
from ._functions import argmax as argmax
from ._functions import argmin as argmin
from ._functions import argsort as argsort
from ._functions import argwhere as argwhere
from ._functions import as_strided as as_strided
from ._functions import asin as asin
from ._functions import asin_ as asin_
from ._functions import asinh as asinh
from ._functions import asinh_ as asinh_
from ._functions import atan as atan
from ._functions import atan2 as atan2
from ._functions import atan2_ as atan2_
from ._functions import atan_ as atan_
from ._functions import atanh as atanh
from ._functions import atanh_ as atanh_
from ._functions import avg_pool1d as avg_pool1d
from ._functions import baddbmm as baddbmm
from ._functions import baddbmm_ as baddbmm_
from ._functions import batch_norm as batch_norm
from ._functions import binary_cross_entropy as binary_cross_entropy
from ._functions import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from ._functions import bitwise_and as bitwise_and
from ._functions import bitwise_and_ as bitwise_and_
from ._functions import bitwise_left_shift as bitwise_left_shift
from ._functions import bitwise_left_shift_ as bitwise_left_shift_
from ._functions import bitwise_not as bitwise_not
from ._functions import bitwise_not_ as bitwise_not_
from ._functions import bitwise_or as bitwise_or
from ._functions import bitwise_or_ as bitwise_or_
from ._functions import bitwise_right_shift as bitwise_right_shift
from ._functions import bitwise_right_shift_ as bitwise_right_shift_
from ._functions import bitwise_xor as bitwise_xor
from ._functions import bitwise_xor_ as bitwise_xor_
from ._functions import bmm as bmm
from ._functions import broadcast_to as broadcast_to
from ._functions import bucketize as bucketize
from ._functions import cat as cat
from ._functions import ceil as ceil
from ._functions import ceil_ as ceil_
from ._functions import celu as celu
from ._functions import celu_ as celu_
from ._functions import chunk as chunk
from ._functions import clamp as clamp
from ._functions import clamp_ as clamp_
from ._functions import clamp_max as clamp_max
from ._functions import clamp_max_ as clamp_max_
from ._functions import clamp_min as clamp_min
from ._functions import clamp_min_ as clamp_min_
from ._functions import clip as clip
from ._functions import clip_ as clip_
from ._functions import clone as clone
from ._functions import complex as complex
from ._functions import concat as concat
from ._functions import concatenate as concatenate
from ._functions import conv1d as conv1d
from ._functions import conv2d as conv2d
from ._functions import conv3d as conv3d
from ._functions import conv_transpose1d as conv_transpose1d
from ._functions import conv_transpose2d as conv_transpose2d
from ._functions import conv_transpose3d as conv_transpose3d
from ._functions import convolution as convolution
from ._functions import copysign as copysign
from ._functions import copysign_ as copysign_
from ._functions import cos as cos
from ._functions import cos_ as cos_
from ._functions import cosh as cosh
from ._functions import cosh_ as cosh_
from ._functions import count_nonzero as count_nonzero
from ._functions import cummax as cummax
from ._functions import cummin as cummin
from ._functions import cumprod as cumprod
from ._functions import cumprod_ as cumprod_
from ._functions import cumsum as cumsum
from ._functions import cumsum_ as cumsum_
from ._functions import deg2rad as deg2rad
from ._functions import deg2rad_ as deg2rad_
from ._functions import diag as diag
from ._functions import diag_embed as diag_embed
from ._functions import diagonal as diagonal
from ._functions import diagonal_scatter as diagonal_scatter
from ._functions import digamma as digamma
from ._functions import digamma_ as digamma_
from ._functions import div as div
from ._functions import div_ as div_
from ._functions import divide as divide
from ._functions import divide_ as divide_
from ._functions import dot as dot
from ._functions import dropout as dropout
from ._functions import dropout_ as dropout_
from ._functions import elu as elu
from ._functions import elu_ as elu_
from ._functions import embedding as embedding
from ._functions import eq as eq
from ._functions import eq_ as eq_
from ._functions import erf as erf
from ._functions import erf_ as erf_
from ._functions import erfc as erfc
from ._functions import erfc_ as erfc_
from ._functions import erfinv as erfinv
from ._functions import erfinv_ as erfinv_
from ._functions import exp as exp
from ._functions import exp2 as exp2
from ._functions import exp2_ as exp2_
from ._functions import exp_ as exp_
from ._functions import expm1 as expm1
from ._functions import expm1_ as expm1_
from ._functions import fill as fill
from ._functions import fix as fix
from ._functions import fix_ as fix_
from ._functions import flatten as flatten
from ._functions import flip as flip
from ._functions import fliplr as fliplr
from ._functions import flipud as flipud
from ._functions import floor as floor
from ._functions import floor_ as floor_
from ._functions import floor_divide as floor_divide
from ._functions import floor_divide_ as floor_divide_
from ._functions import fmax as fmax
from ._functions import fmax_ as fmax_
from ._functions import fmin as fmin
from ._functions import fmin_ as fmin_
from ._functions import fmod as fmod
from ._functions import fmod_ as fmod_
from ._functions import frac as frac
from ._functions import frac_ as frac_
from ._functions import gather as gather
from ._functions import gcd as gcd
from ._functions import gcd_ as gcd_
from ._functions import ge as ge
from ._functions import ge_ as ge_
from ._functions import gelu as gelu
from ._functions import gelu_ as gelu_
from ._functions import ger as ger
from ._functions import glu as glu
from ._functions import greater as greater
from ._functions import greater_ as greater_
from ._functions import greater_equal as greater_equal
from ._functions import greater_equal_ as greater_equal_
from ._functions import group_norm as group_norm
from ._functions import gt as gt
from ._functions import gt_ as gt_
from ._functions import hardsigmoid as hardsigmoid
from ._functions import hardsigmoid_ as hardsigmoid_
from ._functions import hardswish as hardswish
from ._functions import hardswish_ as hardswish_
from ._functions import hardtanh as hardtanh
from ._functions import hardtanh_ as hardtanh_
from ._functions import heaviside as heaviside
from ._functions import heaviside_ as heaviside_
from ._functions import huber_loss as huber_loss
from ._functions import hypot as hypot
from ._functions import hypot_ as hypot_
from ._functions import igamma as igamma
from ._functions import igamma_ as igamma_
from ._functions import igammac as igammac
from ._functions import igammac_ as igammac_
from ._functions import index_add as index_add
from ._functions import index_add_ as index_add_
from ._functions import index_copy as index_copy
from ._functions import index_copy_ as index_copy_
from ._functions import index_fill as index_fill
from ._functions import index_fill_ as index_fill_
from ._functions import index_put as index_put
from ._functions import index_put_ as index_put_
from ._functions import index_select as index_select
from ._functions import isfinite as isfinite
from ._functions import isinf as isinf
from ._functions import isnan as isnan
from ._functions import kthvalue as kthvalue
from ._functions import l1_loss as l1_loss
from ._functions import layer_norm as layer_norm
from ._functions import lcm as lcm
from ._functions import lcm_ as lcm_
from ._functions import le as le
from ._functions import le_ as le_
from ._functions import leaky_relu as leaky_relu
from ._functions import leaky_relu_ as leaky_relu_
from ._functions import lerp as lerp
from ._functions import lerp_ as lerp_
from ._functions import less as less
from ._functions import less_ as less_
from ._functions import less_equal as less_equal
from ._functions import less_equal_ as less_equal_
from ._functions import lgamma as lgamma
from ._functions import lgamma_ as lgamma_
from ._functions import linear as linear
from ._functions import log as log
from ._functions import log10 as log10
from ._functions import log10_ as log10_
from ._functions import log1p as log1p
from ._functions import log1p_ as log1p_
from ._functions import log2 as log2
from ._functions import log2_ as log2_
from ._functions import log_ as log_
from ._functions import log_softmax as log_softmax
from ._functions import logaddexp as logaddexp
from ._functions import logaddexp2 as logaddexp2
from ._functions import logaddexp2_ as logaddexp2_
from ._functions import logaddexp_ as logaddexp_
from ._functions import logical_and as logical_and
from ._functions import logical_and_ as logical_and_
from ._functions import logical_not as logical_not
from ._functions import logical_not_ as logical_not_
from ._functions import logical_or as logical_or
from ._functions import logical_or_ as logical_or_
from ._functions import logical_xor as logical_xor
from ._functions import logical_xor_ as logical_xor_
from ._functions import logit as logit
from ._functions import logit_ as logit_
from ._functions import logsigmoid as logsigmoid
from ._functions import logsumexp as logsumexp
from ._functions import lstm_cell as lstm_cell
from ._functions import lt as lt
from ._functions import lt_ as lt_
from ._functions import masked_fill as masked_fill
from ._functions import masked_fill_ as masked_fill_
from ._functions import masked_scatter as masked_scatter
from ._functions import masked_scatter_ as masked_scatter_
from ._functions import masked_select as masked_select
from ._functions import matmul as matmul
from ._functions import max as max
from ._functions import max_pool1d as max_pool1d
from ._functions import max_pool1d_with_indices as max_pool1d_with_indices
from ._functions import max_pool2d as max_pool2d
from ._functions import max_pool3d as max_pool3d
from ._functions import maximum as maximum
from ._functions import mean as mean
from ._functions import median as median
from ._functions import min as min
from ._functions import minimum as minimum
from ._functions import mish as mish
from ._functions import mish_ as mish_
from ._functions import mm as mm
from ._functions import mode as mode
from ._functions import moveaxis as moveaxis
from ._functions import movedim as movedim
from ._functions import mse_loss as mse_loss
from ._functions import msort as msort
from ._functions import mul as mul
from ._functions import mul_ as mul_
from ._functions import multiply as multiply
from ._functions import multiply_ as multiply_
from ._functions import mv as mv
from ._functions import nan_to_num as nan_to_num
from ._functions import nan_to_num_ as nan_to_num_
from ._functions import nanmedian as nanmedian
from ._functions import narrow as narrow
from ._functions import ne as ne
from ._functions import ne_ as ne_
from ._functions import neg as neg
from ._functions import neg_ as neg_
from ._functions import negative as negative
from ._functions import negative_ as negative_
from ._functions import nextafter as nextafter
from ._functions import nextafter_ as nextafter_
from ._functions import nll_loss as nll_loss
from ._functions import norm as norm
from ._functions import not_equal as not_equal
from ._functions import not_equal_ as not_equal_
from ._functions import outer as outer
from ._functions import permute as permute
from ._functions import polygamma as polygamma
from ._functions import pow as pow
from ._functions import pow_ as pow_
from ._functions import prelu as prelu
from ._functions import prod as prod
from ._functions import put as put
from ._functions import put_ as put_
from ._functions import rad2deg as rad2deg
from ._functions import rad2deg_ as rad2deg_
from ._functions import ravel as ravel
from ._functions import reciprocal as reciprocal
from ._functions import reciprocal_ as reciprocal_
from ._functions import relu as relu
from ._functions import relu_ as relu_
from ._functions import remainder as remainder
from ._functions import remainder_ as remainder_
from ._functions import reshape as reshape
from ._functions import roll as roll
from ._functions import rot90 as rot90
from ._functions import round as round
from ._functions import round_ as round_
from ._functions import rsqrt as rsqrt
from ._functions import rsqrt_ as rsqrt_
from ._functions import rsub as rsub
from ._functions import scatter as scatter
from ._functions import scatter_ as scatter_
from ._functions import scatter_add as scatter_add
from ._functions import scatter_add_ as scatter_add_
from ._functions import searchsorted as searchsorted
from ._functions import select as select
from ._functions import select_scatter as select_scatter
from ._functions import sgn as sgn
from ._functions import sgn_ as sgn_
from ._functions import sigmoid as sigmoid
from ._functions import sigmoid_ as sigmoid_
from ._functions import sign as sign
from ._functions import sign_ as sign_
from ._functions import silu as silu
from ._functions import silu_ as silu_
from ._functions import sin as sin
from ._functions import sin_ as sin_
from ._functions import sinc as sinc
from ._functions import sinc_ as sinc_
from ._functions import sinh as sinh
from ._functions import sinh_ as sinh_
from ._functions import slice_scatter as slice_scatter
from ._functions import smooth_l1_loss as smooth_l1_loss
from ._functions import softmax as softmax
from ._functions import softplus as softplus
from ._functions import sort as sort
from ._functions import split_with_sizes as split_with_sizes
from ._functions import sqrt as sqrt
from ._functions import sqrt_ as sqrt_
from ._functions import square as square
from ._functions import square_ as square_
from ._functions import squeeze as squeeze
from ._functions import stack as stack
from ._functions import std as std
from ._functions import std_mean as std_mean
from ._functions import sub as sub
from ._functions import sub_ as sub_
from ._functions import subtract as subtract
from ._functions import subtract_ as subtract_
from ._functions import sum as sum
from ._functions import swapaxes as swapaxes
from ._functions import swapdims as swapdims
from ._functions import t as t
from ._functions import take as take
from ._functions import take_along_dim as take_along_dim
from ._functions import tan as tan
from ._functions import tan_ as tan_
from ._functions import tanh as tanh
from ._functions import tanh_ as tanh_
from ._functions import tensor_split as tensor_split
from ._functions import threshold as threshold
from ._functions import threshold_ as threshold_
from ._functions import tile as tile
from ._functions import topk as topk
from ._functions import trace as trace
from ._functions import transpose as transpose
from ._functions import tril as tril
from ._functions import tril_ as tril_
from ._functions import triu as triu
from ._functions import triu_ as triu_
from ._functions import true_divide as true_divide
from ._functions import true_divide_ as true_divide_
from ._functions import trunc as trunc
from ._functions import trunc_ as trunc_
from ._functions import unbind as unbind
from ._functions import unflatten as unflatten
from ._functions import unsqueeze as unsqueeze
from ._functions import var as var
from ._functions import var_mean as var_mean
from ._functions import view_as_complex as view_as_complex
from ._functions import view_as_real as view_as_real
from ._functions import where as where
from ._functions import xlogy as xlogy
from ._functions import xlogy_ as xlogy_
from ._functions import zero_ as zero_
from .ops.random import Generator as Generator
from .ops.composing import addbmm as addbmm
from .ops.composing import addr as addr
from .ops.complex_parts import adjoint as adjoint
from .ops.comparing import allclose as allclose
from .ops.order_statistics import aminmax as aminmax
from .ops.ranges import arange as arange
from .ops.from_data import as_tensor as as_tensor
from .ops.from_data import asarray as asarray
from .ops.joining import atleast_1d as atleast_1d
from .ops.joining import atleast_2d as atleast_2d
from .ops.joining import atleast_3d as atleast_3d
from .ops.windows import bartlett_window as bartlett_window
from .ops.draws import bernoulli as bernoulli
from .ops.numeric import bincount as bincount
from .ops.draws import binomial as binomial
from .ops.windows import blackman_window as blackman_window
from .ops.joining import block_diag as block_diag
from .ops.joining import broadcast_tensors as broadcast_tensors
from .ops.joining import cartesian_prod as cartesian_prod
from .ops.numeric import cdist as cdist
from .ops.linear_algebra import chain_matmul as chain_matmul
from .ops.factorizations import cholesky as cholesky
from .ops.factorizations import cholesky_inverse as cholesky_inverse
from .ops.factorizations import cholesky_solve as cholesky_solve
from .ops.joining import column_stack as column_stack
from .ops.composing import combinations as combinations
from .ops.complex_parts import conj as conj
from .ops.complex_parts import conj_physical as conj_physical
from .ops.statistics import corrcoef as corrcoef
from .ops.statistics import cov as cov
from .ops.linear_algebra import cross as cross
from .ops.numeric import cumulative_trapezoid as cumulative_trapezoid
from .ops.random import default_generator as default_generator
from .ops.linear_algebra import det as det
from .ops.composing import diagflat as diagflat
from .ops.rearrange import diff as diff
from .ops.linear_algebra import dist as dist
from .ops.rearrange import dsplit as dsplit
from .ops.joining import dstack as dstack
from .ops.einsum import einsum as einsum
from .ops.creation import empty as empty
from .ops.creation_like import empty_like as empty_like
from .ops.creation import empty_strided as empty_strided
from .ops.comparing import equal as equal
from .ops.creation import eye as eye
from .ops.numbers import float_power as float_power
from .ops.numbers import frexp as frexp
from .ops.linear_algebra import frobenius_norm as frobenius_norm
from .ops.creation import full as full
from .ops.creation_like import full_like as full_like
from .ops.random import get_rng_state as get_rng_state
from .ops.recurrent import gru_cell as gru_cell
from .ops.windows import hamming_window as hamming_window
from .ops.windows import hann_window as hann_window
from .ops.histograms import histc as histc
from .ops.histograms import histogram as histogram
from .ops.rearrange import hsplit as hsplit
from .ops.joining import hstack as hstack
from .ops.complex_parts import imag as imag
from .ops.scatter_reduce import index_reduce as index_reduce
from .ops.random import initial_seed as initial_seed
from .ops.linear_algebra import inner as inner
from .ops.linear_algebra import inverse as inverse
from .ops.comparing import isclose as isclose
from .ops.finding import isin as isin
from .ops.numbers import isneginf as isneginf
from .ops.numbers import isposinf as isposinf
from .ops.numbers import isreal as isreal
from .ops.windows import kaiser_window as kaiser_window
from .ops.numeric import kron as kron
from .ops.numbers import ldexp as ldexp
from .ops.numbers import ldexp_ as ldexp_
from .ops.ranges import linspace as linspace
from .ops.order_statistics import logcumsumexp as logcumsumexp
from .ops.linear_algebra import logdet as logdet
from .ops.ranges import logspace as logspace
from .ops.factorizations import lu_solve as lu_solve
from .ops.factorizations import lu_unpack as lu_unpack
from .ops.random import manual_seed as manual_seed
from .ops.linear_algebra import matrix_exp as matrix_exp
from .ops.linear_algebra import matrix_power as matrix_power
from .ops.joining import meshgrid as meshgrid
from .ops.draws import multinomial as multinomial
from .ops.special_functions import mvlgamma as mvlgamma
from .ops.order_statistics import nanmean as nanmean
from .ops.quantiles import nanquantile as nanquantile
from .ops.order_statistics import nansum as nansum
from .ops.finding import nonzero as nonzero
from .ops.draws import normal as normal
from .ops.linear_algebra import nuclear_norm as nuclear_norm
from .ops.creation import ones as ones
from .ops.creation_like import ones_like as ones_like
from .ops.factorizations import orgqr as orgqr
from .ops.numeric import pdist as pdist
from .ops.linear_algebra import pinverse as pinverse
from .ops.draws import poisson as poisson
from .ops.complex_parts import polar as polar
from .ops.numeric import positive as positive
from .ops.factorizations import qr as qr
from .ops.quantiles import quantile as quantile
from .ops.random import rand as rand
from .ops.creation_like import rand_like as rand_like
from .ops.random import randint as randint
from .ops.creation_like import randint_like as randint_like
from .ops.random import randn as randn
from .ops.creation_like import randn_like as randn_like
from .ops.random import randperm as randperm
from .ops.composing import range as range
from .ops.complex_parts import real as real
from .ops.composing import renorm as renorm
from .ops.rearrange import repeat_interleave as repeat_interleave
from .ops.complex_parts import resolve_conj as resolve_conj
from .ops.complex_parts import resolve_neg as resolve_neg
from .ops.recurrent import rnn_relu_cell as rnn_relu_cell
from .ops.recurrent import rnn_tanh_cell as rnn_tanh_cell
from .ops.joining import row_stack as row_stack
from .ops.creation import scalar_tensor as scalar_tensor
from .ops.scatter_reduce import scatter_reduce as scatter_reduce
from .ops.random import seed as seed
from .ops.random import set_rng_state as set_rng_state
from .ops.numbers import signbit as signbit
from .ops.linear_algebra import slogdet as slogdet
from .ops.rearrange import split as split
from .ops.factorizations import svd as svd
from .ops.from_data import tensor as tensor
from .ops.tensordot import tensordot as tensordot
from .ops.numeric import trapezoid as trapezoid
from .ops.numeric import trapz as trapz
from .ops.factorizations import triangular_solve as triangular_solve
from .ops.rearrange import tril_indices as tril_indices
from .ops.rearrange import triu_indices as triu_indices
from .ops.finding import unique as unique
from .ops.finding import unique_consecutive as unique_consecutive
from .ops.composing import unravel_index as unravel_index
from .ops.linear_algebra import vander as vander
from .ops.linear_algebra import vdot as vdot
from .ops.rearrange import vsplit as vsplit
from .ops.joining import vstack as vstack
from .ops.creation import zeros as zeros
from .ops.creation_like import zeros_like as zeros_like
from ._core import from_numpy as from_numpy

__version__: builtins.str
newaxis: None
e: builtins.float
inf: builtins.float
nan: builtins.float
pi: builtins.float
bool: dtype
uint8: dtype
int32: dtype
int64: dtype
float32: dtype
float64: dtype
complex64: dtype
complex128: dtype
int8: dtype
int16: dtype
float16: dtype
bfloat16: dtype
short: dtype
int: dtype
long: dtype
half: dtype
float: dtype
double: dtype
cfloat: dtype
cdouble: dtype
uint16: dtype
uint32: dtype
uint64: dtype
complex32: dtype
float8_e4m3fn: dtype
float8_e4m3fnuz: dtype
float8_e5m2: dtype
float8_e5m2fnuz: dtype
float8_e8m0fnu: dtype
float4_e2m1fn_x2: dtype
qint8: dtype
quint8: dtype
qint32: dtype
quint4x2: dtype
quint2x4: dtype
bits1x8: dtype
bits2x4: dtype
bits4x2: dtype
bits8: dtype
bits16: dtype
int1: dtype
uint1: dtype
int2: dtype
uint2: dtype
int3: dtype
uint3: dtype
int4: dtype
uint4: dtype
int5: dtype
uint5: dtype
int6: dtype
uint6: dtype
int7: dtype
uint7: dtype
chalf: dtype
bit: dtype
class FloatTensor(Tensor): ...
class DoubleTensor(Tensor): ...
class HalfTensor(Tensor): ...
class BFloat16Tensor(Tensor): ...
class LongTensor(Tensor): ...
class IntTensor(Tensor): ...
class ShortTensor(Tensor): ...
class CharTensor(Tensor): ...
class ByteTensor(Tensor): ...
class BoolTensor(Tensor): ...
class FloatStorage(TypedStorage): ...
class DoubleStorage(TypedStorage): ...
class LongStorage(TypedStorage): ...
class IntStorage(TypedStorage): ...
class HalfStorage(TypedStorage): ...
class BFloat16Storage(TypedStorage): ...
class ShortStorage(TypedStorage): ...
class CharStorage(TypedStorage): ...
class ComplexFloatStorage(TypedStorage): ...
class ComplexDoubleStorage(TypedStorage): ...
class ByteStorage(TypedStorage): ...
class BoolStorage(TypedStorage): ...
