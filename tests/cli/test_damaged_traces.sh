#!/bin/sh
# Damaged traces through all programs that read them.  Whatever the bytes are: the status is 0 or 3 and the same for all ways to look; every
# line of JSON is JSON; what fxtcat writes has no damage, and mending twice changes nothing more.
exec python3 - "$ROOT/testdata/fuzz" "$WORK" <<'PYTHON'
import json, os, random, subprocess, sys

seeds, work = sys.argv[1:]
trace, mended, again = (os.path.join(work, name) for name in ("trace", "mended", "again"))
random.seed(1)
failed = False


def run(*command):
    done = subprocess.run(command, capture_output=True, timeout=400)
    if done.returncode not in (0, 3):
        fail("status %d of %s: %s" % (done.returncode, command, done.stderr.decode("utf-8", "replace")))
    return done


def fail(what):
    global failed
    failed = True
    print("%s: %s" % (source, what))


def damage(data):
    """Flip, set, repeat, cut out or cut off."""
    data = bytearray(data)
    for _ in range(random.randint(1, 4)):
        if not data:
            break
        at = random.randrange(len(data))
        how = random.randrange(6)
        if how == 0:
            data[at] ^= 1 << random.randrange(8)
        elif how == 1:
            data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif how == 2:
            start = at - at % 8
            data[start:start] = data[start : start + 8 * random.randint(1, 6)]
        elif how == 3:
            del data[at : at + random.randint(1, 16)]
        elif how == 4:
            data[at - at % 8 : at - at % 8] = bytes(8 * random.randint(1, 3))
        else:
            del data[at:]
    return bytes(data)


def check():
    dump = run("fxtdump", "--json", "--force", trace)
    records = [json.loads(line) for line in dump.stdout.decode("utf-8").splitlines()]
    stats = json.loads(run("fxtdump", "--stats", "--json", "--force", trace).stdout)
    if sum(stats["records"].values()) != len(records):
        fail("--stats counts %s, --json shows %d records" % (stats["records"], len(records)))
    for option in ("--hex", "--verify", "--stats"):
        if run("fxtdump", option, "--force", trace).returncode != dump.returncode:
            fail("another status with %s" % option)
    check_mended(records, dump.returncode)
    for profile in ("cpu", "span"):
        run("fxt2pprof", "--force", "--no-symbolize", "--format", "folded", "--profile", profile, "-o", os.devnull, trace)


def check_mended(records, status):
    for path in (mended, again):
        if os.path.exists(path):
            os.remove(path)
    if run("fxtcat", "recover", "--force", "-o", mended, trace).returncode != status:
        fail("another status of fxtcat recover")
    if not os.path.exists(mended) or os.path.getsize(mended) == 0:
        return
    if run("fxtdump", "--verify", "--force", mended).returncode != 0:
        fail("fxtcat recover leaves damage")
    run("fxtcat", "recover", "--force", "-o", again, mended)
    if open(mended, "rb").read() != open(again, "rb").read():
        fail("fxtcat recover changes what it mended")
    for command in (("cut", "--type", "event,backtrace"), ("merge", mended), ("convert", "--layout", "profiler")):
        out = subprocess.run(("fxtcat",) + command + ("--force", trace), capture_output=True, timeout=400)
        if out.returncode not in (0, 3):
            fail("status %d of fxtcat %s" % (out.returncode, command[0]))
        if out.stdout:
            clean = subprocess.run(("fxtdump", "--verify", "--force", "-"), input=out.stdout, capture_output=True, timeout=400)
            if clean.returncode != 0:
                fail("fxtcat %s leaves damage" % command[0])


for folder in ("fuzz_fxt_reader", "fuzz_profile"):
    for name in sorted(os.listdir(os.path.join(seeds, folder))):
        data = open(os.path.join(seeds, folder, name), "rb").read()
        for turn in range(2):
            source = "%s/%s, turn %d" % (folder, name, turn)
            with open(trace, "wb") as file:
                file.write(damage(data) if turn else data)
            check()
sys.exit(failed)
PYTHON
