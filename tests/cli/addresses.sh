# What tests that look up the whole code of an object share:
#
#   . "$ROOT/tests/cli/addresses.sh"
# shellcheck shell=sh

# Addresses of OBJECT's .text, every STEP-th, as hex digits.
text_addresses() { # text_addresses OBJECT STEP
    objdump -h "$1" | awk '$2 == ".text" { print $4, $3 }' | {
        read -r start size
        awk -v start=$((0x$start)) -v size=$((0x$size)) -v step="$2" \
            'BEGIN { for (at = start; at < start + size; at += step) printf "%x\n", at }'
    }
}
