#!/bin/sh
# fxtsym in the places of addr2line and llvm-symbolizer: the same bytes for every address about which both say the same, with every
# option; JSON; bad input; a reader that waits for each answer.
set -eu
. "$ROOT/tests/cli/common.sh"

data=$ROOT/testdata/symbolize
cd "$WORK"
prints_all() { # prints_all TEXT: on standard output, and nothing else
    printf '%s\n' "$1" >expected
    cmp -s out expected || {
        fail "not as expected:"
        diff expected out || :
    }
}

id=0123456789abcdef
gcc -O2 -g -o program.c -nostartfiles -Wl,-e,main -Wl,--build-id=0x$id "$data/inlines.c" "$data/main.c"
g++ -O2 -g -o program.cc "$data/main.cc" "$data/shapes.cc"

# ---- Every byte of .text, and a little around it ----

text_addresses() { # text_addresses OBJECT
    objdump -h "$1" | awk '$2 == ".text" { print $4, $3 }' | {
        read -r start size
        awk -v start=$((0x$start)) -v size=$((0x$size)) 'BEGIN { for (at = start - 16; at < start + size + 16; at++) printf "%x\n", at }'
    }
}

# The addresses about which both give the same answer: the others are what test_symbolize_against_llvm.sh is about.  Without
# names in C++: addr2line's depend on what it was asked before ("main" or "main.cold", destructors D1 or D2).
agreed() { # agreed ADDRESSES OURS THEIRS: answers as blocks
    awk -v addresses="$1" 'BEGIN { while ((getline line < addresses) > 0) address[++n] = line; RS = "" }
        NR == FNR { ours[NR] = $0; next }
        ours[++count] == $0 { print address[count] }' "$2" "$3" >same
    percent=$(($(wc -l <same) * 100 / $(wc -l <"$1")))
    [ $percent -ge 40 ] || fail "only $percent % are the same"
}

# addr2line's discriminators are left out (tests/differences).
theirs() { addr2line "$@" | sed 's/ (discriminator [0-9]*)$//'; }
blocks() { awk '/^0x[0-9a-f]*$/ { if (NR > 1) print ""; next } { print }'; }

# shellcheck disable=SC2086 # options are words
for object in program.c program.cc; do
    text_addresses $object >addresses
    for demangle in '' -C; do
        fxtsym $demangle -aife $object <addresses | blocks >ours.blocks
        theirs $demangle -aife $object <addresses | blocks >theirs.blocks
        agreed addresses ours.blocks theirs.blocks
        all='-f -if -aif -pif -paif -sif'
        [ $object = program.c ] || all=
        for options in '' -i -ai -p -pi -s $all; do
            fxtsym $options $demangle -e $object <same >ours
            theirs $options $demangle -e $object <same >expected
            cmp ours expected || fail "addr2line $options $demangle -e $object"
        done
    done

    sed 's/^/0x/' addresses >prefixed
    fxtsym --style llvm --no-demangle -e $object <prefixed >ours.blocks
    llvm-symbolizer --no-demangle -e $object <prefixed >theirs.blocks
    agreed prefixed ours.blocks theirs.blocks
    sed "s/^/$object /" same >named
    for options in '' -p -a -pa -s --no-inlines; do
        fxtsym --style llvm --no-demangle $options <named >ours
        llvm-symbolizer --no-demangle $options <named >expected
        cmp ours expected || fail "llvm-symbolizer $options, $object"
    done
done

text_addresses program.cc >addresses

# ---- How addresses are written ----

main=$(nm program.c | awk '$3 == "main" { print $1 }')
position=$(addr2line -e program.c "$main")
run 0 fxtsym --functions --inlines --demangle --exe=program.c "$main" "0x$main" " +0X$main" "$main: and more"
prints_all "main
$position
main
$position
main
$position
main
$position"
run 0 fxtsym -ase program.c "$main"
prints_all "0x$main
${position##*/}"
cp program.c a.out
run 0 fxtsym "$main"
prints_all "$position"
run 0 fxtsym --strip-prefix "$data/" -e program.c "$main"
prints_all "${position#"$data"/}"
run 0 fxtsym --strip-prefix "${data%/*}" --strip-prefix / -e program.c "$main"
prints_all "${position#"${data%/*}"/}"
run 0 fxtsym --strip-prefix "${data%e}" -e program.c "$main"
prints_all "$position" # not at the end of a name

# A build ID, and a tree of debug files.
mkdir -p tree/.build-id/01
strip -o stripped program.c
objcopy --only-keep-debug program.c tree/.build-id/01/${id#01}.debug
run 0 fxtsym --symbols tree --build-id $id "$main"
prints_all "$position"
run 0 fxtsym --symbols tree -e stripped "$main"
prints_all "$position"
run 0 fxtsym -e stripped "$main"
prints_all '??:0'
says "stripped: no symbols; "
run 4 fxtsym --symbols tree --build-id 99 "$main"
prints_all '??:0'
says "no file with build ID 99"
run 2 fxtsym --build-id xyz "$main"
says "'xyz' is not a build ID"

# llvm-symbolizer's requests.
cat >requests <<END
program.c 0x$main
CODE program.c 0x$main
CODE "program.c" $((0x$main))
'program.c' 0$(printf %o $((0x$main)))
BUILDID:$id 0x$main
program.c 9request
END
run 3 fxtsym --symbols tree --style llvm -s <requests
one="main
$(llvm-symbolizer -s -e program.c "0x$main" | sed -n 2p)
"
prints_all "$one
$one
$one
$one
$one
??
??:0:0
"
says "'program.c 9request': expected a number as module offset"

# ---- JSON ----

frame='"function":"main","linkage_name":"main","file":"main.c"'
run 0 fxtsym --json -s -e program.c "$main"
sed -i 's/"line":[0-9]*,"column":[0-9]*,"start_line":[0-9]*/LINE/' out
prints_all '{"address":"0x'"$(printf %x $((0x$main)))"'","object":"program.c","frames":[{'"$frame"',LINE,"inlined":false,"source":"dwarf"}]}'
fxtsym --json -e program.cc <addresses | python3 -c '
import json, subprocess, sys
plain = subprocess.run(["fxtsym", "-aifCe", "program.cc"], stdin=open("addresses"), capture_output=True, text=True, check=True).stdout
text = []
for line in sys.stdin:
    answer = json.loads(line)
    text.append("0x%016x\n" % int(answer["address"], 16))
    for frame in answer["frames"]:
        text.append("%s\n%s:%s\n" % (frame["function"] or "??", frame["file"] or "??", frame["line"] or "?"))
    if not answer["frames"]:
        text.append("??\n??:0\n")
assert "".join(text) == plain' || fail 'JSON and text differ'

# ---- What is wrong ----

printf 'zz\n\n%s\n' "$main" >bad
run 3 fxtsym -fe program.c <bad
prints_all "??
??:0
??
??:0
main
$position"
says "'zz': neither an address nor a symbol of the object"
says "2 lines are not addresses"
run 3 fxtsym -fe program.c zz yy
says "2 words are not addresses"
run 3 fxtsym --json -e program.c zz
prints_all '{"address":null,"input":"zz","frames":[]}'
run 4 fxtsym -e missing "$main"
prints_all '??:0'
says 'missing: No such file or directory'
run 4 fxtsym -e /etc/passwd "$main"
says 'not an ELF object'
run 4 fxtsym -e . "$main"
run 2 fxtsym --style gnu
run 2 fxtsym --markup 12
run 2 fxtsym --markup --explain program.c
# One answer for one line, however long.
{
    head -c 5000000 /dev/zero | tr '\0' 1
    printf '\n%s' "$main"
} >long
run 3 fxtsym -e program.c <long
prints_all "??:0
$position"
run 4 fxtsym -e program.c <.
says 'standard input: '

# ---- Many, and one at a time ----

# More than one batch, and the order kept.
awk '{ line[NR] = $0 } END { for (i = 0; i < 1100000; i++) print line[i * 7919 % NR + 1] }' addresses >many
fxtsym -fe program.cc <many | cksum >ours
sort -u many | fxtsym -afe program.cc >distinct
awk 'NR == FNR { if (/^0x0/) at = $0; else text[at] = text[at] $0 "\n"; next }
    { at = sprintf("0x%16s", $0); gsub(" ", "0", at); printf "%s", text[at] }' distinct many | cksum >expected
cmp ours expected || fail 'more than one batch is not answered as each is'
awk '{ line[NR] = $0 } END { for (i = 0; i < 300000; i++) print line[i * 7919 % NR + 1] }' addresses >many
fxtsym -aife program.cc <many | cksum >ours
sort -u many | fxtsym -aife program.cc >distinct
awk 'NR == FNR { if (/^0x0/) at = $0; else text[at] = text[at] $0 "\n"; next }
    { at = sprintf("0x%16s", $0); gsub(" ", "0", at); printf "%s\n%s", at, text[at] }' distinct many | cksum >expected
cmp ours expected || fail 'many addresses are not answered as each is'

# Addresses alone are read in a way of their own, and the answers of one batch serve the next.
fxtsym -ife program.cc <many >ours
for change in 's/$/ /' 's/$/\r/' 's/^/+/' 's/^/0X/' 's/^/00000000000000000/' 's/^/ 0x/' 'y/abcdef/ABCDEF/'; do
    sed "$change" many | fxtsym -ife program.cc | cmp - ours || fail "addresses after $change are not answered alike"
done
awk '{ print } NR % 1000 == 0 { print "zz" }' many >bad
fxtsym -pfe program.cc <many | awk '{ print } NR % 1000 == 0 { print "?? ??:0" }' >expected
run 3 fxtsym -pfe program.cc <bad
cmp out expected || fail 'lines that are no addresses disturb others'

# Objects that take turns, and requests that are none.
sed 's/^/0x/' many | fxtsym --style llvm --no-inlines -pe program.c | sed -n 'p;n' >first
sed 's/^/0x/' many | fxtsym --style llvm --no-inlines -pe program.cc | sed -n 'p;n' >second
paste -d '\n' first second | awk 'NR % 2 == int((NR - 1) / 2) % 3 % 2 { print; print "" } NR % 14 == 0 { print "?? at ??:0:0\n" }' >expected
awk '{ printf "program.c%s 0x%s\n", (NR - 1) % 3 == 1 ? "" : "c", $0 } NR % 7 == 0 { print "" }' many >turns
run 3 fxtsym --style llvm --no-inlines -p <turns
cmp out expected || fail 'objects that take turns are not answered as each is'

# Whatever reads debug information, the answers are the same: units of one object, and objects at once.
for jobs in 1 2 5; do
    fxtsym --no-cache --jobs $jobs -ife program.cc <many | cksum >answers
    [ $jobs != 1 ] || cp answers expected
    cmp answers expected || fail "--jobs $jobs gives other answers"
    fxtsym --no-cache --jobs=$jobs --style llvm --no-inlines -p <turns 2>err | cksum >answers
    [ $jobs != 1 ] || cp answers turned
    cmp answers turned || fail "--jobs $jobs gives other answers about two objects"
done
rm answers
run 2 fxtsym --jobs 0 -e program.c "$main"
run 2 fxtsym --jobs many -e program.c "$main"

mkfifo questions answers
timeout 400 fxtsym -e program.c <questions >answers &
exec 3>questions 4<answers
for i in 1 2 3; do
    echo "$main" >&3
    read -r answer <&4 # or the time limit ends it
    [ "$answer" = "$position" ] || fail "question $i: $answer"
done
exec 3>&- 4<&-
wait

# ---- Explaining ----

run 0 fxtsym --explain program.c
if ! grep -q "quality *dwarf" out || ! grep -q "build ID *$id" out; then
    fail 'explain:'
    cat out
fi
run 0 fxtsym --symbols tree --explain $id
grep -q "names from *tree/.build-id/01/${id#01}.debug" out || fail "explain $id"
grep -q "looked at *used *symbol-path *tree/.build-id/01/.*for " out || fail "explain does not tell where it looked: $(cat out)"
grep -q 'skipped *debuginfod-servers *debug information is here\|skipped *debuginfod-servers *asking servers was not allowed' out ||
    fail "explain does not tell where it did not look: $(cat out)"
run 0 fxtsym --symbols tree --explain $id --json
grep -q '"looked_at":\[{"place":"symbol-path","outcome":"used","quality":"dwarf","path":"tree/' out || fail "explain --json: $(cat out)"
run 4 fxtsym --explain 99 --json
grep -q '"quality":"none","build_id":"99"' out || fail 'explain --json'

# All split units are looked for, whatever their addresses.
mkdir split
(cd split && gcc -g -gsplit-dwarf -nostartfiles -Wl,-e,main -o program "$data/inlines.c" "$data/main.c" && rm ./*.dwo)
run 0 fxtsym --no-cache --explain split/program
grep -q 'problem *functions of 2 units are only known by symbols' out || fail "explain without .dwo: $(cat out)"
grep -q 'absent *split-units *.*main.dwo' out || fail "explain does not tell of the .dwo: $(cat out)"

# Of many that are alike some are named.
for i in 1 2 3 4 5 6 7 8 9; do
    echo "int f$i(int x) { return x + $i; }" >split/f$i.c
done
(cd split && gcc -g -gsplit-dwarf -nostartfiles -Wl,-e,main -o many f?.c "$data/inlines.c" "$data/main.c" && rm ./*.dwo)
run 0 fxtsym --no-cache --explain split/many
[ "$(grep -c split-units out)" = 3 ] || fail "explain names not 3 of 12 companions: $(cat out)"
grep -q '^ *and 9 more$' out || fail "explain does not count what it leaves out: $(cat out)"
run 0 fxtsym --no-cache --explain split/many --json
[ "$(grep -o split-units out | wc -l)" = 12 ] || fail "explain --json does not tell all: $(cat out)"

# ---- kallsyms: names in brackets are no files ----

printf '%s\n' 'ffffffff81000000 T _stext' 'ffffffff81000100 t run' 'ffffffff81000200 T _etext' \
    'ffffffffc0000000 t probe	[disk]' 'ffffffffc0000010 t remove	[disk]' >kallsyms
run 0 fxtsym --symbols kallsyms -fe '[kernel]' ffffffff81000108
grep -q '^run$' out || fail "[kernel]: $(cat out)"
run 0 fxtsym --symbols kallsyms -fe '[disk]' ffffffffc0000004
grep -q '^probe$' out || fail "[disk]: $(cat out)"
run 4 fxtsym -fe '[disk]' ffffffffc0000004
says 'pass /proc/kallsyms, or a copy made by root while the module is loaded, as symbol path'
FXT_SYMBOL_CACHE_BYTES=2G
export FXT_SYMBOL_CACHE_BYTES
run 2 fxtsym -e program.c "$main"
says "FXT_SYMBOL_CACHE_BYTES: '2G' is not a number of bytes"
unset FXT_SYMBOL_CACHE_BYTES
finish
