#!/bin/sh
# Messages on a terminal are broken between words, those in a file are not.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

"$O/bench/fxtgen" --count 200 >trace.fxt
cat >terminal.py <<'PY'
import fcntl, os, pty, struct, subprocess, sys, termios, unicodedata
columns, command = int(sys.argv[1]), sys.argv[2:]
plain = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL).stderr.decode()
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))
program = subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL)
os.close(theirs)
shown = b""
while True:
    try:
        part = os.read(ours, 4096)
    except OSError:
        part = b""
    if not part:
        break
    shown += part
program.wait()
# What shows how far a program is comes and goes before.
lines = [line.split("\r")[-1].replace("\x1b[K", "") for line in shown.decode().replace("\r\n", "\n").split("\n")]
assert " ".join(" ".join(lines).split()) == " ".join(plain.split()), (lines, plain)
longest = max(plain.split(), key=len)
for line in lines:
    assert len(line) <= max(columns, 6 + len(longest)), (columns, line)
if any(len(line) > columns for line in plain.split("\n")):
    assert len(lines) > plain.count("\n") + 1, lines
PY
for columns in 20 50 79 80 200; do
    python3 terminal.py $columns fxt2pprof trace.fxt -o out.pb.gz || fail "$columns columns: a summary"
    python3 terminal.py $columns fxtsym -e trace.fxt 0x1000 || fail "$columns columns: an error"
    python3 terminal.py $columns fxtdump 'größe äöü äöü äöü äöü äöü äöü äöü.fxt' || fail "$columns columns: UTF-8"
done
