#!/bin/sh
# The shell, on a terminal: statements of several lines, commands, completion, history, Control-C, a pager.
set -eu

fail() {
    echo "FAIL: $1"
    exit 1
}

cd "$WORK"
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" run.fxtq 3 200
printf 'SELECT 11 * 11;\nSELECT 12 * 12;\n' >some.sql
cat >page.sh <<'EOF'
#!/bin/sh
echo "<page>"
cat
echo "</page>"
EOF
chmod +x page.sh
python3 - "$PWD" <<'EOF' || fail "see above"
import os, pty, re, select, shutil, signal, subprocess, sys, time
work = sys.argv[1]
has_libedit = "no libedit" not in subprocess.run(["fxtq", "--version"], capture_output=True, text=True).stdout


class Shell:
    def __init__(self, *options, **environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"LC_ALL": "C.UTF-8", "TERM": "xterm", "XDG_STATE_HOME": work + "/state", "PAGER": "cat", "COLUMNS": "120"})
            os.environ.update(environment)
            os.execvp("fxtq", ["fxtq", *options, "run.fxtq"])
        self.seen = ""
        self.wait("fxtq> ")

    def wait(self, text, seconds=600):
        """What came until text, which may be split by what moves the cursor."""
        end = time.time() + seconds
        while text not in self.clean():
            ready = select.select([self.fd], [], [], max(0, end - time.time()))[0]
            if not ready:
                raise SystemExit("no %r in %r" % (text, self.seen))
            try:
                part = os.read(self.fd, 65536)
            except OSError:
                part = b""
            if not part:
                raise SystemExit("the shell ended without %r: %r" % (text, self.seen))
            self.seen += part.decode("utf-8", "replace")
        before, self.seen = self.clean().split(text, 1)
        return before + text

    def works(self, seconds):
        """Until it has used that much more CPU time: a statement runs."""
        def used():
            with open("/proc/%d/stat" % self.pid) as file:
                return sum(map(int, file.read().rsplit(")")[-1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        end = used() + seconds
        while used() < end:
            time.sleep(0.05)

    def clean(self):
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\r\x07]", "", self.seen)

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text, want, prompt="fxtq> "):
        self.type(text + "\n")
        self.wait(want or text[-1:])
        if prompt:
            self.wait(prompt)

    def end(self, text="\x04"):
        limit = time.time() + 60
        self.type(text)
        while time.time() < limit:
            if not select.select([self.fd], [], [], 0.5)[0]:
                self.type(text) # what is typed before the terminal is ready for it gets lost
                continue
            try:
                part = os.read(self.fd, 65536)
                if part:
                    self.seen += part.decode("utf-8", "replace")
                    continue
            except OSError:
                pass
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        raise SystemExit("the shell does not end: %r" % self.seen)


shell = Shell()
shell.line("SELECT 6 * 7 AS answer;", "│     42 │")
shell.type("SELECT 'over\n")
shell.wait("...> ")
shell.line("two' AS a, 99;", "│ over\\ntwo │ 99 │")
shell.line("SELECT nowhere;", "no such column: nowhere")
shell.line(".tables cpu%", "cpu_sample")
shell.line(".schema frame_name", "CREATE VIEW frame_name AS")
shell.line(".schema nowhere", "no such table, view or index: 'nowhere'")
shell.line(".tables nowhere", "")
shell.line("SELECT 8 * 8; SELECT nowhere;", "64 │\n└───────┘\nfxtq: no such column") # a message comes behind the rows
shell.line(".mode csv", "")
shell.line("SELECT 'a' AS x, 2 AS y;", "x,y")
shell.line(".headers off", "")
shell.line("SELECT 'b' AS z, 3 AS y;", "b,3")
shell.line(".parameter pid 100", "")
shell.line("SELECT name FROM process WHERE pid = :pid;", "server")
shell.line(".read some.sql", "121\n144")
shell.line(".timer on", "")
shell.line("SELECT 5;", " s")
shell.line(".timer off", "")
shell.line(".timeout 0.2", "")
endless = "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r;"
shell.line(endless, "stopped after 0.2 s")
shell.line(".timeout 0", "")
shell.line(".nothing", "unknown command .nothing; .help lists")
shell.line(".format", ".format FORMAT")
shell.line(".format xml", "unknown format 'xml'; formats are")
shell.line(".help", "All other input is SQL")
shell.line("DELETE FROM log;", "start fxtq with --write")

# Control-C stops a statement, and forgets a line.
shell.type(endless + "\n")
shell.works(0.3)
shell.type("\x03")
shell.wait("interrupted")
shell.wait("fxtq> ")
shell.type("SELECT 1,")
shell.wait("SELECT 1,")
shell.type("\x03")
shell.wait("fxtq> ")
shell.line("SELECT 31337;", "31337")

if has_libedit:
    shell.type("SELECT max(callsite_i\t")
    shell.wait("callsite_id")
    shell.line(") FROM cpu_samp\t;", "fxtq> ", "") # the only table that begins so
    shell.type("SELECT fold\t")
    shell.wait("folded")
    shell.line("(1);", "fxtq> ", "")
    shell.type("SELECT s.wei\t")
    shell.wait("s.weight")
    shell.line(" FROM cpu_sample AS s WHER\t 0;", "WHERE 0;") # in the letters that are typed
    shell.type(".timer of\t")
    shell.wait(".timer off")
    shell.line("", "fxtq> ", "")
    shell.type(".read some.s\t")
    shell.wait(".read some.sql")
    shell.line("", "144")
    shell.type("SELECT 3 -- three, as a comment\n")
    shell.wait("...> ")
    shell.line("* 5;", "15")
    shell.type("\x1b[A") # in one line
    shell.wait("SELECT 3  * 5;")
    shell.line("", "15")
    shell.line("SELECT folded(1);", "fxtq> ", "")
    shell.type("\x1b[A") # the statement before
    shell.wait("SELECT folded(1);")
    shell.type("\n")
    shell.wait("fxtq> ")
status = shell.end()
assert status == 0, status

if has_libedit:
    assert "SELECT 31337;" in open(work + "/state/fxtq/history").read().replace("\\040", " ")
    assert os.stat(work + "/state/fxtq/history").st_mode & 0o077 == 0
    shell = Shell()
    shell.type("\x1b[A")
    shell.wait("folded(1);")
    shell.type("\n")
    shell.wait("fxtq> ")
    assert shell.end(".exit\n") == 0

shell = Shell(PAGER="./page.sh")
shell.type("SELECT 77;\n")
seen = shell.wait("</page>")
assert "<page>" in seen and "77" in seen, seen
shell.wait("fxtq> ")
shell.line(".pager off", "")
shell.type("SELECT 78;\n")
seen = shell.wait("78 │")
assert "<page>" not in seen, seen
shell.wait("fxtq> ")
assert shell.end(".quit\n") == 0

# A pager that cannot be run costs a sentence, once, and no row.
for pager in ("/nonexistent", "no-such-pager -R", work, "LESS=R no-such-pager | no-such-pager"):
    shell = Shell(PAGER=pager)
    shell.type("SELECT n * 1000 + 7 AS n FROM (WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 20000) SELECT n FROM r);\n")
    seen = shell.wait("the pager '%s' cannot be run; the output is not paged" % pager)
    assert all("%d" % (n * 1000 + 7) in seen for n in (1, 2, 10000, 20000)), seen
    shell.wait("fxtq> ")
    shell.type("SELECT 79 + 1;\n")
    seen = shell.wait("80 │") + shell.wait("fxtq> ")
    assert "cannot be run" not in seen, seen
    assert shell.end(".quit\n") == 0

# Control-D ends the shell, also when it is typed while a statement runs.
shell = Shell()
shell.type(endless.replace("FROM r)", "FROM r WHERE n < 500000)") + "\n")
time.sleep(0.1)
assert shell.end("\x04") == 0

# Control-C stops a statement that has printed nothing, and no pager waits to be left.
if shutil.which("less"):
    shell = Shell(PAGER="less")
    shell.type(endless + "\n")
    shell.works(0.3)
    shell.type("\x03")
    shell.wait("fxtq: interrupted")
    shell.wait("fxtq> ")
    shell.line("SELECT 4;", "│ 4 │", "fxtq> ")
    assert shell.end(".quit\n") == 0
else:
    print("SKIP: less is not here")

# A pager that ends early is no error.
shell = Shell(FXTQ_PAGER="head -n 1")
shell.type("WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 3000000) SELECT n FROM r;\n")
shell.wait("fxtq> ")
shell.line("SELECT 4;", "", "fxtq> ")
assert shell.end(".quit\n") == 0

shell = Shell("--write")
shell.line("INSERT INTO meta VALUES (0, 'typed', 8);", "")
shell.line("SELECT value FROM meta WHERE key = 'typed';", "│     8 │")
assert shell.end(".quit\n") == 0
EOF
fxtq --version | grep -Eq '^with SQLite 3[0-9.]*, (no )?libedit, (no )?liblzma[;,] (no )?libdebuginfod$' || fail "--version: $(fxtq --version)"
