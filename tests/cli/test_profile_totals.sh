#!/bin/sh
# Span profiles of real traces: sums of self times that others computed as well.
set -eu

data=$FXT_SHARED_DATA/fxt
if [ ! -d "$data" ]; then
    echo "SKIP: real FXT traces are not here"
    exit 0
fi
fail() {
    echo "$1" >&2
    exit 1
}

total() { # total FILE TYPE [OPTION...]: the sum of all lines' values
    file=$1
    type=$2
    shift 2
    profile_convert "$file" "$WORK/out" --folded --span --value "$type" "$@"
    awk '{ sum += $NF } END { printf "%d\n", sum }' "$WORK/out"
}
expect() { # expect WHAT VALUE EXPECTED
    [ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# FILE, sum of self times in ns, spans
while read -r file self spans; do
    expect "$file, self times" "$(total "$data/$file" 1)" "$self"
    expect "$file, spans" "$(total "$data/$file" 0)" "$spans"
    cp "$WORK/out" "$WORK/whole"
    # Sorting in small runs changes nothing.
    expect "$file, small runs" "$(total "$data/$file" 0 --sort-bytes 8192)" "$spans"
    cmp "$WORK/whole" "$WORK/out"
    # Lines are sorted, distinct, and say nothing but a stack and a number.
    LC_ALL=C sort -c "$WORK/out" || fail "$file: lines are not sorted"
    [ -z "$(sed 's/ [0-9]*$//' "$WORK/out" | uniq -d)" ] || fail "$file: a stack twice"
    profile_convert "$data/$file" "$WORK/notices" --notices
    ! grep -vE '^unhandled_records |^provider_events | 0$' "$WORK/notices" || fail "$file: notices"
done <<END
c-hello-world.fxt.gz 329913 17296
ocaml-hello-world.fxt.gz 657888 34690
ocaml-trace/t2-7ea74047-1.fxt 4900000 2
END

profile_convert "$data/ocaml-trace/t2-7ea74047-1.fxt" "$WORK/out" --folded --span --root none
printf 'outer 580000\nouter;inner 4320000\n' | cmp - "$WORK/out"

# 50 loops of 4 loops each.
expect "t1, spans" "$(total "$data/ocaml-trace/t1-ac5f6e1c-0.fxt" 0 --root none)" 250
grep -qx 'outer.loop 50' "$WORK/out" || fail "t1: $(cat "$WORK/out")"
grep -qx 'outer.loop;inner.loop 200' "$WORK/out" || fail "t1: $(cat "$WORK/out")"
