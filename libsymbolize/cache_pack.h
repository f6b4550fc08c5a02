/* cache_pack.h - numbers of a cache file, for those who write and those who read it.  */
#ifndef SYMBOLIZE_CACHE_PACK_H
#define SYMBOLIZE_CACHE_PACK_H

#include "libsymbolize/symbol_cache.h"
#include <endian.h>
#include <string.h>

/* Where things stand in the header; schemas/symbol-cache.md.  */
enum {
    HEADER_MAGIC = 0, /* 8 bytes */
    HEADER_VERSION = 8,
    HEADER_BLOCKS = 12,   /* 4 bytes: entries of the directory */
    HEADER_CHECKSUM = 16, /* of header and directory, these 8 bytes taken as 0 */
    HEADER_INPUTS = 24,
    HEADER_QUALITY = 32,         /* 1 byte */
    HEADER_BUILD_ID_LENGTH = 33, /* 1 byte */
    HEADER_BUILD_ID = 40,        /* 64 bytes */
    HEADER_SECTIONS = 104,       /* 8 sizes of 8 bytes */
    HEADER_RELEASE = 168,        /* digest of the version that wrote it, 8 bytes */
};

static const uint8_t sym_cache_magic[8] = { 'f', 'x', 't', 's', 'y', 'm', 'b', '\n' };

/* Directory entry: size in the file, with this bit when it is packed; 4 bytes of 0; digest.  */
#define SYM_CACHE_PACKED (UINT32_C(1) << 31)

enum { /* columns of a group of rows, and of a group of nodes */
       ROW_OFFSET = 0,
       NODE_PARENT = 0,
       ROW_NODE = 1,
       NODE_FUNCTION = 1,
       ANY_FILE = 2,
       ANY_LINE = 3,
       ANY_COLUMN = 4,
};

static inline uint32_t load_u32(const uint8_t *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof value);
    return le32toh(value);
}

static inline uint64_t load_u64(const uint8_t *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

static inline void store_u32(uint8_t *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof value);
}

static inline void store_u64(uint8_t *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

/* A signed difference as a number that is small when it is: 0, -1, 1, -2, ...  */
static inline uint32_t zigzag(uint32_t difference)
{
    return difference << 1 ^ (0U - (difference >> 31));
}

static inline uint32_t unzigzag(uint32_t value)
{
    return value >> 1 ^ (0U - (value & 1));
}

/* Many functions may share a name, and each reads it: how many bytes that may be all together, for
 * a file of so many bytes of names.  A few times each of them, or short names alone.  */
static inline uint64_t sym_cache_name_bytes(uint64_t strings, uint64_t functions, uint64_t files)
{
    return 16 * strings + 256 * (2 * functions + files);
}

#endif /* SYMBOLIZE_CACHE_PACK_H */
