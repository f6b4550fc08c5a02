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

cpus() { # cpus FILE: the argument "cpu" of its packets, each value once
    fxtdump --json "$1" | python3 -c '
import json, sys
found = set()
for line in sys.stdin:
    record = json.loads(line)
    if record.get("name") == "pt":
        found.add({arg["name"]: arg["value"] for arg in record["args"]}.get("cpu", "none"))
print(*sorted(found, key=str))'
}
