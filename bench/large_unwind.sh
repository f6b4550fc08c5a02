#!/bin/sh
# Whole stacks of twelve programs as the distribution packages them: which share of the stacks of `sampler-capture cpu` and of
# `perf record --call-graph dwarf,32768` reaches the start of the thread, and how large the files are.  Then the unwinder is held
# against libdw: for each sample of a recording of perf, the frames that both find in the same registers and the same copy.
#
#   SECONDS_EACH=5 FREQUENCY=199 COMPARE=999 UNWIND_PROGRAMS='python3 xz' bench/run --large unwind
#
# A class of difference that tests/differences does not name is a bound that was missed.  Programs that are not installed are
# left out.  Slow: perf takes about 10 ms to unwind a stack.
set -eu
. bench/lib.sh
missed=0
seconds=${SECONDS_EACH:-5}
frequency=${FREQUENCY:-199}
compare=${COMPARE:-999}
peer=$O/tests/tools/unwind_peer
cd "$WORK"

# ---- The work of each program, without end ----

cat >work.py <<'WORK'
import json
import re
while True:
    text = json.dumps({str(i): [i, str(i) * 3] for i in range(200)})
    json.loads(text)
    sorted(re.sub(r"(\d+)[^,]*,", r"<\1>", text).split(","), key=lambda part: part[::-1])
WORK
cat >work.pl <<'WORK'
while (1) { my %h; $h{$_ % 97} .= "x$_" for 1 .. 2000; my $s = join ",", map { $h{$_} } sort keys %h; $s =~ s/(\d+)x/<$1>/g; }
WORK
cat >work.rb <<'WORK'
loop { h = Hash.new(0); 2000.times { |i| h["x#{i % 97}"] += i }; h.sort_by { |k, v| [v, k] }.map { |k, v| "#{k}=#{v}".gsub(/\d+/) { |d| d.reverse } }.join(",") }
WORK
cat >work.js <<'WORK'
for (;;) { const o = {}; for (let i = 0; i < 2000; i++) o["x" + i % 97] = [i, String(i)]; JSON.parse(JSON.stringify(o)); Object.keys(o).sort().join().replace(/x(\d)/g, "<$1>"); }
WORK
cat >Work.java <<'WORK'
import java.util.*;
class Work {
    public static void main(String[] args) {
        for (;;) {
            Map<String, Integer> map = new TreeMap<>();
            for (int i = 0; i < 2000; i++) map.merge("x" + i % 97, i, Integer::sum);
            map.toString().replaceAll("x(\\d)", "<$1>").chars().sorted().sum();
        }
    }
}
WORK
work_sql="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT sum(length(printf('%d-%s', i, hex(i)))) FROM n GROUP BY i % 97 ORDER BY 1"

works() { # works PROGRAM: whether it is there, and what it needs is made
    case $1 in
    python3 | perl | ruby | xz | openssl | git | sqlite3) test -x "/usr/bin/$1" ;;
    cc1) command -v gcc >/dev/null && { awk 'BEGIN { for (i = 0; i < 3000; i++) printf "int f%d(int a, int *b) { for (int i = 0; i < a; i++) b[i] = b[i] * a + (i ^ b[a - i]); return b[0] %% 7 ? a : b[a / 2]; }\n", i }' >work.c; } ;;
    postgres)
        bin=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort | tail -n 1)
        [ -n "$bin" ] || return 1
        [ -d pg ] || { mkdir pg && chown nobody pg && chmod 711 . .. && as_nobody "$bin/initdb" -D "$PWD/pg" >/dev/null 2>&1; }
        ;;
    redis) command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null ;;
    node) command -v node >/dev/null ;;
    java) command -v java >/dev/null && command -v javac >/dev/null && { [ -e Work.class ] || javac Work.java; } ;;
    esac
}

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups env -i PATH="$PATH" LC_ALL=C "$@"; }

cat >work <<'WORK'
#!/bin/sh
# work PROGRAM SECONDS: the program itself is what is measured, so it takes the place of this shell where it can.
program=$1 seconds=$2
forever() { timeout "$seconds" sh -c 'while :; do "$@"; done' sh "$@" >/dev/null 2>&1; }
case $program in
python3) exec timeout "$seconds" /usr/bin/python3 work.py ;;
perl) exec timeout "$seconds" perl work.pl ;;
ruby) exec timeout "$seconds" ruby work.rb ;;
sqlite3) forever sqlite3 :memory: "$work_sql" ;;
git) forever git -C "$ROOT" log -p --stat -n 300 ;;
cc1) forever gcc -O2 -S -o /dev/null work.c ;;
xz) exec timeout "$seconds" sh -c 'yes "$(seq 2000)" | xz -6 >/dev/null' ;;
openssl) exec openssl speed -seconds "$((seconds / 2))" rsa2048 aes-128-cbc ;;
postgres) (while :; do echo "SELECT sum(length(md5(i::text))) FROM generate_series(1, 300000) i GROUP BY i % 97 ORDER BY 1;"; done) 2>/dev/null |
    setpriv --reuid=nobody --regid=nogroup --clear-groups timeout "$seconds" "$bin/postgres" --single -D "$PWD/pg" postgres ;;
redis)
    redis-server --port 0 --unixsocket "$PWD/redis.sock" --save '' >/dev/null &
    server=$!
    while ! redis-cli -s "$PWD/redis.sock" ping >/dev/null 2>&1; do kill -0 $server || exit 1; done
    timeout "$seconds" redis-benchmark -q -s "$PWD/redis.sock" -n 100000000 -t set,get,lrange -P 16 >/dev/null
    kill $server
    wait $server
    ;;
node) exec timeout "$seconds" node work.js ;;
java) exec timeout "$seconds" java -cp . Work ;;
esac
WORK
chmod +x work
bin=
export work_sql ROOT

# ---- Shares of whole stacks ----

# Whole is what ends with the function that the thread starts with: clone(), or code at the entry point of its file; perf prints
# addresses as the file has them.  In some recordings perf 6.1 ends all stacks at the function of the C library that _start calls:
# that counts as whole, too.
perf_share() { # perf_share FILE
    perf script -i "$1" -F ip,sym,dso --no-inline 2>/dev/null >stacks
    python3 - <<'SHARE'
import re

entries = {}


def entry(path):
    if path not in entries:
        try:
            with open(path, "rb") as file:
                entries[path] = int.from_bytes(file.read(32)[24:32], "little")
        except OSError:
            entries[path] = -1
    return entries[path]


samples = whole = 0
last = None
for line in [*open("stacks", errors="replace"), ""]:
    match = re.match(r"\s*([0-9a-f]+) (.*) \((.*)\)$", line)
    if match:
        last = match
    elif last:
        samples += 1
        named = re.match(r"(_start|(__|__GI___)?clone3?|_dl_start_user|__libc_start_\w+)\b", last[2])
        whole += bool(named) or 0 <= int(last[1], 16) - entry(last[3]) < 64
        last = None
print(samples, "%.1f" % (100 * whole / max(1, samples)))
SHARE
}

shares() { # shares PROGRAM
    perf record -q -e cpu-clock:u -F "$frequency" --call-graph dwarf,32768 -o perf.data -- ./work "$1" "$seconds" >/dev/null 2>&1 || :
    sampler-capture cpu -q -F "$frequency" --stats-json stats.json -o ours.fxt -- ./work "$1" "$seconds" >/dev/null 2>&1 || :
    # shellcheck disable=SC2046
    set -- "$1" $(perf_share perf.data) $(python3 - <<'STATS'
import json
stats = json.load(open("stats.json"))
stacks = stats["stacks"]
print(stacks["all"], "%.1f" % (100 * (stacks["whole"] + stacks["continued"] + stacks["joined"]) / max(1, stacks["all"])))
STATS
    )
    ratio=$(calc "($(stat -c %s perf.data) / $2) / ($(stat -c %s ours.fxt) / $4)")
    line "$1: whole stacks of $4" "$5 %" "$3 % of $2 perf" - ">= perf's - 2" "$5 >= $3 - 2"
    line "$1: bytes a sample" "$(($(stat -c %s ours.fxt) / $4))" "$(($(stat -c %s perf.data) / $2)) perf" "$ratio" ">= 50" "$ratio >= 50"
    rm -f perf.data ours.fxt
}

# ---- The same frames as libdw ----

# Classes of tests/tools/unwind_peer.c that tests/differences has the reasons for.
explained='^(equal|ours-goes-on \[(code of no file|code of a file that is mapped twice|address range overlaps an existing module)\].*)$'
explained=$explained'|^ours-goes-on \[(code without a table|below the stack pointer|a frame address from rbx)\]'
explained=$explained'|^differ \[code without a table\]'

frames() { # frames PROGRAM
    perf record -q -m 4096 -e cpu-clock:u -F "$compare" --call-graph dwarf,32768 -o perf.data -- ./work "$1" "$seconds" >/dev/null 2>&1 || :
    "$peer" perf.data >classes
    rm -f perf.data
    strange=$(cut -f1 classes | grep -cvE "$explained" || :)
    awk -F'\t' -v program="$1" '{ print program "\t" $0 }' classes >>all-classes
    total=$(awk -F'\t' '{ n += $2 } END { print n + 0 }' classes)
    equal=$(awk -F'\t' '$1 == "equal" { print $2 }' classes)
    line "$1: equal frames of $total" "${equal:-0}" "libdw" - "0 unexplained" "$strange == 0"
}

for program in ${UNWIND_PROGRAMS:-python3 perl ruby sqlite3 git cc1 xz openssl postgres redis node java}; do
    works "$program" || { echo "$program: not installed"; continue; }
    export bin
    [ "$frequency" = 0 ] || shares "$program"
    [ ! -x "$peer" ] || [ "$compare" = 0 ] || frames "$program"
done
[ ! -e all-classes ] || sort all-classes | cut -c 1-200
exit "$missed"
