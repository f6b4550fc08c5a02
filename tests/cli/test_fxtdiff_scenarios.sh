#!/bin/sh
# fxtdiff decides as it should about simulated builds whose truth is known (tests/tools/gate_scenarios.py): no more than one comparison in 20
# fails where nothing regressed, what regressed is found, and what only moved does not fail.
#
# FXT_TEST_LONG=1: 400 comparisons of each kind in place of 30.
set -eu
rounds=30
[ "${FXT_TEST_LONG:-0}" = 0 ] || rounds=400
python3 "$ROOT/tests/tools/gate_scenarios.py" --check --rounds "$rounds"
