#!/bin/sh
# Inputs that are something else, or nothing, and outputs that cannot be written, for all programs that read: the status of
# docs/architecture.md, and a sentence that is true and names the file.  A row is a file and what each kind of reader answers.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1

allowed() { # allowed COMMAND...: as somebody who may only do what file modes say
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --bounding-set -dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}

# ---- Inputs ----

"$O/bench/fxtgen" --count 200 --stacks 20 --seed 4 >good.fxt
run 0 fxtq import -q -o good.fxtq good.fxt
run 0 fxt2pprof -q -o good.pb.gz good.fxt
run 0 fxt2pprof -q -f folded -o good.folded good.fxt
: >empty
mkdir folder
printf '\377\376l\0o\0g\0\n\0' >utf16
printf '\357\273\277main;run 5\n' >mark.folded
cp "$(command -v fxtdump)" elf
gzip -nc good.fxt | head -c 600 >cut.gz
zstd -qc good.fxt | head -c 600 >cut.zst
{ gzip -nc good.fxt && echo trailing; } >trailing.gz
printf '\037\213' >two.gz
printf '\375\067\172\130\132\000\000\004 and so on' >packed.xz
printf 'BZh91AY&SY\000\001 and so on' >packed.bz2
head -c 100 good.fxtq >cut.fxtq
head -c 5000 good.fxtq >longer.fxtq
python3 -c 'import sqlite3; c = sqlite3.connect("other.db"); c.execute("CREATE TABLE t (a)"); c.commit()'
ln -s loop loop
printf 'PK\003\004zip' >zip
printf '%%PDF-1.4' >pdf
printf '{"traceEvents":[]}' >chrome.json
tar cf good.tar good.fxt
head -c 4096 /dev/zero | tr '\000' '\377' >ones
: >'two
lines'
: >"$(printf 'right\342\200\256left')"
cp good.fxt unreadable
chmod 0 unreadable
rights=setpriv
! allowed cat unreadable >/dev/null 2>&1 || rights=

# ---- Readers ----

answers() { # answers STATUS TEXT COMMAND...: TEXT is a part of what it says; empty: anything
    wanted=$1
    text=$2
    shift 2
    rm -rf O O.fxtq*
    status=0
    if [ -n "$rights" ]; then
        allowed "$@" >out 2>err </dev/null || status=$?
    else
        "$@" >out 2>err </dev/null || status=$?
    fi
    [ $status -eq "$wanted" ] || fail "$*: status $status, not $wanted: $(cat err)"
    [ -z "$text" ] || grep -qF -e "$text" err || fail "$*: not said: $text: $(cat err)"
    [ "$wanted" -ne 0 ] || [ -n "$text" ] || [ ! -s err ] || [ "$1 $2" = "fxtq report" ] || [ "$1 $2" = "fxtq flamegraph" ] ||
        fail "$*: $(cat err)"
}
as_trace() { # as_trace FILE STATUS TEXT
    answers "$2" "$3" fxtdump "$1"
    answers "$2" "$3" fxtdump --stats "$1"
    answers "$2" "$3" fxt2pprof -q -o O "$1"
    answers "$2" "$3" fxtcat cut --type event -o O "$1"
    answers "$2" "$3" fxtcat recover -o O "$1"
    answers "$2" "$3" fxtcat convert --layout profiler -o O "$1"
    answers "$2" "$3" fxtcat merge -o O good.fxt "$1"
}
as_profile() { # as_profile FILE STATUS TEXT
    answers "$2" "$3" fxtq import -q -o O.fxtq "$1"
    answers "$2" "$3" fxtq "$1" 'SELECT 1'
    answers "$2" "$3" fxtq report top "$1"
    answers "$2" "$3" fxtq export folded -q "$1"
    answers "$2" "$3" fxtq flamegraph -o O "$1"
    [ "$2" -eq 0 ] || answers "$2" "$3" fxtdiff good.folded -- "$1"
}

no_trace='not an FXT trace: no magic number'
no_store='not a store: not an SQLite database'
no_object='not an ELF object; name the recorded program'
# FILE|status and text as a trace|as a profile, '=' the same|as a store|as an object; '-': elsewhere
cat >table <<END
empty|3|empty, not an FXT trace|=|=|3|empty, not a store|4|$no_object
folder|4|folder: is a directory without files|=|=|4|folder: Is a directory|4|folder: Is a directory
/dev/null|3|empty, not an FXT trace|=|=|3|not a regular file, so not a store|4|not a regular file
utf16|3|$no_trace|=|=|3|$no_store|4|$no_object
mark.folded|3|$no_trace|0||3|$no_store|4|$no_object
elf|3|an ELF file, not an FXT trace|=|=|3|$no_store|0|
cut.gz|3|cut off|=|=|3|$no_store|4|damaged compression
cut.zst|3|cut off|=|=|3|$no_store|4|damaged compression
trailing.gz|3|bytes after the end of the gzip data are not gzip|=|=|3|$no_store|4|$no_object
two.gz|3|compressed, and cut off before its first record|=|=|3|$no_store|4|$no_object
packed.xz|3|xz data; unpack it first: xz -d|=|=|3|$no_store|4|
packed.bz2|3|bzip2 data; unpack it first: bzip2 -d|=|=|3|$no_store|4|$no_object
good.fxtq|3|an SQLite database, not an FXT trace; if it is a store, 'fxtq export' writes|-|-|-|-|4|$no_object
cut.fxtq|3|an SQLite database, not an FXT trace; if it is a store|-|-|3|the store is corrupt|4|$no_object
longer.fxtq|3|an SQLite database, not an FXT trace; if it is a store|-|-|3|the store is corrupt|4|$no_object
other.db|3|an SQLite database, not an FXT trace; if it is a store|-|-|3|an SQLite database, but not a store of fxtq|4|$no_object
good.pb.gz|3|$no_trace|0||3|$no_store|4|$no_object
good.folded|3|text, not an FXT trace|0||3|$no_store|4|$no_object
loop|4|loop: Too many levels of symbolic links|=|=|4|Too many levels of symbolic links|4|=
zip|3|a zip archive, not an FXT trace|=|=|3|$no_store|4|$no_object
pdf|3|text, not an FXT trace|3||3|$no_store|4|$no_object
chrome.json|3|text, not an FXT trace|3||3|$no_store|4|$no_object
good.tar|3|$no_trace|=|=|3|$no_store|4|$no_object
ones|3|not an FXT trace|=|=|3|$no_store|4|$no_object
nosuch|4|nosuch: No such file or directory|=|=|4|nosuch: there is no such file|4|=
empty/below|4|empty/below: Not a directory|=|=|4|empty/below: |4|=
END
[ -z "$rights" ] || echo 'unreadable|4|unreadable: Permission denied|=|=|4|unreadable: Permission denied|4|unreadable: Permission denied; make that file readable' >>table
[ "$(wc -l <table)" -ge 26 ] || fail "the table has $(wc -l <table) rows"
while IFS='|' read -r file t_status t_text p_status p_text s_status s_text e_status e_text; do
    as_trace "$file" "$t_status" "$t_text"
    [ "$p_status" = = ] && p_status=$t_status p_text=$t_text
    [ "$p_status" = - ] || as_profile "$file" "$p_status" "$p_text"
    [ "$s_status" = - ] || answers "$s_status" "$s_text" fxtq symbolize --no-cache "$file"
    [ "$e_text" = = ] && e_text=$t_text
    answers "$e_status" "$e_text" fxtsym --no-cache -e "$file" 0x10
done <table
! grep -q 'or build it' err || fail "an unreadable file is to be built: $(cat err)"

# A store in the place of a trace, and what is left of one.
for file in good.fxtq cut.fxtq other.db; do
    answers 3 "an SQLite database, not an FXT trace" fxtq import -q -o O.fxtq "$file"
done
answers 3 'the store is corrupt' fxtq cut.fxtq 'SELECT 1'
answers 3 'an SQLite database, but not a store of fxtq' fxtq other.db 'SELECT 1'
answers 3 'the store is corrupt' fxtq report top longer.fxtq

# The mark of UTF-8 before folded stacks is no part of a name.
answers 0 '' fxtq export folded -q --root none mark.folded
[ "$(cat out)" = 'main;run 5' ] || fail "with a mark: $(od -c out)"

# ---- Names ----

for name in 'two
lines' "$(printf 'right\342\200\256left')" ''; do
    for command in fxtdump 'fxt2pprof -q -o O' 'fxtq import -q -o O.fxtq' 'fxtcat recover -o O' 'fxtq symbolize'; do
        status=0
        # shellcheck disable=SC2086 # words
        $command "$name" >out 2>err || status=$?
        [ $status -eq $((name_status = 3 + (${#name} == 0))) ] || fail "$command, '$name': status $status, not $name_status: $(cat err)"
        [ "$(wc -l <err)" -eq 1 ] || fail "$command, '$name': not one line: $(cat err)"
        ! grep -q "$(printf '\342\200\256')" err || fail "$command: a raw character: $(cat err)"
        [ -n "$name" ] || grep -qi "'': .*no such file" err || fail "$command: $(cat err)"
    done
done
answers 3 'two\nlines: empty, not an FXT trace' fxtdump 'two
lines'
answers 3 'right\u202eleft: empty, not an FXT trace' fxtdump "$(printf 'right\342\200\256left')"

# ---- Streams ----

for command in fxtdump 'fxt2pprof -q -o O' 'fxtq import -q -o O.fxtq' 'fxtcat recover -o O' 'fxtdiff good.folded --'; do
    rm -rf O O.fxtq* fifo
    mkfifo fifo
    : >fifo &
    # shellcheck disable=SC2086 # words
    run 3 $command fifo
    says 'fifo: empty, not an FXT trace'
    wait
    status=0
    $command - <&- >out 2>err || status=$?
    [ $status -eq 4 ] || fail "$command: a closed standard input: status $status: $(cat err)"
    says 'standard input: Bad file descriptor'
    status=0
    $command - <folder >out 2>err || status=$?
    [ $status -eq 4 ] || fail "$command: a folder as standard input: status $status: $(cat err)"
    grep -qi 'standard input: is a directory' err || fail "$command: a folder as standard input: $(cat err)"
done

# 4 GiB of nothing: neither memory nor damage.
truncate -s 4G sparse
for command in 'fxt2pprof -q -o O' 'fxtq import -q -o O.fxtq' 'fxtcat recover -o O'; do
    rm -rf O O.fxtq*
    # shellcheck disable=SC2086 # words
    run 0 $command sparse
    says 'sparse: nothing but 4,294,967,296 bytes of zeros'
done
rm sparse

# ---- Outputs ----

for command in 'fxt2pprof -q good.fxt -o -' 'fxt2pprof -q -f top good.fxt' 'fxtdump good.fxt' 'fxtdump --stats good.fxt' 'fxtq report top good.fxtq' \
    'fxtq export folded good.fxtq' 'fxtq coverage good.fxtq' 'fxtq flamegraph good.fxtq -o -' 'fxtdiff good.folded -- good.folded' \
    'fxtcat cut --type event good.fxt' 'fxtcat compress good.fxt' 'fxtsym --no-cache -e elf 0x10' 'fxtq --help' 'fxtdump --version' 'sampler-capture --help'; do
    status=0
    # shellcheck disable=SC2086 # words
    $command >/dev/full 2>err </dev/null || status=$?
    [ $status -eq 4 ] || fail "$command >/dev/full: status $status: $(cat err)"
    says 'standard output: No space left on device'
done
for command in 'fxt2pprof -q good.fxt' 'fxtcat cut --type event good.fxt' 'fxtq export folded good.fxtq' 'fxtq flamegraph good.fxtq' 'fxtq import -q good.fxt'; do
    # shellcheck disable=SC2086 # words
    [ "$command" = 'fxtq import -q good.fxt' ] || answers 4 '/dev/full: No space left on device' $command -o /dev/full
    # shellcheck disable=SC2086 # words
    answers 4 'folder: Is a directory' $command -o folder
    # shellcheck disable=SC2086 # words
    answers 4 'nosuch/x: ' $command -o nosuch/x
done
answers 3 '/dev/full: not a regular file, so not a store' fxtq import -q good.fxt -o /dev/full
answers 3 "good.folded: $no_store" fxtq import -q good.fxt -o good.folded

# ---- Captures ----

answers 125 'folder: Is a directory' sampler-capture heap -o folder -- true
answers 125 'nosuch/x: No such file or directory' sampler-capture heap -o nosuch/x -- true
answers 4 '/dev/full: No space left on device: the trace ends here' sampler-capture heap -o /dev/full -- true
answers 127 './nosuch: No such file or directory' sampler-capture heap -o x.fxt -- ./nosuch
answers 126 './utf16: Permission denied' sampler-capture heap -o x.fxt -- ./utf16
answers 126 './folder: Permission denied' sampler-capture heap -o x.fxt -- ./folder
answers 4 'there is no process 999999999' sampler-capture cpu -o x.fxt -p 999999999
answers 2 "'1x' is not a number" sampler-capture cpu -o x.fxt -p 1x
finish
