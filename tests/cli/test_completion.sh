#!/bin/sh
# Command lines are completed from the tables that parse them: bash, zsh and fish, in terminals, are asked for what can follow, and
# must offer what --help tells of, and nothing else (tests/completion.py).
set -u
cd "$WORK" || exit 1
status=0
fail() {
    echo "FAIL: $1"
    status=1
}
have() {
    command -v "$1" >/dev/null && return 0
    echo "SKIP: $1 is not here"
    return 1
}

programs="fxtdump fxtcat fxt2pprof fxtsym fxtq fxtdiff sampler-capture"
mkdir bash zsh fish files files/sub
for program in $programs; do
    "$program" --completion=bash >"bash/$program" || fail "$program --completion=bash"
    "$program" --completion=zsh >"zsh/_$program" || fail "$program --completion=zsh"
    "$program" --completion fish >"fish/$program.fish" || fail "$program --completion fish"
    cmp -s "bash/$program" "$O/completion/bash/$program" || fail "the build has another completion of $program for bash"
    cmp -s "zsh/_$program" "$O/completion/zsh/_$program" || fail "the build has another completion of $program for zsh"
    cmp -s "fish/$program.fish" "$O/completion/fish/$program.fish" || fail "the build has another completion of $program for fish"
done

# Commands of programs have none of their own.
fxtq report --completion=bash 2>err && fail "a command has a completion"
grep -q 'unknown option --completion' err || fail "a command: $(cat err)"

have shellcheck && { shellcheck -s bash bash/* || fail "shellcheck"; }

# Traces, a store of two captures, and what is neither.
"$O/bench/fxtgen" --count 100 >files/one.fxt
"$O/bench/fxtgen" --count 100 --seed 2 >files/other
fxtq import -q files/one.fxt files/other -o files/s.fxtq || fail "no store"
rm files/other
# Names of strangers: what shells, terminals and lists take for something else.
fxtq import -q files/one.fxt -o files/sub/odd.fxtq
sqlite3 files/sub/odd.fxtq "UPDATE thread SET name = NULL; UPDATE process SET name = NULL, koid = 7; DELETE FROM thread WHERE id > 12;
    INSERT INTO thread(id, upid, koid) VALUES (13, 1, 113), (14, 1, 114);
    UPDATE thread SET koid = 100 + id, name = CASE id WHEN 1 THEN 'a b' WHEN 2 THEN '\$(touch made)' WHEN 3 THEN '\`touch made\`;x' WHEN 4 THEN 'it''s' WHEN 5 THEN 'say \"x\"'
    WHEN 6 THEN 'one,two' WHEN 7 THEN 'es' || char(27) || '[31m' WHEN 8 THEN 'new' || char(10) || 'line' WHEN 9 THEN 'back\\slash' WHEN 10 THEN '-x --y' WHEN 11 THEN '~root'
    WHEN 12 THEN 'k/0:1=2' WHEN 13 THEN 'naïve*?[a]' WHEN 14 THEN '' END"
cp files/sub/odd.fxtq 'files/sub/a store'
echo 'no store' >files/sub/no.fxtq
touch files/two.fxt.zst files/p.pb.gz files/notes.txt 'files/a b.txt' files/x:y.txt files/p=q.txt
cd files || exit 1

# With and without the package of other people's completions.
BASH_COMPLETION='' python3 "$ROOT/tests/completion.py" bash ../bash || fail "bash"
library=/usr/share/bash-completion/bash_completion
if [ -e $library ]; then
    BASH_COMPLETION=$library python3 "$ROOT/tests/completion.py" bash ../bash || fail "bash with bash-completion"
else
    echo "SKIP: bash-completion is not here"
fi
if have zsh; then
    for program in $programs; do
        zsh -n "../zsh/_$program" || fail "zsh: syntax of $program"
    done
    python3 "$ROOT/tests/completion.py" zsh ../zsh || fail "zsh"
fi
if have fish; then
    for program in $programs; do
        fish --no-execute "../fish/$program.fish" || fail "fish: syntax of $program"
    done
    python3 "$ROOT/tests/completion.py" fish ../fish || fail "fish"
fi
[ ! -e made ] || fail "a name was run"
exit $status
