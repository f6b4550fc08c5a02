/* cache_read.c - answers from a cache file.
 *
 * The file's image (its sections one behind the other, each from a block's start) has a place in
 * memory that is filled block by block as look-ups touch it.  Blocks are read, not mapped: what was
 * checked stays as it was, whatever happens to the file, and a file cut short is no SIGBUS. */
#include "libsymbolize/cache_pack.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bisect.h"
#include "base/grow.h"

enum {
    FIRST_READ = 16 << 10, /* bytes: header and directory of most files */
};

struct section {
    uint64_t size;
    uint8_t *bytes;     /* in the image */
    size_t first_block; /* of the image */
};

struct block {
    uint64_t offset; /* in the file */
    uint64_t digest;
    uint32_t size;   /* in the file */
    uint32_t length; /* in the image */
    bool packed, ready;
};

/* A function as frames show it; filled when the first frame does.  */
struct function {
    const char *function, *linkage_name;
    uint32_t start_line, file;
    enum sym_quality source;
    bool inlined, ready;
};

/* A packed group of rows or nodes: where its columns start and how wide they are.  */
struct group {
    const uint8_t *bits, *files;
    uint32_t count, file_count, base;
    uint8_t width[SYM_CACHE_COLUMNS];
    uint32_t bit[SYM_CACHE_COLUMNS];
    uint64_t mask[SYM_CACHE_COLUMNS];
};

struct sym_cache {
    int fd;              /* -1: from bytes */
    const uint8_t *data; /* borrowed, with fd -1 */
    uint64_t size;       /* of the file */
    struct sym_strings *strings;
    struct sym_cache_key key;

    struct section sections[SYM_CACHE_SECTIONS];
    struct block *blocks;
    size_t block_count;
    uint8_t *image;
    size_t image_size, room_size; /* the image, then functions and files */
    ZSTD_DCtx *context;           /* NULL until a packed block is read */
    uint8_t *packed;              /* room for a block as it lies in the file */

    size_t group_count, node_count, function_count, file_count;
    struct function *functions;
    const char **files;  /* NULL until a frame shows it */
    uint64_t name_bytes; /* that may still be interned: names may be shared, but not without end */
    struct group rows, nodes;
    size_t row_group, node_group; /* which ones those are; SIZE_MAX: none */
    uint64_t row_start;           /* the addresses that rows is about */
    uint32_t row_length;
    uint32_t *notes;   /* one a row; NULL until one is wanted */
    uint32_t gap_note; /* of every address without frames */
};

/* ---- Reading the file ---- */

static enum sym_status read_at(const struct sym_cache *cache, uint64_t offset, uint8_t *to,
                               size_t size)
{
    if (offset > cache->size || size > cache->size - offset)
        return SYM_MALFORMED;
    if (cache->fd < 0) {
        memcpy(to, cache->data + offset, size);
        return SYM_OK;
    }
    while (size) {
        ssize_t got = pread(cache->fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? SYM_IO : SYM_MALFORMED; /* cut short since it was opened */
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return SYM_OK;
}

static enum sym_status unpack(struct sym_cache *cache, const struct block *block, uint8_t *to)
{
    if (!cache->context)
        cache->context = ZSTD_createDCtx();
    if (!cache->context)
        return SYM_NO_MEMORY;
    size_t length = ZSTD_decompressDCtx(cache->context, to, block->length, cache->packed,
                                        block->size);
    return length == block->length ? SYM_OK : SYM_MALFORMED;
}

static enum sym_status fill_block(struct sym_cache *cache, size_t index)
{
    struct block *block = &cache->blocks[index];
    uint8_t *place = cache->image + index * SYM_CACHE_BLOCK;
    uint8_t *to = place;

    if (block->packed) {
        if (!cache->packed)
            cache->packed = base_malloc(SYM_CACHE_BLOCK);
        if (!cache->packed)
            return SYM_NO_MEMORY;
        to = cache->packed;
    }
    enum sym_status status = read_at(cache, block->offset, to, block->size);
    if (status)
        return status == SYM_NO_MEMORY ? status : SYM_MALFORMED;
    if (sym_cache_digest(to, block->size, 0) != block->digest)
        return SYM_MALFORMED;
    status = block->packed ? unpack(cache, block, place) : SYM_OK;
    block->ready = !status;
    return status;
}

/* The size bytes at offset of a section, checked; SYM_MALFORMED also when they are not there.  */
static inline enum sym_status touch(struct sym_cache *cache, enum sym_cache_section which,
                                    uint64_t offset, size_t size, const uint8_t **out)
{
    const struct section *section = &cache->sections[which];

    if (offset > section->size || size > section->size - offset || size == 0)
        return SYM_MALFORMED;
    size_t first = section->first_block + (size_t)(offset / SYM_CACHE_BLOCK);
    size_t last = section->first_block + (size_t)((offset + size - 1) / SYM_CACHE_BLOCK);
    for (size_t i = first; i <= last; i++) {
        if (cache->blocks[i].ready)
            continue;
        enum sym_status status = fill_block(cache, i);
        if (status)
            return status;
    }
    *out = section->bytes + offset;
    return SYM_OK;
}

/* ---- Opening ---- */

static enum sym_status read_header(struct sym_cache *cache, const uint8_t *header)
{
    struct sym_cache_key *key = &cache->key;

    if (memcmp(header + HEADER_MAGIC, sym_cache_magic, sizeof sym_cache_magic) != 0)
        return SYM_MALFORMED;
    if (load_u32(header + HEADER_VERSION) != SYM_CACHE_VERSION)
        return SYM_NOT_FOUND;
    cache->block_count = load_u32(header + HEADER_BLOCKS);
    key->inputs = load_u64(header + HEADER_INPUTS);
    key->build_id_length = header[HEADER_BUILD_ID_LENGTH];
    if (key->build_id_length > SYM_BUILD_ID_MAX || header[HEADER_QUALITY] > SYM_QUALITY_DWARF)
        return SYM_MALFORMED;
    key->quality = (enum sym_quality)header[HEADER_QUALITY];
    memcpy(key->build_id, header + HEADER_BUILD_ID, key->build_id_length);
    return SYM_OK;
}

/* Sections follow each other in the image; their sizes must make as many blocks as there are, and
 * no more than a file of this size can hold.  */
static enum sym_status read_sections(struct sym_cache *cache, const uint8_t *header)
{
    size_t blocks = 0;

    for (unsigned i = 0; i < SYM_CACHE_SECTIONS; i++) {
        uint64_t size = load_u64(header + HEADER_SECTIONS + 8 * (size_t)i);
        if (size > UINT64_C(1) << 40)
            return SYM_MALFORMED;
        cache->sections[i].size = size;
        cache->sections[i].first_block = blocks;
        blocks += (size_t)((size + SYM_CACHE_BLOCK - 1) / SYM_CACHE_BLOCK);
    }
    cache->image_size = blocks * SYM_CACHE_BLOCK;
    if (blocks != cache->block_count ||
        blocks > SYM_CACHE_SECTIONS + cache->size / (SYM_CACHE_BLOCK / SYM_CACHE_RATIO))
        return SYM_MALFORMED;
    cache->group_count = (size_t)(cache->sections[SYM_CACHE_STARTS].size / 8);
    cache->node_count = (size_t)(cache->sections[SYM_CACHE_NODE_PLACE].size / 4) * SYM_CACHE_GROUP;
    cache->function_count = (size_t)(cache->sections[SYM_CACHE_FUNCTIONS].size /
                                     SYM_CACHE_FUNCTION);
    cache->file_count = (size_t)(cache->sections[SYM_CACHE_FILES].size / 4);
    cache->name_bytes = 1 + sym_cache_name_bytes(cache->sections[SYM_CACHE_STRINGS].size,
                                                 cache->function_count, cache->file_count);
    return cache->sections[SYM_CACHE_PLACES].size / 8 == cache->group_count ? SYM_OK
                                                                            : SYM_MALFORMED;
}

static enum sym_status read_directory(struct sym_cache *cache, const uint8_t *directory)
{
    uint64_t offset = SYM_CACHE_HEADER + (uint64_t)cache->block_count * SYM_CACHE_ENTRY;
    size_t index = 0;

    for (unsigned i = 0; i < SYM_CACHE_SECTIONS; i++) {
        for (uint64_t at = 0; at < cache->sections[i].size; at += SYM_CACHE_BLOCK, index++) {
            struct block *block = &cache->blocks[index];
            uint64_t left = cache->sections[i].size - at;
            uint32_t size = load_u32(directory + index * SYM_CACHE_ENTRY);
            block->offset = offset;
            block->size = size & ~SYM_CACHE_PACKED;
            block->packed = (size & SYM_CACHE_PACKED) != 0;
            block->digest = load_u64(directory + index * SYM_CACHE_ENTRY + 8);
            block->length = (uint32_t)(left < SYM_CACHE_BLOCK ? left : SYM_CACHE_BLOCK);
            if (block->packed ? block->size >= block->length : block->size != block->length)
                return SYM_MALFORMED;
            offset += block->size;
        }
    }
    return offset == cache->size ? SYM_OK : SYM_MALFORMED;
}

/* Room for the image and the tables costs address space only, until something is put there.  */
static enum sym_status make_room(struct sym_cache *cache)
{
    cache->blocks = base_calloc(cache->block_count + 1, sizeof *cache->blocks);
    if (!cache->blocks)
        return SYM_NO_MEMORY;
    if (cache->image_size == 0)
        return SYM_OK;
    size_t functions = cache->function_count * sizeof *cache->functions;
    cache->room_size = cache->image_size + functions + cache->file_count * sizeof *cache->files;
    uint8_t *image = mmap(NULL, cache->room_size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (image == MAP_FAILED)
        return SYM_NO_MEMORY;
    cache->image = image; /* of whole blocks, so what follows is aligned */
    cache->functions = (struct function *)(void *)(image + cache->image_size);
    cache->files = (const char **)(void *)(image + cache->image_size + functions);
    for (unsigned i = 0; i < SYM_CACHE_SECTIONS; i++)
        cache->sections[i].bytes = image + cache->sections[i].first_block * SYM_CACHE_BLOCK;
    return SYM_OK;
}

/* head is the start of the file, head_size bytes with at least the header.  */
static enum sym_status check_head(struct sym_cache *cache, uint8_t *head, size_t head_size)
{
    enum sym_status status = read_header(cache, head);

    if (!status)
        status = read_sections(cache, head);
    if (status)
        return status;
    uint64_t checksum = load_u64(head + HEADER_CHECKSUM);
    store_u64(head + HEADER_CHECKSUM, 0);
    if (sym_cache_digest(head, head_size, 0) != checksum)
        return SYM_MALFORMED;
    if (load_u64(head + HEADER_RELEASE) != sym_cache_release())
        return SYM_NOT_FOUND;
    status = make_room(cache);
    return status ? status : read_directory(cache, head + SYM_CACHE_HEADER);
}

static enum sym_status open_head(struct sym_cache *cache)
{
    uint8_t first[FIRST_READ];
    size_t size = cache->size < FIRST_READ ? (size_t)cache->size : FIRST_READ;

    if (size < SYM_CACHE_HEADER)
        return SYM_MALFORMED;
    enum sym_status status = read_at(cache, 0, first, size);
    if (status)
        return status;
    uint64_t blocks = load_u32(first + HEADER_BLOCKS);
    uint64_t whole = SYM_CACHE_HEADER + blocks * SYM_CACHE_ENTRY;
    if (whole > cache->size)
        return SYM_MALFORMED;
    if (whole <= size)
        return check_head(cache, first, (size_t)whole);
    uint8_t *head = base_malloc((size_t)whole);
    if (!head)
        return SYM_NO_MEMORY;
    status = read_at(cache, 0, head, (size_t)whole);
    if (!status)
        status = check_head(cache, head, (size_t)whole);
    base_free(head);
    return status;
}

static enum sym_status open_source(const struct sym_cache *source, struct sym_cache **out)
{
    struct sym_cache *cache = base_malloc(sizeof *cache);

    if (!cache) {
        if (source->fd >= 0)
            (void)close(source->fd);
        return SYM_NO_MEMORY;
    }
    *cache = *source;
    enum sym_status status = open_head(cache);
    if (status) {
        sym_cache_close(cache);
        return status;
    }
    *out = cache;
    return SYM_OK;
}

enum sym_status sym_cache_open_bytes(const uint8_t *data, size_t size, struct sym_strings *strings,
                                     struct sym_cache **out)
{
    struct sym_cache source = { .fd = -1,
                                .data = data,
                                .size = size,
                                .strings = strings,
                                .row_group = SIZE_MAX,
                                .node_group = SIZE_MAX };

    return open_source(&source, out);
}

enum sym_status sym_cache_open(int fd, uint64_t size, struct sym_strings *strings,
                               struct sym_cache **out)
{
    struct sym_cache source = {
        .fd = fd, .size = size, .strings = strings, .row_group = SIZE_MAX, .node_group = SIZE_MAX
    };

    return open_source(&source, out);
}

static size_t notes_size(const struct sym_cache *cache)
{
    return cache->group_count * SYM_CACHE_GROUP * sizeof *cache->notes;
}

void sym_cache_close(struct sym_cache *cache)
{
    if (!cache)
        return;
    if (cache->image)
        (void)munmap(cache->image, cache->room_size);
    if (cache->fd >= 0)
        (void)close(cache->fd);
    if (cache->notes)
        (void)munmap(cache->notes, notes_size(cache));
    ZSTD_freeDCtx(cache->context);
    base_free(cache->packed);
    base_free(cache->blocks);
    base_free(cache);
}

const struct sym_cache_key *sym_cache_key(const struct sym_cache *cache)
{
    return &cache->key;
}

/* ---- Groups ---- */

/* The group at offset of section: its header and all its bits are there.  */
static enum sym_status open_group(struct sym_cache *cache, enum sym_cache_section section,
                                  uint32_t offset, struct group *group)
{
    const uint8_t *bytes;
    uint32_t bit = 0;
    enum sym_status status = touch(cache, section, offset, SYM_CACHE_GROUP_HEADER, &bytes);

    if (status)
        return status;
    group->count = bytes[0];
    group->file_count = bytes[6];
    group->base = load_u32(bytes + 8);
    if (group->count == 0 || group->count > SYM_CACHE_GROUP || group->file_count > SYM_CACHE_GROUP)
        return SYM_MALFORMED;
    for (unsigned c = 0; c < SYM_CACHE_COLUMNS; c++) {
        uint8_t width = bytes[1 + c];
        if (width > 33) /* a line's distance with its sign, and unknown */
            return SYM_MALFORMED;
        group->width[c] = width;
        group->bit[c] = bit;
        group->mask[c] = (UINT64_C(1) << width) - 1;
        bit += width * group->count;
    }
    size_t head = SYM_CACHE_GROUP_HEADER + 4 * (size_t)group->file_count;
    status = touch(cache, section, offset, head + (bit + 7) / 8 + SYM_CACHE_SLACK, &bytes);
    group->files = bytes + SYM_CACHE_GROUP_HEADER;
    group->bits = bytes + head;
    return status;
}

/* The number of an item (below group->count) in a column.  */
static inline uint64_t column(const struct group *group, unsigned which, size_t item)
{
    size_t bit = group->bit[which] + item * group->width[which];

    return load_u64(group->bits + bit / 8) >> (bit & 7) & group->mask[which];
}

/* ---- Finding ---- */

static enum sym_status group_start(struct sym_cache *cache, size_t index, uint64_t *start)
{
    const uint8_t *bytes;
    enum sym_status status = touch(cache, SYM_CACHE_STARTS, 8 * (uint64_t)index, 8, &bytes);

    if (!status)
        *start = load_u64(bytes);
    return status;
}

/* Narrows [*low, *high) around the first group that starts behind vaddr, going up from group known
 * in growing steps: the next address is most often near.  */
static enum sym_status gallop(struct sym_cache *cache, uint64_t vaddr, size_t known, size_t *low,
                              size_t *high)
{
    uint64_t start;

    *low = known + 1; /* known starts at or before vaddr */
    for (size_t step = 1; *low < *high; step *= 2) {
        size_t probe = *high - *low > step ? *low + step - 1 : *high - 1;
        enum sym_status status = group_start(cache, probe, &start);
        if (status)
            return status;
        if (start > vaddr) {
            *high = probe;
            return SYM_OK;
        }
        *low = probe + 1;
    }
    return SYM_OK;
}

/* The last group that starts at or before vaddr; SIZE_MAX: none.  */
static enum sym_status find_group(struct sym_cache *cache, uint64_t vaddr,
                                  const struct sym_cache_place *from, size_t *out)
{
    size_t low = 0, high = cache->group_count;
    uint64_t start = 0;
    enum sym_status status = SYM_OK;

    if (from->known && from->group != SIZE_MAX && vaddr >= from->start)
        status = gallop(cache, vaddr, from->group, &low, &high);
    while (low < high && !status) {
        size_t middle = low + (high - low) / 2;
        status = group_start(cache, middle, &start);
        if (start <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low - 1; /* SIZE_MAX when low is 0 */
    return status;
}

/* The rows of a group into cache->rows.  */
static enum sym_status enter_group(struct sym_cache *cache, size_t index)
{
    const uint8_t *bytes;
    uint64_t start;

    if (cache->row_group == index)
        return SYM_OK;
    cache->row_group = SIZE_MAX;
    enum sym_status status = group_start(cache, index, &start);
    if (!status)
        status = touch(cache, SYM_CACHE_PLACES, 8 * (uint64_t)index, 8, &bytes);
    if (!status)
        status = open_group(cache, SYM_CACHE_ROWS, load_u32(bytes), &cache->rows);
    if (status)
        return status;
    cache->row_start = start;
    cache->row_length = load_u32(bytes + 4);
    cache->row_group = index;
    return SYM_OK;
}

/* The first row of [low, count) that starts behind offset.  The next address of a sorted batch is
 * mostly a few rows on.  */
static size_t row_behind(const struct group *rows, size_t low, uint32_t offset)
{
    size_t high = rows->count;

    for (unsigned i = 0; i < 3 && low < high; i++, low++)
        if (column(rows, ROW_OFFSET, low) > offset)
            return low;
    BASE_BISECT(low, high, i, column(rows, ROW_OFFSET, i) <= offset);
    return low;
}

/* Moves place to the row around vaddr, which is in the current group; from is a row at or before
 * it.  SYM_MALFORMED: rows that do not ascend.  */
static enum sym_status find_row(const struct sym_cache *cache, uint64_t vaddr, size_t from,
                                struct sym_cache_place *place)
{
    const struct group *rows = &cache->rows;
    uint64_t start = cache->row_start, limit = cache->row_length;
    size_t behind = row_behind(rows, from + 1, (uint32_t)(vaddr - start));

    place->row = behind - 1;
    place->start = start + (behind > 1 ? column(rows, ROW_OFFSET, behind - 1) : 0);
    if (behind < rows->count && column(rows, ROW_OFFSET, behind) < limit)
        limit = column(rows, ROW_OFFSET, behind);
    place->limit = start + limit;
    place->group = cache->row_group;
    place->known = vaddr >= place->start && vaddr < place->limit;
    return place->known ? SYM_OK : SYM_MALFORMED;
}

/* vaddr is in no group, but behind group index (SIZE_MAX: before all).  */
static enum sym_status place_in_gap(struct sym_cache *cache, size_t index, uint64_t group_limit,
                                    struct sym_cache_place *place)
{
    uint64_t limit = UINT64_MAX;
    enum sym_status status = SYM_OK;

    if (index + 1 < cache->group_count)
        status = group_start(cache, index + 1, &limit);
    *place = (struct sym_cache_place){
        .start = group_limit, .limit = limit, .group = index, .row = SIZE_MAX, .known = !status
    };
    return status;
}

enum sym_status sym_cache_seek(struct sym_cache *cache, uint64_t vaddr,
                               struct sym_cache_place *place)
{
    size_t index;

    if (place->known && vaddr >= place->start) {
        if (vaddr < place->limit)
            return SYM_OK;
        if (place->row != SIZE_MAX && cache->row_group == place->group &&
            vaddr - cache->row_start < cache->row_length)
            return find_row(cache, vaddr, place->row, place);
    }
    enum sym_status status = find_group(cache, vaddr, place, &index);
    place->known = false;
    if (status)
        return status;
    if (index == SIZE_MAX)
        return place_in_gap(cache, index, 0, place);
    status = enter_group(cache, index);
    if (status)
        return status;
    if (cache->row_start > vaddr) /* starts that do not ascend */
        return SYM_MALFORMED;
    if (vaddr - cache->row_start >= cache->row_length)
        return place_in_gap(cache, index, cache->row_start + cache->row_length, place);
    return find_row(cache, vaddr, 0, place);
}

/* ---- Strings ---- */

/* The string at offset of STRINGS, interned: it may end in a later block.  It starts behind the end
 * of another one, or every byte could start a copy of what follows.  */
static enum sym_status intern(struct sym_cache *cache, uint32_t offset, const char **out)
{
    const struct section *strings = &cache->sections[SYM_CACHE_STRINGS];
    const uint8_t *bytes, *end = NULL;
    uint64_t limit = offset;

    if (offset) {
        enum sym_status status = touch(cache, SYM_CACHE_STRINGS, offset - UINT64_C(1), 1, &bytes);
        if (status || *bytes)
            return status ? status : SYM_MALFORMED;
    }
    while (!end) {
        if (limit >= strings->size)
            return SYM_MALFORMED;
        uint64_t from = limit, block_end = (from / SYM_CACHE_BLOCK + 1) * SYM_CACHE_BLOCK;
        limit = block_end < strings->size ? block_end : strings->size;
        enum sym_status status = touch(cache, SYM_CACHE_STRINGS, from, (size_t)(limit - from),
                                       &bytes);
        if (status)
            return status;
        end = memchr(bytes, '\0', (size_t)(limit - from));
    }
    bytes = strings->bytes + offset;
    size_t length = (size_t)(end - bytes);
    if (length >= cache->name_bytes)
        return SYM_MALFORMED;
    cache->name_bytes -= offset ? length + 1 : 0;
    *out = sym_strings_intern(cache->strings, (const char *)bytes, length);
    return *out ? SYM_OK : SYM_NO_MEMORY;
}

static enum sym_status file_name(struct sym_cache *cache, uint32_t file, const char **out)
{
    const uint8_t *bytes;

    if (file >= cache->file_count)
        return SYM_MALFORMED;
    *out = cache->files[file];
    if (*out)
        return SYM_OK;
    enum sym_status status = touch(cache, SYM_CACHE_FILES, 4 * (uint64_t)file, 4, &bytes);
    if (!status)
        status = intern(cache, load_u32(bytes), &cache->files[file]);
    *out = cache->files[file];
    return status;
}

static enum sym_status fill_function(struct sym_cache *cache, uint32_t number,
                                     struct function *function)
{
    const uint8_t *bytes;
    enum sym_status status = touch(cache, SYM_CACHE_FUNCTIONS,
                                   (uint64_t)number * SYM_CACHE_FUNCTION, SYM_CACHE_FUNCTION,
                                   &bytes);

    if (status)
        return status;
    if (bytes[16] > SYM_QUALITY_DWARF || bytes[17] > 1)
        return SYM_MALFORMED;
    function->start_line = load_u32(bytes + 8);
    function->file = load_u32(bytes + 12);
    function->source = (enum sym_quality)bytes[16];
    function->inlined = bytes[17] == 1;
    status = intern(cache, load_u32(bytes), &function->function);
    if (!status)
        status = intern(cache, load_u32(bytes + 4), &function->linkage_name);
    function->ready = !status;
    return status;
}

/* ---- Frames ---- */

/* Where an address is inside a function, as a row or a node says it.  */
struct position {
    uint64_t file, line, column; /* codes of a group */
    const uint8_t *files;        /* that group's list */
    uint32_t file_count;
};

static struct position position_of(const struct group *group, size_t item)
{
    return (struct position){ .file = column(group, ANY_FILE, item),
                              .line = column(group, ANY_LINE, item),
                              .column = column(group, ANY_COLUMN, item),
                              .files = group->files,
                              .file_count = group->file_count };
}

static enum sym_status make_frame(struct sym_cache *cache, const struct function *function,
                                  const struct position *at, struct sym_frame *frame)
{
    uint32_t file = function->file;

    if (at->file > at->file_count)
        return SYM_MALFORMED;
    if (at->file)
        file = load_u32(at->files + 4 * (at->file - 1));
    *frame = (struct sym_frame){ .function = function->function,
                                 .linkage_name = function->linkage_name,
                                 .column = (uint32_t)at->column,
                                 .start_line = function->start_line,
                                 .inlined = function->inlined,
                                 .source = function->source };
    if (at->line)
        frame->line = function->start_line + unzigzag((uint32_t)(at->line - 1));
    return file_name(cache, file, &frame->file);
}

static enum sym_status enter_nodes(struct sym_cache *cache, size_t index)
{
    const uint8_t *bytes;

    if (cache->node_group == index)
        return SYM_OK;
    cache->node_group = SIZE_MAX;
    enum sym_status status = touch(cache, SYM_CACHE_NODE_PLACE, 4 * (uint64_t)index, 4, &bytes);
    if (!status)
        status = open_group(cache, SYM_CACHE_NODES, load_u32(bytes), &cache->nodes);
    if (!status)
        cache->node_group = index;
    return status;
}

/* Adds the frame of a node, whose function is at the position at; *node becomes the one around it,
 * *at its position, and *done says that there is none.  */
static enum sym_status add_frame(struct sym_cache *cache, uint64_t *node, struct position *at,
                                 struct sym_frames *frames, bool *done)
{
    size_t item = (size_t)(*node % SYM_CACHE_GROUP);

    if (*node >= cache->node_count)
        return SYM_MALFORMED;
    enum sym_status status = enter_nodes(cache, (size_t)(*node / SYM_CACHE_GROUP));
    if (status)
        return status;
    const struct group *nodes = &cache->nodes;
    if (item >= nodes->count)
        return SYM_MALFORMED;
    uint64_t up = column(nodes, NODE_PARENT, item);
    uint64_t number = nodes->base + column(nodes, NODE_FUNCTION, item);
    if (up > *node || number >= cache->function_count)
        return SYM_MALFORMED;
    if (!base_make_room(&frames->items, &frames->capacity, frames->count + 1,
                        sizeof *frames->items))
        return SYM_NO_MEMORY;
    struct function *function = &cache->functions[number];
    struct position outside = position_of(nodes, item);
    if (!function->ready)
        status = fill_function(cache, (uint32_t)number, function);
    if (!status)
        status = make_frame(cache, function, at, &frames->items[frames->count++]);
    *at = outside;
    *done = up == 0;
    *node -= up;
    return status;
}

enum sym_status sym_cache_frames(struct sym_cache *cache, const struct sym_cache_place *place,
                                 struct sym_frames *frames)
{
    bool done = false;

    frames->count = 0;
    if (place->row == SIZE_MAX)
        return SYM_OK;
    enum sym_status status = enter_group(
        cache, place->group); /* unless no other place was looked up since */
    if (status || place->row >= cache->rows.count)
        return status ? status : SYM_MALFORMED;
    uint64_t node = column(&cache->rows, ROW_NODE, place->row);
    if (node == 0)
        return SYM_OK;
    struct position at = position_of(&cache->rows, place->row);
    node += cache->rows.base - UINT64_C(2); /* both count from 1 */
    while (!done && !status) {
        if (frames->count == SYM_CACHE_DEPTH)
            return SYM_MALFORMED;
        status = add_frame(cache, &node, &at, frames, &done);
    }
    return status;
}

/* ---- Notes ---- */

/* Like the image, they cost address space until something is put there.  */
uint32_t *sym_cache_note(struct sym_cache *cache, const struct sym_cache_place *place)
{
    if (place->row == SIZE_MAX)
        return &cache->gap_note;
    if (!cache->notes) {
        void *notes = mmap(NULL, notes_size(cache), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (notes == MAP_FAILED)
            return NULL;
        cache->notes = notes;
    }
    return &cache->notes[place->group * SYM_CACHE_GROUP + place->row];
}

void sym_cache_forget_notes(struct sym_cache *cache)
{
    if (cache->notes)
        (void)munmap(cache->notes, notes_size(cache));
    cache->notes = NULL;
    cache->gap_note = 0;
}
