#!/bin/sh
# fxtdiff history finds what changed in simulated histories whose truth is known, and hardly anything else (tests/tools/history_scenarios.py).
#
# FXT_TEST_LONG=1: 100 histories of every kind in place of 6 of each of the most telling ones.
set -eu
if [ "${FXT_TEST_LONG:-0}" = 0 ]; then
    python3 "$ROOT/tests/tools/history_scenarios.py" --check --rounds 6 "null 3%" "step 3%" "step 5%" "half of the program" "creep 1%" "gone 40%"
else
    python3 "$ROOT/tests/tools/history_scenarios.py" --check --rounds 100
fi
