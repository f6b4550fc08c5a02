# What tests of instruction traces share, in the folder of the test.  They take it in instead of common.sh.
# shellcheck shell=sh
# shellcheck source=tests/cli/common.sh
. "$ROOT/tests/cli/common.sh"
CC=${CC:-cc}
PROGRAMS=$ROOT/testdata/insn

if ! sampler-capture insn --help >/dev/null 2>&1; then
    echo "SKIP: built without libipt"
    exit 0
fi

compile() { # compile NAME...: programs of testdata/insn, whose addresses are fixed
    for program in "$@"; do
        "$CC" -O2 -static -no-pie -pthread -o "$program" "$PROGRAMS/$program.c" 2>link.log || {
            cat link.log
            fail "$program does not compile"
        }
    done
    stop_if_wrong
}

number() { # number NAME: of the last insn_check
    sed -n "s/^$1=//p" out
}
