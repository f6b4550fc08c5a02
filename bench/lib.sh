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

# Mean and upper end of the 95 % interval of a column of numbers, a fifth at each end left out (Yuen 1974): other guests of the machine
# make single runs dear.  t(0.975) is well described by 1.96 + 2.37 / df + 2.8 / df^2 from 5 degrees of freedom on.
trimmed() {
    sort -g | awk '
        { x[NR] = $1 }
        END {
            g = int(NR * 0.2); h = NR - 2 * g; df = h - 1
            for (i = g + 1; i <= NR - g; i++) mean += x[i] / h
            for (i = 1; i <= NR; i++) { w[i] = x[i < g + 1 ? g + 1 : i > NR - g ? NR - g : i]; all += w[i] / NR }
            for (i = 1; i <= NR; i++) squares += (w[i] - all) ^ 2
            error = sqrt(squares / (h * (h - 1)))
            printf "%.2f %.2f\n", mean, mean + (1.96 + 2.37 / df + 2.8 / df / df) * error
        }'
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
