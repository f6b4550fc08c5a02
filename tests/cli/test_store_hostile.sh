#!/bin/sh
# Stores made to harm (tests/tools/hostile_store.py has the list): every command, and the SQL functions in the stock sqlite3 shell.
set -eu
cd "$WORK"
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" sound.fxtq 1 200
"$O/bench/fxtgen" --count 300 --stacks 30 --processes 1 >more.fxt
mkdir play
cd play
python3 "$ROOT/tests/tools/hostile_store.py" "$WORK/sound.fxtq" "$WORK/more.fxt" "$O/lib/libfxtsql"
