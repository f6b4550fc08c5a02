#!/bin/sh
# Unwinding: opening the tables of an object, making all its rows through libdwarf, and walking a stack of 20 frames, beside the
# compiler's unwinder in the same process.
set -eu
. bench/lib.sh
missed=0
cd "$WORK"

# object NAME FILE BOUND_MS
object() {
    unwind "$2" >figure
    size=$(stat -L -c %s "$2")
    rows=$(field figure rows)
    line "$1 ($((size / 1000000)) MB), opening" "$(field figure open_ms) ms" - - - 1
    line "$1, all $rows rows" "$(field figure make_ms) ms" - - "<= $3 ms" "$(field figure make_ms) <= $3"
    line "$1, memory searched" "$(calc "$(field figure searched_bytes) / 1e6") MB" - - - 1
    line "$1, memory of all rows" "$(calc "$(field figure made_bytes) / 1e6") MB" - - - 1
}
libc=$(ldd "$O/bin/fxtdump" | awk '$1 == "libc.so.6" { print $3 }')
object libc "$libc" 10
large=$(find /usr/lib -name 'libLLVM-*.so*' -type f -size +50M 2>/dev/null | head -n 1)
[ -z "$large" ] || object "${large##*/}" "$large" 1000

unwind --stack stack >figure
[ "$(field figure whole)" = 1 ] || {
    echo "the stack is not whole: $(cat figure)"
    exit 1
}
ours=$(field figure walk_ns)
peer=$(field figure peer_ns)
line "a stack of $(field figure walk_frames) frames, warm" "$ours ns" "$peer ns libgcc" "$(calc "$ours / $peer")" "<= 1000 ns" "$ours <= 1000"

# Of elfutils; and framehop, which samply unwinds with: PEERS='framehop=PROGRAM', made of bench/peers/framehop.
for peer in unwind_libdw ${PEERS:-}; do
    case $peer in
    framehop=*) name=framehop ;;
    unwind_libdw) name=libdw ;;
    *) continue ;;
    esac
    command -v "${peer#*=}" >/dev/null || continue
    "${peer#*=}" stack >figure
    time=$(field figure walk_ns)
    line "the same stack" "$ours ns" "$time ns $name, $(field figure walk_frames) frames" "$(calc "$ours / $time")" - 1
done
exit "$missed"
