"""Scaled dot-product attention: two products and a softmax."""

from __future__ import annotations

from .errors import Unsupported
from .kernels import Builder, loop_index
from .layout import Operand
from .matrix import multiply
from .reductions import same
from .scalar import Expr, call, where
from .table import Call, lowers

LEAST = -1e30


def _scores(k: Builder, step: Call, query: Operand, key: Operand, mask: Operand | None) -> Operand:
    """scale * query @ key.mT, with the mask; [..., queries, keys]."""
    scale, rank = step.attributes["scale"], query.rank
    scores = k.temp((*query.shape[:-1], key.shape[-2]), query.dtype)
    multiply(k, scores, query, key.moved(-1, -2))
    k.assign(scores, lambda s: s * scale, scores)
    if mask is not None and mask.dtype == "bool":
        k.assign(scores, lambda s, m: where(m, s, LEAST), scores, mask, raw=(1,))
    elif mask is not None:
        k.assign(scores, lambda s, m: s + m, scores, mask)
    if step.attributes["is_causal"]:
        k.assign(scores, lambda s: where(loop_index(rank - 1) <= loop_index(rank - 2), s, LEAST), scores)
    return scores


@lowers("_flash_attention")
def _attention(k: Builder, step: Call) -> None:
    query, key, value, mask = (*(step.input(i) for i in range(3)), step.inputs[3])
    out, log_sum = step.out, step.outputs[1]
    scores = _scores(k, step, query, key, mask)
    top, total = (k.temp((*scores.shape[:-1], 1), scores.dtype) for _ in range(2))
    k.reduce(top, "max", same, scores)
    k.reduce(total, "sum", lambda s, m: call("exp", s - m), scores, top)
    if log_sum is not None:
        k.assign(log_sum.inserted(log_sum.rank), lambda m, total: m + call("log", total), top, total)
    k.assign(scores, lambda s, m, total: call("exp", s - m) / total, scores, top, total)
    multiply(k, out, scores, value)


@lowers("_flash_attention_backward")
def _attention_backward(k: Builder, step: Call) -> None:
    g, query, key, value, mask = (step.input(0), *(step.input(i) for i in range(2, 5)), step.inputs[5])
    out, log_sum = step.input(6), step.input(7)
    of_query, of_key, of_value, *others = step.outputs
    if any(one is not None for one in others):
        raise Unsupported("of a mask that gets a gradient")
    shares = _scores(k, step, query, key, mask)
    k.assign(shares, lambda s, log_sum: call("exp", s - log_sum), shares, log_sum.inserted(log_sum.rank))
    if of_value is not None:
        multiply(k, of_value, shares.moved(-1, -2), g)
    along = k.temp((*shares.shape[:-1], 1), shares.dtype)
    k.product(along, g, out)
    slopes = k.like(shares)
    multiply(k, slopes, g, value.moved(-1, -2))

    scale: float = step.attributes["scale"]

    def scaled(share: Expr, slope: Expr, along: Expr) -> Expr:
        return share * (slope - along) * scale

    k.assign(slopes, scaled, shares, slopes, along)
    if of_query is not None:
        multiply(k, of_query, slopes, key)
    if of_key is not None:
        multiply(k, of_key, slopes.moved(-1, -2), query)
