#!/bin/sh
# Numbers in JSON follow one rule in all programs and all their outputs: integers up to 2^53 are numbers, beyond it strings.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1

mkdir outputs
follows() { # follows NAME: keep ./out, which has JSON by the rule
    mv out "outputs/$(echo "$1" | tr ' /' '__')"
}

# ---- Inputs with integers on both sides of the limit ----

fxt_every_kind >every.fxt
"$O/bench/fxtgen" --count 300 --stacks 30 --processes 2 --seed 3 >small.fxt
# Unix nanoseconds are beyond 2^53; so are koids of the kernel sampler.
python3 - <<'END'
import struct
def words(*numbers): return struct.pack("<%dQ" % len(numbers), *(n & (1 << 64) - 1 for n in numbers))
def sample(ticks, pid, tid, *pcs): return words(15 | (6 + len(pcs)) << 4, 0, ticks, pid, tid, 8 * len(pcs), *pcs)
samples = b"".join(sample((1 << 60) + i * 1000, (1 << 62) + i % 2, (1 << 61) + i % 3, 0x1000 + i % 5, 0x2000) for i in range(60))
open("large.fxt", "wb").write(b"\x10\x00\x04FxT\x16\x00" + words(1 | 2 << 4, 10**9) + samples)
END
for i in 1 2 3 4; do
    printf 'main;run %d\nmain;rest 9007199254740993\n' $((1000 + i)) >base$i
    printf 'main;run %d\nmain;rest 9007199254740995\n' $((1100 + i)) >new$i
done
run 0 fxtq import -q large.fxt -o large.fxtq
run 0 fxtq import -q small.fxt -o small.fxtq

# ---- Every output ----

for trace in every large small; do
    for option in '' --stats --verify --hex; do
        fxtdump --json $option $trace.fxt >out 2>err
        follows "fxtdump --json $option $trace.fxt"
    done
done

reports=0
for store in large small; do
    for report in top 'top --by thread' 'top --by process' 'top --by line' 'top --by file' 'top --by module' tree 'callers .' 'callees .' heap 'heap --by function' threads cpu \
        'cpu --by thread' 'cpu --by wait' slices timeline 'timeline --by cpu' damage; do
        # shellcheck disable=SC2086 # words of the report
        fxtq report $report --json $store.fxtq >out 2>err || continue # of a store without such data
        [ -s out ] || continue
        follows "fxtq report $report $store.fxtq"
        reports=$((reports + 1))
    done
done
[ $reports -ge 20 ] || fail "only $reports reports had rows"
for format in json jsonl; do
    run 0 fxtq --format $format large.fxtq 'SELECT * FROM cpu_sample; SELECT * FROM capture; SELECT * FROM thread'
    follows "fxtq --format $format"
    run 0 fxtq --format $format large.fxtq 'SELECT 9007199254740992 AS a, -9007199254740992 AS b, 9007199254740993 AS c, -9007199254740993 AS d, 9e999 AS e'
    follows "fxtq --format $format at the limit"
done
fxtq coverage --json small.fxtq >out 2>err
follows "fxtq coverage"
fxtdiff --json base? -- new? >out 2>err
follows "fxtdiff --json"
fxtdiff base? -- new? --sarif out -q >/dev/null 2>err
follows "fxtdiff --sarif"
fxtsym --json -e "$O/bin/fxtdump" 0x10 0x2000 >out 2>err
follows "fxtsym --json"
fxtsym --explain 99 --json >out 2>err
follows "fxtsym --explain --json"
if sampler-capture cpu -q --stats-json=out -o cpu.fxt -- true 2>err; then
    follows "sampler-capture --stats-json"
else
    echo "SKIP: sampler-capture cpu does not run here: $(cat err)"
fi

python3 "$ROOT/tests/tools/json_numbers.py" outputs/* >checked || fail "numbers: $(grep -v ': [0-9]* [0-9]*$' checked)"
for name in fxtdump_--json__large.fxt 'fxtq_--format_json' 'fxtq_--format_jsonl'; do
    grep -q "/$name: [0-9]* [1-9]" checked || fail "$name has no integer beyond 2^53: $(cat checked)"
done
grep -c '_at_the_limit: 2 2$' checked | grep -qx 2 || fail "at the limit: $(cat checked)"

# What does not follow the rule must be found.
for wrong in '{"a":9007199254740993}' '{"a":[{"b":"12"}]}' '{"a":1e999}' '{"a":NaN}' ''; do
    echo "$wrong" >wrong
    python3 "$ROOT/tests/tools/json_numbers.py" wrong >/dev/null 2>&1 && fail "the checker takes $wrong"
done
finish
