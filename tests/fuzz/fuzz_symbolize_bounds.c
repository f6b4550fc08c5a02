/* Functions by .eh_frame and .debug_frame.
 *
 * The first byte says what the rest is: bit 0: 64-bit, bit 1: big-endian, bit 2: .debug_frame.
 * Each function begins in the object's code, there are no more of them than the section has room
 * for, and each one is found at its start unless another one begins there, too.  */
#include <stdlib.h>
#include <string.h>

#include "libsymbolize/function_bounds.h"
#include "tests/fuzz/support.h"

enum { CODE_START = 0x1000, CODE_LIMIT = 0x100000, SECTION_VADDR = 0x2000, ENTRY_MIN = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sym_code code = { .start = CODE_START, .limit = CODE_LIMIT };
    struct sym_bounds bounds = { .starts = NULL };
    struct sym_ranges ranges = { 0 };
    uint64_t start;

    if (size < 1)
        return 0;
    struct sym_object object = {
        .is_64 = data[0] & 1, .big_endian = data[0] & 2, .code = &code, .code_count = 1
    };
    struct sym_bytes section = { .data = data + 1, .size = size - 1 };
    HOLD(sym_bounds_add(&bounds, &ranges, &object, section, SECTION_VADDR, !(data[0] & 4)) ==
         SYM_OK);
    HOLD(bounds.count <= size / ENTRY_MIN);
    HOLD(sym_segments_build(&bounds.segments, &ranges) == SYM_OK);
    for (size_t i = 0; i < bounds.count; i++) {
        struct sym_span span = { .limit = UINT64_MAX };

        HOLD(bounds.starts[i] >= CODE_START && bounds.starts[i] < CODE_LIMIT);
        HOLD(sym_bounds_find(&bounds, bounds.starts[i], &span, &start));
        HOLD(start <= bounds.starts[i] && span.start <= bounds.starts[i] &&
             bounds.starts[i] < span.limit);
    }
    sym_ranges_release(&ranges);
    sym_bounds_release(&bounds);
    return 0;
}
