#!/bin/sh
# How often "fxtdiff history" is right about simulated histories whose truth is known, over other seeds than the tests have.  Rates do not
# depend on the machine.  ROUNDS: histories of each kind.
set -eu
PYTHONDONTWRITEBYTECODE=1 python3 tests/tools/history_scenarios.py --check --rounds "${ROUNDS:-40}" --seed "${SEED:-2}"
