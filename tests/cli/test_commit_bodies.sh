#!/bin/sh
# scripts/commit-bodies: commits since it was added must have a body; older ones, and clones without history, are let be.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"

command -v git >/dev/null || {
    echo 'SKIP: git is not here'
    exit 0
}
HOME=$WORK
GIT_CONFIG_NOSYSTEM=1
export HOME GIT_CONFIG_NOSYSTEM
# What a hook or a worktree of the one who runs the tests has set is not for this repository.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
commit() { # commit MESSAGE...
    git -C tree -c user.name=n -c user.email=e@example.org commit -q --allow-empty "$@"
}
lists() { # lists FOLDER EXPECTED: subjects, one a line
    status=0
    "$1/scripts/commit-bodies" >out 2>err || status=$?
    [ ! -s err ] || fail "$1: $(cat err)"
    [ "$(cut -d ' ' -f 2- out)" = "$2" ] || fail "$1: $(cat out), not $2"
    if [ -n "$2" ]; then expected=1; else expected=0; fi
    [ $status -eq $expected ] || fail "$1: status $status"
}

git init -q tree
mkdir tree/scripts
commit -m 'old: Nothing more'
cp "$ROOT/scripts/commit-bodies" tree/scripts/commit-bodies
lists tree ''
git -C tree add scripts
commit -m 'scripts: The rule'
lists tree ''
commit -m 'a: One' -m 'It says why.'
lists tree ''
commit -m 'b: Two'
commit -m 'c: Three' -m 'It says why, too.'
lists tree 'b: Two'
commit -m 'd: Four'
lists tree 'd: Four
b: Two'

# In a shallow clone the oldest commit seems to add every file: those after it are looked at.
git clone -q --depth 2 "file://$WORK/tree" shallow
lists shallow 'd: Four'
git clone -q --depth 1 "file://$WORK/tree" tip
lists tip ''
# Neither a merge without a body nor a tree without history is a fault.
git -C tree checkout -q -b side HEAD~2
commit -m 'e: Five' -m 'Its reason.'
git -C tree -c user.name=n -c user.email=e@example.org merge -q -m 'Merge' -
lists tree 'd: Four
b: Two'
rm -rf tree/.git
GIT_CEILING_DIRECTORIES=$WORK
export GIT_CEILING_DIRECTORIES
lists tree ''
