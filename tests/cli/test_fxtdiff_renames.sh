#!/bin/sh
# What was renamed is one function for fxtdiff, also where a build has no declaration lines: from profiles whose numbers can be read
# here, from a baseline, and from a real program that was compiled with line tables alone.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"

# encode FILE NAME HOT START MAIN-START [CALLER]: hot was sampled in lines 22 to 31, and is declared in START (0: nobody knows)
encode() {
    protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >"$1" <<END
sample_type { type: 1 unit: 2 }
sample { location_id: 3 location_id: $6 value: $(($3 / 2)) } sample { location_id: 4 location_id: $6 value: $(($3 - $3 / 2)) }
sample { location_id: 1 value: 3000 } sample { location_id: 2 location_id: 1 value: 2900 } sample { location_id: 5 location_id: 1 value: 1000 }
location { id: 1 line { function_id: 1 line: 12 } } location { id: 2 line { function_id: 3 line: 56 } }
location { id: 3 line { function_id: 2 line: 22 } } location { id: 4 line { function_id: 2 line: 31 } } location { id: 5 line { function_id: 3 line: 59 } }
function { id: 1 name: 3 filename: 4 start_line: $5 } function { id: 2 name: 5 filename: 4 start_line: $4 } function { id: 3 name: 6 filename: 4 start_line: 0 }
string_table: "" string_table: "samples" string_table: "count" string_table: "main" string_table: "/home/ci/app/src/main.c"
string_table: "$2" string_table: "cold"
END
}
for i in 1 2 3 4 5; do
    encode old$i checksum $((3000 + 10 * i)) 20 10 1
    encode bare$i checksum $((3000 + 10 * i)) 0 0 1
    encode same$i digest $((3060 - 10 * i)) 0 0 1
    encode dear$i digest $((3600 + 10 * i)) 0 0 1
    encode other$i digest $((3060 - 10 * i)) 0 0 2 # which cold calls
done

for base in old bare; do
    run 0 fxtdiff --rows 0 $base? -- same?
    prints 'digest (was checksum)'
    grep -q ' self  *RENAMED  *digest (was checksum)' out || fail "$base, as dear as it was: $(cat out)"
    # Regressed and renamed: it is found, and named by both names wherever it is shown.
    run 1 fxtdiff $base? -- dear? --sarif log.sarif --junit junit.xml
    grep -q ' self  *regressed RENAMED  *digest (was checksum)' out || fail "$base, regressed: $(cat out)"
    prints '1 renamed'
    grep -q 'digest regressed: own cost +19[^"]*RENAMED from checksum' log.sarif || fail "SARIF: $(grep -o '"text":"digest[^"]*' log.sarif)"
    grep -q 'own cost +19[^"]*RENAMED from checksum' junit.xml || fail "JUnit: $(cat junit.xml)"
    run 1 fxtdiff --json $base? -- dear?
    prints '"name":"digest","state":"renamed","flag":"regressed"'
    prints '"base":{"name":"checksum",'
    run 1 fxtdiff --markdown $base? -- dear?
    # shellcheck disable=SC2016 # backquotes of Markdown
    prints '`digest (was checksum)`'
    # Another that others call is no rename of it.
    run 1 fxtdiff $base? -- other?
    grep -q 'regressed NEW  *digest ' out || fail "$base, an unrelated function in its place: $(cat out)"
    grep -q 'improved GONE  *checksum ' out || fail "$base, the deleted function: $(cat out)"
    # A baseline knows the lines, and no callers.
    run 0 fxtdiff baseline create $base.txt $base?
    run 1 fxtdiff $base.txt -- dear?
    grep -q ' self  *regressed RENAMED  *digest (was checksum)' out || fail "against a baseline of $base: $(cat out)"
done

# ---- Folded stacks of interpreters: a line in each name ----

# python FILE NAME COST SHIFT: NAME has three hot lines, SHIFT lines below where they were
python() {
    {
        for line in 20 23 29; do
            echo "main (app.py:$((50 + $4)));$2 (src/app.py:$((line + $4))) $3"
        done
        echo "main (app.py:$((51 + $4)));load (src/app.py:$((5 + $4))) 4000"
        echo "main (app.py:$((51 + $4)));load (src/app.py:$((9 + $4))) 4000"
    } >"$1"
}
for i in 1 2 3 4; do
    python py$i parse $((2000 + i)) 0
    python moved$i parse $((2005 - i)) 7
    python renamed$i read $((2005 - i)) 7
    python regressed$i read $((2600 - i)) 7
done
run 0 fxtdiff --rows 0 py? -- moved?
prints 'functions: 3'
grep -q '~  *parse (src/app.py)  *src/app.py:27$' out || fail "lines moved: $(cat out)"
run 0 fxtdiff --rows 0 py? -- renamed?
grep -q 'RENAMED  *read (src/app.py) (was parse (src/app.py))' out || fail "lines moved, and it was renamed: $(cat out)"
run 1 fxtdiff --rows 0 py? -- regressed?
grep -q 'regressed RENAMED  *read (src/app.py) (was parse (src/app.py))' out || fail "regressed: $(cat out)"

# ---- A program whose function was renamed and does more, built with line tables alone ----

# From a third of the program to three fifths: no noise of a machine hides that.

stop_if_wrong
. "$ROOT/tests/cli/perf.sh"
cat >program.c <<'END'
#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void parse(unsigned long n)
{
    unsigned long x = sink;

    for (unsigned long i = 0; i < n; i++) {
        x ^= x << 13;
        x += i;
        sink = x;
    }
}

__attribute__((noinline)) static void HOT(unsigned long n)
{
    unsigned long x = sink;

    for (unsigned long i = 0; i < n; i++) {
        x = x * 31 + i;
        x ^= x >> 7;
        sink = x;
    }
}

__attribute__((noinline)) static void render(unsigned long n)
{
    unsigned long x = sink;

    for (unsigned long i = 0; i < n; i++) {
        x += x << 3;
        x -= i;
        sink = x;
    }
}

int main(void)
{
    for (int i = 0; i < 800; i++) {
        parse((unsigned long)rand() % 100000);
        HOT((unsigned long)rand() % 100000 * WORK / 100);
        render((unsigned long)rand() % 100000);
    }
}
END
flags='-O1 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'
# shellcheck disable=SC2086 # flags
{
    clang $flags -g -DHOT=checksum -DWORK=100 -o old program.c
    # Ten lines were put in above.
    { yes '' | head -n 10 && cat program.c; } >longer.c
    mkdir new && mv longer.c new/program.c
    clang $flags -gline-tables-only -ffile-prefix-map="$WORK/new=$WORK" -DHOT=digest -DWORK=300 -o regressed "$WORK/new/program.c"
}
readelf --debug-dump=info regressed >dwarf
if grep -q DW_AT_decl_line dwarf; then fail "the new build has declaration lines"; fi
for i in 1 2 3 4; do
    for build in old regressed; do
        sampler-capture cpu -F 10000 -o $build$i.fxt -- ./$build 2>err || fail "$(cat err)"
    done
done
run 1 fxtdiff --no-cache old?.fxt -- regressed?.fxt
grep -q ' self  *regressed RENAMED  *digest (was checksum) ' out || fail "a real program: $(cat out)"
finish
