"""Small profiles in the formats of gperftools, Go, Java, perf script and Austin: seeds of fuzz_profile_files, and the
input of tests/cli/test_profile_formats.sh.  python3 testdata/fuzz/profiles.py FOLDER"""

import struct
import sys

MAPS = b"""--- Memory map: ---
  build=/usr/lib
  400000-408000: /bin/prog (@1000) b0b1
  7f00-7fff r-xp 00002000 08:01 17 $build/libc.so
  8000-9000 rw-p 00000000 00:00 0
"""


def write(name, data):
    with open(f"{sys.argv[1]}/{name}", "wb") as file:
        file.write(data)


def cpu(size, order, words):
    return struct.pack(order + ("I" if size == 4 else "Q") * len(words), *words)


for name, size, order in (("32-little", 4, "<"), ("32-big", 4, ">"), ("64-little", 8, "<"), ("64-big", 8, ">")):
    write(
        f"cpu-{name}",
        cpu(size, order, [0, 3, 0, 10000, 0, 3, 3, 0x400100, 0x400200, 0x400300, 2, 4, 0x400110, 0x400200, 0x400301, 0x7F10, 0, 1, 0])
        + MAPS,
    )
write(
    "cpu-java",
    cpu(4, "<", [0, 3, 1, 1000, 0, 2, 2, 3, 4, 1, 1, 5, 0, 1, 0])
    + b" 0x3 com.example.Word.count (Word.java:17)\n 0x4 read (/lib/libc.so.6)\n 0x5 GC\n",
)
write(
    "heap-v1",
    b"heap profile:      3:     4096 [     9:     8192] @ heapprofile\n"
    b"  2: 1024 [ 4: 2048] @ 0x400101 0x400202\n  1: 3072 [ 5: 6144] @ 0x400303\n\n"
    b"MAPPED_LIBRARIES:\n400000-408000 r-xp 00000000 08:01 17 /bin/prog\n",
)
write(
    "heap-v2",
    b"heap profile:      3:     4096 [     3:     4096] @ heap_v2/524288\n"
    b"  2: 1024 [ 2: 1024] @ 0x400101 0x400202\n  1: 3072 [ 1: 3072] @ 0x400303\n" + MAPS,
)
write(
    "heap-go",
    b"heap profile: 3: 4096 [9: 8192] @ heap/1048576\n2: 1024 [4: 2048] @ 0x400101 0x400202\n"
    b"#\t0x400100\tmain.f+0x10\t/src/main.go:17\n#\t0x400201\tmain.main+0x20\t/src/main.go:9\n\n"
    b"0: 0 [5: 6144] @ 0x400303\n\n# runtime.MemStats\n# Alloc = 4096\n",
)
write(
    "growth",
    b"heap profile:     2:  4194304 [     2:  4194304] @ growthz\n"
    b"  1: 2097152 [ 1: 2097152] @ 0x400101 0x400202\n  1: 2097152 [ 1: 2097152] @ 0x400101\n" + MAPS,
)
write(
    "contention",
    b"--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 100\nms since reset = 16502830\n"
    b"discarded samples = 0\n  19490304       27 @ 0x400101 0x400202\n       768        1 @ 0x400303\n" + MAPS,
)
write(
    "contention-go",
    b"--- mutex:\ncycles/second=2000000000\nsampling period=1\n4000 2 @ 0x400101 0x400202\n"
    b"#\t0x400100\tsync.(*Mutex).Unlock+0x10\t/src/mutex.go:17\n",
)
write(
    "java-heap",
    b"--- heapz 1 ---\nformat = java\nresolution = bytes\n          7048     1 @ 0x00000003 0x00000004\n"
    b"           240     5 @ 0x00000005\n\n\n 0x00000003 com.example.Word.count (Word.java:17)\n"
    b" 0x00000004 read (/lib/libc.so.6)\n 0x00000005 generated stub/JIT\n",
)
write(
    "java-contention",
    b"--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 100\n"
    b"ms since reset = 6019923\n            1     1 @ 0x00000003 0x00000004\n\n"
    b" 0x00000003 com.example.Word.count (Word.java:17)\n",
)
write(
    "threads",
    b"--- threadz 1 ---\n\n--- Thread 7f794ab90940 (name: main/14748) stack: ---\n"
    b"  PC:  0x00400101: helper(arg*)\n  0x00400202: main\n"
    b"--- Thread 7f794964e700 (name: thread1/14751) stack: ---\n  [same as previous thread]\n"
    b"--- Thread 7f794964e701 (name: thread2/14752) stack: ---\n  PC: 0x400303 0x400202\n    creator: 0x400404\n" + MAPS,
)
write(
    "goroutines",
    b'goroutine profile: total 3\n2 @ 0x400101 0x400202\n# labels: {"k":"v"}\n'
    b"#\t0x400100\tmain.wait+0x36\t/src/main.go:17\n\n1 @ 0x400303 0x400202\n"
    b"#\t0x400302\tmain.inner+0xa0\t/src/main.go:774\n#\t0x400302\tmain.main+0x10\t/src/main.go:9\n",
)
write(
    "perf-script",
    b"# captured on: a day\nmy program 12  4711 [003]  1234.567890:     250000 cycles:u: \n"
    b"\t    55d0c8a1e1a9 work+0x19 (/usr/bin/prog)\n"
    b"\t    55d0c8a1e1b9 std::vector<int>::push_back(int const&)+0x3 (/usr/bin/prog)\n"
    b"\t    7f6c2a029d90 [unknown] (/usr/lib/libc.so.6)\n\n"
    b"swapper     0 [000]  1234.567999:          1 cpu-clock:pppH: \n"
    b"\tffffffff8104f45a native_write_msr ([kernel.kallsyms])\n\n"
    b"prog  4711/4712  1235.000001:     250000 cycles:u: \n"
    b"\t    55d0c8a1e1a9 inner (inlined)\n\t    55d0c8a1e1a9 work+0x19 (/usr/bin/prog)\n\n"
    b"perf  9 [001] 1236.5: sched:sched_switch: prev_comm=perf prev_pid=9\n"
    b"one  10 1236.6:  1 cycles:  7f00 f (/bin/one)\n",
)
write(
    "austin",
    b"# austin: 3.6.0\n# interval: 100\n# mode: wall\n\n"
    b"P4711;T0:4712;/app/main.py:<module>:12;/app/main.py:work:7 1250\n"
    b"P4711;T0:4712;/app/main.py:<module>:12;:GC: 50\n",
)
write(
    "austin-full",
    b"# austin: 3.6.0\n# mode: full\n\n"
    b"P4711;T0x7f00;/app/main.py:<module>:12;/app/main.py:work:7 1250,0,64\n"
    b"P4711;T0x7f00;/app/main.py:<module>:12 50,1,-16\n",
)
