#!/bin/sh
# Makes a C++ library of many units, for benchmarks of symbolizers: large_library.sh OUTPUT UNITS, 1.9 MB each, in the current folder.
# The units are copies of one, under names of their own: compiling as many would take half an hour.
set -eu

g++ -std=c++17 -O2 -g -fPIC -c -DTYPES=1 -o unit.o "$(dirname "$0")/large_cpp.cc"
nm --defined-only unit.o | awk '{ print $NF }' | sort -u >names
mkdir units
i=0
while [ $i -lt "$2" ]; do
    i=$((i + 1))
    sed "s/.*/& &_$i/" names >map
    objcopy --redefine-syms=map unit.o units/$i.o
done
ld.lld -shared --build-id --unresolved-symbols=ignore-all -z notext -o "$1" units/*.o
rm -r unit.o names map units
