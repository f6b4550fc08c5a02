#!/bin/sh
# fxtdiff's baselines, budgets and suppressions: what they mean, and what is said of files that mean nothing.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
unset SOURCE_DATE_EPOCH
refused() { # refused TEXT: one sentence, and no report
    [ "$(cat err)" = "$1" ] || fail "not what was to be said: $(cat err), but $1"
    [ ! -s out ] || fail "a report all the same: $(cat out)"
}

folded() {
    file=$1
    shift
    printf '%s\n' "$@" >"$file"
}
for i in 1 2 3 4 5 6; do
    folded "base$i" "main;work;hot $((5000 + i * 30))" "main;work;operator[](int) $((3000 - i * 10))" "main;io $((9000 + i * 10))" "main;gone $((400 + i))"
    folded "same$i" "main;work;hot $((5200 - i * 30))" "main;work;operator[](int) $((2940 + i * 10))" "main;io $((9060 - i * 10))" "main;gone $((405 - i))"
    folded "dear$i" "main;work;hot $((6000 - i * 30))" "main;work;operator[](int) $((3000 - i * 10))" "main;io $((9000 + i * 10))" "main;gone $((400 + i))"
done

# ---- Baselines ----

run 0 fxtdiff baseline create base.txt base?
cat >expected <<'END'
fxt-baseline 2
type samples count
cost 17431 17462 17493 17524 17555 17586
samples 17431 17462 17493 17524 17555 17586
END
head -n 4 base.txt | cmp -s - expected || fail "the head of a baseline: $(head -n 4 base.txt)"
sed 1,5d base.txt >functions
LC_ALL=C sort -c functions || fail "functions are not sorted"
grep -q "^function hot	 0 0 0		288566 289772 290974 292171 293364 294552	288566 289772 290974 292171 293364 294552\$" base.txt || fail "$(cat base.txt)"
# It stands for the runs it was made of.
run 1 fxtdiff base.txt -- dear?
grep -q '^ *29.16%  *32.22%  *+3.06 .* self .*regressed  *hot$' out || fail "hot is not found against a baseline: $(cat out)"
run 0 fxtdiff base.txt -- same?
run 0 fxtdiff base? -- base.txt
# It is not overwritten by mistake; accepting takes new runs, and keeps what people wrote.
run 2 fxtdiff baseline create base.txt dear?
refused 'fxtdiff baseline: base.txt exists; to replace its runs: fxtdiff baseline accept'
cp base.txt kept.txt
sed 's/^type/# measured on the quiet machine\ntype/' kept.txt >base.txt
run 0 fxtdiff baseline accept base.txt dear?
says 'base.txt: 6 runs of 18,299 on average, were 6 of 17,509 (+4.5%)'
grep -q '^# measured on the quiet machine$' base.txt || fail "a comment is gone"
run 0 fxtdiff base.txt -- dear?
run 1 fxtdiff base? -- base.txt
run 0 fxtdiff baseline show base.txt
prints 'runs          6, 18,299 on average, which vary by 0.3%'
grep -q '^ *32.22% .* hot$' out || fail "show: $(cat out)"
run 4 fxtdiff baseline accept nothing.txt dear?
refused 'fxtdiff baseline: nothing.txt: No such file or directory'
# What is no baseline is neither shown as one nor replaced.
for verb in 'show base1' 'accept base1 dear1' 'show /dev/null' 'accept /dev/null dear1'; do
    cp base1 before
    # shellcheck disable=SC2086 # a verb and files
    run 2 fxtdiff baseline $verb
    says ': not a baseline'
    cmp -s base1 before || fail "baseline $verb: changed a run"
done
run 0 fxtdiff baseline create three.txt base1 base2 base3
says 'three.txt: a gate needs at least 4 runs, but there are 3'
# The same runs give the same bytes, wherever and whenever.
mkdir elsewhere
(cd elsewhere && fxtdiff baseline create again.txt ../base?)
cmp -s elsewhere/again.txt kept.txt || fail "a baseline depends on where it is made"
# What was left out of it is not new.
sed 's/^type/left_out 0.002\ntype/' kept.txt >lacking.txt
for i in 1 2 3 4; do { cat same$i && echo "main;small $((30 + i))" && echo "main;larger $((40 + i))"; } >more$i; done
run 0 fxtdiff lacking.txt -- more?
grep -q 'NEW .*larger' out || fail "what would not have been left out is not new: $(cat out)"
grep -q 'NEW .*small' out && fail "what was left out is called new: $(cat out)"
# Larger ones than fit are cut at what does not matter, or refused.
for i in 1 2 3 4 5; do
    seq 1 5000 | awk -v i=$i '{ print "main;function_with_a_long_name_" $1 " " (i + 100000 / ($1 * $1)) }' >wide$i
    seq 1 5000 | awk '{ print "main;function_with_a_long_name_" $1 " 100" }' >flat$i
    seq 1 400 | awk '{ print "main;function_with_a_very_long_name_" $1 "_" $1 "_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it_and_more_of_it 100" }' >long$i
done
run 0 fxtdiff baseline create wide.txt wide?
[ "$(wc -c <wide.txt)" -le 100000 ] || fail "a baseline of $(wc -c <wide.txt) bytes"
grep -q '^left_out 0\.000' wide.txt || fail "it does not say what it lacks"
run 0 fxtdiff baseline create flat.txt flat?
[ "$(wc -c <flat.txt)" -le 100000 ] || fail "a baseline of $(wc -c <flat.txt) bytes"
run 2 fxtdiff baseline create long.txt long?
refused 'fxtdiff baseline: long.txt: 5 runs do not fit into 100,000 bytes without leaving out functions of 0.2%; take fewer runs'
[ ! -e long.txt ] || fail "written all the same"

# Hostile and broken ones: what, and where, and status 2.
bad() { # bad SENTENCE-BEHIND-NAME SED-SCRIPT: kept.txt, changed
    sed "$2" kept.txt >bad.txt
    run 2 fxtdiff bad.txt -- dear?
    refused "fxtdiff: bad.txt:$1"
}
tab=$(printf '\t')
bad '1: a baseline of version 3, which is newer' '1s/2/3/'
bad '3: what is "costs"?' 's/^cost/costs/'
bad '3: cost: not a number up to 1000000000000000000' 's/17431 17462/17431 x/'
bad '3: cost: not a number up to 1000000000000000000' 's/17431 17462/17431 1e5/'
bad '3: cost: not a number up to 1000000000000000000' '3s/17431/99999999999999999999/'
bad '2: not a share up to 1: much' '2s/^/left_out much\n/'
bad '2: not a share up to 1: 1.5' '2s/^/left_out 1.5\n/'
bad '3: a run without cost' '3s/17431/0/'
bad '3: cost of 0 runs' '3s/ .*//'
bad '6: functions before equally many numbers of "cost" and "samples"' '4s/ 17586//'
bad '5: functions before equally many numbers of "cost" and "samples"' 3d
bad '3: a second "type"' '2p'
bad '4: a second "cost"' '3p'
bad '2: a type has a name and a unit' '2s/ count//'
bad '6: roots are not sorted by name, each once: main' '5p'
bad '7: functions are not sorted by name, each once: gone' '6p'
bad '7: functions are not sorted by name, each once: alpha' '7s/hot/alpha/'
bad '6: 5 numbers for 6 runs: was something merged by hand?' '6s/ [0-9]*$//'
bad "6: cost with callees: not a number up to 1000000" '6s/ [0-9]*$/ 1000001/'
bad '6: a function has five parts with tabs between them' "6s/$tab/ /g"
bad '6: a place is "FILE START FIRST LAST", for lines' '6s/ 0 0 0/ 0 x 0/'
bad '6: a place is "FILE START FIRST LAST", for lines' '6s/ 0 0 0/ 0 5000000000 0/'
bad '6: a merge conflict' '6s/^/<<<<<<< HEAD\n/'
run 2 fxtdiff bad.txt -- dear?
sed 5,11d kept.txt >bad.txt
run 2 fxtdiff bad.txt -- dear?
refused 'fxtdiff: bad.txt:4: no functions'
sed 2d kept.txt >bad.txt
run 2 fxtdiff bad.txt -- dear?
refused 'fxtdiff: bad.txt:10: no "type"'
{ cat kept.txt && head -c 100000 /dev/zero | tr '\0' '#'; } >bad.txt
run 2 fxtdiff bad.txt -- dear?
refused 'fxtdiff: bad.txt: more than 100,000 bytes'
{ cat kept.txt && printf '\0'; } >bad.txt
run 2 fxtdiff bad.txt -- dear?
refused 'fxtdiff: bad.txt: not a text file'
sed 's/^type samples count/type cpu nanoseconds/' kept.txt >other.txt
run 2 fxtdiff other.txt -- kept.txt
# Every prefix is read or refused with a sentence; none takes long or crashes.
size=$(wc -c <kept.txt)
at=16
while [ "$at" -lt "$size" ]; do
    head -c "$at" kept.txt >bad.txt
    status=0
    fxtdiff bad.txt -- kept.txt >out 2>err || status=$?
    case $status in
    0 | 1 | 5) ;;
    2) [ "$(wc -l <err)" -eq 1 ] || fail "cut at $at: $(cat err)" ;;
    *) fail "cut at $at: status $status" ;;
    esac
    at=$((at + 13))
done

# What drives terminals or breaks XML is in no name, and so in none of these files.
for strange in '\0033[31m' '\0377' '\0302\0205' '\0357\0277\0276' '\0177'; do
    printf 'function hot%b self < 50%%\n' "$strange" >bad.txt
    run 2 fxtdiff base? -- dear? --budget bad.txt
    refused 'fxtdiff: bad.txt:1: control characters, or not UTF-8'
    printf '# known\nfunction hot until 2030-01-01: because %b\n' "$strange" >bad.txt
    run 2 fxtdiff base? -- dear? --suppressions bad.txt
    refused 'fxtdiff: bad.txt:2: control characters, or not UTF-8'
    { cat kept.txt && printf '# %b\n' "$strange"; } >bad.txt
    run 2 fxtdiff bad.txt -- dear?
done
# Builds are what is to differ: from side to side, and not within one.
sed 's/^type/build 1234 app\nbuild 99 libc.so.6\ntype/' kept.txt >one.txt
sed 's/^type/build 5678 app\nbuild 99 libc.so.6\ntype/' kept.txt >two.txt
run 0 fxtdiff one.txt -- one.txt
prints 'note: both sides are runs of the same builds'
run 0 fxtdiff one.txt -- two.txt
! grep -q 'build' out || fail "builds that differ are noted: $(cat out)"
run 0 fxtdiff one.txt base? -- two.txt
! grep -q 'build' out || fail "builds that differ are noted: $(cat out)"
head -n 20 two.txt | sed 's/ 17586$/ 17587/' >three.txt
run 0 fxtdiff one.txt three.txt -- two.txt
prints 'note: base runs are of several builds of app: one.txt run 1 and three.txt run 1'

# ---- Environments ----

at_home="s/^type/cpu_model Alpha 21264\nkernel 6.1.0\narch x86_64\ncompiler GCC 12\nperiod_ns 1000000\nbuild 1234 app\ntype/"
sed "$at_home" kept.txt >home.txt
sed "$at_home; s/21264/21364/; s/1234/5678/" kept.txt >away.txt
run 0 fxtdiff home.txt -- away.txt
prints 'note: different environments: CPU of the base is "Alpha 21264", that of the new runs "Alpha 21364"'
run 6 fxtdiff home.txt -- away.txt --strict-env
refused 'fxtdiff: CPU of the base is "Alpha 21264", that of the new runs "Alpha 21364" (--strict-env)'
run 0 fxtdiff home.txt -- home.txt --strict-env
run 6 fxtdiff home.txt -- kept.txt --strict-env
refused 'fxtdiff: CPU of the base is "Alpha 21264", that of the new runs unknown (--strict-env)'
run 0 fxtdiff home.txt -- kept.txt
! grep -q 'measured differently' out || fail "what is unknown differs: $(cat out)"
run 0 fxtdiff baseline show home.txt
prints 'CPU           Alpha 21264'
prints 'builds        1234 app'
run 0 fxtdiff baseline accept home.txt away.txt
grep -q '^cpu_model Alpha 21364$' home.txt || fail "the environment is not that of the runs"
grep -q '^build 5678 app$' home.txt || fail "the builds are not those of the runs"

# ---- Budgets ----

budget() { # budget STATUS OUTCOME RESULT RULE, of base1
    echo "$4" >budgets
    run "$1" fxtdiff --budget budgets -- base1
    grep -qF -e "  $2 $4: $3" out || fail "$4: $(cat out err)"
}
# No base is needed, and one run is enough: 17431 in all, 5030 hot, 2990 operator[], 8020 work, 9010 io.
budget 0 'kept     ' 'hot: 28.86%' 'function hot self < 30%'
budget 1 'EXCEEDED ' 'hot: 28.86%' 'function hot self < 28%'
budget 0 'kept     ' 'hot: 5,030' 'function hot self <= 5030'
budget 1 'EXCEEDED ' 'hot: 5,030' 'function hot self < 5030'
budget 0 'kept     ' 'operator[](int): 17.15%' 'function operator[](int) self < 20%'
budget 0 'kept     ' 'operator[](int): 17.15%' 'function operator[] self < 20%'
budget 1 'EXCEEDED ' 'work: 46.01%' 'function work total < 46%'
budget 0 'kept     ' 'work: 0.00%' 'function work self < 0.1%'
# Functions of a pattern count together, each stack once.
budget 1 'EXCEEDED ' 'hot and 1 other: 46.01%' 'function *o*t* self < 40%'
budget 1 'EXCEEDED ' 'main and 5 others: 100.00%' 'function * total < 100%'
budget 0 'kept     ' 'main and 5 others: 100.00%' 'function * total <= 100%'
budget 0 'kept     ' '17,431' 'samples < 20000'
budget 1 'EXCEEDED ' '17,431' 'total < 17431'
# What is not measured is not kept.
budget 5 'unknown  ' 'these runs measure samples in count' 'heap inuse < 64MiB'
budget 5 'unknown  ' 'these runs measure count, not nanoseconds' 'total < 2s'
budget 0 'kept     ' 'no such function in the runs: 0.00%' 'function nope self < 1%'
prints 'note: budgets:1: no function matches nope'
# Of several runs, the median; beside a comparison, either fails.
echo 'function hot self < 29.2%' >budgets
run 0 fxtdiff --budget budgets -- base?
prints 'hot: 29.16%, median of 6 runs'
run 0 fxtdiff base? -- same? --budget budgets
run 1 fxtdiff base? -- dear? --budget budgets
run 0 fxtdiff --budget budgets -- kept.txt
echo 'function * total < 50%' >budgets
run 1 fxtdiff --budget budgets -- kept.txt
printf 'function hot total < 99%%\nfunction wo* total < 60%%\nfunction *o* total < 70%%\n' >budgets
run 5 fxtdiff --budget budgets -- kept.txt
prints '  unknown   function *o* total < 70%: '
# Of the heap, in bytes.
protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >heap.pb <<'END'
sample_type { type: 1 unit: 2 } sample { location_id: 1 value: 50331648 } location { id: 1 line { function_id: 1 line: 1 } } function { id: 1 name: 3 }
string_table: "" string_table: "inuse_space" string_table: "bytes" string_table: "main"
END
printf 'heap inuse < 64MiB\nheap inuse_space <= 50331648B\nfunction main self < 49000kB\nfunction main self <= 48MiB\n' >budgets
run 1 fxtdiff --budget budgets -- heap.pb
prints '  kept      heap inuse < 64MiB: 48.00 MiB'
prints '  kept      heap inuse_space <= 50331648B: 48.00 MiB'
prints '  EXCEEDED  function main self < 49000kB: main: 48.00 MiB'
prints '  kept      function main self <= 48MiB: main: 48.00 MiB'

# Where there is nothing to measure, nothing is kept.
echo 'once upon a time' >text
run 3 fxtdiff --budget budgets -- text
prints 'INCONCLUSIVE'

bad_budget() { # bad_budget SENTENCE-BEHIND-NAME LINE
    printf '# comment\n\n%s\n' "$2" >budgets
    run 2 fxtdiff --budget budgets -- base1
    refused "fxtdiff: budgets:3: $1"
}
bad_budget 'no "< LIMIT"' 'function hot self 5%'
bad_budget 'not a limit such as 5%, 120ms, 64MiB or 1000: ' 'function hot self <'
bad_budget 'not a limit such as 5%, 120ms, 64MiB or 1000: five' 'function hot self < five'
bad_budget 'not a limit such as 5%, 120ms, 64MiB or 1000: 5 parsecs' 'function hot self < 5 parsecs'
bad_budget 'not a limit such as 5%, 120ms, 64MiB or 1000: -5%' 'function hot self < -5%'
bad_budget 'not a limit such as 5%, 120ms, 64MiB or 1000: 99999999999999999999999' 'total < 99999999999999999999999'
bad_budget 'not a limit such as 5%, 120ms, 64MiB or 1000: nan' 'total < nan'
bad_budget 'neither "self" nor "total" before the limit' 'function hot < 5%'
bad_budget 'no name after "function"' 'function self < 5%'
bad_budget 'neither "inuse", "alloc" nor "free" after "heap"' 'heap < 64MiB'
bad_budget 'unexpected text: please' 'heap inuse please < 64MiB'
bad_budget 'the limit of a total cannot be a percentage' 'total < 5%'
bad_budget 'none of "function", "total", "cpu", "wall", "samples" and "heap": memory' 'memory < 5MiB'
: >budgets
run 2 fxtdiff --budget budgets -- base1
refused 'fxtdiff: budgets: no budgets'
run 4 fxtdiff --budget nowhere -- base1
refused 'fxtdiff: nowhere: No such file or directory'
head -c 2000000 /dev/zero | tr '\0' '#' >budgets
run 2 fxtdiff --budget budgets -- base1
refused 'fxtdiff: budgets: more than 1,048,576 bytes'
# A pattern that matches in very many ways takes no longer for that.
printf 'function %s self < 5%%\n' '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b' >budgets
{ printf 'main;' && head -c 5000 /dev/zero | tr '\0' 'a' && echo ' 5'; } >long
run 0 fxtdiff --budget budgets -- long

# ---- Suppressions ----

suppress() { # suppress STATUS DATE LINE...
    expected=$1
    today=$2
    shift 2
    printf '%s\n' "$@" >suppressions
    run "$expected" fxtdiff base? -- dear? --suppressions suppressions --today "$today"
}
suppress 1 2026-06-01 '# nothing'
suppress 0 2026-06-01 'function hot until 2026-06-01: known' 'function work until 2026-06-01: contains hot'
prints 'suppressed: known, until 2026-06-01'
prints '2 suppressed'
suppress 0 2026-06-01 'function * until 2026-06-01: known until then'
suppress 1 2026-06-02 'function * until 2026-06-01: known'
prints 'note: suppressions:1: the suppression of * expired on 2026-06-01'
suppress 1 2026-06-01 'function cold until 2026-12-31: of no use'
# The total has one of its own.
sed 's/io .*/io 12000/' dear1 >regressed1
for i in 2 3 4 5 6; do
    sed "s/io .*/io 1200$i/" dear$i >regressed$i
done
echo 'function * until 2026-12-31: known' >suppressions
run 1 fxtdiff base? -- regressed? --suppressions suppressions --today 2026-06-01
echo 'total until 2026-12-31: the new allocator' >>suppressions
run 0 fxtdiff base? -- regressed? --suppressions suppressions --today 2026-06-01
prints 'suppressed: the new allocator, until 2026-12-31'
# Today is what is said, else what the build says, else the day.
run 1 fxtdiff base? -- dear? --suppressions suppressions --today 2027-01-01
SOURCE_DATE_EPOCH=1767225600 run 0 fxtdiff base? -- dear? --suppressions suppressions # 2026-01-01
SOURCE_DATE_EPOCH=1800000000 run 1 fxtdiff base? -- dear? --suppressions suppressions # 2027-01-15
echo 'function * until 9999-12-31: for ever' >suppressions
run 0 fxtdiff base? -- dear? --suppressions suppressions
echo 'function * until 2000-02-29: long ago' >suppressions
run 1 fxtdiff base? -- dear? --suppressions suppressions
SOURCE_DATE_EPOCH=soon run 2 fxtdiff base? -- dear? --suppressions suppressions
refused 'fxtdiff: SOURCE_DATE_EPOCH is not a number of seconds: soon'
run 2 fxtdiff base? -- dear? --suppressions suppressions --today tomorrow
refused 'fxtdiff: --today: not a date such as 2026-12-31: tomorrow'

bad_suppression() { # bad_suppression SENTENCE-BEHIND-NAME LINE
    suppress 2 2026-06-01 "$2"
    refused "fxtdiff: suppressions:1: $1"
}
bad_suppression 'no "until DATE"; a suppression must have an end' 'function hot: known'
bad_suppression 'not a date such as 2026-12-31: 2026-13-01' 'function hot until 2026-13-01: known'
bad_suppression 'not a date such as 2026-12-31: 2026-02-29' 'function hot until 2026-02-29: known'
bad_suppression 'not a date such as 2026-12-31: 2026-2-1: known' 'function hot until 2026-2-1: known'
bad_suppression 'not a date such as 2026-12-31: : known' 'function hot until : known'
bad_suppression 'no reason after the date' 'function hot until 2026-12-31'
bad_suppression 'no reason after the date' 'function hot until 2026-12-31: '
bad_suppression 'no name after "function"' 'function  until 2026-12-31: known'
bad_suppression 'neither "function NAME" nor "total": hot' 'hot until 2026-12-31: known'
finish
