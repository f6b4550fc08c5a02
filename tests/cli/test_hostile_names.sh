#!/bin/sh
# Names from files are shown in one way by all programs (base/visible.h).
set -eu
cd "$WORK"
python3 "$ROOT/tests/tools/hostile_names.py" "$O/bench/fxtgen" || {
    echo "FAIL: names from files reach people as they are"
    exit 1
}
