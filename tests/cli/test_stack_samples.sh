#!/bin/sh
# Raw stacks of Fuchsia's CPU profiler (large blobs cpu_profiler/stack_sample) of three machines (testdata/unwind/make): every
# program finds the same callers, after the modules that come last.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

data=$ROOT/testdata/unwind
machines='x86-64 arm64 riscv64'

# The stack that is deeper than its copy ends with the frames of deep() that the copy has, which depends on the machine.
same() { # same FILE WHAT
    sed 's/^\(deep;\)*deep;/deep;/' "$1" >"$1.short"
    cmp -s "$data/stacks.txt" "$1.short" || fail "$2: $(diff "$data/stacks.txt" "$1.short")"
}
folded() { # folded OUTPUT INPUT OPTION...
    output=$1 input=$2
    shift 2
    fxt2pprof --format folded --root none -o "$output" "$@" "$input" 2>err || fail "$input: $(cat err)"
}

# An ELF file of any machine whose sections of unwind tables have other names, and which no segment names.
cat >bare.py <<'PY'
import re, sys
data = open(sys.argv[1], "rb").read()
data, renamed = re.subn(rb"\0\.(eh|debug)_frame(?=\0|_hdr\0)", rb"\0-\1_frame", data)
assert renamed > 0
open(sys.argv[2], "wb").write(data)
PY

for machine in $machines; do
    mkdir -p "symbols-$machine"
    cp "$data/$machine.elf" "symbols-$machine/record"
    folded found "$data/$machine.fxt" --symbols "symbols-$machine"
    same found "$machine"
    [ "$(grep -c 'note: 1 raw stack that goes on beyond the copied memory' err)" = 1 ] || fail "$machine: $(cat err)"
    [ "$(grep -c 'note:' err)" = 1 ] || fail "$machine: $(cat err)"

    # A thread that works for guest code in restricted mode: the guest's frames are the callers.
    folded found "$data/$machine-guest.fxt" --symbols "symbols-$machine"
    echo '_start;begin;run;recursive;recursive;recursive;recursive;recursive;leaf;record;_start;begin;run;leaf;record 1' >wanted
    cmp -s wanted found || fail "$machine, guest: $(cat found)"

    # Nor does a module cut any.
    if grep -q 'cut in' err; then fail "$machine: $(cat err)"; fi

    # Without the object, each stack is its first frame, or what frame pointers lead to; the cause is counted.
    folded found "$data/$machine.fxt"
    [ "$(awk '{ n += $NF } END { print n }' found)" = 7 ] || fail "$machine without its object: $(cat found)"
    grep -q 'raw stacks that end in code without unwind table: --symbols PATH adds objects' err || fail "$machine: $(cat err)"

    # The module that cuts stacks is named, and why, by each program that unwinds.
    mkdir -p "bare-$machine"
    python3 bare.py "$data/$machine.elf" "bare-$machine/record" || fail "$machine: no object without tables"
    for where in nowhere bare; do
        # On x86-64 the instructions lead to the same callers.
        if [ "$machine-$where" = x86-64-bare ]; then
            folded found "$data/$machine.fxt" --symbols "bare-$machine"
            same found "$machine, without tables"
            if grep -q 'cut in' err; then fail "$machine, without tables: $(cat err)"; fi
            fxtq import --symbols "bare-$machine" "$data/$machine.fxt" -o bare.fxtq 2>err || fail "$machine: $(cat err)"
            if grep -q 'cut in' err; then fail "$machine, without tables, fxtq: $(cat err)"; fi
            rm bare.fxtq
            continue
        fi
        case $where in
        nowhere) why='its file was not found, or cannot be read: --symbols PATH adds files' options='' ;;
        bare) why='it has no unwind tables' options="--symbols bare-$machine" ;;
        esac
        wanted="cut in record: [1-9] stacks; $why"
        # shellcheck disable=SC2086 # options are words
        folded found "$data/$machine.fxt" $options
        grep -q "$machine.fxt: $wanted\$" err || fail "$machine, $where: $(cat err)"
        # shellcheck disable=SC2086
        fxtq import $options "$data/$machine.fxt" -o cut.fxtq 2>err || fail "$machine: $(cat err)"
        grep -q "^[^/]*  $wanted\$" err || fail "$machine, $where, fxtq: $(cat err)"
        rm cut.fxtq
    done
    fxt2pprof -q --format folded -o found "$data/$machine.fxt" 2>err || fail "$machine: $(cat err)"
    if grep -q 'cut in' err; then fail "$machine, quiet: $(cat err)"; fi

    # The other programs.
    fxtq import --symbols "symbols-$machine" "$data/$machine.fxt" -o run.fxtq 2>err || fail "$machine: $(cat err)"
    fxtq symbolize --symbols "symbols-$machine" run.fxtq 2>err || fail "$machine: $(cat err)"
    fxtq export folded --root none run.fxtq -o found 2>err || fail "$machine: $(cat err)"
    same found "$machine, in a store"
    rm run.fxtq
    fxtdiff --symbols "symbols-$machine" --json "$data/$machine.fxt" -- "$data/$machine.fxt" >found 2>err || [ $? = 5 ] || fail "$machine: $(cat err)"
    grep -q '"recursive"' found || fail "$machine: fxtdiff: $(cat found)"

    # Cut, merged and compressed, the copies are still there.
    fxtcat cut --pid 77 "$data/$machine.fxt" -o cut.fxt 2>err || fail "$machine: $(cat err)"
    fxtcat merge cut.fxt -o merged.fxt 2>err || fail "$machine: $(cat err)"
    fxtcat compress merged.fxt -o merged.fxt.zst 2>err || fail "$machine: $(cat err)"
    folded found merged.fxt.zst --symbols "symbols-$machine"
    same found "$machine, cut and merged"
    rm -f cut.fxt merged.fxt merged.fxt.zst
done

# ---- Memory follows what is different: 10,010 copies, 36 MB, of seven stacks ----

cat >repeat.py <<'PY'
import struct, sys
data, times = open(sys.argv[1], "rb").read(), int(sys.argv[2])
before, copies, after, at = [], [], [], 0
while at < len(data):
    header, = struct.unpack_from("<Q", data, at)
    is_large = header & 15 == 15
    size = 8 * (header >> 4 & (0xffffffff if is_large else 0xfff))
    (copies if is_large else after if copies else before).append(data[at:at + size])
    at += size
assert len(copies) == 7
sys.stdout.buffer.write(b"".join(before) + b"".join(copies) * times + b"".join(after))
PY
cat >peak.py <<'PY'
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
sys.exit("status %d, %d KiB: %s" % (status, peak, sys.argv[2:]) if status not in (0, 5) or peak > int(sys.argv[1]) else 0)
PY
python3 repeat.py "$data/x86-64.fxt" 1430 >many.fxt
[ "$(stat -c %s many.fxt)" -gt 35000000 ] || fail "the trace is too small to tell"
folded found many.fxt --symbols symbols-x86-64
sed -i 's/ 1430$/ 1/' found
same found "10,010 copies"
# Sanitizers keep shadows of all memory.
if ! nm "$(command -v fxt2pprof)" | grep -q __asan_init; then
    for command in 'fxt2pprof -q -f folded -o found' 'fxtq import -q -o many.fxtq' 'fxtdiff many.fxt'; do
        # shellcheck disable=SC2086 # words
        python3 peak.py 24576 $command --symbols symbols-x86-64 -- many.fxt 2>err || fail "more than 24 MiB for 36 MB of copies: $(cat err)"
    done
fi
