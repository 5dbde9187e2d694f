"""One account of the bytes that slots hold or have let go: each storage once, whoever asks.

See Note [One account of bytes] in ``core/autograd/ledger.h``; the core sums whole graphs by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .records import SavedSlot

NONE, FOREIGN, ELSEWHERE, DROPPED, RELEASED, HELD = "", "foreign", "elsewhere", "dropped", "released", "held"
"""``released``: to the allocator. ``dropped``: no graph has it, but something else does. ``elsewhere``: other graphs
have it. ``foreign``: another library's memory, which the allocator does not count. Of what a hook packed nothing is
known.
"""

FREED = (RELEASED, DROPPED, ELSEWHERE)
_RANK = {fate: rank for rank, fate in enumerate((NONE, FOREIGN, ELSEWHERE, DROPPED, RELEASED, HELD))}


def settle(slots: Iterable[SavedSlot]) -> list[tuple[str, int]]:
    """For each slot what became of its storage, and the bytes that it stands for: 0 if an earlier slot does.

    A storage that one slot has let go and another holds is held.
    """
    slots = list(slots)
    fates: dict[object, str] = {}
    keys = [_key(number, slot) for number, slot in enumerate(slots)]
    for key, slot in zip(keys, slots, strict=True):
        fate = fate_of(slot)
        if _RANK[fate] >= _RANK[fates.get(key, NONE)]:
            fates[key] = fate
    told: set[object] = set()
    settled = []
    for key, slot in zip(keys, slots, strict=True):
        settled.append((fates[key], 0 if key in told or slot.state == "packed" else slot.nbytes))
        told.add(key)
    return settled


def sums(settled: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Bytes by what became of them."""
    found = dict.fromkeys(_RANK, 0)
    for fate, nbytes in settled:
        found[fate] += nbytes
    return found


def fate_of(slot: SavedSlot) -> str:
    """What became of the storage, as far as this slot knows."""
    if slot.state == "packed":
        return NONE
    if slot.state == "held":
        return FOREIGN if slot.is_foreign else HELD
    return slot.fate


def _key(number: int, slot: SavedSlot) -> object:
    if slot.identity:
        return "identity", slot.identity
    if slot.storage:
        return "storage", slot.storage
    return "slot", number
