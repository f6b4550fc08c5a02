#!/bin/sh
# libfxttrace under ThreadSanitizer, which takes the path without membarrier(2): in every mode, with buffers that wrap.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
unset FXT_TRACE_FILE
export FXT_TRACE_SOCKET="$WORK/socket"
# The sanitizer warns that it does not see fences; none is needed where the announcement is an exchange.
gcc -std=c17 -D_GNU_SOURCE -DFIDL_API= -fsanitize=thread -O1 -g -w -I"$ROOT/include" -I"$ROOT" "$ROOT"/libtrace/*.c \
    "$ROOT/libfxt/fidl/fidl_provider.c" "$ROOT/testdata/trace/work.c" -lpthread -o work || exit 1

# Its runtime does not find its way with all the randomness that kernels give addresses.
run 0 env FXT_TRACE_FILE=work.fxtb FXT_TRACE_BUFFER_SIZE=64k setarch -R ./work log 4 2000
[ -s err ] && fail "a recorder: $(cat err)"
run 0 "$O/tests/tools/trace_check" latest log work.fxtb
for mode in oneshot circular streaming; do
    run 0 sampler-capture trace -q -m $mode -b 64k -o out.fxt -- setarch -R ./work log 4 2000
    grep -q ThreadSanitizer err && fail "$mode: $(cat err)"
    run 0 fxtdump --verify out.fxt
done
finish
