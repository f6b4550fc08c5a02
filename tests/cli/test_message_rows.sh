#!/bin/sh
# Messages on a terminal are broken between words, those in a file are not.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

"$O/bench/fxtgen" --count 200 >trace.fxt
cat >rows.py <<'PY'
import subprocess, sys
sys.path.insert(0, sys.argv[1])
import terminal
columns, command = int(sys.argv[2]), sys.argv[3:]
plain = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL).stderr.decode()
_, shown = terminal.on_terminal(columns, command, stdin=None, stdout=subprocess.DEVNULL)
# What shows how far a program is comes and goes before.
lines = [line.split("\r")[-1].replace("\x1b[K", "") for line in shown.split("\n")]
assert " ".join(" ".join(lines).split()) == " ".join(plain.split()), (lines, plain)
longest = max(plain.split(), key=len)
for line in lines:
    assert len(line) <= max(columns, 6 + len(longest)), (columns, line)
if any(len(line) > columns for line in plain.split("\n")):
    assert len(lines) > plain.count("\n") + 1, lines
PY
for columns in 20 50 79 80 200; do
    python3 rows.py "$ROOT/tests/tools" $columns fxt2pprof trace.fxt -o out.pb.gz || fail "$columns columns: a summary"
    python3 rows.py "$ROOT/tests/tools" $columns fxtsym -e trace.fxt 0x1000 || fail "$columns columns: an error"
    python3 rows.py "$ROOT/tests/tools" $columns fxtdump 'größe äöü äöü äöü äöü äöü äöü äöü.fxt' || fail "$columns columns: UTF-8"
done
