#!/bin/sh
# Stripped Go programs: functions, files and lines for the whole code as go tool addr2line gives them, and inlined frames as the
# DWARF of the same program does.
set -eu
. "$ROOT/tests/cli/common.sh"
. "$ROOT/tests/cli/addresses.sh"

if ! go version >/dev/null 2>&1; then
    echo 'SKIP: go is not here'
    exit 0
fi
cd "$WORK"
HOME=$WORK
GOCACHE=$WORK/go
CGO_ENABLED=0 # of C functions go tool addr2line says lines of some Go file
export HOME GOCACHE CGO_ENABLED
cat >go.mod <<'END'
module sample
go 1.18
END
mkdir plain generic page
cat >plain/main.go <<'END'
package main

func square(x int) int { return x * x }

//go:noinline
func outer(x int) int {
	return square(x) + twice(x)
}

func twice(x int) int { return square(x + 1) }

func main() {
	println(outer(3))
}
END
cat >generic/main.go <<'END'
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type number interface{ ~int | ~float64 }

func sum[T number](values []T) (all T) {
	for _, value := range values {
		all += value
	}
	return all
}

type shape struct{ sides []int }

func (s *shape) around() int { return sum(s.sides) }

func main() {
	words := strings.Fields(strings.Join(os.Args, " "))
	sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	s := &shape{[]int{len(words), 2}}
	defer func() { fmt.Println(recover()) }()
	fmt.Println(s.around(), sum([]float64{1, 2}), words)
}
END
cat >page/main.go <<'END'
package main

import (
	"encoding/json"
	"os"
	"regexp"
	"text/template"
)

func main() {
	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
	}).Parse("{{range .}}{{json .}}\n{{end}}"))
	_ = page.Execute(os.Stdout, regexp.MustCompile("[a-z]+").FindAllString(os.Args[0], -1))
}
END

check() { # check PROGRAM STEP
    program=$1
    go build -ldflags='-s -w' -o stripped "./$program"
    text_addresses stripped "$2" | sed 's/^/0x/' >addresses
    go tool addr2line stripped <addresses | paste - - | sed 's/\t:-1$/\t??:0/' >theirs
    fxtsym --no-cache --style llvm -e stripped <addresses >blocks 2>err
    # The real function, and the line of what was inlined.
    awk 'BEGIN { RS = ""; FS = "\n" } { at = $2; sub(/:0$/, "", at); print $(NF - 1) "\t" at }' blocks | sed 's/^??	??:0$/?	?:0/' >ours
    [ -s ours ] || fail "$program: no answers"
    ! cmp -s ours theirs || return 0
    diff ours theirs | grep '^[<>]' | sort | uniq | awk '/</ && ++a < 6; />/ && ++b < 6'
    fail "$program: other answers than go tool addr2line's"
}
check plain 1
check generic 7
check page 101

# Go's own build ID identifies a program that has none of GNU's: the last part, in base64url, of what go tool buildid prints.
go build -o whole ./plain
go build -o other ./generic
id=$(go tool buildid whole | python3 -c 'import base64; print(base64.urlsafe_b64decode(input().split("/")[3]).hex())')
fxtsym --explain whole | grep -qx "  build ID    $id" || fail "not $id: $(fxtsym --explain whole)"
mkdir ids found
cp whole found/something
strip -s -o ids/whole whole
inside=0x$(text_addresses whole 1 | sed -n 3000p)
fxtsym --no-cache -ife whole "$inside" >expected
fxtsym --no-cache -ife ids/whole --symbols found "$inside" >ours 2>err || fail "by Go's build ID: $(cat err)"
cmp expected ours || fail "by Go's build ID"
fxtsym --no-cache --build-id "$id" --symbols found -if "$inside" >ours 2>err || fail "--build-id: $(cat err)"
cmp expected ours || fail '--build-id'
fxtsym --explain ids/whole --symbols other >explained || fail 'explain'
grep -q "other: the file has build ID [0-9a-f]*, not $id" explained || fail "another program: $(cat explained)"
# In a Breakpad symbol file such a program goes by a hash of its code.
text_addresses whole 97 | fxtsym --no-cache --json -ie whole | grep -v '"function":""' >answers
python3 "$ROOT/tests/tools/breakpad.py" whole Linux whole <answers >whole.sym
fxtsym --explain ids/whole --symbols whole.sym | grep -q 'used .*whole.sym' || fail 'a symbol file of a Go program'

# Addresses outside the code have no names and keep none from others, in any order, also after the cache was written.
go build -ldflags='-s -w -B 0x0123456789abcdef0123456789abcdef01234567' -o stripped ./plain
inside=0x$(text_addresses stripped 1 | sed -n 3000p)
name=$(fxtsym --no-cache -fe stripped "$inside" | head -n 1)
[ "$name" != '??' ] || fail "no name for $inside"
printf '??\n%s\n??\n' "$name" >expected
for visit in 1 2 3; do
    for around in '0x1000 0x7fffffff' '0x7fffffff 0x1000'; do
        printf '%s\n' "${around% *}" "$inside" "${around#* }" | fxtsym -fe stripped | sed -n '1~2p' >names
        cmp expected names || fail "visit $visit, $around: $(cat names)"
    done
done

# Inlined frames: those of the DWARF of the same code.  go tool addr2line reads no position-independent program.
for mode in exe pie; do
    go build -buildmode=$mode -o whole ./plain
    go build -buildmode=$mode -ldflags='-s -w' -o stripped ./plain
    outer=$(nm whole | awk '$3 == "main.outer" { print "0x" $1 }')
    last=$(nm -S whole | awk '$4 == "main.outer" { print "0x" $2 }')
    awk -v first=$((outer)) -v size=$((last)) 'BEGIN { for (i = 0; i < size; i++) printf "0x%x\n", first + i }' >addresses
    for program in whole stripped; do
        fxtsym --no-cache -ife $program <addresses >$program.names
    done
    grep -q main.square stripped.names || fail "$mode: no inlined frames"
    cmp whole.names stripped.names || fail "$mode: other frames than those of DWARF"
done
run 0 fxtsym --explain stripped
prints "Go's own table of functions, files and lines"
prints 'symtab: functions, lines and inlined frames'

# A damaged table costs names, nothing else.
python3 - <<'END'
import random, subprocess
data = open("stripped", "rb").read()
line = [l.replace("[ ", "[").split() for l in subprocess.run(["readelf", "-SW", "stripped"], capture_output=True, text=True).stdout.splitlines() if "gopclntab" in l][0]
start, size = int(line[4], 16), int(line[5], 16)
for seed in range(20):
    chance = random.Random(seed)
    damaged = bytearray(data)
    for _ in range(200):
        at = start + 8 + chance.randrange(64 if seed % 2 else size - 8)
        damaged[at] = chance.randrange(256)
    open("damaged", "wb").write(damaged)
    result = subprocess.run(["fxtsym", "--no-cache", "-ife", "damaged"], stdin=open("addresses"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if result.returncode not in (0, 4):
        raise SystemExit("status %d: %s" % (result.returncode, result.stderr))
END

# A capture has the same build ID; a pprof profile has none of Go's, which pprof would call a mismatch.
stop_if_wrong
. "$ROOT/tests/cli/perf.sh"
mkdir busy
cat >busy/main.go <<'END'
package main

func main() {
	sum := 0
	for i := 0; i < 300000000; i++ {
		sum += i * sum
	}
	println(sum)
}
END
go build -o spin ./busy
id=$(go tool buildid spin | python3 -c 'import base64; print(base64.urlsafe_b64decode(input().split("/")[3]).hex())')
run 0 sampler-capture cpu -F 5000 --keep-modules kept -o go.fxt -- ./spin
cmp spin "kept/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug" || fail 'the program is not kept'
run 0 fxtdump go.fxt
prints "build_id=$id name=$WORK/spin"
rm spin
run 0 fxt2pprof --symbols kept -o go.pb.gz go.fxt
go tool pprof -raw go.pb.gz >out 2>err || fail "go tool pprof: $(cat err)"
prints ' main.main '
! grep -q "$id" out || fail "the pprof profile has Go's build ID"
finish
