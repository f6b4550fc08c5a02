# lib.sh - for the benchmarks: take figures apart, print the line that bench/run describes.  Sourced, with sh.
# shellcheck shell=sh

# field FILE KEY: the number of KEY=NUMBER.
field() {
    tr ' ' '\n' <"$1" | awk -F= -v key="$2" '$1 == key { print $2; exit }'
}

# calc EXPRESSION: of awk, with two decimals.
calc() {
    awk "BEGIN { printf \"%.2f\", $1 }"
}

# line NAME FIGURE PEER RATIO BOUND CONDITION: FIGURE and PEER with their units; "-" for what there is not.  CONDITION is an
# expression of awk; where it is false the bound was missed, and $missed becomes 1.
line() {
    verdict=ok
    [ "$(awk "BEGIN { print ($6) ? 1 : 0 }")" = 1 ] || verdict=MISSED
    # shellcheck disable=SC2034
    [ $verdict = ok ] || missed=1
    printf '%-40s %14s %26s %7s %12s  %s\n' "$1" "$2" "$3" "$4" "$5" "$verdict"
}
