# Taken in, after fail.sh or common.sh, by tests that wait for other processes: for what they did, never for a time, by
#
#   . "$ROOT/tests/cli/wait.sh"
#
# shellcheck shell=sh
wait_for() { # wait_for COMMAND...: until it succeeds; what does not come about in ten minutes never will
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || {
            fail "waited in vain for: $*"
            exit 1
        }
        sleep 0.1
    done
}
has_ended() { # has_ended PID: it is no more, or its parent has not asked for its status
    [ ! -e "/proc/$1" ] || grep -q '^State:[[:space:]]*Z' "/proc/$1/status"
}
ends() { # ends PID: the status of a child of this shell; one that does not end in ten minutes is ended
    tries=0
    until has_ended "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] || {
            kill -9 "$1"
            fail "process $1 does not end"
            exit 1
        }
        sleep 0.1
    done
    wait "$1"
}
runs() { # runs PID FILE: that process is this program by now
    [ "$(readlink "/proc/$1/exe")" = "$(realpath "$2")" ]
}
cpu_ms() { # cpu_ms PID: the CPU time it has used
    sed 's/.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" '{ printf "%d", ($12 + $13) * 1000 / hz }'
}
has_used() { [ "$(cpu_ms "$1")" -ge "$2" ]; } # has_used PID MS
works() { # works PID MS: that much more CPU time is used
    wait_for has_used "$1" $(($(cpu_ms "$1") + $2))
}
sleeps() { # sleeps PID: how often it has waited by now
    sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$1/status"
}
has_slept() { [ "$(sleeps "$1")" -ge "$2" ]; } # has_slept PID NUMBER
looks_again() { # looks_again PID: it woke up and waits again, twice, after now: what polls has seen what is there now
    wait_for has_slept "$1" $(($(sleeps "$1") + 2))
}
has_samples() { # has_samples TRACE: there are ten or more in the file
    capture_check "$1" | grep '^samples=[1-9][0-9]'
}
has_perf_events() { # has_perf_events PID: sampler-capture is sampling
    find "/proc/$1/fd" -lname '*perf_event*' | grep .
}
has_read() { # has_read PID FILE: to the end that the file has now
    for fd in "/proc/$1/fd"/*; do
        if [ "$(readlink "$fd")" = "$(realpath "$2")" ] &&
            grep -qx "pos:[[:space:]]*$(stat -c %s "$2")" "/proc/$1/fdinfo/${fd##*/}"; then
            return 0
        fi
    done
    return 1
}
