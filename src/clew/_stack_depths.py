"""How deep the interpreter's stack is where a piece of code stands at an operator.

While a frame runs, the interpreter keeps the top of its stack to itself; but the depth at an instruction is the same
each time, so it can be worked out from the code, as the compiler did.
"""

from __future__ import annotations

import dis
import inspect
from types import CodeType

_LEAVES = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT"}
_ALWAYS_JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def depths_at_operators(code: CodeType) -> dict[int, int]:
    """The depth, operands included, at the offset of each BINARY_OP that can be reached without an exception."""
    instructions = list(dis.get_instructions(code))
    places = {one.offset: i for i, one in enumerate(instructions)}
    # A generator begins with what is sent to it, which until 3.12 no instruction is said to put there.
    begins_with_one = code.co_flags & _GENERATORS and dis.stack_effect(dis.opmap["RETURN_GENERATOR"]) == 0
    depths = {0: 1 if begins_with_one else 0}  # at offsets
    disputed = set()
    waiting = [0]

    def reach(offset: int, depth: int) -> None:
        if offset not in depths:
            depths[offset] = depth
            waiting.append(offset)
        elif depths[offset] != depth:
            disputed.add(offset)

    while waiting:
        offset = waiting.pop()
        place, depth = places[offset], depths[offset]
        one = instructions[place]
        argument = one.arg if one.opcode >= dis.HAVE_ARGUMENT else None
        if one.opcode in _JUMPS:
            reach(one.argval, depth + dis.stack_effect(one.opcode, argument, jump=True))
        if one.opname not in _LEAVES | _ALWAYS_JUMPS and place + 1 < len(instructions):
            reach(instructions[place + 1].offset, depth + dis.stack_effect(one.opcode, argument, jump=False))
    if disputed:  # an instruction that we misread
        return {}
    return {
        one.offset: depths[one.offset] for one in instructions if one.opname == "BINARY_OP" and one.offset in depths
    }
