#!/bin/sh
# A store of 10 GB: how long it takes to make, its memory, and how soon it opens and answers.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"
SIZE=${SIZE:-10G}

fxtgen --kind events --size "$SIZE" | meter figure fxtq import --quiet - -o store.fxtq
memory=$(calc "$(field figure max_rss_kib) / 1024")
line "import of $SIZE of events, memory" "$memory MiB" "$(field figure seconds) s" - "< 256 MiB" "$memory < 256"
rows=$(sqlite3 store.fxtq "SELECT max(id) FROM slice_data")
# One process opens it and asks a thousand times, so that a question can be told from the opening.
seq 1000 | awk -v n="$rows" '{ printf "SELECT ts FROM slice_data WHERE id = %d;\n", $1 * (n / 1001) }' >questions.sql
meter --runs 5 figure fxtq store.fxtq "SELECT 1" >/dev/null
opening=$(field figure seconds)
meter --runs 5 figure fxtq store.fxtq --file questions.sql >/dev/null
asking=$(field figure seconds)
line "opening $(($(wc -c <store.fxtq) / 1000000)) MB" "$(calc "$opening * 1000") ms" - - "< 50 ms" "$opening < 0.05"
line "a row by its id" "$(calc "($asking - $opening)") ms" "1000 questions" - "< 5 ms" "$asking - $opening < 5"
exit "$missed"
