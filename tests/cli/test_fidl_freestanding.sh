#!/bin/sh
# The FIDL codec may be linked into any process: it asks for nothing but what compilers expect anyway, and
# keeps no state.
set -eu
sanitizer='^_*(asan|ubsan|sanitizer|odr_asan)_'
asked=$(nm -u "$O"/libfxt/fidl/*.o | awk '$1 == "U" { print $2 }' | grep -vE "$sanitizer" |
    grep -vE '^(memcpy|memset|memmove|memcmp|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|fidl_[a-z_]+)$' || :)
state=$(nm "$O"/libfxt/fidl/*.o | awk '$2 ~ /^[bBC]$/ { print $3 }' | grep -vE "$sanitizer" || :)
if [ -n "$asked$state" ]; then
    echo "it needs: ${asked:-nothing}; its state: ${state:-none}"
    exit 1
fi
