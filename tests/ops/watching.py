"""Interpreters that write down what they see, and one that proves that nothing happened besides."""

import ctypes
import weakref
import zlib

from clew import _core


class Log:
    """What an interpreter saw: of each call its form, its name, and the storages that it may write or made."""

    def __init__(self, keep=False):
        self.calls, self.kept, self.keep = [], [], keep
        self.interpreter = _core.Interpreter(self.handle)

    def handle(self, call):
        written = {tensor._storage_id for tensor in call.written}
        call.run()
        made = {tensor._storage_id for tensor in call.outputs if tensor is not None}
        inputs = [weakref.ref(tensor) for tensor in call.inputs if tensor is not None]
        self.kept += call.inputs if self.keep else ()
        self.calls.append((call.form, call.name, written, made, inputs))

    def __enter__(self):
        self.interpreter.push()
        return self

    def __exit__(self, *exc):
        self.interpreter.pop()

    @property
    def names(self):
        return [name for _, name, *_ in self.calls]

    def forms(self, tensor):
        """Of the calls that had this tensor as an input, in order."""
        return [form for form, *_, inputs in self.calls if any(one() is tensor for one in inputs)]

    def wrote(self, tensor):
        return any(tensor._storage_id in written for _, _, written, *_ in self.calls)

    def made(self, tensor):
        return any(tensor._storage_id in made for _, _, _, made, _ in self.calls)


class Witness(Log):
    """Looks at all memory of living tensors before and after each call: what changed was announced, what is new is a
    result, and between calls nothing happens."""

    def __init__(self):
        super().__init__()
        self.unseen = []

    def __enter__(self):
        self.memory = everything()
        self.known = set(self.memory)
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.compare(everything(), "at the end")
        assert not self.unseen, self.unseen

    def compare(self, memory, where, announced=frozenset()):
        for storage, contents in memory.items():
            if storage in announced:
                continue
            if self.memory.get(storage, contents) != contents:
                self.unseen.append(f"{where}: memory is written")
            elif storage not in self.memory and storage not in self.known:
                self.unseen.append(f"{where}: memory appears")
        self.memory = memory
        self.known |= memory.keys()

    def handle(self, call):
        before = everything()
        announced = {tensor._storage_id for tensor in call.written}
        super().handle(call)
        made = self.calls[-1][3]
        given = {tensor._storage_id for tensor in call.inputs if tensor is not None} if call.form == "rebind" else set()
        self.compare(before, f"before {call.name}", made)
        self.compare(everything(), f"by {call.form} {call.name}", announced | made | given)


def everything():
    """The contents of all memory that tensors look at, but not of numbers beside tensors."""
    memory = {}
    for tensor in _core.live_tensors():
        if tensor._storage_id in memory or tensor._is_wrapped_number:
            continue
        begin = tensor.data_ptr() - tensor.storage_offset() * tensor.element_size() if tensor._storage_nbytes else 0
        memory[tensor._storage_id] = zlib.crc32(ctypes.string_at(begin, tensor._storage_nbytes)) if begin else 0
    return memory
