/* wire.h - what encoder and decoder share.  Section numbers are those of memory-sampler.md.  */
#ifndef FIDL_WIRE_H
#define FIDL_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define FIDL_HEADER_SIZE 16u
#define FIDL_MAGIC       0x01u /* byte 7 of the header */
#define FIDL_WIRE_V2     0x02u /* bit of byte 4 */
#define FIDL_FLEXIBLE    0x80u /* bit of byte 6 */

/* The presence word of vectors, strings and tables that are there.  */
#define FIDL_PRESENT UINT64_MAX

/* Table headers and vector headers alike: a count, then the presence word.  */
#define FIDL_COUNT_SIZE 16u

/* Envelopes, 8 bytes: u32 bytes, u16 handles, u16 flags.  */
#define FIDL_ENVELOPE_SIZE 8u
#define FIDL_INLINE        1u /* flags: the value stands in the envelope itself */

static inline uint64_t fidl_load(const uint8_t *bytes, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static inline void fidl_store(uint8_t *bytes, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

#endif /* FIDL_WIRE_H */
