#!/bin/sh
# perf.data files of Android's simpleperf: functions of files that only the device has get their names from the recording itself, in all
# forms in which it has them, from the file, from a trace that was made of it, and from a store.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

cat >expected <<'END'
app;[libnone.so] 1000000
app;app::loop(int);leaf 1000000
app;app::loop(int);leaf;do_work 1000000
app;leaf 1000000
END
check() { # check FORM FOLDED
    LC_ALL=C sort "$2" >sorted
    cmp -s expected sorted || fail "$1: $(diff expected sorted)"
}

for form in file file2 init; do
    python3 "$ROOT/tests/tools/perf_simpleperf.py" $form >$form.data
    fxt2pprof --format folded -o folded $form.data 2>err || fail "$form: $(cat err)"
    check $form folded
    # Where the file's code is, is known from the recording, too.
    ! grep -q 'not found: their offsets' err || fail "$form: $(cat err)"
    ! grep -q 'not used' err || fail "$form: $(cat err)"
    # A named frame is still of its file.
    fxt2pprof -q -o $form.pb $form.data 2>err || fail "$form: $(cat err)"
    fxtcat convert $form.data -o $form.fxt 2>err || fail "$form: fxtcat convert: $(cat err)"
    fxtdump --verify $form.fxt 2>err || fail "$form.fxt: $(cat err)"
    fxt2pprof -q --format folded -o folded $form.fxt 2>err || fail "$form.fxt: $(cat err)"
    check $form.fxt folded
    fxtq import -q $form.data -o $form.fxtq 2>err || fail "$form: $(cat err)"
    fxtq export folded $form.fxtq -o folded 2>err || fail "$form.fxtq: $(cat err)"
    check $form.fxtq folded
done

# What can be read before the damage is used.
python3 "$ROOT/tests/tools/perf_simpleperf.py" cut >cut.data
status=0
fxt2pprof --format folded -o folded cut.data 2>err || status=$?
[ $status -eq 3 ] || fail "cut: status $status, $(cat err)"
grep -q 'cut.data: damaged: 1 section that cannot be read, first at byte [0-9]*$' err || fail "cut: $(cat err)"
check cut folded
