#!/bin/sh
# fxtq flamegraph draws what fxt2pprof counts: from stores and traces, filtered, and two beside each other.
set -eu
. "$ROOT/tests/cli/common.sh"

# The page's stacks are those of fxt2pprof.
same() { # same PAGE COLUMN WHAT OPTION...: options of fxt2pprof
    page=$1 column=$2 what=$3
    shift 3
    python3 "$ROOT/tests/tools/flame_folded.py" "$page" "$column" >drawn
    fxt2pprof -q --format folded --root none "$@" | awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) print s, sum[s] }' |
        LC_ALL=C sort -t' ' >counted
    LC_ALL=C sort drawn >sorted
    LC_ALL=C sort counted >wanted
    [ -s wanted ] || fail "$what: nothing to compare"
    cmp -s sorted wanted || {
        fail "$what:"
        diff sorted wanted | head -5 || :
    }
}

cd "$WORK"
HOME=$WORK
export HOME
unset XDG_CACHE_HOME DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
"$O/bench/fxtgen" --count=4000 --stacks=300 --seed=1 >one.fxt
"$O/bench/fxtgen" --count=4000 --stacks=300 --seed=2 >two.fxt
"$O/bench/fxtgen" --kind=heap --count=3000 --seed=3 >heap.fxt
fxtq import -q one.fxt -o one.fxtq
fxtq import -q heap.fxt -o heap.fxtq

run 0 fxtq flamegraph one.fxtq -o one.html
says 'one.html: '
same one.html 0 'a store' one.fxt
run 0 fxtq flamegraph -o - one.fxt
cp out trace.html
same trace.html 0 'a trace' one.fxt
run 0 fxtq flamegraph --pid 1000 one.fxtq -o pid.html
same pid.html 0 'a process' --pid 1000 one.fxt
run 0 fxtq flamegraph heap.fxtq -o heap.html
same heap.html 0 'bytes in use' --profile heap heap.fxt
same heap.html 1 'allocated bytes' --profile heap --sample-type alloc_space heap.fxt

# Two: before in the even columns, after in the odd.
run 0 fxtq flamegraph --diff one.fxtq two.fxt -o diff.html
same diff.html 0 before one.fxt
same diff.html 1 after two.fxt

# One program in two folders: its functions are the same ones.
program() { # program FILE FOLDER HOT: main calls hot, and copy of another module
    protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >"$1" <<END
sample_type { type: 1 unit: 2 }
sample { location_id: 2 location_id: 1 value: $3 } sample { location_id: 3 location_id: 1 value: 300 }
mapping { id: 1 memory_start: 4096 memory_limit: 8192 filename: 6 has_functions: true }
mapping { id: 2 memory_start: 8192 memory_limit: 12288 filename: 7 has_functions: true }
location { id: 1 mapping_id: 1 address: 4100 line { function_id: 1 } } location { id: 2 mapping_id: 1 address: 4200 line { function_id: 2 } }
location { id: 3 mapping_id: 2 address: 8200 line { function_id: 3 } }
function { id: 1 name: 3 } function { id: 2 name: 4 } function { id: 3 name: 5 }
string_table: "" string_table: "samples" string_table: "count" string_table: "main" string_table: "hot" string_table: "copy"
string_table: "$2/prog" string_table: "/usr/lib/libcopy.so"
END
}
program base.pb ../base 500
program new.pb . 700
fxtq import -q base.pb -o base.fxtq
fxtq import -q new.pb -o new.fxtq
run 0 fxtq flamegraph --diff base.fxtq new.fxtq -o folders.html
says 'folders.html: 3 call sites'
for column in 0 1; do
    python3 "$ROOT/tests/tools/flame_folded.py" folders.html $column
done >drawn
printf 'main;copy 300\nmain;hot 500\nmain;copy 300\nmain;hot 700\n' >wanted
cmp -s drawn wanted || fail "two folders: $(cat drawn)"

# Titles are texts, whatever they hold.
run 0 fxtq flamegraph --title '</script><b>&"x' one.fxtq -o title.html
grep -q '<title>&lt;/script>&lt;b>&amp;"x</title>' title.html || fail "title: $(grep '<title>' title.html)"
[ "$(grep -c '</script>' title.html)" = "$(grep -c '</script>' one.html)" ] || fail 'a title ends the script'
# No reference to another place.
if grep -oE '(src|href)="[^"]*"' one.html | grep -v '="data:'; then fail 'the page refers to something'; fi

run 2 fxtq flamegraph one.fxtq
says 'no output file given; use -o FILE.html'
run 2 fxtq flamegraph -o x.html
says 'no store given'
run 2 fxtq flamegraph --sample-type inuse_space one.fxtq -o x.html
says "there are no samples of type 'inuse_space' in one.fxtq, only "
"$O/bench/fxtgen" --kind spans --count 100 >spans.fxt
run 0 fxtq flamegraph -o spans.html spans.fxt
says 'spans.html: 0 call sites: no samples, but durations (fxtq report slices)'
run 2 fxtq flamegraph --focus '(' one.fxtq -o x.html
run 2 fxtq flamegraph --diff heap.fxtq one.fxtq -o x.html
says 'no samples of a type that the other has too'
run 4 fxtq flamegraph absent.fxtq -o x.html
says 'absent.fxtq: No such file or directory'
run 4 fxtq flamegraph one.fxtq -o nowhere/x.html
[ ! -e x.html ] || fail 'a page that failed is there'
finish
