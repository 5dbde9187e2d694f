"""One account of the bytes that slots hold or have let go: each storage once, whoever asks.

See Note [Accounting of saved bytes] in ``core/autograd/ledger.h``; the core sums whole graphs by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .records import SavedSlot

FATES = ("", "foreign", "gone", "elsewhere", "dropped", "released", "held")
"""What became of a storage; a later word holds against an earlier one where its slots differ.

``released``: to the allocator. ``dropped``: no graph has it, but something else does. ``elsewhere``: other graphs have
it. ``gone``: with the nodes that held it, and it is not known whether others had it. ``foreign``: another library's
memory, which the allocator does not count. Of what a hook packed nothing is known.
"""
NONE, FOREIGN, GONE, ELSEWHERE, DROPPED, RELEASED, HELD = FATES

FREED = (RELEASED, DROPPED, ELSEWHERE)
_RANK = {fate: rank for rank, fate in enumerate(FATES)}


def settle(slots: Iterable[SavedSlot]) -> list[tuple[str, int]]:
    """For each slot what became of its storage, and the bytes that it stands for: 0 if an earlier slot does.

    A storage that one slot has let go and another holds is held.
    """
    slots = list(slots)
    fates: dict[object, str] = {}
    keys = [storage_key(number, slot) for number, slot in enumerate(slots)]
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
    found = dict.fromkeys(FATES, 0)
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


def storage_key(number: int, slot: SavedSlot) -> tuple[str, int]:
    """Equal for slots that share memory; ``number`` is the slot's own, where nothing is known."""
    if slot.identity:
        return "identity", slot.identity
    if slot.storage:
        return "storage", slot.storage
    return "slot", number
