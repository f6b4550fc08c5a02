#!/bin/sh
# Bad input, bad output and bad luck: one sentence that names program and file, the exit status of docs/architecture.md, all
# that was readable, and no half files.
set -eu
cd "$WORK"

. "$ROOT/tests/cli/fail.sh"
fxtgen=$O/bench/fxtgen
mkdir out

# expect STATUS NAME COMMAND...: one complaint, "PROGRAM: ...NAME...", or none if NAME is empty.  What fxt2pprof says of its
# work does not begin with its name.
expect() {
    wanted=$1
    name=$2
    shift 2
    status=0
    "$@" >stdout 2>stderr || status=$?
    [ $status -eq "$wanted" ] || fail "status $status, not $wanted: $*: $(cat stderr)"
    one_sentence "$name" "$*"
}
one_sentence() { # one_sentence NAME WHAT
    grep -aE '^(fxtdump|fxt2pprof|sampler-capture( cpu)?): ' stderr >complaints || :
    if [ -z "$1" ]; then
        [ ! -s complaints ] || fail "$2 complains: $(cat complaints)"
        return
    fi
    [ "$(wc -l <complaints)" -eq 1 ] || fail "$2: not one sentence: $(cat stderr)"
    grep -qF -- "$1" complaints || fail "$2: no '$1' in: $(cat complaints)"
}
both() { # both STATUS NAME PATH [MESSAGE]: both programs, reading a file and, if there is one, the same bytes from a pipe
    expect "$1" "$2" fxtdump "$3"
    grep -qF -- "${4:-$2}" complaints || fail "fxtdump $3: no '${4:-}' in: $(cat complaints)"
    expect "$1" "$2" fxt2pprof "$3" -o out/profile
    grep -qF -- "${4:-$2}" complaints || fail "fxt2pprof $3: no '${4:-}' in: $(cat complaints)"
    [ -f "$3" ] || return 0
    status=0
    # shellcheck disable=SC2002 # a pipe is what is tested
    cat "$3" | fxtdump - >stdout 2>stderr || status=$?
    [ $status -eq "$1" ] || fail "status $status, not $1, from a pipe with $3"
    one_sentence "standard input" "fxtdump - with $3"
}
allowed() { # allowed COMMAND...: as somebody who may only do what file modes say
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --bounding-set -dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}
nothing_left() { # nothing in out/, neither result nor temporary file
    [ -z "$(ls -A out)" ] || fail "$1 left: $(ls -A out)"
}

# ---- Files that are something else ----

"$fxtgen" --count 5 --stacks 5 --threads 1 --processes 1 --depth 4 >small.fxt
"$fxtgen" --kind profiler --count 200 --stacks 50 >medium.fxt
expect 0 '' fxtdump small.fxt
expect 0 '' fxt2pprof small.fxt -o out/profile
rm -f out/profile

: >empty
head -c 4096 /dev/zero >zeros
{ printf '\000\026\124\170\106\004\000\020' && head -c 4088 /dev/zero; } >big_endian
printf '{{{reset}}}\n{{{module:0:app:elf:aabb}}}\n{{{bt:0:0x1234}}}\n' >markup
cp "$(command -v fxtdump)" elf
printf 'Lorem ipsum dolor sit amet, consectetur\n' >text
head -c 4096 /dev/zero | tr '\000' '\377' >ones
mkdir folder
gzip -nc small.fxt >small.fxt.gz
gzip -c small.fxt.gz >twice.gz
: | gzip -c >nothing.gz
printf 'hello\n' >short
head -c 12 small.fxt.gz >cut.gz
zstd -q -c small.fxt | head -c 40 >cut.zst
printf '\375\067\172\130\132\000\000\004 and so on' >packed.xz

both 3 empty empty 'empty, not an FXT trace'
nothing_left "an empty file"
both 3 short short 'shorter than any record, not an FXT trace'
both 3 cut.gz cut.gz 'cut off before its first record'
both 3 cut.zst cut.zst 'cut off before its first record'
both 3 big_endian big_endian 'big-endian'
both 3 markup markup 'symbolizer markup'
both 3 elf elf 'ELF'
both 3 text text 'not an FXT trace'
both 3 ones ones 'not an FXT trace'
both 4 folder folder directory
both 4 missing missing 'No such file'
both 4 empty/below empty/below 'Not a directory'
both 3 twice.gz twice.gz 'gzip data inside compressed'
both 3 nothing.gz nothing.gz 'empty'
both 3 packed.xz packed.xz 'xz -d'
nothing_left "a file that is no trace"
cp small.fxt secret
chmod 0 secret
if allowed cat secret >stdout 2>&1; then
    echo "SKIP: root's rights cannot be given up here"
else
    expect 4 secret allowed fxtdump secret
    grep -q 'Permission denied' complaints || fail "$(cat complaints)"
    expect 4 secret allowed fxt2pprof secret -o out/profile
    nothing_left "an unreadable file"
    chmod 555 out
    expect 4 out/profile allowed fxt2pprof small.fxt -o out/profile
    chmod 755 out
    nothing_left "a folder that is not writable"
fi

# A pipe with a name is read as any other.
mkfifo pipe
head -c 2000 small.fxt >pipe &
expect 3 pipe fxtdump pipe
wait

# What a damaged trace does not hold may be what is damaged: that is no wrong command line.
for command in 'export folded' 'export csv' 'export pprof' 'flamegraph -o out/page'; do
    for file in empty short cut.gz; do
        status=0
        # shellcheck disable=SC2086 # words
        fxtq $command $file >stdout 2>stderr || status=$?
        [ $status -eq 3 ] || fail "status $status, not 3: fxtq $command $file: $(cat stderr)"
    done
    status=0
    # shellcheck disable=SC2086 # words
    fxtq $command zeros >stdout 2>stderr || status=$?
    [ $status -eq 0 ] || fail "status $status, not 0: fxtq $command zeros: $(cat stderr)"
done
rm out/page
nothing_left "an export without samples"

# Zeros are what a region without samples holds: nothing is damaged, and nothing is there.
both 0 zeros zeros 'nothing but 4,096 bytes of zeros'
expect 3 zeros fxtdump --strict zeros
rm -f out/profile

# A name that is no text does not reach the terminal as it is.
name=$(printf 'miss\033[31ming')
status=0
fxtdump "$name" 2>stderr || status=$?
[ $status -eq 4 ] || fail "status $status for a strange name"
! grep -q "$(printf '\033')" stderr || fail "an escape sequence reached the terminal"

# One bad file does not cost the others.
fxt2pprof -q --format folded medium.fxt >wanted 2>/dev/null
expect 3 text fxt2pprof -q --format folded -o out/profile text medium.fxt
cmp wanted out/profile
expect 4 missing fxt2pprof -q --format folded -o out/profile medium.fxt missing
cmp wanted out/profile
expect 4 missing fxtdump small.fxt missing
fxtdump small.fxt | cmp - stdout
rm -f out/profile

# ---- Cut in every word, plain and packed ----

# Tests of libfxt cut a trace at every byte (tests/test_fxt_cut.c).  A record is read in words of 8 bytes, so that a program is
# started for each word twice: with the word, and with 1 to 7 bytes of it.  Of packed bytes it is all of the head and of the
# end, where what is read changes from byte to byte, and each fourth between.

cat >cut.py <<'PY'
import json, subprocess, sys

def run(command, data):
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    said = [l for l in done.stderr.decode().splitlines() if l.startswith(("fxtdump: ", "fxt2pprof: "))]
    return done.returncode, done.stdout, said

def need(good, *what):
    if not good:
        sys.exit("cut at %d: %s" % (n, " ".join(map(str, what))))

trace = open("small.fxt", "rb").read()
packed = open("small.fxt.gz", "rb").read()
n = len(trace)
dump = ["fxtdump", "--json", "-"]
folded = ["fxt2pprof", "-q", "--no-symbolize", "--format", "folded", "-"]
status, whole, said = run(dump, trace)
need(status == 0 and not said, status, said)
lines = whole.splitlines(True)
starts = [json.loads(line)["offset"] for line in lines]
ends = starts[1:] + [len(trace)]
status, stacks, said = run(folded, trace)
need(status == 0 and not said, status, said)
def total(text):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.decode().splitlines())

weight = total(stacks) // whole.count(b'"pcs"')
need(weight > 0 and weight * whole.count(b'"pcs"') == total(stacks), "weight", weight)

for n in range(len(trace)):
    if n >= 32 and n % 8 not in (0, 1 + n // 8 % 7):
        continue
    prefix = b"".join(line for line, end in zip(lines, ends) if end <= n)
    boundary = n in ends
    status, out, said = run(dump, trace[:n])
    need(status == (0 if boundary else 3), "status", status, said)
    need(len(said) == (0 if boundary else 1), "says", said)
    need(boundary or "standard input" in said[0], "says", said)
    need(out == prefix, "records", len(out), "not", len(prefix))
    status, out, said = run(folded, trace[:n])
    need(status == (0 if boundary else 3), "status", status, said)
    need(len([s for s in said if "warning: no samples" not in s]) == (0 if boundary else 1), "says", said)
    # A mapping that is missing changes names, never time.
    need(total(out) == weight * prefix.count(b'"pcs"'), "samples", total(out))

some = [n for n in range(len(packed)) if n < 32 or n >= len(packed) - 16 or n % 4 == 0]
for n in some:
    status, out, said = run(dump, packed[:n])
    need(status == 3, "gzip: status", status, said)
    need(len(said) == 1, "gzip: says", said)
    need(whole.startswith(out), "gzip: other records")

# One flipped byte: what stood before it is as it was, and nothing crashes.
for n in some:
    bad = bytearray(packed)
    bad[n] ^= 0x55
    status, out, said = run(dump, bytes(bad))
    need(status in (0, 3), "corrupt gzip: status", status, said)
    need(len(said) <= 2, "corrupt gzip: says", said)
    need(3 < n < 10 or status == 3, "corrupt gzip: not noticed", said)
PY
python3 cut.py || fail "a cut file"

# ---- Files that change while they are read ----

# fxtdump is stopped by a full pipe, the file is cut, and it goes on.
"$fxtgen" --kind events --size 4M >large.fxt
cat >shrink.py <<'PY'
import os, subprocess
size = os.path.getsize("large.fxt")
process = subprocess.Popen(["fxtdump", "large.fxt"], stdout=subprocess.PIPE, stderr=open("stderr", "w"))
process.stdout.read(4096)
os.truncate("large.fxt", size // 2 + 3)
lines = process.stdout.read().count(b"\n")
status = process.wait(600)
print(status, lines)
PY
python3 shrink.py >shrunk || fail "shrink.py"
read -r status lines <shrunk
[ "$status" -eq 3 ] || fail "status $status of a file that shrinks: $(cat stderr)"
[ "$lines" -gt 10000 ] || fail "$lines lines of a file that shrinks"
one_sentence large.fxt "a file that shrinks"

# fxt2pprof reads as fast as it can: whenever it is cut, it ends well.
for delay in 0.01 0.03 0.1; do
    "$fxtgen" --size 16M >large.fxt
    fxt2pprof large.fxt -o out/profile >stdout 2>stderr &
    pid=$!
    sleep $delay
    truncate -s 1000003 large.fxt
    status=0
    wait $pid || status=$?
    case $status in
    0 | 3) ;;
    *) fail "status $status of a file that shrinks: $(cat stderr)" ;;
    esac
    gzip -t <out/profile || fail "a cut profile"
done
rm -f large.fxt out/profile

# ---- Outputs that do not take it ----

# An old file stays as it was when there is nothing to put in its place, and keeps its mode when there is.
echo precious >out/profile
chmod 640 out/profile
expect 3 text fxt2pprof text -o out/profile
[ "$(cat out/profile)" = precious ] || fail "an old file was lost"
expect 4 missing fxt2pprof missing -o out/profile
[ "$(cat out/profile)" = precious ] || fail "an old file was lost"
expect 0 '' fxt2pprof -q medium.fxt -o out/profile
gzip -t <out/profile || fail "an old file was not replaced"
[ "$(stat -c %a out/profile)" = 640 ] || fail "mode $(stat -c %a out/profile)"
[ "$(ls -A out)" = profile ] || fail "left: $(ls -A out)"
rm -f out/profile
(umask 027 && fxt2pprof -q medium.fxt -o out/profile)
[ "$(stat -c %a out/profile)" = 640 ] || fail "mode $(stat -c %a out/profile) of a new file"
# A link stays a link.
ln -s profile out/link
fxt2pprof -q --format folded medium.fxt -o out/link 2>/dev/null
[ -L out/link ] || fail "a link was replaced"
cmp wanted out/profile
rm -f out/profile out/link

# A damaged trace still gives all that was readable.
head -c 20001 medium.fxt >damaged.fxt
expect 3 damaged.fxt fxt2pprof damaged.fxt -o out/profile
gzip -t <out/profile || fail "no profile of a damaged trace"
rm -f out/profile

full='No space left on device'
expect 4 "$full" fxt2pprof medium.fxt -o /dev/full
for format in pprof folded top; do
    status=0
    fxt2pprof -q --format $format medium.fxt >/dev/full 2>stderr || status=$?
    [ $status -eq 4 ] || fail "status $status of $format on a full disk"
    one_sentence "$full" "$format on a full disk"
done
for option in --json --stats ''; do
    status=0
    # shellcheck disable=SC2086 # one option or none
    fxtdump $option medium.fxt >/dev/full 2>stderr || status=$?
    [ $status -eq 4 ] || fail "status $status of fxtdump $option on a full disk"
    one_sentence "$full" "fxtdump $option on a full disk"
done

# Where the disk fills up halfway, the half is removed.
"$fxtgen" --kind profiler --count 20000 --stacks 2000 >many.fxt
limited() { # limited MESSAGE FOLDER COMMAND...
    status=0
    sentence=$1
    limited_folder=$2
    shift 2
    "$@" >stdout 2>stderr || status=$?
    [ $status -eq 4 ] || fail "status $status on a full disk: $*: $(cat stderr)"
    one_sentence "$sentence" "$*"
    [ -z "$(ls -A "$limited_folder")" ] || fail "left on a full disk: $(ls -A "$limited_folder")"
}
limited 'File too large' out sh -c 'ulimit -f 8; trap "" XFSZ; exec fxt2pprof many.fxt -o out/profile'
limited 'File too large' out sh -c 'ulimit -f 8; trap "" XFSZ; exec fxt2pprof --format folded many.fxt -o out/profile'
mkdir disk
if mount -t tmpfs -o size=16k none disk 2>/dev/null; then
    trap 'umount "$WORK/disk"' EXIT
    limited "$full" disk fxt2pprof many.fxt -o disk/profile
    limited "$full" disk fxt2pprof --format folded many.fxt -o disk/profile
    trap - EXIT
    umount disk
fi

# Nowhere to write to.
expect 4 nowhere fxt2pprof --symbols nowhere medium.fxt -o out/profile
nothing_left "a missing folder of symbols"
fxt2pprof -q --symbols out --format folded medium.fxt 2>stderr >stdout || fail "a folder without symbols: $(cat stderr)"
[ ! -s stderr ] || fail "a folder without symbols is nothing to talk about: $(cat stderr)"
expect 4 nowhere/profile fxt2pprof medium.fxt -o nowhere/profile
expect 4 out fxt2pprof medium.fxt -o out
expect 4 empty/profile fxt2pprof medium.fxt -o empty/profile
nothing_left "an output that cannot be"
for program in fxtdump fxt2pprof; do
    status=0
    $program medium.fxt >&- 2>stderr || status=$?
    [ $status -eq 4 ] || fail "status $status of $program without standard output: $(cat stderr)"
    one_sentence 'Bad file descriptor' "$program without standard output"
    # Without standard input its number must not go to the trace, or to the output.
    status=0
    $program medium.fxt <&- >stdout 2>stderr || status=$?
    [ $status -eq 0 ] || fail "status $status of $program without standard input: $(cat stderr)"
    status=0
    $program - <&- >stdout 2>stderr || status=$?
    [ $status -eq 4 ] || fail "status $status of $program - without standard input: $(cat stderr)"
    one_sentence 'Bad file descriptor' "$program - without standard input"
done

# A result does not take the place of what it is made from, under another name neither.
fxtq import -q medium.fxt -o run.fxtq
cp medium.fxt safe.fxt
cp run.fxtq safe.fxtq
ln -s safe.fxt link.fxt
for line in 'fxt2pprof small.fxt safe.fxt -o safe.fxt' 'fxt2pprof safe.fxt -o link.fxt' 'fxt2pprof --format folded safe.fxt -o ./safe.fxt' \
    'fxtq export folded safe.fxtq -o safe.fxtq' 'fxtq export fxt safe.fxt -o link.fxt' 'fxtq flamegraph safe.fxtq -o safe.fxtq' \
    'fxtq flamegraph --diff safe.fxtq run.fxtq -o safe.fxtq'; do
    status=0
    $line >stdout 2>stderr || status=$?
    [ $status -eq 2 ] || fail "status $status, not 2: $line"
    grep -q 'is an input: the output would replace it' stderr || fail "$line: $(cat stderr)"
    { cmp -s medium.fxt safe.fxt && cmp -s run.fxtq safe.fxtq; } || fail "$line replaced its input"
done

# What a signal interrupts leaves nothing behind.
python3 - <<'EOF' || fail "interrupted programs"
import os, signal, subprocess, sys, time

trace = open("many.fxt", "rb").read()
for line in ("fxtcat merge -o out/result -", "fxtcat recover -o out/result -", "fxtcat compress -o out/result -",
             "fxtq import -q -o out/result -"):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Whoever runs the tests may ignore them, as nohup does.
        program = subprocess.Popen(line.split(), stdin=subprocess.PIPE,
                                   preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL))
        program.stdin.write(trace)  # and then nothing: it waits for more
        program.stdin.flush()
        end = time.monotonic() + 600
        while not os.listdir("out") and time.monotonic() < end:
            time.sleep(0.02)
        begun = os.listdir("out")
        program.send_signal(number)
        status = program.wait(timeout=600)
        if not begun or status != -number or os.listdir("out"):
            sys.exit(f"{line}: {number!r}: begun {begun}, status {status}, left {os.listdir('out')}")
EOF

# ---- Capturing ----

status=0
capture_deny sampler-capture cpu -o out/trace.fxt -- true >stdout 2>stderr || status=$?
if [ $status -ne 77 ]; then # 77: no seccomp here
    [ $status -eq 4 ] || fail "status $status without permission"
    one_sentence perf_event "a capture without permission"
    nothing_left "a capture without permission"
fi
. "$ROOT/tests/cli/perf.sh"
expect 4 '/dev/full' sampler-capture cpu -o /dev/full -- sleep 0.2
grep -qF "$full" complaints || fail "$(cat complaints)"
expect 125 nowhere/trace.fxt sampler-capture cpu -o nowhere/trace.fxt -- true
