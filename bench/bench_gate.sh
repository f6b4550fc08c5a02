#!/bin/sh
# How often the gate is right about simulated builds whose truth is known, over other seeds than the tests have; and how often a pooled
# z-test, Welch's and Mann and Whitney's test with Benjamini and Hochberg's correction, and a plain threshold are, on the same runs.  Rates
# do not depend on the machine.  ROUNDS: comparisons of each kind; MOVED: of work that only moved, of which 98 % are to pass.
set -eu
export PYTHONDONTWRITEBYTECODE=1
python3 tests/tools/gate_scenarios.py --peers --check --rounds "${ROUNDS:-100}" --seed "${SEED:-2}"
python3 tests/tools/gate_scenarios.py --check --rounds "${MOVED:-600}" --seed "$((${SEED:-2} + 1000))" moved
