"""The other side of fuchsia.tracing.provider, from docs/formats/trace-provider.md alone: a manager and a provider for tests.

Packets and messages are put together here byte by byte; nothing of libtrace or of the manager is used.
"""
import array
import mmap
import os
import socket
import struct

INITIALIZE, START, STOP, TERMINATE, CATEGORIES = (
    0x09E31667D7B180F7, 0x5BAE2B60BE66A815, 0x133DF8EBB1897DF0, 0x6B5564032F2726B1, 0x5F5B0AD77AF3F886)
REGISTER, REGISTER_SYNC = 0x75BCAE3DFA08479C, 0x4835ED419A808F16
ONESHOT, CIRCULAR, STREAMING = 1, 2, 3
CLEAR_ENTIRE, CLEAR_NONDURABLE, RETAIN = 1, 2, 3
STARTED, SAVE_BUFFER, STOPPED, ALERT, BUFFER_SAVED = 1, 2, 3, 4, 0x100
HERE, ABSENT = 0xFFFFFFFFFFFFFFFF, 0
MAGIC = bytes.fromhex("1000044678541600")


def message(ordinal, body=b"", txid=0):
    return struct.pack("<I2sBBQ", txid, b"\x02\x00", 0, 1, ordinal) + body


def padded(data):
    return data + bytes(-len(data) % 8)


def strings(items):
    """A vector's place, and what comes after all places."""
    heads = b"".join(struct.pack("<QQ", len(i), HERE) for i in items)
    return struct.pack("<QQ", len(items), HERE), heads + b"".join(padded(i) for i in items)


def packet(request, data16=0, data32=0, data64=0):
    return struct.pack("<HHIQ", request, data16, data32, data64)


def send(sock, data, handles=()):
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", handles))] if handles else []
    sock.sendmsg([data], control)


def receive(sock, size=65536):
    """Bytes and handles; b"" when the other end is closed."""
    try:
        data, control, _, _ = sock.recvmsg(size, socket.CMSG_SPACE(8))
    except ConnectionResetError:
        return b"", []
    handles = array.array("i")
    for _, _, fds in control:
        handles.frombytes(fds)
    return data, list(handles)


class Registry:
    """Where programs register: a manager that does what a test says."""

    def __init__(self, path, backlog=16):
        self.path = path
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.bind(path + ".new")
        self.sock.listen(backlog)
        os.rename(path + ".new", path)

    def ring(self):
        bell = self.path + ".bell"
        if not os.path.exists(bell):
            os.mkfifo(bell, 0o600)
        try:
            os.close(os.open(bell, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # nobody listens
            pass

    def accept(self, started=True):
        """The next program that registers."""
        while True:
            sock, _ = self.sock.accept()
            data, handles = receive(sock)
            if data:
                return Client(sock, data, handles, started)

    def waiting(self):
        """Whether somebody wants to register."""
        self.sock.setblocking(False)
        try:
            self.sock.accept()
            return True
        except BlockingIOError:
            return False
        finally:
            self.sock.setblocking(True)


class Client:
    """A program that has registered."""

    def __init__(self, sock, data, handles, started):
        ordinal, = struct.unpack_from("<Q", data, 8)
        self.pid, length = struct.unpack_from("<QQ", data, 24)
        self.name = data[48:48 + length].decode()
        self.channel = socket.socket(fileno=handles[0])
        if ordinal == REGISTER_SYNC:
            send(sock, message(REGISTER_SYNC, struct.pack("<iBxxx", 0, started), struct.unpack_from("<I", data)[0]))
        else:
            assert ordinal == REGISTER, hex(ordinal)
        sock.close()

    def initialize(self, mode, size, categories=()):
        """A buffer, and packets: those of a second one are not used."""
        memory = os.memfd_create("peer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, size)
        import fcntl
        fcntl.fcntl(memory, 1033, 0x2 | 0x4)  # F_ADD_SEALS: shrink, grow
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        place, rest = strings(categories)
        body = struct.pack("<BxxxII4x", mode, 0xFFFFFFFF, 0xFFFFFFFF) + place + rest
        send(self.channel, message(INITIALIZE, body), (memory, theirs.fileno()))
        theirs.close()
        if getattr(self, "fifo", None):
            os.close(memory)
            return ours
        self.fifo, self.buffer, self.mode = ours, mmap.mmap(memory, size), mode
        os.close(memory)
        return ours

    def start(self, disposition, categories=()):
        place, rest = strings(categories)
        send(self.channel, message(START, struct.pack("<Bxxxxxxx", disposition) + place + rest))

    def stop(self):
        send(self.channel, message(STOP))

    def terminate(self):
        send(self.channel, message(TERMINATE))

    def settle(self):
        """Until packets that were sent before have been read: each answer is of one round of the program's thread."""
        for txid in 1, 2:
            send(self.channel, message(CATEGORIES, b"", txid))
            assert struct.unpack_from("<I", receive(self.channel)[0]) == (txid,)

    def packet(self):
        """(request, data16, data32, data64), or None when there will be no more."""
        data, _ = receive(self.fifo)
        return struct.unpack("<HHIQ", data) if data else None

    def header(self):
        names = ("magic", "version_mode_wrapped", "size", "durable", "rolling", "durable_end", "end0", "end1", "dropped")
        header = dict(zip(names, struct.unpack_from("<9Q", self.buffer)))
        header["wrapped"] = header["version_mode_wrapped"] >> 32
        return header

    def half(self, which):
        """Bytes of that rolling half, up to its end."""
        header = self.header()
        begin = 128 + header["durable"] + which * header["rolling"]
        return self.buffer[begin:begin + header["end%d" % which]]

    def durable(self, begin, end):
        return self.buffer[128 + begin:128 + end]


class Provider:
    """A program that registers with a manager, and then does what a test says."""

    def __init__(self, path, name, pid=None):
        self.registry = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.registry.connect(path)
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        body = struct.pack("<IIQQQ", 0xFFFFFFFF, 0, pid or os.getpid(), len(name), HERE) + padded(name.encode())
        send(self.registry, message(REGISTER, body), (theirs.fileno(),))
        theirs.close()

    def initialized(self):
        data, handles = receive(self.channel)
        assert struct.unpack_from("<Q", data, 8) == (INITIALIZE,), data
        self.mode = data[16]
        self.size = os.fstat(handles[0]).st_size
        self.buffer = mmap.mmap(handles[0], self.size)
        os.close(handles[0])
        self.fifo = socket.socket(fileno=handles[1])
        self.fifo.setblocking(True)

    def started(self):
        data, _ = receive(self.channel)
        assert struct.unpack_from("<Q", data, 8) == (START,), data
        send(self.fifo, packet(STARTED, 0, 1))

    def split(self):
        """Bytes of the durable and of each rolling part."""
        room = self.size - 128
        if self.mode == ONESHOT:
            return 0, room
        durable = min(room // 16, 1 << 20)
        durable += (room - durable) & 15
        return durable, (room - durable) // 2

    def write_header(self, wrapped=0, durable_end=0, ends=(0, 0), dropped=0):
        durable, rolling = self.split()
        words = (0x627566EE68656164, (self.mode - 1) << 16 | wrapped << 32, self.size, durable, rolling, durable_end, *ends, dropped)
        self.buffer[0:72] = struct.pack("<9Q", *words)

    def gone(self):
        """Wait until the manager has closed the packets."""
        try:
            while receive(self.fifo)[0]:
                pass
        except BrokenPipeError:
            pass
