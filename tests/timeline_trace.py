#!/usr/bin/env python3
"""Write a random FXT trace of the timeline: timeline_trace.py SEED [plain] > TRACE

With plain, nothing happens at the time of anything else, each flow id is of one process, and ends have no arguments: an export gives such a trace
the same rows again.

Few threads, few names and few different times, so that events cross, touch and fall on one moment as often as they can; records
stand in random order.
"""
import random
import sys

import fxt_records as fxt

SEED = int(sys.argv[1])
PLAIN = sys.argv[2:] == ["plain"]
chance = random.Random(SEED)
out = []


def random_args():
    args = []
    for i in range(chance.choice([0, 0, 0, 1, 2, 3])):
        kind = chance.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        value = {0: 0, 1: chance.randrange(-5, 5), 2: 2**32 - 1, 3: -chance.randrange(2**40), 4: 2**64 - 1,
                 5: chance.randrange(100) / 4, 6: "text%d" % chance.randrange(3), 7: 0xDEADBEEF, 8: 1234,
                 9: chance.randrange(2)}[kind]
        args.append(fxt.argument(kind, "k%d" % i, value))
    return args


COUNT = chance.randrange(1, 400)
HORIZON = 2 * COUNT if PLAIN else chance.choice([20, 200, 3000])
NAMES = ["n%d" % i for i in range(4)]
for turn in range(COUNT):
    moment = 2 * turn if PLAIN else chance.randrange(HORIZON)
    process = chance.randrange(1, 4)
    thread = 10 * process + chance.randrange(2)
    title = chance.choice(NAMES)
    kind = chance.choice([0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, "switch", "wakeup", "log"])
    if kind == "switch":
        weight = chance.choice([None, 40, -(2**31)])
        out.append(fxt.switch(moment, chance.randrange(3), chance.choice([0, 10, 11, 20, 99]), chance.randrange(8),
                              chance.choice([0, 10, 11, 20, 99]), weight))
    elif kind == "wakeup":
        out.append(fxt.wakeup(moment, chance.randrange(3), chance.choice([10, 11, 20, 99]), chance.choice([0, 10, 98])))
    elif kind == "log":
        out.append(fxt.log(moment, process, thread, "said at %d" % moment))
    elif kind == 4:
        end = moment + chance.choice([0, 1, 3, 10, HORIZON // 2])
        end |= PLAIN  # nothing else happens when it ends
        out.append(fxt.event(kind, moment, process, thread, title, random_args(), end))
    elif kind in (0, 2, 3):
        title = chance.choice([title] * 3 + [""])
        args = random_args()
        out.append(fxt.event(kind, moment, process, thread, title, [] if PLAIN and kind == 3 else args))
    else:
        number = chance.randrange(4) + (10 * process if PLAIN and kind in (8, 9, 10) else 0)
        out.append(fxt.event(kind, moment, process, thread, title, random_args(), number))

chance.shuffle(out)
sys.stdout.buffer.write(fxt.magic() + b"".join(out))
