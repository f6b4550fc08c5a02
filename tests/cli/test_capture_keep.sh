#!/bin/sh
# --keep-modules: what is copied is enough for names when the files are gone, of CPU and heap captures; nothing is in the folder that is
# not whole.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"

. "$ROOT/tests/cli/perf.sh"

flags='-D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'
# shellcheck disable=SC2086 # a list of flags
{
    "${CC:-cc}" $flags -pthread -o names "$ROOT/testdata/capture/names.c" -ldl
    "${CC:-cc}" $flags -Wl,--build-id=none -pthread -o unnamed "$ROOT/testdata/capture/names.c" -ldl
    "${CC:-cc}" $flags -o child "$ROOT/testdata/capture/child.c"
}
kept_of() { # kept_of FOLDER FILE: where the copy of the file is
    id=$(readelf -n "$2" | sed -n 's/.*Build ID: //p')
    rest=${id#??}
    echo "$1/.build-id/${id%"$rest"}/$rest.debug"
}
named() { # named TRACE FUNCTION OPTION...: a good part of the trace's values have it on their stacks
    trace=$1 function=$2
    shift 2
    fxt2pprof "$trace" "$@" --format folded -o folded 2>notices || fail "$trace: $(cat notices)"
    awk -v pattern=";$function(;| )" '{ all += $NF } $0 ~ pattern { some += $NF } END { exit !(all > 0 && some > all / 20) }' folded
}

# The program is deleted while it runs, and the conversion finds its functions in the copy alone.
cp names gone
# shellcheck disable=SC2016 # the inner shell's
removed='i=0; while [ "$(readlink /proc/$!/exe)" != "$PWD/gone" ] && [ $((i += 1)) -lt 10000 ]; do :; done; rm gone; wait'
sampler-capture cpu --keep-modules kept -F 5000 -o gone.fxt -- sh -c "./gone tasks & $removed" >out 2>err || fail "gone: $(cat err)"
cmp -s names "$(kept_of kept names)" || fail "no copy of the program: $(find kept)"
grep -q '^kept: [0-9,]* modules copied, [0-9.]* MiB; 0 were there$' err || fail "gone: $(cat err)"
says "next: fxt2pprof gone.fxt --symbols kept -o"
if named gone.fxt 'on_thread_[0-3]'; then fail "names out of nowhere: $(cat folded)"; fi
mkdir elsewhere
mv kept elsewhere/
named gone.fxt '(run_thread|in_child)' --symbols elsewhere/kept || fail "gone: $(cat folded notices)"
[ -z "$(find elsewhere -name '*.part')" ] || fail "parts: $(find elsewhere -name '*.part')"

# What is there is not copied again, nor changed.
copy=$(kept_of elsewhere/kept names)
echo other >"$copy"
sampler-capture cpu --keep-modules elsewhere/kept -F 5000 -o again.fxt -- ./names tasks >out 2>err || fail "again: $(cat err)"
grep -q '^elsewhere/kept: 0 modules copied, 0.0 MiB; [1-9][0-9]* were there$' err || fail "again: $(cat err)"
[ "$(cat "$copy")" = other ] || fail "again: replaced"

# A file without a build ID cannot be found again, which is said, quietly too.
sampler-capture cpu -q --keep-modules unnamed.kept -F 5000 -o unnamed.fxt -- ./unnamed tasks >out 2>err || fail "unnamed: $(cat err)"
says "unnamed.kept: 1 module was not copied, because of a missing build ID"
[ "$(wc -l <err)" = 1 ] || fail "unnamed: $(cat err)"

# A heap capture's modules.
cp child gone
status=0
# shellcheck disable=SC2016 # the inner shell's
sampler-capture heap --keep-modules heap.kept --interval 1000 -o heap.fxt -- sh -c './gone; status=$?; rm gone; exit $status' >out 2>err || status=$?
[ $status -eq 7 ] || fail "heap: status $status: $(cat err)"
cmp -s child "$(kept_of heap.kept child)" || fail "heap: no copy: $(find heap.kept)"
named heap.fxt main --symbols heap.kept --sample-type alloc_space || fail "heap: $(cat folded notices)"

# A folder that cannot be: nothing runs.  One that is full: the trace is whole, and the status says that not all is.
: >file
status=0
sampler-capture cpu --keep-modules file/kept -o none.fxt -- touch ran 2>err || status=$?
[ $status -eq 125 ] || fail "no folder: status $status: $(cat err)"
says "file/kept: Not a directory"
[ ! -e ran ] || fail "no folder: it ran"
mkdir small
if mount -t tmpfs -o size=16k none small 2>/dev/null; then
    status=0
    sampler-capture cpu --keep-modules small -F 5000 -o full.fxt -- ./names tasks >out 2>err || status=$?
    left=$(find small -type f)
    umount small
    [ $status -eq 4 ] || fail "full: status $status: $(cat err)"
    says "modules were not copied: No space left on device"
    [ -z "$left" ] || fail "full: half a file: $left"
    fxtdump --verify full.fxt >damage || fail "full: $(cat damage)"
else
    echo "SKIP: no file system can be mounted here"
fi
