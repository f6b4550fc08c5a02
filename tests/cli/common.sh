# What tests of programs share.  They take it in by
#
#   . "$ROOT/tests/cli/common.sh"
#
# go on when something is wrong, so that all of it is said at once, and end with "finish".
# shellcheck shell=sh
failed=0

fail() { # fail TEXT...: what is wrong
    echo "FAIL: $*"
    failed=1
}

run() { # run STATUS COMMAND...: standard output to ./out, standard error to ./err
    expected=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ $status -eq "$expected" ] || {
        fail "$*: status $status, not $expected"
        cat out err
    }
}

prints() { # prints TEXT: on standard output
    grep -qF -e "$1" out || {
        fail "not on standard output: $1"
        cat out
    }
}

says() { # says TEXT: on standard error
    grep -qF -e "$1" err || {
        fail "not on standard error: $1"
        cat err
    }
}

stop_if_wrong() { # before what may end the test as skipped: what was shown so far counts
    [ $failed -eq 0 ] || finish
}

finish() { # the last line of a test
    exit $failed
}
