/* fidl_vectors.h - the messages of docs/formats/memory-sampler.md section 3.  */
#ifndef TESTS_FIDL_VECTORS_H
#define TESTS_FIDL_VECTORS_H

/* RecordAllocation: address 0x1122, frames 0xaaaa and 0xbbbb, size 0x40.  */
#define VECTOR_ALLOCATION_1                                                     \
    "00000000 02000001 4d826977 9fdd0a6b  22110000 00000000 01000000 00000000 " \
    "ffffffff ffffffff 40000000 00000000  20000000 00000000 02000000 00000000 " \
    "ffffffff ffffffff aaaa0000 00000000  bbbb0000 00000000"
#define VECTOR_ALLOCATION_2                                                     \
    "00000000 02008001 4d826977 9fdd0a6b  03000000 00000000 ffffffff ffffffff " \
    "08000000 00000000 38000000 00000000  08000000 00000000 22110000 00000000 " \
    "01000000 00000000 ffffffff ffffffff  20000000 00000000 02000000 00000000 " \
    "ffffffff ffffffff aaaa0000 00000000  bbbb0000 00000000 40000000 00000000"

/* RecordDeallocation: address 0x1122, frame 0xcccc.  */
#define VECTOR_DEALLOCATION_1                                                   \
    "00000000 02000001 ebbe4dc3 5eff3b50  22110000 00000000 01000000 00000000 " \
    "ffffffff ffffffff 18000000 00000000  01000000 00000000 ffffffff ffffffff " \
    "cccc0000 00000000"

/* SetProcessInfo: name "app", one module with build ID 00..13 and one segment (0x10000, 0x2000,
 * 0x1000).  */
#define VECTOR_PROCESS_INFO                                                     \
    "00000000 02000001 8317e506 7155a068  02000000 00000000 ffffffff ffffffff " \
    "18000000 00000000 a8000000 00000000  03000000 00000000 ffffffff ffffffff " \
    "61707000 00000000 01000000 00000000  ffffffff ffffffff 02000000 00000000 " \
    "ffffffff ffffffff 28000000 00000000  50000000 00000000 14000000 00000000 " \
    "ffffffff ffffffff 00010203 04050607  08090a0b 0c0d0e0f 10111213 00000000 " \
    "01000000 00000000 ffffffff ffffffff  03000000 00000000 ffffffff ffffffff " \
    "08000000 00000000 08000000 00000000  08000000 00000000 00000100 00000000 " \
    "00200000 00000000 00100000 00000000"

/* Made for these tests by the rules of section 3: the second generation's deallocation of the same
 * values as the first's.  */
#define VECTOR_DEALLOCATION_2                                                   \
    "00000000 02008001 ebbe4dc3 5eff3b50  02000000 00000000 ffffffff ffffffff " \
    "08000000 00000000 30000000 00000000  22110000 00000000 01000000 00000000 " \
    "ffffffff ffffffff 18000000 00000000  01000000 00000000 ffffffff ffffffff " \
    "cccc0000 00000000"

#endif /* TESTS_FIDL_VECTORS_H */
