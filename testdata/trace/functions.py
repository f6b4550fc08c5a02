"""Every function of <fxt/trace_engine.h>, called from Python: no macros, no compiler.

    functions.py LIBRARY

Started by sampler-capture trace --trigger stop:stop; tests/cli/test_trace_functions.sh compares what is recorded.
"""
import ctypes
import os
import select
import sys
from ctypes import POINTER, Structure, Union, byref, c_bool, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t
from ctypes import c_uint8, c_uint16, c_uint32, c_uint64, c_void_p


class StringRef(Structure):
    _fields_ = [("encoded", c_uint16), ("inline", c_char_p)]


class ThreadRef(Structure):
    _fields_ = [("encoded", c_uint32), ("process", c_uint64), ("thread", c_uint64)]


class Blob(Structure):
    _fields_ = [("bytes", c_char_p), ("length", c_size_t)]


class Value(Union):
    _fields_ = [("int32", c_int32), ("uint32", c_uint32), ("int64", c_int64), ("uint64", c_uint64), ("double", c_double),
                ("string", StringRef), ("pointer", c_uint64), ("koid", c_uint64), ("bool", c_bool), ("blob", Blob)]


class TypedValue(Structure):
    _fields_ = [("type", c_int), ("value", Value)]


class Arg(Structure):
    _fields_ = [("name", StringRef), ("value", TypedValue)]


class Site(Structure):
    _fields_ = [("state", c_uint64), ("category", c_char_p), ("name", c_char_p), ("keys", c_void_p), ("key_refs", c_void_p),
                ("key_count", c_uint32)]


library = ctypes.CDLL(sys.argv[1])
called = set()


def call(name, *args, result=None):
    """trace_NAME(ARGS): integers without a type of their own are 64 bits wide."""
    function = getattr(library, "trace_" + name)
    function.restype = result
    called.add("trace_" + name)
    return function(*[c_uint64(a) if isinstance(a, int) and not isinstance(a, bool) else a for a in args])


def string(text):
    ref = StringRef()
    call("context_register_string_copy", context, text, len(text), byref(ref))
    return ref


kept = []  # literals stay while anything is recorded


def literal(text):
    ref = StringRef()
    kept.append(ctypes.create_string_buffer(text))
    call("context_register_string_literal", context, kept[-1], byref(ref))
    return ref


def arg(name, type_number, **value):
    return Arg(literal(name), TypedValue(type_number, Value(**value)))


call("provider_add_known_category", b"python", b"functions without macros")
assert call("state", result=c_int) == 0, "recording before there is a provider"
assert call("acquire_context", result=c_void_p) is None
started = c_bool(False)
provider = call("provider_create_synchronously", b"functions", byref(started), result=c_void_p)
assert provider and started.value
assert call("provider_create_with_name", b"second", result=c_void_p) is None, "two providers in a process"
while call("state", result=c_int) != 1:
    pass
watched = os.eventfd(0) if hasattr(os, "eventfd") else None
if watched is not None:
    assert call("register_observer", c_int(watched), result=c_int) == 0
    assert call("register_observer", c_int(watched), result=c_int) != 0, "an observer twice"
    call("notify_observer_updated", c_int(watched))

assert call("is_category_enabled", b"python", result=c_bool) and not call("is_category_enabled", b"other", result=c_bool)
context = c_void_p(call("acquire_context", result=c_void_p))
assert context.value
category, copy = StringRef(), StringRef()
assert call("context_register_category_literal", context, b"python", byref(category), result=c_bool)
assert not call("context_register_category_literal", context, b"other", byref(copy), result=c_bool)
assert call("acquire_context_for_category", b"other", byref(copy), result=c_void_p) is None
assert call("acquire_context_for_category", b"python", byref(copy), result=c_void_p) and copy.encoded == category.encoded
site = Site(0, None, None, None, None, 0)
for _ in range(2):  # the second time from the call site's cache
    copy = StringRef()
    assert call("acquire_context_for_category_cached", b"python", byref(site), byref(copy), result=c_void_p)
    assert copy.encoded == category.encoded
prolonged = c_void_p(call("acquire_prolonged_context", result=c_void_p))
assert prolonged.value
call("release_prolonged_context", prolonged)
assert call("generate_nonce", result=c_uint64) != call("generate_nonce", result=c_uint64)

here, there, virtual = ThreadRef(), ThreadRef(), ThreadRef()
call("context_register_current_thread", context, byref(here))
call("context_register_thread", context, 4001, 4002, byref(there))
call("context_register_vthread", context, 4001, b"virtual", 5, byref(virtual))

before = call("get_ticks", result=c_uint64)
args = (Arg * 10)(arg(b"null", 0), arg(b"int32", 1, int32=-1), arg(b"uint32", 2, uint32=2), arg(b"int64", 3, int64=-3),
                  arg(b"uint64", 4, uint64=4), arg(b"double", 5, double=0.5), arg(b"string", 6, string=string(b"a text")),
                  arg(b"pointer", 7, pointer=0x7000), arg(b"koid", 8, koid=8), arg(b"bool", 9, bool=True))
event = (context, before, byref(there), byref(category))
call("context_write_instant_event_record", *event, byref(literal(b"an instant")), c_int(2), args, 10)
call("context_write_instant_event_record", *event[:2], byref(here), byref(category), byref(literal(b"here")), c_int(0), None, 0)
call("context_write_counter_event_record", *event, byref(literal(b"a counter")), 11, byref(args[1]), 1)
call("context_write_duration_event_record", context, before, before + 1000, byref(there), byref(category),
     byref(literal(b"a duration")), byref(args[2]), 1)
call("context_write_duration_begin_event_record", *event, byref(literal(b"a begin")), None, 0)
call("context_write_duration_end_event_record", *event, byref(literal(b"an end")), byref(args[3]), 1)
for number, kind in enumerate(("async_begin", "async_instant", "async_end", "flow_begin", "flow_step", "flow_end")):
    call("context_write_%s_event_record" % kind, *event, byref(literal(b"the " + kind.encode())), 20 + number, byref(args[4]), 1)
call("context_write_instant_event_record", context, before, byref(virtual), byref(category), byref(literal(b"on a virtual thread")),
     c_int(0), None, 0)

call("context_write_process_info_record", context, 4001, byref(string(b"a process")))
call("context_write_thread_info_record", context, 4001, 4002, byref(string(b"a thread")))
call("context_write_kernel_object_record", context, 4003, c_uint32(14), byref(string(b"a socket")), byref(args[5]), 1)
call("context_write_kernel_object_record_for_handle", context, c_int(os.pipe()[0]), byref(args[6]), 1)
call("context_write_context_switch_record", context, before, c_uint32(3), c_int(3), byref(there), byref(here), c_uint8(16), c_uint8(17))
call("context_write_log_record", context, before, byref(there), b"a line of a log", 15)
call("context_write_blob_record", context, c_int(1), byref(literal(b"a blob")), b"seven b", 7)
room = call("context_begin_write_blob_record", context, c_int(3), byref(literal(b"a blob in place")), 9, result=c_void_p)
ctypes.memmove(room, b"nine byte", 9)
call("release_context", context)
call("context_write_blob_event_record", *event, byref(literal(b"a large blob")), b"eleven byte", 11, byref(args[7]), 1)
call("context_write_blob_attachment_record", context, byref(category), byref(literal(b"an attachment")), b"thirteen byte", 13)
# A table of one's own, at indices that the library does not reach here.
call("context_write_string_record", context, c_uint32(0x7000), b"own string", 10)
call("context_write_thread_record", context, c_uint32(0xf0), 4004, 4005)
own_thread, own_name = ThreadRef(0xf0, 0, 0), StringRef(0x7000, None)
call("context_write_instant_event_record", context, before, byref(own_thread), byref(category), byref(own_name), c_int(0), None, 0)
call("context_write_initialization_record", context, 1000000000)
call("engine_flush_category_cache")

call("context_send_alert", context, b"stop")
while call("state", result=c_int) != 0:
    pass
call("context_write_instant_event_record", *event, byref(StringRef(0x8003, b"too")), c_int(0), None, 0)  # recording has ended
if watched is not None:
    assert select.select([watched], [], [], 60)[0], "the observer was not written to"
    assert call("unregister_observer", c_int(watched), result=c_int) == 0
    assert call("unregister_observer", c_int(watched), result=c_int) != 0, "an observer removed twice"
else:
    called |= {"trace_register_observer", "trace_unregister_observer", "trace_notify_observer_updated"}
call("provider_destroy", c_void_p(provider))
call("provider_destroy", None)
print("\n".join(sorted(called)))
