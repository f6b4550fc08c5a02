#!/bin/sh
# libinsn decodes what libipt's own tests expect.  They are not part of this project: FXT_LIBIPT_SOURCE is a folder with the
# source of libipt 2.0.5, whose test compiler needs cmake and yasm.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"
if [ ! -d "${FXT_LIBIPT_SOURCE:-}/test/src" ]; then
    echo "SKIP: the source of libipt is not here (FXT_LIBIPT_SOURCE)"
    exit 0
fi
mkdir pttc
(cd pttc && cmake -DPTTC=ON "$FXT_LIBIPT_SOURCE" && make -j2 pttc) >pttc.log 2>&1 || {
    cat pttc.log
    fail "libipt's test compiler cannot be built"
}
stop_if_wrong
mkdir tests
(cd tests && python3 "$ROOT/tests/tools/insn_listing.py" "$WORK/pttc/bin/pttc" "$FXT_LIBIPT_SOURCE/test/src" \
    "$ROOT/tests/differences") >out || {
    cat out
    fail "libinsn and libipt's tests differ in more than tests/differences says"
}
# 133 tests list instructions; some of them once for each of several processors.
[ "$(sed -n 's/^equal=\([0-9]*\) .*/\1/p' out)" -ge 280 ] || fail "some were not compared: $(tail -1 out)"
