#!/bin/sh
# pprof profiles: every field of a small one, and what Go's pprof thinks of larger ones.
set -eu

. "$ROOT/tests/cli/fail.sh"
cd "$ROOT"

# Every field, as protoc reads it.  testdata/profile/README.md tells how the golden files are made.
profile_golden "$WORK/small.fxt"
for kind in cpu span; do
    fxt2pprof --quiet --no-symbolize --profile $kind -o "$WORK/$kind.pb.gz" "$WORK/small.fxt"
    gzip -dc "$WORK/$kind.pb.gz" >"$WORK/$kind.pb"
    protoc --decode=perftools.profiles.Profile schemas/profile.proto <"$WORK/$kind.pb" >"$WORK/$kind.txt"
    diff -u "testdata/profile/small-$kind.txt" "$WORK/$kind.txt"
    # Neither time nor name nor system: bytes 3 to 9 of the header.
    [ "$(od -An -tx1 -N10 "$WORK/$kind.pb.gz")" = ' 1f 8b 08 00 00 00 00 00 00 ff' ] || fail "gzip header"
done

# Go's pprof takes it without a word on stderr, in every report.
HOME=$WORK
PPROF_TMPDIR=$WORK
export HOME PPROF_TMPDIR
report() { # report PROFILE OPTION...: to $WORK/report
    profile=$1
    shift
    go tool pprof "$@" "$profile" >"$WORK/report" 2>"$WORK/errors" || fail "pprof $*: $(cat "$WORK/errors")"
    [ ! -s "$WORK/errors" ] || fail "pprof $* complains: $(cat "$WORK/errors")"
}
shows() { # shows TEXT
    grep -qF -- "$1" "$WORK/report" || fail "no '$1' in: $(cat "$WORK/report")"
}

report "$WORK/span.pb.gz" -top
shows 'Type: wall'
shows '600ns 60.00% 60.00%     1000ns   100%  frame'
report "$WORK/span.pb.gz" -traces
shows 'process:  app'
report "$WORK/span.pb.gz" -raw
shows 'Time: 2023-11-14 22:13:20 +0000 UTC'

# A real object: its function, its inlined function, its lines.
cat >"$WORK/probe.c" <<'END'
static volatile int sink;
static inline __attribute__((always_inline)) void inner(void)
{
    sink++;
}
__attribute__((noinline)) void outer(void)
{
    inner();
}
int main(void)
{
    outer();
    return sink;
}
END
${CC:-cc} -O1 -g -Wl,--build-id -o "$WORK/probe" "$WORK/probe.c"
address() { # address SYMBOL: its vaddr, plus 1 so that it lies inside
    nm "$WORK/probe" | awk -v name="$1" '$3 == name { print "0x" $1 }'
}
profile_golden "$WORK/probe.fxt" "$WORK/probe" "$(address outer)" "$(address main)"
fxt2pprof --quiet -o "$WORK/probe.pb.gz" "$WORK/probe.fxt"
report "$WORK/probe.pb.gz" -traces
report "$WORK/probe.pb.gz" -top -lines
shows "inner $WORK/probe.c:4 (inline)"
report "$WORK/probe.pb.gz" -raw
shows 'outer '"$WORK/probe.c"
shows 'main '"$WORK/probe.c"
shows '[FN][FL][LN][IN]'
shows "$WORK/probe "
# The mapping begins at vaddr 0, which lies at the start of the file.
grep -q '^1: 0x555555554000/0x555555654000/0x0 ' "$WORK/report" || fail "mapping: $(tail -n 2 "$WORK/report")"
report "$WORK/probe.pb.gz" -top
shows 'File: probe'
shows 'Type: cpu'
shows '10ms   100%   100%       10ms   100%'

# A stub of the PLT has no name.  It must not make pprof look up the others again, which would lose the inlined ones.
stub=0x$(readelf -SW "$WORK/probe" | sed -n 's/.* \.plt  *PROGBITS  *\([0-9a-f]*\) .*/\1/p')
profile_golden "$WORK/stub.fxt" "$WORK/probe" "$(address outer)" "$stub"
fxt2pprof --quiet -o "$WORK/stub.pb.gz" "$WORK/stub.fxt"
report "$WORK/stub.pb.gz" -traces
shows 'inner (inline)'
shows '[probe+0x'
