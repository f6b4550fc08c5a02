#!/bin/sh
# libfxttrace under ThreadSanitizer, which takes the path without membarrier(2): in every mode, with buffers that wrap; and with a fault that it finds.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export FXT_TRACE_SOCKET="$WORK/socket"
build() { # build PROGRAM SOURCE-TREE: of the library; other headers are ours
    # The sanitizer warns that it does not see fences; none is needed where the announcement is an exchange.
    gcc -std=c17 -D_GNU_SOURCE -DFIDL_API= -fsanitize=thread -O1 -g -w -I"$2" -I"$ROOT/include" -I"$ROOT" "$2"/libtrace/*.c \
        "$ROOT/libfxt/fidl/fidl_provider.c" "$ROOT/testdata/trace/work.c" -lpthread -o "$1" || exit 1
}
build work "$ROOT"

# Its runtime does not find its way with all the randomness that kernels give addresses.
run 0 env FXT_TRACE_FILE=work.fxtb FXT_TRACE_BUFFER_SIZE=64k setarch -R ./work log 4 2000
[ -s err ] && fail "a recorder: $(cat err)"
run 0 "$O/tests/tools/trace_check" latest log work.fxtb
for mode in oneshot circular streaming; do
    run 0 sampler-capture trace -q -m $mode -b 64k -o out.fxt -- setarch -R ./work log 4 2000
    grep -q ThreadSanitizer err && fail "$mode: $(cat err)"
    run 0 fxtdump --verify out.fxt
done

# A writer that leaves without saying so to who comes after it: the words of its last record are written to again, in whatever order threads run.
mkdir fault
cp -r "$ROOT/libtrace" fault
sed 's/    shared_store(&writer->next, next);/    __atomic_store_n(\&writer->next, next, __ATOMIC_RELAXED);/
/RELAXED);$/{n
s/    shared_store(&writer->busy, 0);/    __atomic_store_n(\&writer->busy, 0, __ATOMIC_RELAXED);/
}' "$ROOT/libtrace/buffer.h" >fault/libtrace/buffer.h
[ "$(diff "$ROOT/libtrace/buffer.h" fault/libtrace/buffer.h | grep -c '^>')" -eq 2 ] || fail "the fault cannot be planted"
build faulty fault
for program in work faulty; do
    env FXT_TRACE_FILE=turn.fxtb FXT_TRACE_BUFFER_SIZE=64k setarch -R ./$program log 3 2500 in-turn >out 2>err
    found=$(grep -c 'WARNING: ThreadSanitizer: data race' err)
    case $program in
    work) [ "$found" -eq 0 ] || fail "a race: $(cat err)" ;;
    *) [ "$found" -gt 0 ] || fail "the planted race is not found: $(cat err)" ;;
    esac
done
finish
