# Taken in by tests of symbols that want a program with an inlined function, by
#
#   . "$ROOT/tests/cli/inlined.sh"
#
# in the folder of the test: ./full, with a build ID and debug information, in which inner() is inlined into outer().  No symbols come
# from elsewhere.
# shellcheck shell=sh
HOME=$WORK
export HOME
unset XDG_CACHE_HOME DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
cat >program.c <<'EOF'
static inline __attribute__((always_inline)) int inner(int x) { return x * x; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
int main(int argc, char **argv) { (void)argv; return outer(argc); }
EOF
gcc -O1 -g -Wl,--build-id=sha1 -o full program.c
