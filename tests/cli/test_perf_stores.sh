#!/bin/sh
# Events of perf.data files in stores: each sample has its event, sums are those of perf, and what reads stores chooses by event.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

data=$ROOT/testdata/perf
sql() { sqlite3 -noheader -separator ' ' "$@"; }

# Two events, one of them the clock: the sums of periods are those of `perf script -F event,period`.
fxtq import -q "$data/events.data" -o events.fxtq 2>err || fail "$(cat err)"
! grep -q 'not taken' err || fail "samples were left out: $(cat err)"
[ "$(sql events.fxtq 'SELECT ordinal, type, unit FROM sample_event JOIN sample_type AS t ON t.id = sample_type_id')" = '0 page-faults count' ] ||
    fail "events: $(sql events.fxtq 'SELECT * FROM sample_event; SELECT * FROM sample_type')"
# Of the program's own functions, per event: samples and periods (testdata/perf/make).
[ "$(sql events.fxtq "SELECT sum(weight) FROM cpu_sample JOIN sample_type AS t ON t.id = sample_type_id WHERE type = 'page-faults'")" = 1706 ] ||
    fail "page faults: $(sql events.fxtq 'SELECT * FROM cpu_sample')"
[ "$(sql events.fxtq 'SELECT sample_type_id, callsite_id, upid, count(*), sum(weight) FROM cpu_sample JOIN thread USING (utid) GROUP BY 1, 2, 3
    EXCEPT SELECT sample_type_id, callsite_id, upid, n, value FROM callsite_sum')" = '' ] || fail 'callsite_sum is not the sum of the samples'
[ "$(sql events.fxtq 'SELECT count(*) FROM (SELECT DISTINCT sample_type_id FROM callsite_sum)')" = 2 ] || fail 'sums of two types'

# What fxt2pprof gives, the store gives.
fxtq symbolize -q --symbols "$data" events.fxtq 2>err || fail "$(cat err)"
for type in cpu page-faults samples; do
    fxt2pprof -q --symbols "$data" --format folded --sample-type $type "$data/events.data" -o direct 2>err || fail "$(cat err)"
    fxtq export folded --sample-type $type events.fxtq -o stored 2>err || fail "$(cat err)"
    LC_ALL=C sort direct >direct.sorted
    LC_ALL=C sort stored >stored.sorted
    cmp -s direct.sorted stored.sorted || fail "folded, $type: $(diff direct.sorted stored.sorted)"
    # With a filter, samples are read one by one.
    [ "$(fxtq --no-header --format tsv events.fxtq "SELECT sum(self) FROM call_top WHERE type = '$type'")" = \
        "$(fxtq --no-header --format tsv events.fxtq "SELECT sum(self) FROM call_top WHERE type = '$type' AND from_ts = 0")" ] || fail "filtered sums of $type"
done
fxt2pprof -q --no-gzip "$data/events.data" -o direct.pb 2>/dev/null || fxt2pprof -q "$data/events.data" -o direct.pb 2>err || fail "$(cat err)"
fxtq export pprof events.fxtq -o stored.pb 2>err || fail "$(cat err)"
types() { fxt2pprof --format folded --sample-type nonsense "$1" -o none 2>&1 | sed -n 's/^  //p'; }
[ "$(types direct.pb)" = "$(types stored.pb)" ] || fail "types: $(types direct.pb), $(types stored.pb)"
fxtq import -q stored.pb -o again.fxtq 2>err || fail "$(cat err)"
[ "$(sql again.fxtq "SELECT type, sum(n), sum(value) FROM callsite_sum JOIN sample_type AS t ON t.id = sample_type_id WHERE type = 'page-faults'" | cut -d' ' -f3)" = 1706 ] ||
    fail "page faults of the exported profile"

# CPU time is the default of two; the report says that there is another.
fxtq report top events.fxtq >out 2>err || fail "$(cat err)"
grep -q 'events.fxtq: samples of cpu; --sample-type may also be page-faults' err || fail "$(cat err)"
fxtq report top --json --sample-type page-faults events.fxtq >out 2>err || fail "$(cat err)"
[ "$(grep -o '"self":[0-9]*' out | awk -F: '{ sum += $2 } END { print sum }')" = 1706 ] || fail "report top: $(cat out)"
# The SQL of a report, without our functions, and its rows are the same.
for type in cpu page-faults samples; do
    fxtq report top --sql --sample-type $type events.fxtq >plain.sql
    [ "$(sqlite3 -noheader events.fxtq <plain.sql | cut -d'|' -f1 | awk '{ sum += $1 } END { print sum }')" = \
        "$(fxtq --no-header --format tsv events.fxtq "SELECT sum(self) FROM call_top WHERE type = '$type'")" ] || fail "plain SQL, $type: $(cat plain.sql)"
done
samples=$(sql events.fxtq 'SELECT count(*) FROM cpu_sample WHERE sample_type_id = 1')
[ "$(fxtq report timeline --by all --json events.fxtq 2>/dev/null | grep -o '"samples":[0-9]*' | awk -F: '{ sum += $2 } END { print sum }')" = "$samples" ] ||
    fail "timeline: not the $samples samples of the clock"
[ "$(fxtq report threads --json events.fxtq | grep -o '"samples":[0-9]*' | awk -F: '{ sum += $2 } END { print sum }')" = "$samples" ] || fail 'threads'
[ "$(sql events.fxtq 'SELECT (SELECT count(*) FROM cpu_profile_stack_sample) = (SELECT count(*) FROM cpu_sample WHERE sample_type_id = 1), (SELECT count(*) FROM perf_sample) = (SELECT count(*) FROM cpu_sample)')" = '1 1' ] ||
    fail 'views'
fxtq flamegraph events.fxtq -o page.html 2>err || fail "$(cat err)"
grep -q page-faults page.html || fail 'the page has no page faults'
[ "$(fxtq export csv --sample-type page-faults events.fxtq 2>/dev/null | awk -F, 'NR > 1 { sum += $9 } END { print sum }')" = 1706 ] || fail 'CSV'

# Back to a trace: the same samples.
fxtq export fxt events.fxtq -o back.fxt 2>err || fail "$(cat err)"
fxtq import -q back.fxt -o back.fxtq 2>err || fail "$(cat err)"
rows='SELECT ts, cpu, type, weight FROM cpu_sample JOIN sample_type AS t ON t.id = sample_type_id ORDER BY 1, 2, 3'
[ "$(sql back.fxtq "$rows")" = "$(sql events.fxtq "$rows")" ] || fail "a trace of the store has other samples"

# Two captures, and the type of one in both.
fxtq import -q "$data/fp.data" -o events.fxtq 2>err || fail "$(cat err)"
[ "$(fxtq --no-header --format tsv events.fxtq "SELECT sum(self) FROM call_top WHERE type = 'page-faults'")" = 1706 ] || fail 'beside another capture'
sqlite3 events.fxtq 'DELETE FROM capture WHERE id = 1'
[ "$(sql events.fxtq 'SELECT count(*) FROM sample_event; SELECT count(*) FROM cpu_sample WHERE sample_type_id <> 1')" = '0
0' ] || fail 'rows of a deleted capture'

# Comparisons choose by event.
fxtdiff --sample-type page-faults again.fxtq -- back.fxtq >out 2>err || true
grep -q 'page-faults' out || fail "fxtdiff: $(cat out err)"

# A store of version 3: rows without the column are of CPU time.
fxtq import -q "$data/fp.data" -o old.fxtq 2>err || fail "$(cat err)"
before=$(sql old.fxtq 'SELECT id, ts, weight FROM cpu_sample')
sqlite3 old.fxtq 'DROP VIEW perf_sample; DROP VIEW cpu_profile_stack_sample; DROP TRIGGER capture_deleted; DROP TABLE sample_event;
    ALTER TABLE cpu_sample DROP COLUMN sample_type_id; PRAGMA user_version = 3' || fail 'no store of version 3'
fxtq upgrade old.fxtq 2>err || fail "upgrade: $(cat err)"
[ "$(sql old.fxtq 'SELECT id, ts, weight FROM cpu_sample')" = "$before" ] || fail 'other samples after the upgrade'
[ "$(sql old.fxtq 'SELECT DISTINCT sample_type_id FROM cpu_sample')" = 1 ] || fail "types: $(sql old.fxtq 'SELECT DISTINCT sample_type_id FROM cpu_sample')"
fxtq import -q "$data/events.data" -o old.fxtq 2>err || fail "an import into an upgraded store: $(cat err)"
[ "$(fxtq --no-header --format tsv old.fxtq "SELECT sum(self) FROM call_top WHERE type = 'page-faults'")" = 1706 ] || fail 'in an upgraded store'
