#!/bin/sh
# fxtdiff --bisect finds the commit that regressed, by git bisect run, and skips what is inconclusive.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
# runs FOLDER COUNT HOT SEED: folded stacks of COUNT runs
runs() {
    rm -rf "$1" && mkdir "$1"
    for i in $(seq "$2"); do
        awk -v hot="$3" -v seed="$4$i" 'BEGIN { srand(seed)
            for (k = 1; k <= 20; k++) print "main;f" k, int(20000 / k * (0.99 + rand() / 50) * (k == 3 ? hot : 1)) }' >"$1/$i"
    done
}
runs base 5 1 1

# ---- Statuses ----

runs new 5 1 2
runs dear 5 1.5 3
runs one 1 1 4
run 0 fxtdiff --bisect base -- new
run 1 fxtdiff --bisect base -- dear
run 125 fxtdiff --bisect base/1 -- one/1
run 5 fxtdiff base/1 -- one/1
printf 'main;f 12\nmain;g what\n' >damaged
run 125 fxtdiff --bisect base -- damaged
run 125 fxtdiff --bisect base -- missing
run 128 fxtdiff --bisect base -- new new/1

# ---- git bisect run ----

git init -q -b main repository
cd repository
git config user.name tests
git config user.email tests@example.org
for commit in 1 2 3 4 5 6 7; do
    hot=1
    count=5
    [ $commit -lt 6 ] || hot=1.5 # the first bad one
    [ $commit -ne 4 ] || count=2 # which is looked at first
    runs bench $count $hot 1$commit
    git add . && git commit -qm "Commit $commit"
done
git bisect start HEAD HEAD~6 >../out 2>&1 || fail "git bisect start: $(cat ../out)"
git bisect run sh -c 'fxtdiff -q --bisect ../base -- bench' >../out 2>&1 || fail "git bisect run: $(cat ../out)"
git log -1 --format=%s refs/bisect/bad >../out
cd ..
prints 'Commit 6'
[ "$(git -C repository for-each-ref 'refs/bisect/skip-*' | wc -l)" -eq 1 ] || fail "commit 4 was not skipped"
finish
