#!/bin/sh
# Split units, in .dwo files and in packages, that the decoder refuses.  If libdwarf reads such a unit, the answers are those of the sound
# file, and --explain names the file.  If libdwarf cannot read it either, the names are those of symbols, and a message states that the unit is
# damaged.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
. "$ROOT/tests/cli/inlined.sh"
fxtsym --verify full >verified 2>&1 || true
grep -q 'with libdwarf 20210528' verified || { echo "SKIP: no libdwarf 20210528" && finish; }

damage() { # damage FILE BYTES OFFSET: the byte at OFFSET after the first BYTES (in hexadecimal) of .debug_abbrev.dwo becomes 0
    python3 - "$@" <<'SCRIPT'
import subprocess
import sys

path, pattern, offset = sys.argv[1], bytes.fromhex(sys.argv[2]), int(sys.argv[3])
headers = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
fields = next(line for line in headers.splitlines() if " .debug_abbrev.dwo " in line).split("PROGBITS")[1].split()
start, size = int(fields[1], 16), int(fields[2], 16)
with open(path, "r+b") as file:
    data = file.read()
    at = data.index(pattern, start, start + size) + offset
    assert data[at] != 0
    file.seek(at)
    file.write(b"\0")
SCRIPT
}

check() { # check FILE WHAT: FILE is what the split units are in
    cp "$1" sound.saved
    run 0 fxtsym --no-cache -f -i -e split "$outer"
    mv out sound
    grep -qx inner sound || fail "$2: no inlined call: $(cat sound)"

    # DW_AT_external with DW_FORM_flag_present: the form becomes 0, which takes as many bytes, none.
    damage "$1" 3f19 1
    run 0 fxtsym --no-cache -f -i -e split "$outer"
    cmp -s out sound || fail "$2: not the answer of the sound file: $(cat out)"
    run 0 fxtsym --no-cache --explain split
    prints "  fallback    1 unit read by libdwarf, because ours could not: damaged unit at 0x0 of .debug_info.dwo in $1"
    cp sound.saved "$1"

    # The first form of the unit's own entry, DW_TAG_compile_unit with children and DW_AT_producer.
    damage "$1" 110125 3
    run 0 fxtsym --no-cache -f -i -e split "$outer"
    says "functions of 1 unit are only known by symbols: "
    says "$1: its unit is damaged"
    [ "$(sed -n 1p out)" = outer ] || fail "$2: not the symbol: $(cat out)"
    ! grep -qx inner out || fail "$2: an inlined call of a unit that was not read: $(cat out)"
    run 0 fxtsym --no-cache --explain split
    prints "$1: its unit is damaged"
    ! grep -q '^  fallback' out || fail "$2: the unit was not read: $(cat out)"
    cp sound.saved "$1"
}

for version in 4 5; do
    rm -f ./*.dwo ./*.dwp
    gcc -O1 -gdwarf-$version -gsplit-dwarf -c -o program.o program.c
    gcc -Wl,--build-id=sha1 -o split program.o
    outer=$(nm split | awk '$3 == "outer" { print $1 }')
    check program.dwo "DWARF $version, .dwo"
    # Binutils' dwp 2.40 knows DWARF 4 alone; llvm-dwp 14 does not end on some of GCC's DWARF 5.
    case $version in
    4) dwp -o split.dwp program.dwo ;;
    *)
        clang -O1 -gdwarf-5 -gsplit-dwarf -c -o program.o program.c
        clang -Wl,--build-id=sha1 -o split program.o
        outer=$(nm split | awk '$3 == "outer" { print $1 }')
        llvm-dwp -o split.dwp program.dwo
        ;;
    esac
    rm program.dwo
    check split.dwp "DWARF $version, .dwp"
done
finish
