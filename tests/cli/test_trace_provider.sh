#!/bin/sh
# libfxttrace against a manager that was written from the notes alone (tests/tools/trace_peer.py): repeated calls, dispositions, halves that are handed
# over, a manager that lets programs go, one with too many programs.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
cc=${CC:-cc}
$cc -std=c11 -D_GNU_SOURCE -O1 -I"$ROOT/include" "$ROOT/testdata/trace/steps.c" "$O/lib/libfxttrace.a" -lpthread -o steps || exit 1
run 0 python3 -B "$ROOT/tests/tools/trace_manager.py" "$WORK/steps" "$WORK"
prints ok
finish
