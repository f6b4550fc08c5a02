#!/bin/sh
# Objects of other machines and word sizes, packed sections, relocatable objects, MiniDebugInfo, stubs, objects without section
# headers, kernel modules, kallsyms: the answers of llvm-symbolizer, nm and objdump.
set -eu

data=$ROOT/testdata/symbolize
compare=$ROOT/tests/tools/symbolize_compare.awk
cd "$WORK"
failed=0

fail() {
    echo "FAIL: $1"
    failed=1
}

# Addresses of OBJECT's .text, every STEP-th, as hex digits; of the section itself where it has no address yet.
text_addresses() { # text_addresses OBJECT STEP
    llvm-readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk '$1 == ".text" { print $3, $5 }' | {
        read -r start size
        awk -v start=$((0x$start)) -v size=$((0x$size)) -v step="$2" \
            'BEGIN { for (at = start; at < start + size; at += step) printf "%x\n", at }'
    }
}

against_llvm() { # against_llvm OBJECT NAME
    text_addresses "$1" 2 >addresses
    llvm-nm "$1" >symbols 2>/dev/null
    symbolize_cli -l "$1" <addresses >ours
    sed 's/^/0x/' addresses | llvm-symbolizer --no-demangle -e "$1" >theirs
    awk -f "$compare" -v addresses=addresses -v symbols=symbols -v name="llvm $2" -v other=llvm ours theirs >figure || failed=1
    cat figure
    grep -q inlines.c ours || fail "$2: no lines"
}

# ---- Other machines: linked where the linker knows them, relocatable everywhere ----

machines=0
for target in i386 aarch64 aarch64_be arm powerpc powerpc64 powerpc64le riscv64 s390x mips mipsel mips64 mips64el bpfel bpfeb; do
    flags=
    case $target in
    mips*) flags='-fno-pic -mno-abicalls' ;;
    bpf*) flags='-mllvm -bpf-stack-size=100000' ;;
    powerpc64) flags='-mabi=elfv2' ;;
    riscv64) flags='-mno-relax' ;;
    esac
    # shellcheck disable=SC2086 # a list of flags
    clang --target=$target-linux-gnu $flags -O2 -g -gdwarf-5 -fPIC -fno-asynchronous-unwind-tables -c -o $target.o "$data/inlines.c" 2>build.log ||
        { echo "no $target here: $(head -n 1 build.log)"; continue; }
    machines=$((machines + 1))
    # llvm-symbolizer takes labels inside of functions and, for all sections begin at 0 there, data for functions.
    case $target in
    powerpc | riscv64) ;;
    *) against_llvm $target.o "$target relocatable" ;;
    esac
    if ld.lld --discard-locals -shared -o $target.so $target.o 2>build.log; then
        against_llvm $target.so "$target"
        llvm-objcopy --compress-debug-sections=zlib $target.so $target.packed
        symbolize_cli -l $target.packed <addresses >packed
        cmp ours packed || fail "$target: packed sections give other answers"
    fi
done
[ $machines -ge 6 ] || fail "clang knows $machines of the machines"

# 64-bit PowerPC's older ABI: symbols are those of descriptors in .opd, which hold where functions begin.
python3 - opd <<'END'
import struct
import sys

names = b"\0.text\0.opd\0.symtab\0.strtab\0"
strings = b"\0work\0rest\0"
text, opd = bytes(0x40), b"".join(struct.pack(">QQQ", start, 0, 0) for start in (0x1000, 0x1020))
symbols = bytes(24) + b"".join(struct.pack(">IBBHQQ", name, 0x12, 0, 2, value, 0x20) for name, value in ((1, 0x2000), (6, 0x2018)))
parts, places, at = [names, text, opd, symbols, strings], [], 64
for part in parts:
    places.append(at)
    at += -(-len(part) // 8) * 8


def section(name, kind, flags, vaddr, part, link, entry):
    return struct.pack(">IIQQQQIIQQ", name, kind, flags, vaddr, places[part], len(parts[part]), link, 1, 8, entry)


table = (bytes(64) + section(1, 1, 6, 0x1000, 1, 0, 0) + section(7, 1, 3, 0x2000, 2, 0, 0) + section(12, 2, 0, 0, 3, 4, 24)
         + section(20, 3, 0, 0, 4, 0, 0) + section(0, 3, 0, 0, 0, 0, 0))
with open(sys.argv[1], "wb") as file:
    file.write(b"\x7fELF\2\2\1" + bytes(9) + struct.pack(">HHIQQQIHHHHHH", 3, 21, 1, 0, 0, at, 1, 64, 56, 0, 64, 6, 5))
    for part in parts:
        file.write(part + bytes(-len(part) % 8))
    file.write(table)
END
for pair in 1000:work 101f:work 1020:rest 103f:rest 1040:'??' 2000:'??'; do
    got=$(fxtsym --no-cache -fe opd "${pair%%:*}" 2>/dev/null | head -n 1)
    [ "$got" = "${pair#*:}" ] || fail ".opd: $pair, not $got"
done
[ "$(fxtsym --no-cache -afe opd rest 2>/dev/null | head -n 1)" = 0x0000000000001020 ] || fail '.opd: the place of a symbol'

# ---- Packed sections, of the same object in other shapes ----

gcc -O2 -g -shared -fPIC -nostdlib -o plain "$data/inlines.c"
text_addresses plain 1 >addresses
symbolize_cli -l plain <addresses >want
grep -q 'inlines.c:15' want || fail "plain: no lines"
for packing in zlib zlib-gnu zlib-gabi zstd; do
    if ! objcopy --help | grep -q "compress-debug-sections.*$packing"; then
        echo "SKIP: objcopy cannot compress with $packing"
        continue
    fi
    objcopy --compress-debug-sections=$packing plain packed.$packing
    readelf -SW packed.$packing | grep -Eq 'zdebug_info| \.debug_info .* C ' || fail "$packing: nothing is packed"
    symbolize_cli -l packed.$packing <addresses >got
    cmp want got || fail "$packing: other answers"
done

# ---- Without section headers ----

llvm-strip --strip-sections -o headless plain
nm -D --defined-only plain | awk '$2 == "T" { print $1, $3 }' >exported
[ -s exported ] || fail "plain exports nothing"
awk '{ print $1 }' exported | symbolize_cli headless | awk 'NR % 3 == 1' | paste -d ' ' exported - |
    awk '$2 != $3 { print; bad = 1 } END { exit bad }' || fail "an object without section headers"
for style in sysv gnu; do
    gcc -O2 -g -shared -fPIC -nostdlib -Wl,--hash-style=$style -o plain.$style "$data/inlines.c"
    llvm-strip --strip-sections -o headless plain.$style
    nm -D --defined-only plain.$style | awk '$2 == "T" { print $1, $3 }' >exported
    awk '{ print $1 }' exported | symbolize_cli headless | awk 'NR % 3 == 1' | paste -d ' ' exported - |
        awk '$2 != $3 { print; bad = 1 } END { exit bad }' || fail "$style: an object without section headers"
done

# ---- MiniDebugInfo: symbols in .gnu_debugdata that .dynsym does not have ----

g++ -O2 -rdynamic -o full "$data/main.cc" "$data/shapes.cc"
nm full | awk 'NF == 3 && $2 ~ /[tT]/ { print $1 }' | sort -u >addresses
nm -D full --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic
nm full --format=posix --defined-only | awk '$2 == "T" || $2 == "t" { print $1 }' | sort >all
comm -13 dynamic all >keep
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep full mini 2>/dev/null
strip -o bare full
xz -k mini
objcopy --add-section .gnu_debugdata=mini.xz bare
symbolize_cli full <addresses | awk 'NR % 3 == 1' >want
symbolize_cli bare <addresses | awk 'NR % 3 == 1' >got
if symbolize_cli -r bare | grep -q '^quality 2'; then
    # Where two names share an address the tables differ in what they hold.
    paste -d '|' addresses want got | awk -F '|' '$2 != $3' >differ
    [ "$(wc -l <differ)" -le 2 ] || { cat differ; fail "MiniDebugInfo gives other names"; }
else
    fail "MiniDebugInfo: $(symbolize_cli -r bare)"
fi

# ---- Stubs of the procedure linkage table ----

cat >stubs.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    void (*volatile keep)(void *) = free; /* a slot that .plt.got serves */
    puts(argv[0]);
    keep(malloc(strlen(argv[0])));
    free(NULL);
    return getenv("x") != NULL || argc > 9;
}
EOF
stubs() { # stubs NAME COMMAND...: names of objdump (or llvm-objdump) for all stubs
    name=$1
    shift
    "$@" -o stubs stubs.c 2>build.log || { echo "no $name here: $(head -n 1 build.log)"; return 0; }
    $objdump -d stubs | awk '/^[0-9a-f]+ <.*@plt>:/ { print $1, $2 }' | tr -d '<>:' >want
    [ "$(wc -l <want)" -ge 2 ] || fail "$name: objdump names $(wc -l <want) stubs"
    awk '{ print $1 }' want | symbolize_cli stubs | awk 'NR % 3 == 1' | paste -d ' ' want - >got
    awk '$2 != $3 { print; bad = 1 } END { exit bad }' got || fail "$name: stubs"
    # The last byte of a stub of 16 bytes (8 in .plt.got) is still its own.
    awk '{ printf "%s %s\n", $1, $2 }' want | while read -r at name_at; do
        printf '%x %s\n' $((0x$at + 7)) "$name_at"
    done >inside
    awk '{ print $1 }' inside | symbolize_cli stubs | awk 'NR % 3 == 1' | paste -d ' ' inside - |
        awk '$2 != $3 { print; bad = 1 } END { exit bad }' || fail "$name: inside of stubs"
}
objdump=objdump
stubs 'gcc' gcc
stubs 'full RELRO' gcc -Wl,-z,now
stubs 'lazy' gcc -Wl,-z,lazy -fcf-protection=none
stubs 'CET' gcc -fcf-protection=full -Wl,-z,ibtplt
stubs 'no PIE' gcc -no-pie
stubs 'ld.lld' gcc -fuse-ld=lld
stubs 'ld.lld, full RELRO' gcc -fuse-ld=lld -Wl,-z,now
# A hostile name has megabytes, and its version behind them: of a stub's name 64 KiB are taken.
name=$(head -c 70000 /dev/zero | tr '\000' a)
printf 'void f(void) __asm__("%sX%s"); void g(void) { f(); }\n' "$name" "$name" >long.c
gcc -O1 -fPIC -shared -nostdlib -o long.so long.c
at=$(objdump -d long.so | awk '/^[0-9a-f]+ <a*Xa*@plt>:/ { print $1; exit }')
LC_ALL=C sed -i 's/aXa/a@a/' long.so
[ "$(echo "$at" | symbolize_cli long.so | head -n 1 | wc -c)" -eq $((65536 + 5)) ] || fail "a name of 70,000 bytes: $(echo "$at" | symbolize_cli long.so | cut -c 1-60)"

cat >stubs.c <<'EOF'
void first(void); void second(int); int third(void);
int entry(void) { first(); second(2); return third() + 1; }
EOF
objdump=llvm-objdump
echo 'void first(void) {} void second(int x) { (void)x; } int third(void) { return 3; }' >three.c
clang --target=i386-linux-gnu -fPIC -nostdlib -shared -fuse-ld=lld -o libthree.so three.c 2>/dev/null || :
stubs 'i386' clang --target=i386-linux-gnu -fno-pic -no-pie -nostdlib -fuse-ld=lld -Wl,-e,entry libthree.so
stubs 'i386, PIC' clang --target=i386-linux-gnu -fPIC -nostdlib -shared -fuse-ld=lld
stubs 'aarch64' clang --target=aarch64-linux-gnu -fPIC -nostdlib -shared -fuse-ld=lld
stubs 'aarch64, BTI' clang --target=aarch64-linux-gnu -mbranch-protection=standard -fPIC -nostdlib -shared -fuse-ld=lld -Wl,-z,force-bti

# Where slots lie before the stubs, the distance of their page is negative: llvm-objdump names none then.
cat >far.ld <<'EOF'
SECTIONS
{
    . = 0x10000; .dynsym : { *(.dynsym) } .dynstr : { *(.dynstr) } .hash : { *(.hash) } .gnu.hash : { *(.gnu.hash) }
    .rela.plt : { *(.rela.plt) } .dynamic : { *(.dynamic) } .got.plt : { *(.got.plt) } .got : { *(.got) }
    . = 0x20000; .plt : { *(.plt) } .text : { *(.text) }
}
EOF
clang --target=aarch64-linux-gnu -fPIC -nostdlib -shared -fuse-ld=lld -Wl,-T,far.ld -o far.so stubs.c
[ "$(printf '20020\n20030\n20040\n' | symbolize_cli far.so | grep @plt | tr '\n' ' ')" = 'first@plt second@plt third@plt ' ] ||
    fail "aarch64, slots before stubs: $(printf '20020\n20030\n20040\n' | symbolize_cli far.so)"

# ---- Kernel modules ----

cat >module.c <<'EOF'
static int counter;
__attribute__((section(".init.text"), noinline)) int module_start(void) { return counter++; }
__attribute__((noinline)) int module_work(int x) { return counter += x; }
__attribute__((cold, noinline)) int module_rare(int x) { return counter -= x; }
__attribute__((section(".exit.text"), noinline)) int module_stop(void) { return counter--; }
EOF
gcc -O2 -g -fcf-protection=none -c -o plain.o module.c
ld -r --build-id=sha1 -o module.ko plain.o
gzip -k module.ko
xz -k module.ko
zstd -q module.ko
# .text, other code in file order, .init.text last; each at its alignment.
readelf -SW module.ko | sed 's/^ *\[ *[0-9]*\] *//' | awk '$7 ~ /X/ || $8 ~ /X/ { print $1, $5, $NF }' >code
awk '$1 == ".text"' code >order
awk '$1 != ".text" && $1 !~ /^\.init/' code >>order
awk '$1 ~ /^\.init/' code >>order
[ "$(wc -l <order)" -ge 4 ] || fail "module.ko has $(wc -l <order) sections of code"
at=0
: >addresses
while read -r section size alignment; do
    at=$(((at + alignment - 1) / alignment * alignment))
    echo "$section $at" >>starts
    at=$((at + 0x$size))
done <order
for pair in .text:module_work .text.unlikely:module_rare .exit.text:module_stop .init.text:module_start; do
    start=$(awk -v name="${pair%:*}" '$1 == name { print $2 }' starts)
    value=$(nm module.ko | awk -v name="${pair#*:}" '$3 == name { print $1 }')
    printf '%x %s\n' $((start + 0x$value)) "${pair#*:}" >>functions
done
for file in module.ko module.ko.gz module.ko.xz module.ko.zst; do
    awk '{ print $1 }' functions | symbolize_cli $file >answers
    awk 'NR % 3 == 1' answers | paste -d ' ' functions - | awk '$2 != $3 { print; bad = 1 } END { exit bad }' || fail "$file"
    [ "$(grep -c '/module.c:[2-5]:' answers)" -eq 4 ] || { cat answers; fail "$file: lines"; }
done

# ---- kallsyms ----

cat >kallsyms <<'EOF'
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000040 t early_setup
ffffffff810000c0 W overridable
ffffffff81000100 D data_behind
ffffffff81000200 t after_data
ffffffffc0001000 t ext4_init	[ext4]
ffffffffc0001100 T ext4_read	[ext4]
ffffffffc0002000 t nf_work	[nf_tables]
EOF
kallsyms() { # kallsyms NAME ADDRESS WANT
    got=$(symbolize_cli -d kallsyms "$1" "$2" | head -n 1)
    [ "$got" = "$3" ] || fail "kallsyms: $1 $2 is '$got', not '$3'"
}
kallsyms '[kernel]' ffffffff81000041 early_setup
kallsyms '[kernel.kallsyms]' ffffffff810000bf early_setup
kallsyms '[kernel]' ffffffff810000ff overridable
kallsyms '[kernel]' ffffffff81000101 '??'
kallsyms '[kernel]' ffffffff80ffffff '??'
kallsyms '[kernel]' ffffffffc0001180 ext4_read
kallsyms '[kernel]' ffffffffc0003001 '??'
kallsyms '[ext4]' ffffffffc0001080 ext4_init
kallsyms '[ext4]' ffffffff81000041 '??'
kallsyms '[nf-tables]' ffffffffc0002010 nf_work
kallsyms '[vdso]' ffffffffc0002010 '??'
[ "$(symbolize_cli kallsyms ffffffff81000041 | head -n 1)" = early_setup ] || fail "kallsyms as the object itself"
sed 's/^[0-9a-f]*/0000000000000000/' kallsyms >hidden
symbolize_cli -r -d hidden '[kernel]' | grep -q 'problem .*hidden' || fail "hidden kallsyms: $(symbolize_cli -r -d hidden '[kernel]')"

# ---- A relocation that is not known is named ----

cp plain.o odd.o
offset=$(readelf -SW odd.o | sed 's/^ *\[ *[0-9]*\] *//' | awk '$1 == ".rela.debug_info" { print $4 }')
printf '\367\001\000\000' | dd of=odd.o bs=1 seek=$((0x$offset + 8)) conv=notrunc 2>/dev/null
symbolize_cli -r odd.o 0 >answers
grep -q '^module_work' answers || fail "no symbols without relocations: $(cat answers)"
grep -q '^quality 3' answers || fail "an unknown relocation and no word of it: $(cat answers)"
grep -q 'problem relocation type 503 of machine 62 in .debug_info is not known' answers || fail "an unknown relocation: $(cat answers)"
exit $failed
