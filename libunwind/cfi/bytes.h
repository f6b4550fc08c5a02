/* bytes.h - reads numbers from call frame information, never past its end.  */
#ifndef CFI_BYTES_H
#define CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* bad is set when something was read that is not there.  */
struct cfi_bytes {
    const uint8_t *next;
    const uint8_t *end;
    bool bad;
};

/* A little-endian number of at most 8 bytes.  */
static inline uint64_t cfi_take(struct cfi_bytes *bytes, size_t size)
{
    uint64_t value = 0;

    if ((size_t)(bytes->end - bytes->next) < size) {
        bytes->bad = true;
        return 0;
    }
    memcpy(&value, bytes->next, size);
    bytes->next += size;
    return value;
}

static inline uint64_t cfi_take_uleb(struct cfi_bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = cfi_take(bytes, 1);

        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    bytes->bad = true;
    return 0;
}

static inline int64_t cfi_take_sleb(struct cfi_bytes *bytes)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 57; shift += 7) {
        uint64_t byte = cfi_take(bytes, 1);

        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return (int64_t)(byte & 0x40 ? value | (~UINT64_C(0) << (shift + 7)) : value);
    }
    bytes->bad = true;
    return 0;
}

static inline void cfi_skip(struct cfi_bytes *bytes, uint64_t size)
{
    if ((uint64_t)(bytes->end - bytes->next) < size)
        bytes->bad = true;
    else
        bytes->next += size;
}

#endif /* CFI_BYTES_H */
