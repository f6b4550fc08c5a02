#!/bin/sh
# What pprof reads in a profile of a real capture is what fxt2pprof says in folded text, and what readelf says of the binary.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

. "$ROOT/tests/cli/perf.sh"

# pprof stays here: it fetches nothing and writes nothing elsewhere.
export HOME="$WORK" PPROF_TMPDIR="$WORK" PPROF_BINARY_PATH="$WORK/none" PPROF_TOOLS=
unset DEBUGINFOD_URLS 2>/dev/null || :
report() { # report PROFILE OPTION...: to ./report, with nothing on stderr
    profile=$1
    shift
    go tool pprof "$@" "$profile" >report 2>errors || fail "pprof $*: $(cat errors)"
    [ ! -s errors ] || fail "pprof $* complains: $(cat errors)"
    [ -s report ] || fail "pprof $* prints nothing"
}

${CXX:-g++} -O2 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread -Wl,--build-id \
    -o busy "$ROOT/testdata/demo/busy.cpp"
sampler-capture cpu -F 4000 -o busy.fxt -- ./busy 400 >/dev/null 2>err || fail "status $?: $(cat err)"
fxt2pprof busy.fxt -o busy.pb.gz 2>summary || fail "status $?: $(cat summary)"
fxt2pprof -q --format folded --root none busy.fxt >stacks

for options in -top '-top -lines' -traces -raw -tags '-top -symbolize=none' '-peek decode_blocks' '-tree -files'; do
    # shellcheck disable=SC2086 # options and their arguments
    report busy.pb.gz $options
done
report busy.pb.gz -top
grep -qx 'File: busy' report || fail "the first mapping is not the program: $(head -n 1 report)"
report busy.pb.gz -top -lines
grep -q 'decode_blocks(.*busy\.cpp:[0-9]*$' report || fail "no lines: $(head -n 12 report)"
grep -q 'scramble .*busy\.cpp:[0-9]* (inline)$' report || fail "no inlined lines: $(head -n 12 report)"

# Time of each function, flat and cumulative, as pprof adds it up and as the folded stacks do: without its own shortening of names.
report busy.pb.gz -top -symbolize=none -nodecount=0 -nodefraction=0 -unit=ns
awk 'on {
        flat = $1; cum = $4
        sub(/ns$/, "", flat); sub(/ns$/, "", cum)
        sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "")
        sub(/ \(inline\)$/, "")
        sub(/^\[\[/, "["); sub(/\]\]$/, "]")
        print $0 "\t" flat "\t" cum
    }
    $1 == "flat" { on = 1 }' report | LC_ALL=C sort >theirs
awk '{
        value = $NF
        sub(/ [0-9]+$/, "")
        n = split($0, frame, ";")
        flat[frame[n]] += value
        for (i = 1; i <= n; i++) {
            if (!((NR, frame[i]) in seen)) cum[frame[i]] += value
            seen[NR, frame[i]] = 1
        }
    }
    END { for (name in cum) printf "%s\t%.0f\t%.0f\n", name, flat[name], cum[name] }' stacks | LC_ALL=C sort >ours
[ "$(wc -l <ours)" -gt 5 ] || fail "few functions: $(cat ours)"
diff ours theirs >difference || fail "folded text and pprof -top differ: $(cat difference)"

# The message itself: samples, build IDs.
gzip -dc busy.pb.gz >busy.pb
protoc --decode=perftools.profiles.Profile --proto_path="$ROOT/schemas" profile.proto <busy.pb >message || fail "protoc"
counted=$(awk '/^sample \{/ { first = 1 } first && $1 == "value:" { sum += $2; first = 0 } END { print sum }' message)
said=$(sed -n 's/^\(fxt2pprof: \)\{0,1\}cpu: \([0-9,]*\) samples.*/\2/p' summary | tr -d ,)
[ "$counted" = "$said" ] || fail "$counted samples in the message, '$said' in the summary: $(cat summary)"
[ "$counted" = "$(awk '{ sum += $NF } END { print sum / 250000 }' stacks)" ] || fail "$counted samples, not as in folded text"
text() { # text INDEX: a string of the message
    sed -n 's/^string_table: "\(.*\)"$/\1/p' message | sed -n "$(($1 + 1))p"
}
field() { # field MAPPING NAME
    awk -v wanted="$1" -v name="$2:" '/^mapping \{/ { n++ } n == wanted && $1 == name { print $2; exit } /^}/ && n == wanted { exit }' \
        message
}
mapping=0
while [ $mapping -lt "$(grep -c '^mapping {' message)" ]; do
    mapping=$((mapping + 1))
    file=$(text "$(field $mapping filename)")
    [ -e "$file" ] || continue # [vdso]
    id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
    [ "$(text "$(field $mapping build_id)")" = "$id" ] || fail "build ID of $file"
done
[ $mapping -ge 3 ] || fail "$mapping mappings"
[ "$(text "$(field 1 filename)")" = "$WORK/busy" ] || fail "first mapping: $(text "$(field 1 filename)")"

# Addresses: where the mapping says that an instruction lies in the file, it lies by the file's program headers.
low=$(nm busy | awk '$3 ~ /decode_blocks/ { print $1 }')
size=$(nm -S busy | awk '$4 ~ /decode_blocks/ { print $2 }')
delta=$(readelf -lW busy | while read -r type offset vaddr _ _ memory _; do
    [ "$type" = LOAD ] && [ $((0x$low)) -ge $((vaddr)) ] && [ $((0x$low)) -lt $((vaddr + memory)) ] &&
        echo $((offset - vaddr))
done || :)
[ -n "$delta" ] || fail "no segment holds decode_blocks"
start=$(field 1 memory_start) offset=$(field 1 file_offset)
report busy.pb.gz -raw
limits=$(sed -n 's/^1: \(0x[0-9a-f]*\)\/\(0x[0-9a-f]*\)\/.*/\1 \2/p' report)
inside=0
sed -n 's/^ *[0-9]*: \(0x[0-9a-f]*\) M=1 .*/\1/p' report >addresses
while read -r address; do
    vaddr=$((address - start + ${offset:-0} - delta))
    if [ $((address)) -lt $((${limits% *})) ] || [ $((address)) -ge $((${limits#* })) ]; then
        fail "$address is outside of its mapping $limits"
    fi
    if [ $vaddr -ge $((0x$low)) ] && [ $vaddr -lt $((0x$low + 0x$size)) ]; then
        inside=$((inside + 1))
        llvm-symbolizer --obj=busy $vaddr | grep -q '::decode_blocks(' || fail "vaddr $vaddr is not in decode_blocks"
    fi
done <addresses
wanted=$(grep -c ' M=1 .*decode_blocks' report)
# Where the innermost function is an inlined one its name stands on the address's line instead.
[ "$inside" -ge 1 ] || fail "no address of decode_blocks: $(cat report)"
[ "$inside" -ge "$wanted" ] || fail "$inside of $wanted addresses lie in decode_blocks"

# Without our symbols pprof finds the same functions by the addresses.  Its own symbolizer knows C and no inlining.
"${CC:-cc}" -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread -Wl,--build-id \
    -o workload "$ROOT/testdata/capture/workload.c"
sampler-capture cpu -o workload.fxt -- ./workload 400 >/dev/null 2>err || fail "status $?: $(cat err)"
fxt2pprof -q workload.fxt -o named.pb.gz
fxt2pprof -q --no-symbolize workload.fxt -o bare.pb.gz
report bare.pb.gz -raw -symbolize=none
! grep -q hot_function report || fail "names although there should be none"
report bare.pb.gz -top -symbolize=none
! grep -q hot_function report || fail "names although there should be none"
hot() { # hot PROFILE: flat and cumulative time of functions of the program
    report "$1" -top -nodecount=0 -nodefraction=0 -unit=ns
    awk '$NF == "hot_function" || $NF == "main" { print $NF, $1, $4 }' report | LC_ALL=C sort
}
hot named.pb.gz >named
hot bare.pb.gz >bare
grep -q '^hot_function [1-9]' named || fail "no hot function: $(cat report)"
diff named bare || fail "pprof finds other functions by the addresses"
