/* cache_write.c - packs the ranges of a module and their frames into a cache file. */
#include "libsymbolize/cache_pack.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/grow.h"
#include "base/index.h"

/* ---- Sets ---- */

/* Items of one size, each once, numbered as they come.  */
struct set {
    uint8_t *items;
    size_t item_size, key_size; /* equal items have equal first key_size bytes */
    size_t count, capacity;
    struct base_index index; /* ids count from 1 since the last set_restart() */
    uint32_t first;          /* number of items[0] */
};

static void *set_item(const struct set *set, uint32_t number)
{
    return set->items + (number - set->first) * set->item_size;
}

/* The number of item, which is added when it is new.  SYM_OK, SYM_NO_MEMORY or SYM_MALFORMED (too
 * many).  */
static enum sym_status set_add(struct set *set, const void *item, uint32_t *number, bool *is_new)
{
    uint64_t hash = base_hash_bytes(item, set->key_size);
    size_t probe;

    *is_new = false;
    for (uint32_t id = base_index_first(&set->index, hash, &probe); id;
         id = base_index_next(&set->index, hash, &probe)) {
        *number = set->first + id - 1;
        if (memcmp(set_item(set, *number), item, set->key_size) == 0)
            return SYM_OK;
    }
    if (set->first + set->count >= UINT32_MAX / 2)
        return SYM_MALFORMED;
    if (!base_make_room(&set->items, &set->capacity, set->count + 1, set->item_size) ||
        !base_index_reserve(&set->index))
        return SYM_NO_MEMORY;
    memcpy(set->items + set->count * set->item_size, item, set->item_size);
    *number = set->first + (uint32_t)set->count++;
    base_index_add(&set->index, hash, (uint32_t)set->count);
    *is_new = true;
    return SYM_OK;
}

/* Forgets the items; numbers go on.  */
static void set_restart(struct set *set)
{
    set->first += (uint32_t)set->count;
    set->count = 0;
    base_index_clear(&set->index);
}

static void set_release(struct set *set)
{
    base_free(set->items);
    base_index_release(&set->index);
}

/* ---- Growing sections ---- */

struct section {
    uint8_t *bytes;
    size_t size, capacity;
};

/* size more bytes behind the section's end, zeroed; NULL: no memory.  */
static uint8_t *section_add(struct section *section, size_t size)
{
    uint8_t *added;

    if (!base_make_room(&section->bytes, &section->capacity, section->size + size, 1))
        return NULL;
    added = section->bytes + section->size;
    section->size += size;
    return memset(added, 0, size);
}

static enum sym_status add_u32(struct section *section, uint32_t value)
{
    uint8_t *to = section_add(section, 4);

    if (!to)
        return SYM_NO_MEMORY;
    store_u32(to, value);
    return SYM_OK;
}

/* ---- Groups ---- */

/* Rows or nodes that will be packed together.  */
struct group {
    uint32_t count;
    uint64_t columns[SYM_CACHE_COLUMNS][SYM_CACHE_GROUP];
    uint32_t files[SYM_CACHE_GROUP]; /* those that are not their function's usual one */
    uint32_t file_count;
};

/* What stands for file where usual is expected: 0, or a place in the group's list from 1.  */
static uint32_t group_file(struct group *group, uint32_t file, uint32_t usual)
{
    uint32_t i = 0;

    if (file == usual)
        return 0;
    while (i < group->file_count && group->files[i] != file)
        i++;
    if (i == group->file_count)
        group->files[group->file_count++] = file;
    return i + 1;
}

static uint8_t bits_of(const uint64_t *values, uint32_t count)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < count; i++)
        all |= values[i];
    return (uint8_t)(all ? 64 - __builtin_clzll(all) : 0);
}

/* Puts width bits of value at bit; to has SYM_CACHE_SLACK bytes behind.  */
static void put_bits(uint8_t *to, size_t bit, uint64_t value)
{
    store_u64(to + bit / 8, load_u64(to + bit / 8) | value << (bit & 7));
}

/* Appends the group to section and empties it.  base is what column ROW_NODE or NODE_FUNCTION
 * counts from.  */
static enum sym_status group_flush(struct group *group, struct section *section, uint32_t base)
{
    uint8_t widths[SYM_CACHE_COLUMNS];
    size_t bit = 0;

    for (unsigned c = 0; c < SYM_CACHE_COLUMNS; c++) {
        widths[c] = bits_of(group->columns[c], group->count);
        bit += (size_t)widths[c] * group->count;
    }
    size_t head = SYM_CACHE_GROUP_HEADER + 4 * (size_t)group->file_count, packed = (bit + 7) / 8;
    uint8_t *to = section_add(section, head + packed + SYM_CACHE_SLACK);
    if (!to)
        return SYM_NO_MEMORY;
    to[0] = (uint8_t)group->count;
    memcpy(to + 1, widths, sizeof widths);
    to[6] = (uint8_t)group->file_count;
    store_u32(to + 8, base);
    for (uint32_t i = 0; i < group->file_count; i++)
        store_u32(to + SYM_CACHE_GROUP_HEADER + 4 * (size_t)i, group->files[i]);
    bit = 0;
    for (unsigned c = 0; c < SYM_CACHE_COLUMNS; c++)
        for (uint32_t i = 0; i < group->count; i++, bit += widths[c])
            if (widths[c])
                put_bits(to + head, bit, group->columns[c][i]);
    section->size -= SYM_CACHE_SLACK; /* the next group starts here; the last one leaves it */
    group->count = group->file_count = 0;
    return SYM_OK;
}

/* ---- The writer ---- */

struct string_item {
    const char *string; /* one pointer for equal strings: struct sym_frame */
    uint32_t offset;
    uint32_t unused;
};

struct function_item {
    const char *function, *linkage_name;
    uint32_t start_line;
    uint8_t source, inlined;
    uint8_t unused[2];
    /* not part of the key: */
    uint32_t file; /* where it was first seen, which is where most of it is */
    uint32_t unused_too;
};

struct node_item {
    uint32_t parent; /* number + 1; 0: none, it is the real function */
    uint32_t function;
    uint32_t file, line, column; /* in the parent, where this one was called */
};

struct index_item {
    uint64_t start, length;
    uint32_t place;
};

/* The answer of a row.  */
struct row {
    uint32_t node; /* number + 1; 0: no frames */
    uint32_t function, file, line, column;
};

struct sym_cache_writer {
    struct section sections[SYM_CACHE_SECTIONS];
    struct set strings, functions, files, nodes;
    struct group rows, node_group;
    struct index_item *index; /* groups of rows */
    size_t index_count, index_capacity;
    uint64_t start, limit; /* of the current group of rows */
    struct row last;
    uint32_t lowest_node;     /* in the current group of rows */
    uint32_t lowest_function; /* in the current group of nodes */
    uint32_t node_count;
    uint32_t root;       /* function of the last range's real function + 1 */
    uint64_t name_bytes; /* of all functions and files, each for itself */
};

struct sym_cache_writer *sym_cache_writer_new(void)
{
    struct sym_cache_writer *writer = base_calloc(1, sizeof *writer);

    if (!writer)
        return NULL;
    writer->strings = (struct set){ .item_size = sizeof(struct string_item),
                                    .key_size = sizeof(const char *) };
    writer->files = writer->strings;
    writer->functions = (struct set){ .item_size = sizeof(struct function_item),
                                      .key_size = offsetof(struct function_item, file) };
    writer->nodes = (struct set){ .item_size = sizeof(struct node_item),
                                  .key_size = sizeof(struct node_item) };
    return writer;
}

void sym_cache_writer_free(struct sym_cache_writer *writer)
{
    if (!writer)
        return;
    for (unsigned i = 0; i < SYM_CACHE_SECTIONS; i++)
        base_free(writer->sections[i].bytes);
    set_release(&writer->strings);
    set_release(&writer->functions);
    set_release(&writer->files);
    set_release(&writer->nodes);
    base_free(writer->index);
    base_free(writer);
}

/* ---- Strings, files, functions ---- */

static enum sym_status put_string(struct sym_cache_writer *writer, const char *string,
                                  uint32_t *offset)
{
    struct section *strings = &writer->sections[SYM_CACHE_STRINGS];
    struct string_item item = { .string = string[0] ? string : "" };
    uint32_t number;
    bool is_new;

    *offset = 0;
    if (!strings->size && !section_add(strings, 1)) /* "" is at 0 */
        return SYM_NO_MEMORY;
    if (!string[0])
        return SYM_OK;
    enum sym_status status = set_add(&writer->strings, &item, &number, &is_new);
    if (status)
        return status;
    struct string_item *stored = set_item(&writer->strings, number);
    size_t length = strlen(string) + 1;
    writer->name_bytes += length;
    if (is_new) {
        if (length > UINT32_MAX - strings->size)
            return SYM_MALFORMED;
        stored->offset = (uint32_t)strings->size;
        uint8_t *to = section_add(strings, length);
        if (!to)
            return SYM_NO_MEMORY;
        memcpy(to, string, length);
    }
    *offset = stored->offset;
    return SYM_OK;
}

/* File 0 is "": unknown.  */
static enum sym_status put_file(struct sym_cache_writer *writer, const char *path, uint32_t *file)
{
    struct section *files = &writer->sections[SYM_CACHE_FILES];
    struct string_item item = { .string = path };
    uint32_t number = 0, offset;
    bool is_new;

    *file = 0;
    if (!files->size && add_u32(files, 0))
        return SYM_NO_MEMORY;
    if (!path[0])
        return SYM_OK;
    enum sym_status status = set_add(&writer->files, &item, &number, &is_new);
    if (!status && is_new)
        status = put_string(writer, path, &offset);
    if (!status && is_new)
        status = add_u32(files, offset);
    *file = number + 1;
    return status;
}

static enum sym_status write_function(struct sym_cache_writer *writer,
                                      const struct function_item *item)
{
    uint32_t name, linkage_name;
    enum sym_status status = put_string(writer, item->function, &name);

    if (!status)
        status = put_string(writer, item->linkage_name, &linkage_name);
    if (status)
        return status;
    uint8_t *to = section_add(&writer->sections[SYM_CACHE_FUNCTIONS], SYM_CACHE_FUNCTION);
    if (!to)
        return SYM_NO_MEMORY;
    store_u32(to, name);
    store_u32(to + 4, linkage_name);
    store_u32(to + 8, item->start_line);
    store_u32(to + 12, item->file);
    to[16] = item->source;
    to[17] = item->inlined;
    return SYM_OK;
}

/* file is that of the code at hand.  */
static enum sym_status put_function(struct sym_cache_writer *writer, const struct sym_frame *frame,
                                    uint32_t file, uint32_t *function)
{
    struct function_item item;
    bool is_new;

    memset(&item, 0, sizeof item); /* it is compared as bytes */
    item.function = frame->function[0] ? frame->function : NULL;
    item.linkage_name = frame->linkage_name[0] ? frame->linkage_name : NULL;
    item.start_line = frame->start_line;
    item.source = (uint8_t)frame->source;
    item.inlined = frame->inlined;
    item.file = file;
    enum sym_status status = set_add(&writer->functions, &item, function, &is_new);
    if (status || !is_new)
        return status;
    item.function = frame->function;
    item.linkage_name = frame->linkage_name;
    return write_function(writer, &item);
}

/* ---- Nodes ---- */

static enum sym_status flush_nodes(struct sym_cache_writer *writer)
{
    struct group *group = &writer->node_group;
    struct section *nodes = &writer->sections[SYM_CACHE_NODES];

    if (group->count == 0)
        return SYM_OK;
    if (nodes->size > UINT32_MAX)
        return SYM_MALFORMED;
    for (uint32_t i = 0; i < group->count; i++)
        group->columns[NODE_FUNCTION][i] -= writer->lowest_function;
    enum sym_status status = add_u32(&writer->sections[SYM_CACHE_NODE_PLACE],
                                     (uint32_t)nodes->size);
    return status ? status : group_flush(group, nodes, writer->lowest_function);
}

/* A line as the distance from where its function starts: 0 unknown.  */
static uint64_t line_code(uint32_t line, uint32_t start_line)
{
    return line ? 1 + (uint64_t)zigzag(line - start_line) : 0;
}

static const struct function_item *function_of(const struct sym_cache_writer *writer,
                                               uint32_t function)
{
    return set_item(&writer->functions, function);
}

static enum sym_status write_node(struct sym_cache_writer *writer, const struct node_item *node,
                                  uint32_t caller)
{
    struct group *group = &writer->node_group;
    uint32_t at = group->count, number = writer->node_count;

    if (at == 0 || node->function < writer->lowest_function)
        writer->lowest_function = node->function;
    group->columns[NODE_PARENT][at] = node->parent ? number + 1 - node->parent : 0;
    group->columns[NODE_FUNCTION][at] = node->function;
    for (unsigned c = ANY_FILE; c < SYM_CACHE_COLUMNS; c++)
        group->columns[c][at] = 0;
    if (node->parent) {
        const struct function_item *around = function_of(writer, caller);
        group->columns[ANY_FILE][at] = group_file(group, node->file, around->file);
        group->columns[ANY_LINE][at] = line_code(node->line, around->start_line);
        group->columns[ANY_COLUMN][at] = node->column;
    }
    group->count++;
    writer->node_count++;
    return group->count < SYM_CACHE_GROUP ? SYM_OK : flush_nodes(writer);
}

/* The node of frames[0] in row, which becomes the answer for frames: from the real function
 * inwards.  Nodes are shared inside a run of ranges of one real function: so numbers stay close. */
static enum sym_status put_nodes(struct sym_cache_writer *writer, const struct sym_frames *frames,
                                 struct row *row)
{
    struct node_item node = { 0 };
    uint32_t caller = 0, number = 0;
    enum sym_status status = SYM_OK;
    bool is_new;

    for (size_t i = frames->count; i-- > 0 && !status;) {
        const struct sym_frame *frame = &frames->items[i];
        uint32_t file;
        status = put_file(writer, frame->file, &file);
        if (!status)
            status = put_function(writer, frame, file, &node.function);
        if (status)
            break;
        if (!node.parent && writer->root != node.function + 1) {
            set_restart(&writer->nodes);
            writer->root = node.function + 1;
        }
        status = set_add(&writer->nodes, &node, &number, &is_new);
        if (!status && is_new)
            status = write_node(writer, &node, caller);
        caller = node.function;
        *row = (struct row){ .node = number + 1,
                             .function = node.function,
                             .file = file,
                             .line = frame->line,
                             .column = frame->column };
        node = (struct node_item){
            .parent = number + 1, .file = file, .line = frame->line, .column = frame->column
        };
    }
    return status;
}

/* ---- Rows ---- */

static enum sym_status flush_rows(struct sym_cache_writer *writer)
{
    struct group *group = &writer->rows;
    struct section *rows = &writer->sections[SYM_CACHE_ROWS];

    if (group->count == 0)
        return SYM_OK;
    if (!base_make_room(&writer->index, &writer->index_capacity, writer->index_count + 1,
                        sizeof *writer->index))
        return SYM_NO_MEMORY;
    if (rows->size > UINT32_MAX)
        return SYM_MALFORMED;
    writer->index[writer->index_count++] = (struct index_item){ .start = writer->start,
                                                                .length = writer->limit -
                                                                          writer->start,
                                                                .place = (uint32_t)rows->size };
    for (uint32_t i = 0; i < group->count; i++)
        if (group->columns[ROW_NODE][i])
            group->columns[ROW_NODE][i] -= writer->lowest_node - 1;
    return group_flush(group, rows, writer->lowest_node);
}

/* A row from start on.  */
static enum sym_status add_row(struct sym_cache_writer *writer, uint64_t start,
                               const struct row *row)
{
    struct group *group = &writer->rows;
    enum sym_status status = SYM_OK;

    if (group->count == SYM_CACHE_GROUP)
        status = flush_rows(writer);
    if (status)
        return status;
    uint32_t at = group->count++;
    if (at == 0) {
        writer->start = start;
        writer->lowest_node = UINT32_MAX;
    }
    uint32_t start_line = 0, usual = 0;
    if (row->node) {
        start_line = function_of(writer, row->function)->start_line;
        usual = function_of(writer, row->function)->file;
        if (row->node < writer->lowest_node)
            writer->lowest_node = row->node;
    }
    group->columns[ROW_OFFSET][at] = start - writer->start;
    group->columns[ROW_NODE][at] = row->node;
    group->columns[ANY_FILE][at] = row->node ? group_file(group, row->file, usual) : 0;
    group->columns[ANY_LINE][at] = line_code(row->line, start_line);
    group->columns[ANY_COLUMN][at] = row->column;
    writer->last = *row;
    return SYM_OK;
}

static bool same_row(const struct row *a, const struct row *b)
{
    return a->node == b->node && a->file == b->file && a->line == b->line && a->column == b->column;
}

enum sym_status sym_cache_writer_add(void *context, const struct sym_walk_range *range,
                                     const struct sym_frames *frames)
{
    struct sym_cache_writer *writer = context;
    struct row row = { 0 };
    enum sym_status status = SYM_OK;

    if (frames->count > SYM_CACHE_DEPTH || frames->count == 0)
        return SYM_MALFORMED;
    if (writer->rows.count &&
        (range->apart || range->start < writer->limit || range->limit - writer->start > UINT32_MAX))
        status = flush_rows(writer);
    if (!status)
        status = put_nodes(writer, frames, &row);
    if (status)
        return status;
    bool follows = writer->rows.count && range->start == writer->limit;
    if (writer->rows.count && !follows)
        status = add_row(writer, writer->limit, &(struct row){ 0 });
    if (!status && !(follows && same_row(&row, &writer->last)))
        status = add_row(writer, range->start, &row);
    writer->limit = range->limit;
    return status;
}

/* ---- The index ---- */

static int compare_index(const void *a, const void *b)
{
    const struct index_item *left = a, *right = b;

    return (left->start > right->start) - (left->start < right->start);
}

static enum sym_status write_index(struct sym_cache_writer *writer)
{
    struct section *starts = &writer->sections[SYM_CACHE_STARTS];
    struct section *places = &writer->sections[SYM_CACHE_PLACES];
    const struct index_item *index = writer->index;

    if (writer->index_count)
        qsort(writer->index, writer->index_count, sizeof *index, compare_index);
    for (size_t i = 0; i < writer->index_count; i++) {
        if (index[i].length > UINT32_MAX)
            return SYM_MALFORMED;
        if (i && index[i].start - index[i - 1].start < index[i - 1].length)
            return SYM_MALFORMED; /* two answers for one address */
        uint8_t *start = section_add(starts, 8);
        uint8_t *place = start ? section_add(places, 8) : NULL;
        if (!place)
            return SYM_NO_MEMORY;
        store_u64(start, index[i].start);
        store_u32(place, index[i].place);
        store_u32(place + 4, (uint32_t)index[i].length);
    }
    return SYM_OK;
}

/* ---- The file ---- */

struct output {
    int fd;
    uint64_t offset;
    uint8_t *directory; /* header and directory */
    size_t directory_size;
    size_t block; /* the next one */
    ZSTD_CCtx *context;
    uint8_t *packed; /* room for a packed block */
    size_t packed_capacity;
};

static size_t block_count(const struct sym_cache_writer *writer)
{
    size_t blocks = 0;

    for (unsigned i = 0; i < SYM_CACHE_SECTIONS; i++)
        blocks += (writer->sections[i].size + SYM_CACHE_BLOCK - 1) / SYM_CACHE_BLOCK;
    return blocks;
}

static enum sym_status write_at(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t written = pwrite(fd, bytes, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return SYM_IO;
        bytes += written;
        size -= (size_t)written;
        offset += (uint64_t)written;
    }
    return SYM_OK;
}

/* Packed numbers hardly shrink further: a block is stored as it is unless an eighth is won, and
 * when it would unpack to more than readers believe.  */
static enum sym_status write_block(struct output *output, const uint8_t *bytes, size_t size)
{
    size_t packed = ZSTD_compressCCtx(output->context, output->packed, output->packed_capacity,
                                      bytes, size, 3);
    bool smaller = !ZSTD_isError(packed) && packed < size - size / 8 &&
                   packed >= size / SYM_CACHE_RATIO;
    const uint8_t *stored = smaller ? output->packed : bytes;
    uint8_t *entry = output->directory + SYM_CACHE_HEADER + output->block++ * SYM_CACHE_ENTRY;

    if (!smaller)
        packed = size;
    store_u32(entry, (uint32_t)packed | (smaller ? SYM_CACHE_PACKED : 0));
    store_u64(entry + 8, sym_cache_digest(stored, packed, 0));
    enum sym_status status = write_at(output->fd, stored, packed, output->offset);
    output->offset += packed;
    return status;
}

static enum sym_status write_sections(struct output *output, const struct sym_cache_writer *writer)
{
    enum sym_status status = SYM_OK;

    for (unsigned i = 0; i < SYM_CACHE_SECTIONS; i++) {
        const struct section *section = &writer->sections[i];
        for (size_t at = 0; at < section->size && !status; at += SYM_CACHE_BLOCK) {
            size_t left = section->size - at;
            status = write_block(output, section->bytes + at,
                                 left < SYM_CACHE_BLOCK ? left : SYM_CACHE_BLOCK);
        }
    }
    return status;
}

static enum sym_status write_header(struct output *output, const struct sym_cache_writer *writer,
                                    const struct sym_cache_key *key)
{
    uint8_t *header = output->directory;

    memcpy(header + HEADER_MAGIC, sym_cache_magic, sizeof sym_cache_magic);
    store_u32(header + HEADER_VERSION, SYM_CACHE_VERSION);
    store_u32(header + HEADER_BLOCKS, (uint32_t)output->block);
    store_u64(header + HEADER_INPUTS, key->inputs);
    header[HEADER_QUALITY] = (uint8_t)key->quality;
    header[HEADER_BUILD_ID_LENGTH] = (uint8_t)key->build_id_length;
    memcpy(header + HEADER_BUILD_ID, key->build_id, key->build_id_length);
    for (unsigned i = 0; i < SYM_CACHE_SECTIONS; i++)
        store_u64(header + HEADER_SECTIONS + 8 * (size_t)i, writer->sections[i].size);
    store_u64(header + HEADER_RELEASE, sym_cache_release());
    store_u64(header + HEADER_CHECKSUM,
              sym_cache_digest(output->directory, output->directory_size, 0));
    return write_at(output->fd, output->directory, output->directory_size, 0);
}

static enum sym_status write_file(struct sym_cache_writer *writer, const struct sym_cache_key *key,
                                  int fd, uint64_t *size)
{
    struct output output = { .fd = fd, .packed_capacity = ZSTD_compressBound(SYM_CACHE_BLOCK) };
    enum sym_status status = SYM_NO_MEMORY;

    output.directory_size = SYM_CACHE_HEADER + block_count(writer) * SYM_CACHE_ENTRY;
    output.offset = output.directory_size;
    output.directory = base_calloc(1, output.directory_size);
    output.packed = base_malloc(output.packed_capacity);
    output.context = ZSTD_createCCtx();
    if (output.directory && output.packed && output.context)
        status = write_sections(&output, writer);
    if (!status)
        status = write_header(&output, writer, key);
    if (size)
        *size = output.offset;
    ZSTD_freeCCtx(output.context);
    base_free(output.packed);
    base_free(output.directory);
    return status;
}

/* A file that grows beyond RLIMIT_FSIZE must not cost the process its life.  */
static enum sym_status write_guarded(struct sym_cache_writer *writer,
                                     const struct sym_cache_key *key, int fd, uint64_t *size)
{
    sigset_t too_large, before, pending;
    bool was_pending;

    (void)sigemptyset(&too_large);
    (void)sigaddset(&too_large, SIGXFSZ);
    if (pthread_sigmask(SIG_BLOCK, &too_large, &before) != 0)
        return SYM_IO;
    was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    enum sym_status status = write_file(writer, key, fd, size);
    if (!was_pending)
        (void)sigtimedwait(&too_large, NULL, &(struct timespec){ 0 });
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

enum sym_status sym_cache_writer_finish(struct sym_cache_writer *writer,
                                        const struct sym_cache_key *key, int fd, uint64_t *size)
{
    uint64_t strings = writer->sections[SYM_CACHE_STRINGS].size;
    enum sym_status status = flush_rows(writer);

    if (writer->name_bytes >
        sym_cache_name_bytes(strings, writer->functions.count, writer->files.count))
        return SYM_MALFORMED; /* readers would refuse it */
    if (!status)
        status = flush_nodes(writer);
    if (!status)
        status = write_index(writer);
    if (!status && (!section_add(&writer->sections[SYM_CACHE_ROWS], SYM_CACHE_SLACK) ||
                    !section_add(&writer->sections[SYM_CACHE_NODES], SYM_CACHE_SLACK)))
        status = SYM_NO_MEMORY;
    return status ? status : write_guarded(writer, key, fd, size);
}
