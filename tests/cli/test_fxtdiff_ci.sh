#!/bin/sh
# The jobs of docs/ci.md do what they say: their shell steps, as written there, in a repository with a benchmark.
set -eu
cd "$WORK"
unset GITHUB_WORKSPACE GITHUB_STEP_SUMMARY GITHUB_WORKFLOW_REF CI_PROJECT_DIR GITLAB_CI CI_CONFIG_PATH WORKSPACE

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

. "$ROOT/tests/cli/perf.sh"

# ---- The steps, out of the page ----

cat >steps.py <<'END'
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
github, gitlab = re.findall(r"```yaml\n(.*?)```", page, re.S)

def block(text, key):  # what stands under "key: |" or "key:", less its indentation
    lines = iter(text.splitlines())
    for line in lines:
        found = re.match(rf"( *){key}:( \|)?$", line)
        if not found:
            continue
        inside = []
        for line in lines:
            if line.strip() and len(line) - len(line.lstrip()) <= len(found[1]):
                break
            inside.append(line)
        least = min(len(line) - len(line.lstrip()) for line in inside if line.strip())
        return [line[least:] for line in inside]
    sys.exit(f"no {key}")

for name, start in (("build", "Build both sides"), ("compare", "Compare")):
    step = github[github.index(f"- name: {start}"):]
    script = "\n".join(block(step, "run"))
    open(f"github-{name}.sh", "w").write(script.replace("${{ github.base_ref }}", "main") + "\n")
for key in ("script", "after_script"):
    lines = [re.sub(r"^- ", "", line) for line in block(gitlab, key)]
    open(f"gitlab-{key}.sh", "w").write("\n".join(lines) + "\n")
END
python3 steps.py "$ROOT/docs/ci.md"

# ---- A repository whose change makes one function regressed ----

# parse is a quarter of it, then four sevenths: some 100 samples a run, and their noise, do not hide that.

git init -q -b main upstream
cd upstream
git config user.name tests
git config user.email tests@example.org
cat >program.c <<'END'
#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void parse(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) static void render(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i; }
int main(int argc, char **argv)
{
    srand(argc > 1 && argv[1][0] == 'i' ? 1 : 2);
    for (int i = 0; i < 300; i++) {
        parse((unsigned long)rand() % 100000 * PARSE);
        render((unsigned long)rand() % 300000);
    }
}
END
# shellcheck disable=SC2016 # variables of make
printf 'bench-program: program.c\n\t$(CC) -DPARSE=1 -O1 -g -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o $@ program.c\n' >Makefile
git add . && git commit -qm 'A benchmark'
cd ..
git clone -q upstream checkout
cd checkout
git config user.name tests
git config user.email tests@example.org
sed -i 's/PARSE=1/PARSE=4/' Makefile
git commit -qam 'Parse four times as long'

# ---- GitHub ----

GITHUB_WORKSPACE=$PWD
GITHUB_STEP_SUMMARY=$WORK/summary.md
export GITHUB_WORKSPACE GITHUB_STEP_SUMMARY
bash -e ../github-build.sh >../log 2>&1 || fail "GitHub's build: $(cat ../log)"
status=0
bash -e ../github-compare.sh >../out 2>../log || status=$? # as the runner does
[ $status -eq 1 ] || fail "GitHub's comparison: status $status: $(cat ../out ../log)"
grep -q '^::error file=program.c,line=3,title=fxtdiff function-regressed::parse regressed' ../out || fail "no annotation: $(cat ../out)"
grep -q '^### fxtdiff: FAIL' ../summary.md || fail "no summary: $(cat ../summary.md)"
python=python3
python3 -c 'import jsonschema' 2>/dev/null || python=/usr/bin/python3 # where the distribution's packages are
"$python" -W ignore "$ROOT/tests/tools/sarif_check.py" fxtdiff.sarif >../findings 2>../log || fail "what is uploaded is not SARIF: $(tail -n 1 ../log)"
grep -q '^error|function-regressed|program.c|3|' ../findings || fail "no finding in SARIF: $(cat ../findings)"
[ "$(find runs -name '*.fxt' | wc -l)" -eq 12 ] || fail "runs to upload: $(ls runs)"
git worktree remove --force ../base
rm -rf runs fxtdiff.sarif bench-program
unset GITHUB_WORKSPACE GITHUB_STEP_SUMMARY

# ---- GitLab ----

CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git merge-base origin/main HEAD)
CI_PROJECT_DIR=$PWD
GITLAB_CI=true
export CI_MERGE_REQUEST_DIFF_BASE_SHA CI_PROJECT_DIR GITLAB_CI
status=0
sh -e ../gitlab-script.sh >../out 2>../log || status=$?
[ $status -eq 1 ] || fail "GitLab's script: status $status: $(cat ../out ../log)"
grep -q '<testcase name="parse" classname="fxtdiff.function" file="program.c" time' fxtdiff.xml || fail "no test case: $(cat fxtdiff.xml)"
sh -e ../gitlab-after_script.sh 2>../log || fail "GitLab's after_script: $(cat ../log)"
grep -q '^### fxtdiff: FAIL' report.md || fail "no report: $(cat report.md)"
