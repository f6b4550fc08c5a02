#!/bin/sh
# pprof files and folded stacks of other tools: what is read is all there is, as protoc, Go's pprof and flamegraph.pl see it.
set -eu

. "$ROOT/tests/cli/fail.sh"
cd "$WORK"
HOME=$WORK
PPROF_TMPDIR=$WORK
GOCACHE=$WORK/.gocache
GOFLAGS=-mod=mod
export HOME PPROF_TMPDIR GOCACHE GOFLAGS

decode() { # decode PROFILE: its fields as text, to stdout; gzip or not
    if [ "$(od -An -tx1 -N2 "$1")" = ' 1f 8b' ]; then gzip -dc "$1"; else cat "$1"; fi |
        protoc --decode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto || fail "protoc: $1"
}
raw() { # raw PROFILE: as pprof reads it
    go tool pprof -symbolize=none -raw "$1" 2>errors || fail "pprof: $(cat errors)"
    [ ! -s errors ] || fail "pprof complains: $(cat errors)"
}
stored() { # stored PROFILE: nor through a store
    rm -f stored.fxtq
    fxtq import -q "$1" -o stored.fxtq || fail "fxtq import $1: status $?"
    fxtq export pprof -q stored.fxtq -o stored.pb.gz || fail "fxtq export of $1: status $?"
    python3 "$ROOT/tests/tools/pprof_meaning.py" "$1" >meant
    python3 "$ROOT/tests/tools/pprof_meaning.py" stored.pb.gz >means
    cmp meant means || fail "$1 from a store: $(diff meant means | head -n 4)"
    raw stored.pb.gz >stored.raw
    cmp after stored.raw || fail "$1 from a store, -raw: $(diff after stored.raw | head -n 4)"
}
same() { # same PROFILE: nothing is lost on the way through reader and writer
    for option in '' -t; do
        # shellcheck disable=SC2086 # no word for no option
        pprof_rewrite $option "$1" again.pb || fail "pprof_rewrite $1: status $?"
        decode "$1" >before
        decode again.pb >after
        cmp before after || fail "$1: $(diff before after | head -n 4)"
    done
    raw "$1" >before
    raw again.pb >after
    cmp before after || fail "$1 -raw: $(diff before after | head -n 4)"
    stored "$1"
}

# Of our own: mappings, labels, lines, spans.
"$O/bench/fxtgen" --kind profiler --stacks 200 --depth 30 --count 2000 >own.fxt
fxt2pprof --quiet -o own.pb.gz own.fxt
same own.pb.gz
"$O/bench/fxtgen" --kind spans --stacks 50 --depth 8 --count 500 >spans.fxt
fxt2pprof --quiet -o spans.pb.gz spans.fxt
same spans.pb.gz

# Of Go's runtime: labels, heap with four sample types and numeric labels, a goroutine profile.
cat >main.go <<'END'
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
)

var sink [][]byte

func work(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i * i
	}
	return sum
}

func main() {
	runtime.MemProfileRate = 512
	cpu, _ := os.Create("go-cpu.pb.gz")
	pprof.StartCPUProfile(cpu)
	pprof.Do(context.Background(), pprof.Labels("request", "one", "tenant", "Zürich"), func(context.Context) {
		for i := 0; i < 20; i++ {
			work(10000000)
		}
	})
	for i := 0; i < 1000; i++ {
		sink = append(sink, make([]byte, 1000+i))
	}
	pprof.StopCPUProfile()
	cpu.Close()
	for _, name := range []string{"heap", "goroutine", "threadcreate"} {
		f, _ := os.Create("go-" + name + ".pb.gz")
		pprof.Lookup(name).WriteTo(f, 0)
		f.Close()
	}
}
END
go build -o goprogram main.go 2>errors || fail "go build: $(cat errors)"
./goprogram
for kind in cpu heap goroutine threadcreate; do
    same go-$kind.pb.gz
done
decode go-heap.pb.gz >text
grep -q 'num: ' text || fail "no numeric labels in Go's heap profile"
decode go-cpu.pb.gz >text
[ "$(grep -c 'label {' text)" -gt 0 ] || fail "no labels in Go's CPU profile"

# What pprof itself writes, and its diff.
go tool pprof -symbolize=none -proto -output merged.pb.gz go-cpu.pb.gz go-cpu.pb.gz >/dev/null 2>&1
same merged.pb.gz
go tool pprof -symbolize=none -proto -output diff.pb.gz -diff_base go-heap.pb.gz go-heap.pb.gz >/dev/null 2>&1
same diff.pb.gz

# Every field that there is, and what Fuchsia writes: bare, sparse ids, no mappings, labels of both kinds.
encode() { protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto; }
encode >full.pb <<'END'
sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 }
sample { location_id: 5 location_id: 3 value: 1 value: -2 label { key: 5 str: 6 } label { key: 7 num: 0 num_unit: 8 } }
sample { value: 0 value: 9223372036854775807 }
mapping { id: 12 memory_start: 4096 memory_limit: 18446744073709551615 file_offset: 1 filename: 9 build_id: 10 has_functions: true has_line_numbers: true }
mapping { id: 3 }
location { id: 3 mapping_id: 12 address: 4100 line { function_id: 2 line: 1 column: 2 } line { function_id: 1 line: -1 } is_folded: true }
location { id: 5 mapping_id: 3 }
function { id: 1 name: 11 system_name: 12 filename: 13 start_line: 99 }
function { id: 2 name: 11 }
string_table: "" string_table: "samples" string_table: "count" string_table: "cpu" string_table: "nanoseconds" string_table: "key" string_table: "value"
string_table: "number" string_table: "unit" string_table: "/bin/app" string_table: "0123" string_table: "f" string_table: "_Zf" string_table: "f\nc"
string_table: "unused" string_table: "unused"
drop_frames: 11 keep_frames: 12 time_nanos: 1 duration_nanos: 2 period_type { type: 3 unit: 4 } period: 7 comment: 5 comment: 14 comment: 5
default_sample_type: 1 doc_url: 9
END
same full.pb
encode >fuchsia.pb <<'END'
sample_type { type: 1 unit: 2 }
sample { location_id: 18446744071562067968 location_id: 4096 location_id: 3735928559 value: 1 label { key: 3 str: 3 num: 1234 } }
location { id: 18446744071562067968 address: 18446744071562067968 line { function_id: 77 } }
location { id: 4096 address: 4096 line { function_id: 78 line: 12 } }
location { id: 3735928559 address: 3735928559 line { function_id: 79 } }
function { id: 77 name: 4 } function { id: 78 name: 5 start_line: 12 } function { id: 79 name: 6 }
string_table: "" string_table: "location" string_table: "count" string_table: "pid" string_table: "k" string_table: "main" string_table: "tid: 1234"
END
same fuchsia.pb

# Reading again what is damaged says so, and what pprof refuses is damage or no profile.
head -c 100 full.pb >cut.pb
status=0
pprof_rewrite cut.pb again.pb 2>errors || status=$?
[ "$status: $(cat errors)" = "4: pprof_rewrite: cut.pb: cut short before its strings" ] || fail "a cut profile: status $status, $(cat errors)"
sed 's/value: -2//' >full.txt <<END
$(decode full.pb)
END
encode <full.txt >odd.pb
status=0
pprof_rewrite odd.pb again.pb 2>errors || status=$?
[ $status = 3 ] || fail "a value too few: status $status"
[ "$(cat errors)" = '1 sample with a wrong number of values' ] || fail "$(cat errors)"
! go tool pprof -raw odd.pb >/dev/null 2>&1 || fail "pprof takes a value too few"

# Folded stacks: flamegraph.pl's own reading of a line is ours, and difffolded.pl's columns are two.
flamegraph=$(command -v flamegraph.pl || echo /usr/share/perl5/Devel/NYTProf/flamegraph.pl)
fxt2pprof -q --format folded own.fxt >own.folded
pprof_rewrite -f own.folded again.folded
cmp own.folded again.folded || fail "folded stacks change"
cat >odd.folded <<'END'
main;operator new(unsigned long);f 5
main;name with blanks;g_[k] 2.5
main;g 7 9
no count here
main;h 1.2.3
END
status=0
pprof_rewrite -f odd.folded again.folded 2>errors || status=$?
[ $status = 3 ] || fail "lines without a count: status $status"
[ "$(cat errors)" = '2 lines without a count' ] || fail "$(cat errors)"
perl "$flamegraph" --hash odd.folded >svg 2>errors
grep -q 'Ignored 2 lines' errors || fail "flamegraph.pl ignores others: $(cat errors)"
cat >expected <<'END'
main;operator new(unsigned long);f 5
main;name with blanks;g_[k] 2.5
main;g 7 9
END
cmp expected again.folded || fail "$(cat again.folded)"
