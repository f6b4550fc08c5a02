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
says() { # says TEXT: the message in err
    grep -qF -- "$1" err || fail "no '$1' in: $(cat err)"
}
