#!/usr/bin/env python3
"""The trace that the queries of this folder are asked about: PYTHONPATH=tests testdata/perfettosql/scenario.py > TRACE

One tick is one nanosecond.

  app (1000)     main (1000)     frame 1000..9000 { vsync @1200, layout 1500..3000 { measure 1600..2000 }, draw 3500..8000 },
                                 frame 10000..15000 { draw 11000..14000 }
                 worker (1001)   raster 4000..7000
                 async           load 2000..12000, load 6000..9000
                 counter         memory: used 100, 250, 150 and free 900, 750, 850 at 1000, 5000, 10000
  server (2000)  server (2000)   handle 5000..6000, and reply, which never ends, from 6050
  flow           draw 3600 -> raster 4100 -> handle 5100
  CPU 0          main 900..3200 (blocked), idle ..3500, main ..9500 (blocked), idle ..10000, main ..15000 (dying), idle
  CPU 1          worker 3300..7200 (blocked), idle
  CPU 2          server 4900..5800 (preempted), idle ..5900, server ..6100 (blocked), idle
  wakeups        main by worker at 3400, main by a timer at 9900
"""
import sys

import fxt_records as fxt

APP, WORKER, SERVER = 1000, 1001, 2000
RUNNING, BLOCKED, DYING = 1, 3, 4


def number(kind, name, value):
    return fxt.argument(kind, name, value)


def complete(tid, pid, ts, end, name, args=()):
    return fxt.event(fxt.COMPLETE, ts, pid, tid, name, args, end, "ui" if pid == APP else "net")


def flow(kind, ts, pid, tid):
    return fxt.event(kind, ts, pid, tid, "request", (), 7, "ui")


def load(kind, ts, operation):
    return fxt.event(kind, ts, APP, APP, "load", (), operation, "io")


def memory(ts, used, free):
    return fxt.event(fxt.COUNTER, ts, APP, APP, "memory", [number(fxt.UINT64, "used", used), number(fxt.INT32, "free", free)], 0, "mm")


records = [
    fxt.magic(),
    fxt.kernel_object(1, APP, "app"),
    fxt.kernel_object(2, APP, "main", APP),
    fxt.kernel_object(2, WORKER, "worker", APP),
    fxt.kernel_object(1, SERVER, "server"),
    fxt.kernel_object(2, SERVER, "server", SERVER),
    fxt.kernel_object(3, 77, "scratch", APP),
    # As writers do, a complete is written when it ends.
    fxt.event(fxt.INSTANT, 1200, APP, APP, "vsync", [], None, "ui"),
    complete(APP, APP, 1600, 2000, "measure"),
    complete(APP, APP, 1500, 3000, "layout"),
    flow(fxt.FLOW_BEGIN, 3600, APP, APP),
    complete(APP, APP, 3500, 8000, "draw", [number(fxt.UINT64, "layers", 3)]),
    complete(APP, APP, 1000, 9000, "frame", [number(fxt.INT32, "frame", 1), fxt.argument(fxt.STRING, "kind", "first")]),
    complete(APP, APP, 11000, 14000, "draw", [number(fxt.UINT64, "layers", 5)]),
    complete(APP, APP, 10000, 15000, "frame", [number(fxt.INT32, "frame", 2)]),
    flow(fxt.FLOW_STEP, 4100, APP, WORKER),
    fxt.log(4500, APP, WORKER, "raster started"),
    complete(WORKER, APP, 4000, 7000, "raster"),
    fxt.event(fxt.BEGIN, 5000, SERVER, SERVER, "handle", [number(fxt.INT64, "bytes", 4096), number(fxt.POINTER, "address", 0xDEADBEEF)], None, "net"),
    flow(fxt.FLOW_END, 5100, SERVER, SERVER),
    fxt.event(fxt.END, 6000, SERVER, SERVER, "handle", [fxt.argument(fxt.DOUBLE, "ratio", 0.5), fxt.argument(fxt.BOOL, "urgent", 1)], None, "net"),
    fxt.event(fxt.BEGIN, 6050, SERVER, SERVER, "reply", [], None, "net"),
    load(fxt.ASYNC_BEGIN, 2000, 1),
    load(fxt.ASYNC_BEGIN, 6000, 2),
    load(fxt.ASYNC_END, 9000, 2),
    load(fxt.ASYNC_END, 12000, 1),
    memory(1000, 100, 900),
    memory(5000, 250, 750),
    memory(10000, 150, 850),
    # CPU after CPU, as kernels write them.
    fxt.switch(900, 0, 0, RUNNING, APP, 40),
    fxt.switch(3200, 0, APP, BLOCKED, 0),
    fxt.switch(3500, 0, 0, RUNNING, APP, 40),
    fxt.switch(9500, 0, APP, BLOCKED, 0),
    fxt.wakeup(9900, 0, APP),
    fxt.switch(10000, 0, 0, RUNNING, APP, 40),
    fxt.switch(15000, 0, APP, DYING, 0),
    fxt.switch(3300, 1, 0, RUNNING, WORKER, 20),
    fxt.wakeup(3400, 1, APP, WORKER),
    fxt.switch(7200, 1, WORKER, BLOCKED, 0),
    fxt.switch(4900, 2, 0, RUNNING, SERVER, 20),
    fxt.switch(5800, 2, SERVER, RUNNING, 0),
    fxt.switch(5900, 2, 0, RUNNING, SERVER, 20),
    fxt.switch(6100, 2, SERVER, BLOCKED, 0),
]
sys.stdout.buffer.write(b"".join(records))
