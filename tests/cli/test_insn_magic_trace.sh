#!/bin/sh
# The calls that libinsn sees in magic-trace's branch logs are the spans that magic-trace's tests expect.  They are not part of
# this project: FXT_MAGIC_TRACE_SOURCE is a folder with magic-trace's source.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"
logs=${FXT_MAGIC_TRACE_SOURCE:-}/test
if [ ! -f "$logs/simple_gogo.perf" ]; then
    echo "SKIP: the source of magic-trace is not here (FXT_MAGIC_TRACE_SOURCE)"
    exit 0
fi
compares() { # compares EXPECTED WORD...: what the comparison prints of its last log
    wanted=$1
    shift
    python3 "$ROOT/tests/tools/insn_branches.py" "$logs" "$@" >out || fail "the comparison of $* failed"
    [ "$(tail -1 out)" = "$wanted" ] || fail "$*: $(tail -1 out), not $wanted"
}

# tests/differences explains what is not equal.
compares "expected=946 own=945 equal=945 late=0" hello_world_userspace
compares "expected=16 own=15 equal=15 late=2" simple_gogo
compares "expected=22 own=22 equal=22 late=0" ocaml_exceptions
compares "expected=2 own=2 equal=2 late=0" \
    "ocaml_exceptions_poptrap_corner_case:ocaml_exceptions=a corner case where a call doesn't return directly into a poptrap"
compares "expected=5 own=5 equal=5 late=0" "memmove_decode_error:decode_errors=decode error during memmove"
compares "expected=17 own=17 equal=17 late=0" \
    "btree_rebalance_decode_error:decode_errors=decode error during rust B-tree rebalance"
compares "expected=168 own=168 equal=165 late=0" -n page_fault
