#!/bin/sh
# The figures of bench_perf_data.sh for a file of 1 GB.
SIZE=1000000000 BOUND=20 RUNS=1 exec sh bench/bench_perf_data.sh
