#!/bin/sh
# --help of every program and command fits 80 columns, names what its options can be, and has examples whose options there are; the man
# pages have the same options (tests/help.py).
set -u
cd "$WORK" || exit 1
python3 "$ROOT/tests/help.py" "$ROOT/man"
