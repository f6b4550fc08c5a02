"""Write FXT records, everything inline.  Written from docs/formats/fxt.md, without the project's own writer.

Each function returns the bytes of one record.
"""
import struct

INSTANT, COUNTER, BEGIN, END, COMPLETE, ASYNC_BEGIN, ASYNC_INSTANT, ASYNC_END, FLOW_BEGIN, FLOW_STEP, FLOW_END = range(11)
NULL, INT32, UINT32, INT64, UINT64, DOUBLE, STRING, POINTER, KOID, BOOL = range(10)


def word(value):
    return struct.pack("<Q", value & 0xFFFFFFFFFFFFFFFF)


def stream(text):
    data = text.encode()
    return data + bytes(-len(data) % 8)


def reference(text):
    return 0x8000 | len(text) if text else 0


def argument(kind, name, value):
    """One argument with its name inline; section 2.6."""
    head, body = 0, b""
    if kind in (1, 2):  # int32, uint32
        head = (value & 0xFFFFFFFF) << 32
    elif kind == 9:  # bool
        head = value << 32
    elif kind == 5:  # double
        body = struct.pack("<d", value)
    elif kind == 6:  # string
        head = reference(value) << 32
        body = stream(value)
    elif kind != 0:  # int64, uint64, pointer, koid
        body = word(value)
    inside = stream(name) + body
    return word(kind | (1 + len(inside) // 8) << 4 | reference(name) << 16 | head) + inside


def event(kind, ts, pid, tid, name, args=(), last=None, category="c"):
    """Section 2.5."""
    body = word(ts) + word(pid) + word(tid) + stream(category) + stream(name) + b"".join(args)
    if last is not None:
        body += word(last)
    size = 1 + len(body) // 8
    head = 4 | size << 4 | kind << 16 | len(args) << 20
    return word(head | reference(category) << 32 | reference(name) << 48) + body


def switch(ts, cpu, outgoing, state, incoming, weight=None):
    """Section 2.11; weight is the incoming thread's."""
    args = argument(INT32, "incoming_weight", weight) if weight is not None else b""
    body = word(ts) + word(outgoing) + word(incoming) + args
    size = 1 + len(body) // 8
    return word(8 | size << 4 | (1 if args else 0) << 16 | cpu << 20 | state << 36 | 1 << 60) + body


def wakeup(ts, cpu, tid, waker=None):
    args = argument(KOID, "waker", waker) if waker else b""
    body = word(ts) + word(tid) + args
    return word(8 | (1 + len(body) // 8) << 4 | (1 if args else 0) << 16 | cpu << 20 | 2 << 60) + body


def log(ts, pid, tid, text):
    """Section 2.12."""
    body = word(ts) + word(pid) + word(tid) + stream(text)
    return word(9 | (1 + len(body) // 8) << 4 | len(text) << 16) + body


def kernel_object(kind, koid, name, process=None):
    """Section 2.10: 1 a process, 2 a thread, ..."""
    args = argument(KOID, "process", process) if process else b""
    body = word(koid) + stream(name) + args
    return word(7 | (1 + len(body) // 8) << 4 | kind << 16 | reference(name) << 24 | (1 if args else 0) << 40) + body


def magic():
    return word(0x0016547846040010)
