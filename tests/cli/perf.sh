# Taken in by tests that capture CPU samples, by
#
#   . "$ROOT/tests/cli/perf.sh"
#
# It ends the test, skipped, where the kernel does not permit that.
# shellcheck shell=sh
if ! sampler-capture cpu -o probe.fxt -- true 2>probe.err; then
    grep -q perf_event probe.err || {
        echo "FAIL: $(cat probe.err)"
        exit 1
    }
    [ ! -e probe.fxt ] || {
        echo 'FAIL: a capture that could not start left a file'
        exit 1
    }
    echo 'SKIP: perf_event_open is not permitted here'
    exit 0
fi
