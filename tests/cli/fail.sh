# Taken in by tests that end with the first thing that is wrong, by
#
#   . "$ROOT/tests/cli/fail.sh"
#
# Others go on, with common.sh.
# shellcheck shell=sh
fail() { # fail TEXT...: what is wrong
    echo "FAIL: $*" >&2
    exit 1
}
