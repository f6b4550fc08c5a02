# Taken in by tests whose programs have stacks of x86-64, by
#
#   . "$ROOT/tests/cli/x86_64.sh"
#
# shellcheck shell=sh
case $(uname -m) in
x86_64) ;;
*)
    echo "SKIP: stacks of $(uname -m)"
    exit 0
    ;;
esac
