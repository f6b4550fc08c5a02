#!/bin/sh
# Annotations name files as the repository does, whatever the compiler wrote: a real repository, built with and without
# -ffile-prefix-map, in its root, in a folder of it, and elsewhere.  The path of a function comes from the debug information.
set -eu
. "$ROOT/tests/cli/common.sh"

cd "$WORK"
unset GITHUB_WORKSPACE GITHUB_STEP_SUMMARY GITHUB_WORKFLOW_REF CI_PROJECT_DIR GITLAB_CI WORKSPACE
mkdir -p app/src app/lib app/build app/tools
cd app
git init -q .
cat >lib/parse.c <<'END'
volatile int sink;
__attribute__((noinline)) void parse(int n) { while (n--) sink += n; }
END
cat >src/main.c <<'END'
void parse(int n);
int main(void) { parse(10); }
END
cp lib/parse.c tools/ # another file of that name
git add .
cd ..

# runs PROGRAM: five runs of each side whose function parse is at the place that the program's debug information has
runs() {
    vaddr=$(nm "$1" | sed -n 's/ T parse$//p')
    place=$(fxtsym --exe "$1" "0x$vaddr" | tail -n 1)
    file=${place%:*}
    for i in 1 2 3 4 5; do
        for side in base new; do
            cost=$((10000 + 10 * i))
            [ $side = base ] || cost=$((20000 + 10 * i))
            protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >$side$i <<END
sample_type { type: 1 unit: 2 }
sample { location_id: 2 location_id: 1 value: $cost } sample { location_id: 1 value: $((50000 - 7 * i)) }
location { id: 1 line { function_id: 1 line: 2 } } location { id: 2 line { function_id: 2 line: 2 } }
function { id: 1 name: 3 filename: 5 } function { id: 2 name: 4 filename: 5 start_line: 2 }
string_table: "" string_table: "samples" string_table: "count" string_table: "main" string_table: "parse" string_table: "$file"
END
        done
    done
}
annotated() { # annotated HOW PATH [VARIABLE=VALUE...]: the annotation is at PATH
    how=$1
    path=$2
    shift 2
    (cd app/src && env "$@" fxtdiff --github ../../base? -- ../../new?) >out 2>err || true
    grep -q "^::error file=$path,line=2,title=fxtdiff function-regressed::parse regressed" out ||
        fail "$how ($file): not at $path: $(grep '^::' out; cat err)"
}
everywhere() { # everywhere HOW: in GitHub's workspace, in GitLab's folder, in Jenkins' and in none
    annotated "$1" lib/parse.c "GITHUB_WORKSPACE=$WORK/app"
    annotated "$1" lib/parse.c "CI_PROJECT_DIR=$WORK/app/"
    annotated "$1" lib/parse.c "WORKSPACE=$WORK/app"
    annotated "$1" lib/parse.c NOTHING=
}

flags='-g -O1'
for map in '' "-ffile-prefix-map=$WORK/app=." "-ffile-prefix-map=$WORK/app/=" "-ffile-prefix-map=$WORK/app=/usr/src/app-1.0"; do
    # shellcheck disable=SC2086 # several words
    (cd app && cc $flags $map -o ../prog src/main.c lib/parse.c)
    runs prog
    everywhere "in the root, $map"
    # shellcheck disable=SC2086
    (cd app/build && cc $flags $map -o ../../prog ../src/main.c ../lib/parse.c)
    runs prog
    everywhere "in a folder, $map"
    # shellcheck disable=SC2086
    cc $flags $map -o prog "$WORK/app/src/main.c" "$WORK/app/lib/parse.c"
    runs prog
    everywhere "outside, $map"
done
# A checkout in a folder of the workspace: paths are those of the repository.
(cd app && cc -g -O1 -o ../prog src/main.c lib/parse.c)
runs prog
annotated "a checkout in a folder" lib/parse.c "GITHUB_WORKSPACE=$WORK"
# Files of others stay what they are.
echo 'int other;' >elsewhere.c
file=$WORK/elsewhere.c
for i in 1 2 3 4 5; do
    for side in base new; do
        protoc --decode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto <$side$i | sed "s|$WORK/app/lib/parse.c|$file|" |
            protoc --encode=perftools.profiles.Profile -I "$ROOT/schemas" profile.proto >changed
        mv changed $side$i
    done
done
annotated "another file" "$file" "GITHUB_WORKSPACE=$WORK/app"
finish
