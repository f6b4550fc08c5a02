#!/bin/sh
# Span profiles of real traces: sums of self times that others computed as well.
set -eu

data=$FXT_SHARED_DATA/fxt
if [ ! -d "$data" ]; then
    echo "SKIP: real FXT traces are not here"
    exit 0
fi
. "$ROOT/tests/cli/fail.sh"

HOME=$WORK
export HOME
convert() { # convert FORMAT FILE [OPTION...]: to $WORK/out, the summary to $WORK/summary
    format=$1
    file=$2
    shift 2
    fxt2pprof --profile span --format "$format" "$@" "$data/$file" >"$WORK/out" 2>"$WORK/summary"
}
expect() { # expect WHAT VALUE EXPECTED
    [ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# FILE, sum of self times in ns, spans
while read -r file self spans; do
    convert folded "$file"
    expect "$file, self times" "$(awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$WORK/out")" "$self"
    grep -q "^span: $spans spans, " "$WORK/summary" || fail "$file: $(cat "$WORK/summary")"
    # Nothing was odd.
    ! grep -E '^  (note|damage)' "$WORK/summary" || fail "$file: notices"
    # Lines are sorted, distinct, and say nothing but a stack and a number.
    LC_ALL=C sort -c "$WORK/out" || fail "$file: lines are not sorted"
    [ -z "$(sed 's/ [0-9]*$//' "$WORK/out" | uniq -d)" ] || fail "$file: a stack twice"
    # Sorting in small runs changes nothing.
    folded_addresses "$data/$file" "$WORK/runs" 8192
    cmp "$WORK/out" "$WORK/runs"
done <<END
c-hello-world.fxt.gz 329913 17,296
ocaml-hello-world.fxt.gz 657888 34,690
ocaml-trace/t2-7ea74047-1.fxt 4900000 2
END

convert folded ocaml-trace/t2-7ea74047-1.fxt --root none
printf 'outer 580000\nouter;inner 4320000\n' | cmp - "$WORK/out"

# 50 loops of 4 loops each.
convert pprof ocaml-trace/t1-ac5f6e1c-0.fxt
grep -q '^span: 250 spans, ' "$WORK/summary" || fail "t1: $(cat "$WORK/summary")"
go tool pprof -sample_index=spans -top "$WORK/out" >"$WORK/top" 2>&1
grep -qE '^ +50 .* 250 +100% +outer.loop$' "$WORK/top" || fail "t1: $(cat "$WORK/top")"
grep -qE '^ +200 .* 200 .* inner.loop$' "$WORK/top" || fail "t1: $(cat "$WORK/top")"
