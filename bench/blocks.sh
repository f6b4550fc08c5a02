# blocks.sh - for benchmarks of what samplers cost: the same work alone and under each of them, in blocks that run all of them
# forwards and then backwards, so that drift falls on all alike.  Sourced, with sh, after lib.sh.
# shellcheck shell=sh

# blocks PROGRAM FILE SECONDS COMMAND...: a line for each block, with the sum of both runs of each command.
blocks() {
    # shellcheck disable=SC2034 # the commands use program
    program=$1 file=$2 end=$(($(date +%s) + $3))
    shift 3
    back=
    for command in "$@"; do back="$command $back"; done
    block=0
    while [ $block -lt "$BLOCKS" ] && { [ $block -lt 10 ] || [ "$(date +%s)" -lt "$end" ]; }; do
        for command in "$@" $back; do $command; done | awk -v n=$# '
            { ns[(NR - 1) % (2 * n)] = $1 }
            END { for (i = 0; i < n; i++) printf "%.0f ", ns[i] + ns[2 * n - 1 - i]; print "" }'
        block=$((block + 1))
    done >"$file"
    echo "$file: $block blocks of $# programs"
}

# cost FILE NAME FIGURE BOUND: FIGURE is an expression of awk over the fields of a line; BOUND holds the upper end ("-": none).
cost() {
    # shellcheck disable=SC2046 # two numbers
    set -- "$2" "$4" $(awk "{ print $3 }" "$1" | trimmed)
    held=1
    bound=-
    if [ "$2" != - ]; then
        held="\"$4\" != \"-nan\" && $4 <= $2"
        bound="<= $2"
    fi
    line "$1" "$3" "upper end $4" - "$bound" "$held"
}

