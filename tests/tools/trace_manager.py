"""libfxttrace against a manager that is not ours: trace_manager.py STEPS FOLDER (tests/cli/test_trace_provider.sh).

STEPS is testdata/trace/steps.c.  Raw buffers and archives are written to FOLDER and read by fxtdump.
"""
import os
import re
import socket
import subprocess
import sys

from trace_peer import *

steps, folder = sys.argv[1], sys.argv[2]
path = os.path.join(folder, "socket")
os.environ["FXT_TRACE_SOCKET"] = path
NAMES = {ONESHOT: "oneshot", CIRCULAR: "circular", STREAMING: "streaming"}


class Program:
    def __init__(self, registry=None):
        self.process = subprocess.Popen([steps], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def write(self, count):
        return int(self.say("write %d" % count).split()[1])

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def sequence(name, data):
    """The numbers of events that fxtdump finds, after it has found no damage."""
    file = os.path.join(folder, name)
    with open(file, "wb") as out:
        out.write(data)
    subprocess.run(["fxtdump", "--verify", file], check=True, stdout=subprocess.DEVNULL)
    text = subprocess.run(["fxtdump", file], check=True, capture_output=True, text=True).stdout
    return [int(i) for i in re.findall(r"category=steps name=step .*seq: (\d+)", text)]


def begin(mode, size=1 << 20):
    """A program that is initialized."""
    registry = Registry(path)
    program = Program()
    client = registry.accept()
    assert client.name == "steps" and client.pid == program.process.pid
    client.initialize(mode, size)
    return registry, program, client


def cycle(program, client, disposition, count):
    client.start(disposition)
    assert client.packet() == (STARTED, 0, 1, 0)
    assert program.say("on") == "on"
    program.write(count)
    client.stop()
    assert client.packet() == (STOPPED, 0, 0, 0)
    assert program.say("off") == "off"
    program.write(10)  # not recorded


def dispositions():
    for mode, name in NAMES.items():
        for disposition in CLEAR_ENTIRE, CLEAR_NONDURABLE, RETAIN:
            registry, program, client = begin(mode)
            cycle(program, client, CLEAR_ENTIRE, 100)
            assert sequence("first.fxtb", client.buffer[:]) == list(range(100)), name
            cycle(program, client, disposition, 50)
            expected = list(range(110, 160))
            if disposition == RETAIN:
                expected = list(range(100)) + expected
            assert sequence("second.fxtb", client.buffer[:]) == expected, (name, disposition)
            # Killed in the third.
            client.start(RETAIN)
            assert client.packet() == (STARTED, 0, 1, 0)
            program.say("on")
            program.write(7)
            program.process.kill()
            program.process.wait()
            assert client.packet() is None
            assert sequence("third.fxtb", client.buffer[:]) == expected + list(range(170, 177)), (name, disposition)


def repeated():
    registry, program, client = begin(STREAMING, 65536)
    client.stop()  # not started: no answer
    other = client.initialize(STREAMING, 65536)  # a second one is ignored
    assert receive(other)[0] == b"", "a second buffer is used"
    client.start(CLEAR_ENTIRE)
    assert client.packet() == (STARTED, 0, 1, 0)
    client.start(CLEAR_ENTIRE)  # started already: no answer, and nothing is cleared
    program.say("on")
    program.write(1300)  # more than a half has room for
    assert client.packet()[:3] == (SAVE_BUFFER, 0, 0)
    for disposition in CLEAR_ENTIRE, CLEAR_NONDURABLE, RETAIN:
        client.start(disposition)
    send(client.channel, message(CATEGORIES, b"", 7))  # answered after those
    data, _ = receive(client.channel)
    assert struct.unpack_from("<I", data) == (7,) and b"what it is told" in data
    program.write(1)
    client.stop()
    assert client.packet() == (STOPPED, 0, 0, 0), "a half was announced twice, or after the end"
    client.stop()
    client.terminate()
    assert client.packet() is None
    # From the beginning, over the same channel.
    client.fifo = None
    client.initialize(ONESHOT, 65536)
    client.start(CLEAR_ENTIRE, [b"none of its"])
    assert client.packet() == (STARTED, 0, 1, 0)
    program.say("on")
    program.write(3)
    client.terminate()
    assert client.packet() == (STOPPED, 0, 0, 0)
    assert client.packet() is None
    assert sequence("again.fxtb", client.buffer[:]) == [1301, 1302, 1303]
    program.end()


def streaming():
    """What is handed over, put together: every event, once, in its order."""
    registry, program, client = begin(STREAMING, 65536)
    archive, durable, saves, written, room = MAGIC, 0, 0, 0, 1200  # events, more than a half has room for
    client.start(CLEAR_ENTIRE)
    assert client.packet() == (STARTED, 0, 1, 0)
    program.say("on")
    while written < 20000:
        written = program.write(400)
        while written > room * (saves + 1):
            request, zero, wrapped, end = client.packet()
            assert (request, zero, wrapped) == (SAVE_BUFFER, 0, saves) and end >= durable
            assert client.header()["end%d" % (wrapped & 1)] > 0
            archive += client.durable(durable, end) + client.half(wrapped & 1)
            durable, saves = end, saves + 1
            send(client.fifo, packet(BUFFER_SAVED, 0, wrapped, end))
            client.settle()
    send(client.fifo, packet(BUFFER_SAVED, 0, 77, 0))  # of what was not given out
    client.stop()
    assert client.packet() == (STOPPED, 0, 0, 0)
    header = client.header()
    assert header["wrapped"] == saves and header["dropped"] == 0, header
    archive += client.durable(durable, header["durable_end"]) + client.half(saves & 1)
    assert saves >= 15
    assert sequence("streaming.fxt", archive) == list(range(written))
    # Where nobody takes halves, what has no room is counted, and what was there stays.
    client.start(CLEAR_ENTIRE)
    assert client.packet() == (STARTED, 0, 1, 0)
    program.say("on")
    program.write(5000)
    assert client.packet()[:3] == (SAVE_BUFFER, 0, 0)
    client.stop()
    assert client.packet() == (STOPPED, 0, 0, 0)
    kept = sequence("full.fxtb", client.buffer[:])
    assert len(kept) + client.header()["dropped"] == 5000 and kept == list(range(written, written + len(kept)))
    program.end()


def refused():
    """A manager that lets a program go is not bothered again; the next one is found."""
    old = Registry(path)
    program = Program()
    client = old.accept()
    for _ in range(3):
        client.initialize(CIRCULAR, 65536)
        client.start(CLEAR_ENTIRE)
        assert client.packet() == (STARTED, 0, 1, 0)
        client.channel.close()
        client.fifo.close()
        assert program.say("off") == "off"
        new = Registry(path)
        new.ring()
        client = new.accept()
        assert not old.waiting(), "it registers again with a manager that has let it go"
        old = new
    # A buffer that cannot be mapped: the same.
    client.initialize(CIRCULAR, 100)
    assert client.packet() is None
    client.channel.close()
    new = Registry(path)
    new.ring()
    client = new.accept()
    assert not old.waiting(), "it registers again where its buffer cannot be mapped"
    program.end()


def busy():
    """More programs than the queue of a manager holds: they come later."""
    registry = Registry(path, 0)
    fillers = []
    while True:
        filler = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        filler.setblocking(False)
        try:
            filler.connect(path)
        except BlockingIOError:
            break
        fillers.append(filler)
    program = Program()
    # It waits in trace_provider_create_with_name() until there is room.
    while "fxt-trace" not in "".join(open("/proc/%d/task/%s/comm" % (program.process.pid, t)).read()
                                     for t in os.listdir("/proc/%d/task" % program.process.pid)):
        pass
    for filler in fillers:
        filler.close()
    client = registry.accept()
    assert client.name == "steps"
    client.initialize(CIRCULAR, 65536)
    client.start(CLEAR_ENTIRE)
    assert program.say("on") == "on"
    program.end()


for test in dispositions, repeated, streaming, refused, busy:
    print(test.__name__, flush=True)
    test()
print("ok")
