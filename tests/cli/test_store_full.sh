#!/bin/sh
# A full disk at steps of everything that changes a store that is there: afterwards it is what it was, or what it was to become, or,
# where only the WAL could not be merged, that together with its -wal file, which the message names.
set -eu

. "$ROOT/tests/cli/fail.sh"
. "$ROOT/tests/cli/dump.sh"
cd "$WORK"
PATH=$O/bin:$PATH
. "$ROOT/tests/cli/faults.sh"

"$O/bench/fxtgen" --count 200 --stacks 20 --processes 1 >cpu.fxt
"$O/bench/fxtgen" --mix events=60,sched=40 --count 200 >timeline.fxt
"$O/bench/fxtgen" --mix events=60,sched=40 --count 300 --seed 2 >later.fxt
"$O/bench/fxtgen" --kind heap --count 200 >heap.fxt
fxt2pprof -q --no-symbolize -o profile.pb.gz cpu.fxt
printf 'main;f;g 3\nmain;f 2.5\n' >stacks.folded
fxtq import -q timeline.fxt -o base.fxtq
# As the third version was, without columns.
cp base.fxtq third.fxtq
sqlite3 third.fxtq 'DROP VIEW perf_sample; DROP VIEW cpu_profile_stack_sample; DROP TRIGGER capture_deleted; DROP TABLE sample_event;
    DROP TABLE column_data; ALTER TABLE cpu_sample DROP COLUMN sample_type_id; PRAGMA user_version = 3'
cp base.fxtq wal.fxtq
[ "$(sqlite3 wal.fxtq 'PRAGMA journal_mode = WAL')" = wal ] || fail "no WAL mode"

contents() { # contents STORE: all rows, and whether SQLite finds it sound
    dump "$1" 'PRAGMA integrity_check' 2>&1 || :
}
sums=$(for table in slice_data counter sched_slice thread_wait; do echo "SELECT count(*), sum(id), sum(ts) FROM $table;"; done)
answers() { # answers STORE: whether fxtq, by columns, and sqlite3 tell the same of the timeline
    fxtq --no-header "$1" "$sums" >told 2>&1 || return 1
    sqlite3 -separator "$(printf '\t')" "$1" "$sums" >rows
    cmp -s told rows
}

# One step of three; every step, which takes three times as long, with FXT_TEST_FULL=1.
stride=3
[ -z "${FXT_TEST_FULL:-}" ] || stride=1

# What is done to which store, how many steps of it take space at least, and what is done first, and kept.
while IFS='|' read -r name store least command first; do
    rm -f s.fxtq* after.fxtq* between.sql
    contents "$store.fxtq" >before.sql
    cp "$store.fxtq" after.fxtq
    if [ -n "$first" ]; then
        eval "$first" </dev/null
        contents after.fxtq >between.sql
        cp "$store.fxtq" after.fxtq
    fi
    eval "$(echo "$command" | sed 's/STORE/after.fxtq/')" </dev/null >out 2>message || fail "$name: $(cat message)"
    contents after.fxtq >after.sql
    tail -n 1 after.sql | grep -qx ok || fail "$name: not sound"
    step=1
    while :; do
        rm -f s.fxtq*
        cp "$store.fxtq" s.fxtq
        status=0
        eval "FULL_AT=$step LD_PRELOAD=$PWD/faults.so $(echo "$command" | sed 's/STORE/s.fxtq/')" </dev/null >out 2>message || status=$?
        [ "$status" != 0 ] || break
        sed -i '/: already in s.fxtq, as capture/d' message
        [ "$status" = 4 ] || fail "$name, step $step: status $status, $(cat message)"
        [ "$(wc -l <message)" = 1 ] || [ -n "$first" ] || fail "$name, step $step: more than a sentence: $(cat message)"
        grep -q 'No space left on device\|disk full or broken\|disk is full\|disk I/O error' message || fail "$name, step $step: $(cat message)"
        contents s.fxtq >now.sql
        cmp -s now.sql before.sql || cmp -s now.sql after.sql || cmp -s now.sql between.sql 2>/dev/null ||
            fail "$name, step $step: the store is something else: $(diff now.sql before.sql | head -n 3), $(cat message)"
        if [ $((step % 4)) = 1 ] && { [ "$store" != third ] || ! cmp -s now.sql before.sql; }; then
            answers s.fxtq || fail "$name, step $step: fxtq tells other rows of $(cat told), not $(cat rows)"
        fi
        step=$((step + stride))
    done
    [ "$step" -gt "$least" ] || fail "$name: only $step steps took space"
    contents s.fxtq | cmp -s - after.sql || fail "$name: with space enough it is something else"
    answers s.fxtq || fail "$name: fxtq tells other rows of $(cat told), not $(cat rows)"
    [ "$store" = wal ] || [ "$(echo s.fxtq*)" = s.fxtq ] || fail "$name: left beside the store: $(echo s.fxtq*)"
done <<'TABLE'
a timeline|base|20|fxtq import -q later.fxt -o STORE
a heap|base|20|fxtq import -q heap.fxt -o STORE
a profile|base|20|fxtq import -q profile.pb.gz -o STORE
folded stacks|base|20|fxtq import -q stacks.folded -o STORE
two captures|base|20|fxtq import -q cpu.fxt heap.fxt -o STORE|fxtq import -q cpu.fxt -o after.fxtq
a label of a capture that is there|base|5|fxtq import -q --label commit=a1 timeline.fxt -o STORE
a store in WAL mode|wal|5|fxtq import -q cpu.fxt -o STORE
an old store|third|20|fxtq import -q cpu.fxt -o STORE|fxtq upgrade -q after.fxtq
an upgrade|third|10|fxtq upgrade -q STORE
a row that is deleted|base|5|fxtq --write STORE "DELETE FROM capture WHERE id = 1"
TABLE
