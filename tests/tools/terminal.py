"""A command on a terminal of some width, for tests: what it prints, and how wide that is.

    terminal.py COLUMNS COMMAND...    prints what the command printed, and ends with its status
"""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import unicodedata

MARK = b"\0the end\0"


def on_terminal(columns, command, **where):
    """The command's status and what it printed.  WHERE goes to Popen: streams that are not the terminal, folder, environment.

    Our end of the terminal stays open until the command has ended, and a mark follows its output: once the last writer
    has closed it, a terminal may report its end before all of it was read.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    out = bytearray()

    def read_until_mark():
        while MARK not in out:
            out.extend(os.read(ours, 65536))

    def take_terminal():
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    program = subprocess.Popen(command, preexec_fn=take_terminal, **{"stdin": theirs, "stdout": theirs, "stderr": theirs, **where})
    reader = threading.Thread(target=read_until_mark)
    reader.start()
    status = program.wait()
    os.write(theirs, MARK)
    reader.join()
    os.close(ours)
    os.close(theirs)
    return status, bytes(out).split(MARK)[0].decode("utf-8", "replace").replace("\r\n", "\n")


def run(columns, *command):
    """All that command prints."""
    os.environ["LC_ALL"] = "C.UTF-8"
    return on_terminal(columns, command)[1]


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


if __name__ == "__main__":
    ended, text = on_terminal(int(sys.argv[1]), sys.argv[2:])
    sys.stdout.write(text)
    sys.exit(ended)
