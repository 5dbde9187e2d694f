"""How numbers, names and lines are written, wherever something is told of a graph."""

from __future__ import annotations

from collections.abc import Sequence

from .places import Place

SOURCE_WIDTH = 72
_ASCII = str.maketrans({"●": "*", "○": "o", "│": "|", "├": "|", "└": "`", "─": "-", "→": ">", "…": "."})


def bytes_text(count: int) -> str:
    """A number of bytes for a reader.

    Example:
        >>> bytes_text(12), bytes_text(2560), bytes_text(34 * 2**20)
        ('12 B', '2.5 KiB', '34.0 MiB')
    """
    if count < 1024:
        return f"{count} B"
    size = count / 1024
    for unit in ("KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def counted(count: int, noun: str) -> str:
    """
    Example:
        >>> counted(1, "node"), counted(12000, "leaf"), counted(2, "miss")
        ('1 node', '12,000 leaves', '2 misses')
    """
    plural = noun[:-1] + "ves" if noun.endswith("f") else noun + ("es" if noun.endswith("s") else "s")
    return f"{count:,} {noun if count == 1 else plural}"


def dtype_name(dtype: object) -> str:
    """``float32`` for ``clew.float32``, whose own text may be ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


def freed_text(freed: int, released: int, elsewhere: int = 0) -> str:
    """What was let go, and where it went.

    Example:
        >>> freed_text(2048, 2048), freed_text(12, 0)
        ('2.0 KiB released to the allocator', '12 B still referenced elsewhere')
        >>> freed_text(2048 + 12 + 8, 2048, 8)
        '2.0 KiB released to the allocator, 12 B still referenced elsewhere and 8 B still referenced by other graphs'
    """
    dropped = freed - released - elsewhere
    parts = [f"{bytes_text(released)} released to the allocator"] if released or not freed else []
    if dropped:
        parts.append(f"{bytes_text(dropped)} still referenced elsewhere")
    if elsewhere:
        parts.append(f"{bytes_text(elsewhere)} still referenced by other graphs")
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def freed_word(fate: str) -> str:
    """What a call did with one storage."""
    return "reference dropped" if fate in ("dropped", "elsewhere", "foreign") else "freed"


def names_text(names: Sequence[str]) -> str:
    """
    Example:
        >>> names_text(["loss"]), names_text(["w", "b", "3 more"])
        ('`loss`', '`w`, `b` and 3 more')
    """
    marked = [name if name.endswith(" more") else f"`{name}`" for name in names]
    return " and ".join(filter(None, [", ".join(marked[:-1]), *marked[-1:]]))


def source_text(place: Place | None) -> str:
    """The line's own text after a colon, or nothing."""
    text = place.source if place is not None else ""
    if len(text) > SOURCE_WIDTH:
        text = text[: SOURCE_WIDTH - 1] + "…"
    return f": {text}" if text else ""


def as_ascii(text: str) -> str:
    """The same tree for a terminal that cannot show line drawing."""
    return text.translate(_ASCII)
