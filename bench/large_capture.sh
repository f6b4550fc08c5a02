#!/bin/sh
# What sampling at 1 kHz costs programs as the distribution packages them, at fixed work: CPU time of the program alone, under
# `sampler-capture cpu` (--unwind auto), under `perf record --call-graph dwarf,32768`, and under `perf record` without stacks, which
# is what the interrupts alone cost, in blocks that run all of them forwards and then backwards.  The programs keep to one CPU, the last; the samplers run where they like.
#
#   TIME=60 BLOCKS=100 COST_PROGRAMS='python3 xz' bench/run --large capture      TIME: seconds for each program
set -eu

BLOCKS=${BLOCKS:-100}
TIME=${TIME:-60}
CPU=$(($(nproc) - 1))
cd "$WORK"
# shellcheck source=bench/lib.sh
. "$ROOT/bench/lib.sh"
# shellcheck source=bench/blocks.sh
. "$ROOT/bench/blocks.sh"

if ! command -v perf >/dev/null || ! sampler-capture cpu -o probe.fxt -- true 2>err; then
    echo "capture: perf is missing, or $(cat err)"
    exit 0
fi

# ---- The work of each program, the same each time ----

cat >work.py <<'WORK'
import json
import re
for k in range(1500):
    text = json.dumps({str(i): [i, str(i) * 3] for i in range(200)})
    json.loads(text)
    sorted(re.sub(r"(\d+)[^,]*,", r"<\1>", text).split(","), key=lambda part: part[::-1])
WORK
cat >work.pl <<'WORK'
for my $k (1 .. 1200) { my %h; $h{$_ % 97} .= "x$_" for 1 .. 2000; my $s = join ",", map { $h{$_} } sort keys %h; $s =~ s/(\d+)x/<$1>/g; }
WORK
awk 'BEGIN { for (i = 0; i < 500; i++) printf "int f%d(int a, int *b) { for (int i = 0; i < a; i++) b[i] = b[i] * a + (i ^ b[a - i]); return b[0] %% 7 ? a : b[a / 2]; }\n", i }' >work.c
seq 1000000 >work.txt
sql="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700000) SELECT sum(length(printf('%d-%s', i, hex(i)))) FROM n GROUP BY i % 97 ORDER BY 1"
cat >work <<'WORK'
#!/bin/sh
# The program itself is what is measured, so it takes the place of this shell.
case $1 in
python3) exec /usr/bin/python3 work.py ;;
perl) exec perl work.pl ;;
sqlite3) exec sqlite3 :memory: "$sql" >/dev/null ;;
cc1) exec "$(gcc -print-prog-name=cc1)" -quiet -O2 -o /dev/null work.c ;;
xz) exec xz -2 -k -c work.txt >/dev/null ;;
esac
WORK
chmod +x work
export sql

# ---- Alone and under each sampler ----

# under SAMPLER...: the CPU time of the work, in ns.  meter, which takes it, is sampled, too, and only waits.
under() {
    # shellcheck disable=SC2154 # blocks() names the program
    "$@" taskset -c "$CPU" meter --runs 1 figure ./work "$program" >>messages 2>&1
    awk -v seconds="$(field figure cpu_seconds)" 'BEGIN { printf "%.0f\n", 1e9 * seconds }'
}
alone() { under; }
ours() { under sampler-capture cpu -q -F 1000 -o ours.fxt --; }
perf_dwarf() { under perf record -q -F 1000 -e cpu-clock:u --call-graph dwarf,32768 -o perf.data --; }

perf_bare() { under perf record -q -F 1000 -e cpu-clock:u -o perf.data --; }

missed=
for program in ${COST_PROGRAMS:-python3 perl sqlite3 cc1 xz}; do
    blocks "$program" "$program.ns" "$TIME" alone ours perf_dwarf perf_bare
    # shellcheck disable=SC2016 # expressions of awk
    {
        cost "$program.ns" "$program: ours at 1 kHz, %" '100 * ($2 / $1 - 1)' -
        cost "$program.ns" "$program: perf, dwarf,32768, %" '100 * ($3 / $1 - 1)' -
        cost "$program.ns" "$program: perf without stacks, %" '100 * ($4 / $1 - 1)' -
        cost "$program.ns" "$program: ours less half of that, points" '100 * ($2 - $1 - ($3 - $1) / 2) / $1' 0
    }
done
[ -z "$missed" ]
