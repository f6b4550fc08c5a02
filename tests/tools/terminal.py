"""A command on a terminal of some width, for tests: what it prints, and how wide that is."""
import fcntl
import os
import pty
import struct
import termios
import unicodedata


def run(columns, *command):
    """All that command prints."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.environ["LC_ALL"] = "C.UTF-8"
        os.execvp(command[0], command)
    out = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(fd)
    os.waitpid(pid, 0)
    return out.decode().replace("\r\n", "\n")


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
