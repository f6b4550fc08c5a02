"""The manager against providers that are not ours: trace_provider.py CASE, as the command of "sampler-capture trace" (tests/cli/test_trace_hostile.sh)."""
import os
import random
import sys

from trace_peer import *

case = sys.argv[1]
path = os.environ["FXT_TRACE_SOCKET"]
EVENT = struct.pack("<4Q", 4 | 4 << 4, 5, 1, 2)  # an instant without a name, of process 1


def begun(name):
    provider = Provider(path, name)
    provider.initialized()
    provider.write_header()
    provider.started()
    return provider


def packets():
    """Each of these ends its provider, and nobody else."""
    good = begun("good")
    bad = {
        "unknown": packet(5), "nothing": packet(0), "data": packet(STARTED, 1, 1), "version": packet(STARTED, 0, 2),
        "time": packet(STARTED, 0, 1, 1), "stopped": packet(STOPPED, 0, 1), "short": bytes(15), "long": bytes(17),
        "half": packet(SAVE_BUFFER, 0, 7, 16), "durable": packet(SAVE_BUFFER, 0, 0, 1 << 40), "odd": packet(SAVE_BUFFER, 0, 0, 17),
        "saved": packet(BUFFER_SAVED, 0, 0, 16),
    }
    for name, data in bad.items():
        provider = begun(name)
        provider.fifo.send(data)
        provider.gone()
    for name, data in {"message": bytes(16), "huge": bytes(60000)}.items():
        provider = begun(name)
        provider.channel.send(data)
        provider.gone()
    # Registrations that are none: nobody has a name.
    for data in b"", bytes(1), bytes(56), message(REGISTER), message(REGISTER, struct.pack("<IIQQQ", 0xFFFFFFFF, 0, 1, 1 << 60, HERE)):
        for handles in (), (0,):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            sock.connect(path)
            if data:
                send(sock, data, handles)
            sock.close()
    good.buffer[128:128 + len(EVENT)] = EVENT
    if good.mode != ONESHOT:
        good.buffer[128 + good.split()[0]:128 + good.split()[0] + len(EVENT)] = EVENT
    good.write_header(ends=(len(EVENT), 0))


def header():
    """Each word of the header, wrong, when the provider is gone."""
    for word in range(9):
        for value in 0, 1, 7, 1 << 32, (1 << 64) - 1:
            provider = begun("word %d" % word)
            provider.buffer[8 * word:8 * word + 8] = struct.pack("<Q", value)
            provider.fifo.close()
            provider.channel.close()


def changing():
    """A buffer that changes while it is read, handed over again and again."""
    random.seed(1)
    provider = begun("changing")
    durable, rolling = provider.split()
    pid = os.fork()
    if pid == 0:
        while True:
            at = random.randrange(128, provider.size // 8 * 8, 8)
            provider.buffer[at:at + 8] = struct.pack("<Q", random.getrandbits(24))
    provider.write_header(ends=(rolling // 8 * 8, rolling // 8 * 8))
    for wrapped in range(200):
        provider.fifo.send(packet(SAVE_BUFFER, 0, wrapped, 16))
        if receive(provider.fifo)[0] != packet(BUFFER_SAVED, 0, wrapped, 16):
            break
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert wrapped == 199


def silent():
    """One that registers and never answers, one that never begins, one that does not stop."""
    global kept
    kept = [Provider(path, "mute"), Provider(path, "initialized"), begun("begun")]
    kept[1].initialized()
    kept[1].write_header()
    pid = os.fork()  # it keeps their ends open when the command is over
    if pid == 0:
        os.close(0), os.close(1), os.close(2)
        for provider in kept[1:]:
            provider.gone()
        while receive(kept[0].channel)[0]:
            pass
        os._exit(0)


def crowd():
    """More than can be there at once, one after another: each is recorded."""
    for i in range(4200):
        provider = begun("one of many")
        provider.fifo.close()
        provider.channel.close()


def late():
    """While others are recorded another one comes."""
    first = begun("first")
    second = begun("second")
    for provider in first, second:
        provider.write_header(ends=(0, 0))


globals()[case]()
