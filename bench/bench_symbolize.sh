#!/bin/sh
# What symbolizers take for uniformly random addresses of .text, with functions, inlined frames and lines, in a process of their own:
# fxtsym without and with its cache, gimli (bench/peers/gimli), llvm-symbolizer, addr2line and eu-addr2line.
#
#   VMLINUX=FILE    a kernel with debug information too: bench/run symbolize then takes some minutes
#   RUNS=N          of each short command; the one with the least CPU time counts (3)
#   SLOW=1          a million addresses with addr2line, and more than 1000 with eu-addr2line: many minutes
#   LIMIT=SECONDS   what a peer may take (60); one that takes longer is shown as "> 60.00 s", and ratios are upper bounds then
#
# addr2line and eu-addr2line get no more addresses than they can answer in some seconds: 1000, and 100 of the kernel.
# The C and C++ programs and a C++ library of 280 MB are made by bench/inputs; the Rust program is gimli's peer itself.
set -eu
. bench/lib.sh
missed=0
RUNS=${RUNS:-3}
LIMIT=${LIMIT:-60}
PATH=$PATH:${HOME:-/nonexistent}/.cargo/bin
cd "$WORK"
export XDG_CACHE_HOME="$WORK/cache"

# ---- Inputs and peers ----

awk -f "$ROOT/bench/inputs/large_c.awk" >large.c
gcc -O2 -g -o large_c large.c
g++ -std=c++17 -O2 -g -DTYPES=40 -o large_cpp "$ROOT/bench/inputs/large_cpp.cc"
sh "$ROOT/bench/inputs/large_library.sh" large_library 150
cp -r "$ROOT/bench/peers/gimli" gimli
cargo build --manifest-path gimli/Cargo.toml --quiet --release --offline --target-dir target \
    --config 'source.crates-io.replace-with="debian"' --config 'source.debian.directory="/usr/share/cargo/registry"'
cp target/release/gimli-peer large_rust
PATH=$WORK/target/release:$PATH

text_addresses() { # text_addresses OBJECT COUNT: the upper half of an address is text, awk's numbers are not exact there
    objdump -h "$1" | awk '$2 == ".text" { print substr($4, 1, 8), substr($4, 9), $3 }' | {
        read -r high low size
        awk -v high="$high" -v low=$((0x$low)) -v size=$((0x$size)) -v count="$2" 'BEGIN {
            srand(1)
            for (i = 0; i < count; i++)
                printf "0x%s%08x\n", high, low + int(rand() * size)
        }'
    }
}

# ---- Measuring ----

# cpu RUNS COMMAND: its seconds of CPU time, with addresses as standard input of each run.  ">LIMIT" when it took longer.
cpu() {
    runs=$1
    shift
    # shellcheck disable=SC2016 # $0 and $@ are the inner shell's
    meter --runs "$runs" figure timeout "$LIMIT" sh -c 'exec "$0" "$@" <addresses >/dev/null 2>&1' "$@" || :
    [ "$(field figure status)" != 124 ] || printf '>'
    field figure cpu_seconds
}

show() { # show NAME SECONDS OTHER_NAME OTHER_SECONDS [BOUND]: ratio of CPU times, held to BOUND when there is one
    shown="$4 s $3"
    other=${4#>}
    [ "$other" = "$4" ] || shown="> $other s $3"
    if [ $# -gt 4 ]; then
        line "$1" "$2 s" "$shown" "$(ratio "$2" "$other")" "<= $5" "$2 <= $5 * $other"
    else
        line "$1" "$2 s" "$shown" "$(ratio "$2" "$other")" - 1
    fi
}
ratio() { awk "BEGIN { printf \"%.3f\", $1 / $2 }"; }

slow_peers() { # slow_peers NAME OBJECT RUNS: as many addresses as they can take
    count=1000
    case $1 in kernel | library) count=100 ;; esac
    text_addresses "$2" $count >addresses
    ours=$(cpu "$3" fxtsym $no_cache -ife "$2")
    show "$1, $count, cold" "$ours" addr2line "$(cpu 1 addr2line -ife "$2")"
    show "$1, $count, cold" "$ours" eu-addr2line "$(cpu 1 eu-addr2line -ife "$2")"
}

cold() { # cold NAME OBJECT COUNT RUNS: every symbolizer
    text_addresses "$2" "$3" >addresses
    ours=$(cpu "$4" fxtsym $no_cache -ife "$2")
    gimli=$(cpu "$4" gimli-peer "$2")
    if [ "$3" -le 100000 ] || [ "$1" = library ]; then
        show "$1, $3, cold" "$ours" gimli "$gimli" 1
    else
        show "$1, $3, cold" "$ours" gimli "$gimli"
    fi
    llvm=$(cpu 1 llvm-symbolizer -e "$2")
    show "$1, $3, cold" "$ours" llvm-symbolizer "$llvm"
    [ "$3" -gt 1000 ] || slow_peers "$1" "$2" "$4"
    case $1 in kernel | library) return ;; esac
    if [ "$3" -gt 1000 ] && { [ "$3" -le 100000 ] || [ -n "${SLOW:-}" ]; }; then
        show "$1, $3, cold" "$ours" addr2line "$(cpu 1 addr2line -ife "$2")"
        [ -z "${SLOW:-}" ] || show "$1, $3, cold" "$ours" eu-addr2line "$(cpu 1 eu-addr2line -ife "$2")"
    fi
}

# The cache is complete after the second visit at the latest.
warm() { # warm NAME OBJECT: a million addresses, llvm and gimli as measured by cold()
    fxtsym -ife "$2" <addresses >/dev/null 2>&1
    fxtsym -ife "$2" <addresses >/dev/null 2>&1
    ours=$(cpu "$RUNS" fxtsym -ife "$2")
    if [ "$1" = library ]; then
        show "$1, 1000000, warm" "$ours" llvm-symbolizer "$llvm"
        show "$1, 1000000, warm" "$ours" gimli "$gimli"
    elif [ "$1" = kernel ]; then
        show "$1, 1000000, warm" "$ours" gimli "$gimli" 0.2
        show "$1, 1000000, warm" "$ours" llvm-symbolizer "$llvm"
    else
        show "$1, 1000000, warm" "$ours" llvm-symbolizer "$llvm" 0.025
        show "$1, 1000000, warm" "$ours" gimli "$gimli"
    fi
}

memory() { # memory NAME OBJECT BOUND_MIB: anonymous memory for a million addresses; 0: no bound
    # shellcheck disable=SC2016
    meter --anonymous figure sh -c 'exec "$0" "$@" <addresses >/dev/null 2>&1' fxtsym $no_cache -ife "$2" || :
    ours=$(calc "$(field figure max_anonymous_kib) / 1024")
    # shellcheck disable=SC2016
    meter --anonymous figure sh -c 'exec "$0" "$@" <addresses >/dev/null 2>&1' gimli-peer "$2" || :
    peer=$(calc "$(field figure max_anonymous_kib) / 1024")
    if [ "$3" = 0 ]; then
        line "$1, anonymous memory, cold" "$ours MiB" "$peer MiB gimli" "$(ratio "$ours" "$peer")" - 1
    else
        line "$1, anonymous memory, cold" "$ours MiB" "$peer MiB gimli" "$(ratio "$ours" "$peer")" "<= $3 MiB" "$ours <= $3"
    fi
}

# Addresses in random order, each unit's far apart, beside the same ones sorted.
order() { # order NAME OBJECT: a million addresses
    ours=$(cpu "$RUNS" fxtsym $no_cache -ife "$2")
    sort -o addresses addresses
    show "$1, 1000000, random order, cold" "$ours" sorted "$(cpu "$RUNS" fxtsym $no_cache -ife "$2")" 1.2
}

# What a second core is good for: time beside that with one job, and how many cores are busy.
jobs() { # jobs NAME COMMAND...: its input is addresses
    name=$1
    shift
    # shellcheck disable=SC2016
    meter --runs "$RUNS" figure sh -c 'exec "$0" --jobs 1 "$@" <addresses >/dev/null 2>&1' "$@" || :
    alone=$(field figure seconds)
    # shellcheck disable=SC2016
    meter --runs "$RUNS" figure sh -c 'exec "$0" --jobs 2 "$@" <addresses >/dev/null 2>&1' "$@" || :
    both=$(field figure seconds)
    busy=$(calc "$(field figure cpu_seconds) / $both")
    if [ "$(nproc)" -lt 2 ]; then
        line "$name, time, two jobs" "$both s" "$alone s one job" "$(ratio "$both" "$alone")" - 1
        return
    fi
    line "$name, time, two jobs" "$both s" "$alone s one job" "$(ratio "$both" "$alone")" "< 1" "$both < $alone"
    line "$name, cores busy, two jobs" "$busy" - - ">= 1.3" "$busy >= 1.3"
}

# The programs above and those of the toolchain, 3000 addresses of each.
many_modules() {
    for program in "$O"/bin/* "$O"/lib/lib*.so.0 "$WORK"/large_*; do
        case $program in *.c | *_library) continue ;; esac
        text_addresses "$program" 3000 | sed "s|^|$program |"
    done >requests
    mv requests addresses
    jobs 'programs' fxtsym $no_cache --style llvm
}

no_cache=
fxtsym --help | grep -q -e --no-cache && no_cache=--no-cache

one() { # one NAME OBJECT MEMORY_BOUND
    cold "$1" "$2" 1000 "$RUNS"
    cold "$1" "$2" 100000 "$RUNS"
    cold "$1" "$2" 1000000 1
    [ -z "$no_cache" ] || warm "$1" "$2"
    memory "$1" "$2" "$3"
}

one C large_c 0
one C++ large_cpp 0
one library large_library 0
order library large_library
one Rust large_rust 0
many_modules
if [ -n "${VMLINUX:-}" ]; then
    one kernel "$VMLINUX" 143 # MiB: 150 MB
    jobs 'kernel' fxtsym $no_cache -ife "$VMLINUX"
fi
exit "$missed"
