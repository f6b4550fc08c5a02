#!/bin/sh
# Rust: the frames of llvm-symbolizer, and readable names, as the compiler mangles by itself and by the v0 scheme.
set -eu

PATH=$PATH:${HOME:-/nonexistent}/.cargo/bin
if ! rustc --version >/dev/null 2>&1; then
    echo 'SKIP: rustc is not here'
    exit 0
fi
cd "$WORK"
failed=0

for flags in -O '-O -C symbol-mangling-version=v0'; do
    # shellcheck disable=SC2086 # several options
    rustc $flags -g -o program "$ROOT/testdata/symbolize/main.rs"
    # The start of every function, and two places inside or behind it.
    nm program >symbols
    awk 'NF == 3 && $2 ~ /[tT]/ { print $1 }' symbols | sort -u | while read -r start; do
        printf '%x\n%x\n%x\n' $((0x$start)) $((0x$start + 5)) $((0x$start + 8))
    done | sort -u >addresses
    symbolize_cli -l program <addresses >ours
    sed 's/^/0x/' addresses | llvm-symbolizer --no-demangle -e program >theirs
    awk -f "$ROOT/tests/tools/symbolize_compare.awk" -v addresses=addresses -v symbols=symbols -v name="rust $flags" -v other=llvm ours theirs ||
        failed=1

    awk 'NF == 3 && $3 ~ /main/ && $2 ~ /[tT]/ { print $1 }' symbols | symbolize_cli -n program | awk 'NR % 3 == 1' | sort -u >functions
    for name in 'main::main' '<main::shapes::Square as main::shapes::Area>::area'; do
        grep -qxF "$name" functions || {
            echo "$flags: no function is named $name:"
            cat functions
            failed=1
        }
    done
done
exit $failed
