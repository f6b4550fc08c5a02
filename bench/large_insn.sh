#!/bin/sh
# The figures of bench_insn.sh for 1 GB of packets.
BENCH_INSN_BYTES=1000000000 exec sh bench/bench_insn.sh
