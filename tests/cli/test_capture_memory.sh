#!/bin/sh
# Memory that is refused to sampler-capture, at each of its requests for more: no crash, no loss without a word.  Either the trace is
# whole, or the status is not 0 and a sentence names memory.
set -u
. "$ROOT/tests/cli/common.sh"
cd "$WORK" || exit 1
cat >refuse.c <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* The FAIL_AT-th call of realloc() in sampler-capture fails, and the file "refused" appears.  */
void *realloc(void *block, size_t size)
{
    static void *(*real)(void *, size_t);
    static long calls;
    const char *at = getenv("FAIL_AT");

    if (!real)
        real = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    if (at && strcmp(program_invocation_short_name, "sampler-capture") == 0 &&
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == atol(at)) {
        if (symlink("x", "refused") != 0)
            return NULL;
        errno = ENOMEM;
        return NULL;
    }
    return real(block, size);
}
SOURCE
${CC:-cc} -shared -fPIC -o refuse.so refuse.c -ldl || exit 1

refuse_each() { # refuse_each COMMAND WORDS...: of sampler-capture, until it ends without a refusal
    ended=0
    for at in $(seq 1 200); do
        rm -f x.fxt refused
        status=0
        FAIL_AT=$at LD_PRELOAD=$PWD/refuse.so sampler-capture "$@" -o x.fxt -- true >out 2>err || status=$?
        [ -L refused ] || break
        [ $status -lt 128 ] || fail "$*, request $at: status $status: $(cat err)"
        if [ $status -ne 0 ]; then
            grep -q memory err || fail "$*, request $at: status $status, and not a word of memory: $(cat err)"
            ! grep -q 'out of memory: the trace ends here' err || ended=$((ended + 1))
        else
            fxtdump --verify x.fxt >verified 2>&1 || fail "$*, request $at: $(cat verified)"
            ! grep -q ' 0 bytes of packets' err || fail "$*, request $at: nothing was recorded: $(cat err)"
        fi
    done
    { [ "$at" -gt 4 ] && [ ! -L refused ]; } || fail "$*: $at requests"
    [ $ended -gt 0 ] || fail "$*: no trace ended early"
}
refuse_each trace
refuse_each heap
! sampler-capture insn --help >/dev/null 2>&1 || refuse_each insn --simulate
! sampler-capture cpu -o x.fxt -- true >/dev/null 2>&1 || refuse_each cpu
finish
