#!/bin/sh
# fxtq STORE SQL: where SQL comes from, parameters, what is refused, and stores that mean harm.
set -eu

fail() {
    echo "FAIL: $1"
    exit 1
}

cd "$WORK"
python3 "$ROOT/tests/tools/query_store.py" "$ROOT/schemas/store.sql" run.fxtq 2 200
cp run.fxtq before.fxtq

give() { # give WANT WHAT ARGUMENT...
    want=$1
    what=$2
    shift 2
    fxtq --format csv --no-header "$@" >out 2>err || fail "$what: status $?: $(cat err)"
    [ "$(cat out)" = "$want" ] || fail "$what: '$(cat out)', not '$want'"
}
refuse() { # refuse STATUS PATTERN ARGUMENT...
    wanted=$1
    pattern=$2
    shift 2
    status=0
    fxtq "$@" >out 2>err </dev/null || status=$?
    [ $status -eq "$wanted" ] || fail "status $status, not $wanted, for $*: $(cat err)"
    grep -q -e "$pattern" err || fail "$*: '$(cat err)', not '$pattern'"
}

# Where SQL comes from.
give 200 "the command line" run.fxtq "SELECT count(*) FROM cpu_sample"
echo "SELECT 1; -- a comment
SELECT 'two;';" >two.sql
give "1
two;" "a file" run.fxtq --file two.sql
give "1
two;
3" "a file, then the command line" run.fxtq --file two.sql "SELECT 3"
echo "SELECT 4" | fxtq --format csv --no-header run.fxtq >out || fail "standard input: status $?"
[ "$(cat out)" = 4 ] || fail "standard input: $(cat out)"
echo "SELECT 5" | fxtq --format csv --no-header run.fxtq --file - >out || fail "--file -"
[ "$(cat out)" = 5 ] || fail "--file -: $(cat out)"
# Lines that begin with a dot are commands, as in the sqlite3 shell.
cat >dots.sql <<'EOF'
-- What stands there,
.tables capture
/* and as CSV. */
  .mode csv
.headers off
SELECT 1, 'a;
.b';
.parameter n 5
.parameter n 6
.read two.sql
SELECT :n;
.quit
SELECT nothing FROM nowhere;
EOF
dots='capture
1,"a;
.b"
1
two;
6'
fxtq run.fxtq --file dots.sql >out || fail "commands in a file: status $?"
[ "$(cat out)" = "$dots" ] || fail "commands in a file: $(cat out)"
fxtq run.fxtq <dots.sql >out || fail "commands on standard input: status $?"
[ "$(cat out)" = "$dots" ] || fail "commands on standard input: $(cat out)"
give "CREATE INDEX callsite_by_parent ON callsite (parent_id, frame_id);
1" "a command on the command line" run.fxtq ".schema callsite_by_parent" "SELECT 1"
printf 'SELECT 1;\n\n.nothing\n' >wrong-dot.sql
refuse 2 '^fxtq: wrong-dot.sql:3: unknown command .nothing' run.fxtq --file wrong-dot.sql
refuse 2 '^fxtq: .mode FORMAT' run.fxtq .mode "SELECT 1"
refuse 2 'near ".": syntax error' run.fxtq "SELECT 1; .tables"
echo '.read itself.sql' >itself.sql
refuse 2 '^fxtq: itself.sql:1: itself.sql is not read' run.fxtq --file itself.sql
give "" "nothing" run.fxtq ";;  -- nothing"
give "2" "temporary tables" run.fxtq "CREATE TEMP TABLE t(a); INSERT INTO t VALUES (1), (2); CREATE TEMP VIEW v AS SELECT max(a) FROM t; SELECT * FROM v; DROP TABLE t"

# Parameters.
give "integer,real,text,text,text" "types" -p a=12 -p b=1.5 -p c=x -p d= -p "e= 1" run.fxtq "SELECT typeof(:a), typeof(@b), typeof(\$c), typeof(:d), typeof(:e)"
give "9223372036854775807,text" "the largest number" -p a=9223372036854775807 -p b=9223372036854775808x run.fxtq "SELECT :a, typeof(:b)"
give "2" "the last one counts" -p a=1 -p a=2 run.fxtq "SELECT :a"
refuse 2 ':b has no value; use -p b=VALUE or .parameter b VALUE' run.fxtq "SELECT :b"
refuse 2 'parameters need names' run.fxtq "SELECT ?"
refuse 2 '-p x: no statement has :x' -p x=1 run.fxtq "SELECT 1"
refuse 2 "'x' is not NAME=VALUE" -p x run.fxtq "SELECT 1"

# Mistakes, with their place.
refuse 2 'no such column: nam' run.fxtq "SELECT name,
  nam FROM process"
sed -n 2p err | grep -q '^    nam FROM process$' || fail "the line: $(cat err)"
sed -n 3p err | grep -q '^    ^$' || fail "the mark: $(cat err)"
printf 'SELECT 1;\n\nSELECT * FROM nowhere;\n' >wrong.sql
refuse 2 '^fxtq: wrong.sql:3: no such table: nowhere' run.fxtq --file wrong.sql
refuse 2 'no such column: "unquoted"\|no such column: unquoted' run.fxtq 'SELECT "unquoted"'
refuse 4 'nowhere.sql: No such file' run.fxtq --file nowhere.sql
refuse 4 'reprot: No such file' reprot top run.fxtq
grep -q "'reprot' is not a command, either" err || fail "a word that is no command: $(cat err)"
cp run.fxtq other.fxtq
refuse 2 "'other.fxtq' is a file, but SQL was expected" run.fxtq other.fxtq 'SELECT 1'
refuse 4 'an SQLite database, not a file of SQL' run.fxtq --file run.fxtq
refuse 2 'no store given'
refuse 4 'nowhere.fxtq: ' nowhere.fxtq "SELECT 1"
refuse 2 "unknown option --colour" --colour run.fxtq
refuse 2 "is not one of table, box" --format xml run.fxtq "SELECT 1"

# Nothing changes without --write.
for sql in "DELETE FROM cpu_sample" "INSERT INTO meta VALUES (0, 'a', 1)" "UPDATE process SET name = 'x'" "CREATE TABLE t(a)" "DROP TABLE log" \
    "CREATE VIEW v AS SELECT 1" "CREATE INDEX i ON cpu_sample(ts)" "ALTER TABLE log RENAME TO l" "ANALYZE" "REINDEX" "PRAGMA user_version = 9" \
    "PRAGMA journal_mode = wal" "PRAGMA writable_schema = 1" "VACUUM INTO 'copy.db'" VACUUM "CREATE VIRTUAL TABLE f USING fts5(a)" \
    "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END"; do
    refuse 2 'start fxtq with --write' run.fxtq "$sql"
done
refuse 2 'extensions cannot be loaded\|not authorized' run.fxtq "SELECT load_extension('x.so')"
cmp -s run.fxtq before.fxtq || fail "reading changed the store"
[ ! -e copy.db ] || fail "VACUUM INTO wrote a file"
cp run.fxtq write.fxtq
give "3" "--write" --write write.fxtq "INSERT INTO meta VALUES (0, 'note', 3)" "SELECT value FROM meta WHERE key = 'note'"
give "3" "what was written" write.fxtq "SELECT value FROM meta WHERE key = 'note'"
refuse 2 'may not be modified\|defensive' --write write.fxtq "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'x'"
give "200,200" "two stores" run.fxtq "ATTACH 'write.fxtq' AS other" "SELECT (SELECT count(*) FROM cpu_sample), (SELECT count(*) FROM other.cpu_sample)"
refuse 2 '^fxtq: CREATE would change the store' run.fxtq 'CREATE TABLE made (a)'
refuse 2 'start fxtq with --write' run.fxtq "ATTACH 'write.fxtq' AS other; DELETE FROM other.log"

# Topics of help name what there is.
fxtq help | grep -q '^sql  ' || fail "help: $(fxtq help)"
refuse 2 "unknown topic 'weather'" help weather
functions=$(fxtq help sql | sed -n 's/^  \([a-z_]*\)(.*/\1/p')
[ "$(echo "$functions" | wc -l)" -ge 11 ] || fail "help sql: $functions"
for function in $functions; do
    [ "$(fxtq --no-header run.fxtq "SELECT count(*) > 0 FROM (SELECT name FROM pragma_function_list UNION ALL SELECT name FROM pragma_module_list)
        WHERE name = '$function'")" = 1 ] || fail "help sql: there is no $function"
done
fxtq help formats | grep -q markdown || fail "help formats"
fxtq help filters | grep -q show_from || fail "help filters"
for topic in $(fxtq help | sed '/^$/,$d; s/ .*//') import report; do
    fxtq help "$topic" >out || fail "help $topic"
    [ "$(wc -l <out)" -ge 8 ] || fail "help $topic: $(cat out)"
    ! grep '.\{81\}' out || fail "help $topic is wide"
done
fxtq help reports | sed -n '/^  heap/,/^$/p' | grep -q 'allocations have no thread' || fail "help reports: $(fxtq help reports)"
fxtq help report | cmp -s - out || fail "help of a command"
refuse 2 "more than one topic given" help sql filters

# What was meant: a table, a report, a command.
for typed in samples:cpu_sample processs:process slicee:slice main.cpu_samples:cpu_sample; do
    refuse 2 "no such table: ${typed%:*}" run.fxtq "SELECT * FROM ${typed%:*}"
    grep -qE "^  there is: .*\b${typed#*:}|^  there is: .*cpu_sample" err || fail "$typed: nothing near: $(cat err)"
done
refuse 2 'no such table: nowhere' run.fxtq 'SELECT * FROM nowhere'
! grep -q 'there is:' err || fail "near to nowhere: $(cat err)"
refuse 4 "'top' is a report: fxtq report top STORE|TRACE" top
refuse 4 "'impotr' is not a command, either; did you mean 'fxtq import'?" impotr
refuse 4 "'xyzzy' is not a command, either; 'fxtq --help' lists the commands" xyzzy

# Time runs out; SIGINT.
endless="WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r"
refuse 4 'stopped after 0.3 s; raise the limit with --timeout or .timeout' --timeout 0.3 run.fxtq "$endless"
refuse 2 "is not a number of seconds" --timeout 0 run.fxtq "SELECT 1"
python3 - "$endless" <<'EOF' || fail "SIGINT"
import os, signal, subprocess, sys, time
def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        return sum(map(int, file.read().rsplit(")")[-1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
for sql in (sys.argv[1], "SELECT count(*) FROM cpu_sample a, cpu_sample b, cpu_sample c, cpu_sample d, cpu_sample e"):
    program = subprocess.Popen(["fxtq", "run.fxtq", sql], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while cpu_seconds(program.pid) < 0.3: # the statement runs by then
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate()
    assert program.returncode == -signal.SIGINT, program.returncode
    assert b"interrupted" in err, err
EOF

# ---- Traces ----

"$O/bench/fxtgen" --count 3000 --seed 5 --truth truth >trace.fxt
give 3000 "a trace, in memory" trace.fxt "SELECT count(*) FROM cpu_sample"
[ ! -e trace.fxt.fxtq ] || fail "a store was left"
fxtq --format csv --no-header - "SELECT count(*) FROM cpu_sample" <trace.fxt >out || fail "a trace from standard input"
[ "$(cat out)" = 3000 ] || fail "a trace from standard input: $(cat out)"
give 3000 "--cache" --cache trace.fxt "SELECT count(*) FROM cpu_sample"
[ -e trace.fxt.fxtq ] || fail "--cache left no store"
sqlite3 trace.fxt.fxtq "INSERT INTO meta VALUES (0, 'mine', 7)"
give 7 "the cached store" --cache trace.fxt "SELECT value FROM meta WHERE key = 'mine'"
sqlite3 trace.fxt.fxtq "DELETE FROM meta WHERE key = 'mine'"
"$O/bench/fxtgen" --count 2000 --seed 5 >trace.fxt
give 2000 "a store that is out of date" --cache trace.fxt "SELECT count(*) FROM cpu_sample"
echo no store >trace.fxt.fxtq
refuse 4 'trace.fxt.fxtq cannot be used as the cache' --cache trace.fxt "SELECT 1"
head -c 20000 trace.fxt >half.fxt
refuse 3 'half.fxt' half.fxt "SELECT count(*) FROM cpu_sample"
[ "$(sed -n 2p out)" -gt 0 ] || fail "nothing of a damaged trace: $(cat out)"
echo "no trace either" >text
refuse 3 'text' text "SELECT 1" || refuse 4 'text' text "SELECT 1"
[ ! -s out ] || fail "an answer without a trace: $(cat out)"

# ---- Stores that mean harm ----

cp run.fxtq evil.fxtq
sqlite3 evil.fxtq "
CREATE TABLE victim(a); INSERT INTO victim VALUES ('here');
CREATE VIEW loads AS SELECT load_extension('./evil.so');
CREATE VIEW tokens AS SELECT fts3_tokenizer('simple', x'4141414141414141');
CREATE VIEW asks AS SELECT in_stack(1, '(((((((x+)+)+)+)+)+)+y');
CREATE VIEW tree AS SELECT * FROM call_tree;
CREATE VIEW big AS SELECT zeroblob(2000000000), printf('%2000000000d', 1);
CREATE VIEW deep AS WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r;
CREATE TRIGGER bites AFTER INSERT ON meta BEGIN DELETE FROM victim; END;
CREATE TRIGGER chews AFTER UPDATE ON process BEGIN DELETE FROM victim; END;
" 2>err || fail "cannot make the hostile store: $(cat err)"
refuse 2 'unsafe use of\|not authorized\|no such function\|cannot be loaded' evil.fxtq "SELECT * FROM loads"
refuse 2 'unsafe use of\|no such function' evil.fxtq "SELECT * FROM tokens"
refuse 2 'unsafe use of' evil.fxtq "SELECT * FROM asks"
refuse 2 'unsafe use of' evil.fxtq "SELECT * FROM tree"
refuse 2 'too big' evil.fxtq "SELECT * FROM big"
refuse 4 'stopped after' --timeout 0.3 evil.fxtq "SELECT * FROM deep"
give "here" "triggers do not fire" --write evil.fxtq "INSERT INTO meta VALUES (0, 'x', 1); UPDATE process SET name = 'x'; SELECT a FROM victim"

# Names and values do not drive the terminal, nor do messages.
refuse 2 'no such column: \\x1b\[31mred' run.fxtq "SELECT \"$(printf '\033')[31mred\""

# A store whose pages are damaged.
python3 - <<'EOF'
data = bytearray(open("run.fxtq", "rb").read())
for page in range(2, len(data) // 4096):
    for i in range(8, 1200):
        data[page * 4096 + i] = (i * 37) & 0xFF
open("torn.fxtq", "wb").write(data)
EOF
refuse 3 'the store is damaged\|the store is corrupt' torn.fxtq "SELECT count(*), sum(ts), sum(weight) FROM cpu_sample; SELECT * FROM callsite; SELECT * FROM string"
head -c 100000 run.fxtq >cut.fxtq
refuse 3 'the store is damaged\|the store is corrupt' cut.fxtq "SELECT * FROM string; SELECT * FROM frame; SELECT * FROM cpu_sample"
head -c 4096 /dev/urandom >noise.fxtq
status=0
fxtq noise.fxtq "SELECT 1" >out 2>err || status=$?
[ $status -eq 3 ] || [ $status -eq 4 ] || fail "status $status for noise: $(cat err)"
