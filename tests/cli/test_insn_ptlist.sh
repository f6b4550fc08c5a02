#!/bin/sh
# The files of Fuchsia's insntrace: what is decoded is what was stepped, process by process.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/insn_common.sh"
compile threads
for name in one two three; do
    run 0 sampler-capture insn --simulate --mode cpu -q --steps $name.list -o $name.fxt -- ./threads
done
# Packets say which process runs, not which thread: the steps of its threads in the order in which they ran.
python3 - <<'END'
import struct

with open("steps", "wb") as out:
    for name in "one", "two", "three":
        with open(name + ".list", "rb") as file:
            steps = list(struct.iter_unpack("<QQ", file.read()))
        out.write(b"".join(struct.pack("<QQ", steps[0][0], ip) for tid, ip in steps))
END

# Three processes, two of which ran on one CPU.  Their clocks begin anew, as in a circular buffer: it is read from its oldest packets.
insn_ptlist set 0 one.fxt 0 two.fxt 1 three.fxt
whole() { # whole: converted.fxt has all that was stepped
    run 0 insn_check converted.fxt steps
    equal=$(sed -n 's/^equal=//p' out)
    [ "$equal" = "$(sed -n 's/^stepped=//p' out)" ] || fail "not all was decoded: $(cat out)"
    grep -q '^gaps=0$' out || fail "gaps: $(cat out)"
    grep -q '^streams=3$' out || fail "processes: $(cat out)"
}
run 0 fxtcat convert set.ptlist -o converted.fxt
[ ! -s err ] || fail "a message: $(cat err)"
whole
for name in one two three; do
    [ "$(cpus $name.fxt)" = 0 ] || fail "$name.fxt: CPUs $(cpus $name.fxt)"
done
[ "$(cpus converted.fxt)" = "0 1" ] || fail "CPUs: $(cpus converted.fxt)"
run 0 fxt2pprof set.ptlist -o set.pb.gz
says "insn: "
total() { # total FILE: instructions
    fxt2pprof --profile insn --sample-type instructions --format folded -q "$1" | awk '{ sum += $NF } END { print sum }'
}
[ "$(total set.ptlist)" = $(($(wc -c <steps) / 16)) ] || fail "$(total set.ptlist) instructions, not $(($(wc -c <steps) / 16))"
run 0 fxtq import set.ptlist -o set.fxtq
run 0 fxtq set.fxtq "select count(distinct upid) from thread where name like 'cpu-%'"
prints 3

# Somewhere else, and without the paths of modules: by their build IDs.
mkdir -p moved symbols/.build-id
mv set.* moved/
rm moved/set.ids
id=$(readelf -n threads | sed -n 's/.*Build ID: //p')
mkdir -p "symbols/.build-id/$(printf %s "$id" | cut -c1-2)"
cp threads "symbols/.build-id/$(printf %s "$id" | cut -c1-2)/$(printf %s "$id" | cut -c3-).debug"
sum=$(fxt2pprof --profile insn --sample-type instructions --format folded -q --symbols symbols moved/set.ptlist | awk '{ sum += $NF } END { print sum }')
[ "$sum" = $(($(wc -c <steps) / 16)) ] || fail "moved: $sum instructions"

# What is missing, damaged or unknown is said, and the rest is read.
mv moved/set.cpu1.pt moved/away
run 4 fxtcat convert moved/set.ptlist -o converted.fxt
says "1 file is missing or not readable: /tmp/nosuch/set.cpu1.pt: No such file or directory"
mkdir moved/set.cpu1.pt
mv moved/set.cpuid moved/cpuid
run 4 fxtcat convert moved/set.ptlist -o converted.fxt
says "2 files are missing or not readable: the first is moved/set.cpuid: No such file or directory"
mv moved/cpuid moved/set.cpuid
run 4 fxtcat convert moved/set.ptlist -o converted.fxt
says "1 file is missing or not readable: moved/set.cpu1.pt: Is a directory"
rmdir moved/set.cpu1.pt
mv moved/away moved/set.cpu1.pt
cat >broken.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* A disk with a bad block: set.cpu1.pt cannot be read from byte 4,096 on.  */
ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    static ssize_t (*real)(int, void *, size_t, off_t);
    char link[64], path[4096] = "";
    if (!real)
        real = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "set.cpu1.pt") && offset + (off_t)size > 4096) {
        if (offset >= 4096) {
            errno = EIO;
            return -1;
        }
        size = (size_t)(4096 - offset);
    }
    return real(fd, bytes, size, offset);
}
ssize_t pread64(int fd, void *bytes, size_t size, off_t offset) __attribute__((alias("pread")));
SOURCE
${CC:-cc} -shared -fPIC -o broken.so broken.c -ldl
[ "$(wc -c <moved/set.cpu1.pt)" -gt 4096 ] || fail "few packets: $(wc -c <moved/set.cpu1.pt)"
(
    LD_PRELOAD=$PWD/broken.so
    export LD_PRELOAD
    run 4 fxtcat convert moved/set.ptlist -o converted.fxt
)
says "1 file is missing or not readable: moved/set.cpu1.pt: Input/output error"
cp moved/set.ktrace ktrace
head -c 100 ktrace >moved/set.ktrace
run 3 fxtcat convert moved/set.ptlist -o converted.fxt
says "the .ktrace file beside it has a record that is cut or has no size"
! grep -q 'no damage\|0 lines' err || fail "lines are not damaged: $(cat err)"
says "no record of the kernel shows which process they belong to"
rm moved/set.ktrace
run 4 fxtcat convert moved/set.ptlist -o converted.fxt
cp ktrace moved/set.ktrace
echo "one two" >>moved/set.ptlist
run 3 fxtcat convert moved/set.ptlist -o converted.fxt
says "1 line that cannot be read in it or in the files beside it"
: >moved/set.ptlist
run 4 fxtcat convert moved/set.ptlist -o converted.fxt
says "no line names a file of packets"
run 4 fxt2pprof nosuch.ptlist -o x.pb.gz
says "No such file"
ln -s /dev/null device.ptlist
run 4 fxtcat convert device.ptlist -o converted.fxt
says "device.ptlist: not a regular file"
truncate -s 300M large.ptlist
run 4 fxtcat convert large.ptlist -o converted.fxt
says "large.ptlist: larger than 256 MiB"
rm large.ptlist
finish
