#!/bin/sh
# Unwind tables as readelf reads them: of the distribution's objects and our own, of three machines, of .debug_frame, compressed and
# separate, without section headers.
set -eu

cd "$WORK"
# shellcheck source=tests/cli/fail.sh
. "$ROOT/tests/cli/fail.sh"

readelf_agrees() { # readelf_agrees OBJECT...
    PYTHONDONTWRITEBYTECODE=1 python3 "$ROOT/tests/tools/unwind_readelf.py" unwind_rows readelf "$@" >out || fail "$(cat out)"
    tail -1 out
}
report_has() { # report_has OBJECT TEXT
    unwind_rows "$1" </dev/null >out || fail "$1 cannot be read"
    grep -qF -- "$2" out || fail "$1: no '$2' in: $(cat out)"
}

# ---- What is installed ----

set --
for object in /lib/x86_64-linux-gnu/libc.so.6 /lib/x86_64-linux-gnu/libcrypto.so.3 /lib/x86_64-linux-gnu/libstdc++.so.6 \
    /usr/bin/perl "$(command -v sampler-capture)"; do
    [ ! -e "$object" ] || set -- "$@" "$object"
done
readelf_agrees "$@"

# ---- Three machines ----

cat >frames.c <<'CODE'
extern int leaf(int), other(int, int *);
int plain(int a) { return leaf(a) + 1; }
int frame(int a)
{
    int room[100];
    return other(a, room) + room[a];
}
int variable(int a)
{
    int room[a];
    return other(a, room) + room[0];
}
int branches(int a)
{
    if (a > 3)
        return leaf(a) * leaf(a + 1);
    return a ? frame(a) : 0;
}
int large(int a)
{
    int room[100000];
    return other(a, room) + room[a];
}
int tail(int a) { return leaf(a + 2); }
CODE
for target in x86_64 aarch64 riscv64; do
    clang --target=$target-linux-gnu -O2 -fPIC -fasynchronous-unwind-tables -shared -nostdlib -fuse-ld=lld frames.c -o "$target.so"
    # The same as .debug_frame; packed; and in a debug file of its own.
    clang --target=$target-linux-gnu -O2 -g -fPIC -fno-asynchronous-unwind-tables -shared -nostdlib -fuse-ld=lld frames.c -o "$target-debug.so"
    clang --target=$target-linux-gnu -O2 -g -fPIC -fno-asynchronous-unwind-tables -shared -nostdlib -fuse-ld=lld \
        -Wl,--compress-debug-sections=zlib frames.c -o "$target-packed.so"
    readelf_agrees "$target.so" "$target-debug.so" "$target-packed.so"
    report_has "$target.so" "source 1"
    report_has "$target-debug.so" "source 2"
    readelf -SW "$target-packed.so" | grep -q ' \.debug_frame .* C ' || fail "$target-packed.so is not compressed"
done
clang --target=aarch64-linux-gnu -O2 -fPIC -mbranch-protection=standard -fasynchronous-unwind-tables -shared -nostdlib -fuse-ld=lld \
    frames.c -o signed.so
readelf_agrees signed.so

# ---- What there is no table of, and no section header ----

strip -o stripped.so x86_64-debug.so
report_has stripped.so "it has no unwind tables"
cp x86_64.so headless.so
# e_shoff, e_shnum and e_shstrndx
printf '\000\000\000\000\000\000\000\000' | dd of=headless.so bs=1 seek=40 conv=notrunc 2>/dev/null
printf '\000\000\000\000' | dd of=headless.so bs=1 seek=60 conv=notrunc 2>/dev/null
readelf -wFN x86_64.so | grep -oE '^[0-9a-f]{16} ' >addresses || true
[ -s addresses ] || fail "no addresses"
unwind_rows x86_64.so <addresses | sed '$d' >whole
unwind_rows headless.so <addresses | sed '$d' >without
cmp whole without || fail "without section headers rows differ"

# ---- Frame pointers ----

gcc -O2 -fno-omit-frame-pointer -shared -fPIC frames.c -o with.so
gcc -O2 -fomit-frame-pointer -shared -fPIC frames.c -o without.so
report_has with.so "frame pointers 2"
report_has without.so "frame pointers 1"

# ---- SFrame ----

# docs/unwinding.md says that the assembler here writes version 1 alone, and that these sections are not read. An object that has
# one is unwound by the other table.
if [ "$(uname -m)" = x86_64 ] && as --help | grep -q -- --gsframe; then
    gcc -O2 -shared -fPIC -Wa,--gsframe frames.c -o sframe.so
    objcopy --dump-section .sframe=sframe.bin sframe.so
    # shellcheck disable=SC2046 # three numbers
    set -- $(od -An -tu1 -N3 sframe.bin)
    [ "$1,$2" = 226,222 ] || fail "the section .sframe begins with $1 $2, not with 0xdee2"
    [ "$3" -eq 1 ] || fail "the assembler writes SFrame version $3, which libunwind can now be taught: change docs/unwinding.md"
    report_has sframe.so "source 1"
    readelf_agrees sframe.so
fi
