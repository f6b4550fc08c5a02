#!/bin/sh
# A library that the build installs by itself is used by that build, and by objects that were compiled without it before.
set -eu
cd "$WORK"
. "$ROOT/tests/cli/fail.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

# The sources, with a scripts/deps that "installs" by leaving a file, and a pkg-config that finds no library before that.
mkdir sources
for file in "$ROOT"/*; do
    case $file in */build | */scripts | "$O") ;; *) ln -s "$file" sources ;; esac
done
mkdir sources/scripts
printf '#!/bin/sh\n: >"%s/installed"\n' "$WORK" >sources/scripts/deps
# shellcheck disable=SC2016 # $1 is the script's
printf '#!/bin/sh\n[ -e "%s/installed" ] && [ "$1" = --exists ]\n' "$WORK" >pkg-config
chmod +x pkg-config sources/scripts/deps

build() { # build OPTION...: both objects that have options, and the command lines that made them
    make -C sources -j2 O="$WORK/out" PKG_CONFIG="$WORK/pkg-config" V=1 CFLAGS=-O0 "$@" \
        "$WORK/out/libsymbolize/unpack.o" "$WORK/out/cmd/fxtq/line_editor.o" >log 2>&1 || fail "$(cat log)"
}
options() { grep -oE 'SYM_HAVE_LZMA|FXTQ_HAVE_LIBEDIT' log | sort | tr '\n' ' '; }
both='FXTQ_HAVE_LIBEDIT SYM_HAVE_LZMA '

make -n -C sources O="$WORK/out" PKG_CONFIG="$WORK/pkg-config" >log 2>&1 || fail "make -n: $(cat log)"
grep -q 'libsymbolize/unpack\.c' log || fail "make -n shows nothing: $(cat log)"
[ ! -e installed ] || fail "make -n installs packages"

# NODEPS=1 installs nothing, so there is nothing to use.
build NODEPS=1
[ "$(options)" = '' ] || fail "libraries that are not there are used: $(cat log)"

# Installed by hand between two builds.
: >installed
build NODEPS=1
[ "$(options)" = "$both" ] || fail "a library that is there now is not used: $(cat log)"
build NODEPS=1
! grep -q 'unpack\.c' log || fail "compiled again without a reason: $(cat log)"

# Installed by the build itself, on a machine that had none.
rm -r out installed
build
[ "$(options)" = "$both" ] || fail "a library that the build installed is not used: $(cat log)"
