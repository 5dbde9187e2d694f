"""Callables that are written in C and of which it is known what they read: nothing but their arguments.

A compiled function that calls another one stays eager. "reads": the contents of its arguments; "attribute", "setattr",
"vars", "next", "id": what the name says; "graph": the graph of tensors; "type": nothing but the class of an object;
"step": options of an optimizer.
"""

from __future__ import annotations

_READS = """
    builtins.abs builtins.all builtins.any builtins.bin builtins.chr builtins.divmod builtins.format
    builtins.iter builtins.len builtins.max builtins.min builtins.ord builtins.pow builtins.repr builtins.round
    builtins.sorted builtins.sum
    math.acos math.acosh math.asin math.asinh math.atan math.atan2 math.atanh math.cbrt math.ceil math.comb
    math.copysign math.cos math.cosh math.degrees math.dist math.erf math.erfc math.exp math.exp2 math.expm1 math.fabs
    math.factorial math.floor math.fmod math.frexp math.fsum math.gamma math.gcd math.hypot math.isclose math.isfinite
    math.isinf math.isnan math.isqrt math.lcm math.ldexp math.lgamma math.log math.log10 math.log1p math.log2
    math.modf math.nextafter math.perm math.pow math.prod math.radians math.remainder math.sin math.sinh math.sqrt
    math.tan math.tanh math.trunc math.ulp
    _operator.lt _operator.le _operator.eq _operator.ne _operator.gt _operator.ge _operator.abs _operator.pow
    _operator.floordiv _operator.mod _operator.contains _operator.getitem _operator.not_ _operator.truth _operator.is_
    _operator.add _operator.index _operator.mul _operator.sub _operator.truediv _operator.neg _operator.matmul
    _operator.itemgetter _operator.attrgetter
    _functools.reduce
    _abc._abc_instancecheck _abc._abc_subclasscheck _abc.get_cache_token
    clew._core.run_backward clew._core.tensor clew._core.promote_types clew._core.dtype_name
    clew._core.imported_as
    clew._core.get_default_dtype clew._core.is_grad_enabled clew._core.set_grad_enabled clew._core.set_mode
    clew._core.get_mode clew._core.autocast_state clew._core.clear_autocast_casts clew._core.autocast_lower
    clew._core.is_interpreted clew._core.sparse_made clew._core.active_batches clew._core.is_traced
    clew._core.function_call clew._core.function_record
    clew._core.function_kind clew._core.function_saved_tensors clew._core.function_zero_gradient
    clew._core.function_inputs_history clew._core.history_breaks clew._core.is_lost_since
    clew._core.default_tensor clew._core.infer clew._core.python_step clew._core.timing clew._core.backward_serial
    clew._core.open_dual_level clew._core.close_dual_level clew._core.dual_levels clew._core.suspend_dual_level
    clew._core.make_dual clew._core.primal_of clew._core.tangent_of clew._core.give_tangent clew._core.write_tangent
    clew._core.carry_tangents
    clew._core.begin_batch clew._core.end_batch clew._core.make_batched clew._core.batch_value
    clew._core.randomness_of clew._core.carry_alike clew._core.refused_writes
    clew._core.asks_for_derivative
    clew._core.batch_of clew._core.increment_version clew._core.broadcast_shapes clew._core._makes_meta
    clew._core.choose_stream clew._core._set_makes_meta clew._core.default_stream clew.ops.einsum.make_plan
    clew._core.place_in_default_stream clew._core.backward_accumulates
    clew._core.PlaceInStream.enter clew._core.PlaceInStream.leave
"""
_TYPES = """
    float int bool str bytes complex tuple list dict set frozenset range zip enumerate reversed map filter slice object
    super type property staticmethod classmethod collections.OrderedDict collections.defaultdict collections.deque
    itertools.accumulate itertools.chain itertools.combinations itertools.combinations_with_replacement
    itertools.count itertools.islice itertools.pairwise itertools.permutations itertools.product itertools.repeat
    itertools.starmap itertools.takewhile itertools.zip_longest itertools.groupby method
    functools.partial types.SimpleNamespace weakref.ReferenceType operator.itemgetter operator.attrgetter
"""
_TENSOR = """
    numel size dim stride storage_offset element_size is_contiguous is_floating_point is_complex
    requires_grad_ contiguous detach detach_ bool tolist __bool__ __int__ __len__ __index__ backward retain_grad
    _add_hook _add_node_hook _add_accumulate_hook _remove_hook _gradient_edge
    new_tensor nelement ndimension get_device is_signed __iter__ __getitem__ __setitem__ __eq__ __ne__ __lt__
    __le__ __gt__ __ge__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __neg__ __pow__
    __rpow__ __matmul__ __rmatmul__ __init__ __contains__ __abs__ _is_view item _cast
"""

_CLASSES = "builtins.callable builtins.isinstance builtins.issubclass type.__instancecheck__"

KNOWN = (
    dict.fromkeys(_READS.split(), "reads")
    | {f"type {name}": "reads" for name in _TYPES.split()}
    | {f"Tensor.{name}": "reads" for name in _TENSOR.split()}
    | dict.fromkeys(_CLASSES.split(), "type")
    | dict.fromkeys(["builtins.getattr", "builtins.hasattr"], "attribute")
    | {
        "builtins.setattr": "setattr",
        "builtins.vars": "vars",
        "clew._core.leads_elsewhere": "graph",
        "builtins.next": "next",
        "builtins.id": "id",
        "clew._core.optimizer_step": "step",
    }
)
