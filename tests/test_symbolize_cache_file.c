/* The format of the symbol cache: what is written comes back, and a file that somebody changed
 * gives the right answer or none.  */
#include "libsymbolize/cache_pack.h"
#include "libsymbolize/symbol_cache.h"
#include "tests/support/allocation.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

static struct sym_strings strings;
static struct sym_cache_writer *writer;
static uint8_t *file; /* what was written */
static size_t file_size;

static void set_up(void)
{
    strings = (struct sym_strings){ 0 };
    writer = sym_cache_writer_new();
    ck_assert_ptr_nonnull(writer);
    file = NULL;
}

static void tear_down(void)
{
    sym_cache_writer_free(writer);
    sym_strings_release(&strings);
    free(file);
}

static const char *intern(const char *text)
{
    const char *interned = sym_strings_intern(&strings, text, strlen(text));

    ck_assert_ptr_nonnull(interned);
    return interned;
}

static enum sym_status add(uint64_t start, uint64_t limit, bool apart, struct sym_frame *items,
                           size_t count)
{
    struct sym_walk_range range = { .start = start, .limit = limit, .apart = apart };
    struct sym_frames frames = { .items = items, .count = count };

    return sym_cache_writer_add(writer, &range, &frames);
}

static const struct sym_cache_key key = { .build_id = { 1, 2, 3, 4, 5, 6, 7, 8 },
                                          .build_id_length = 8,
                                          .quality = SYM_QUALITY_DWARF,
                                          .inputs = 77 };

/* Ends the file and reads it into memory.  */
static void finish(void)
{
    int fd = memfd_create("cache", MFD_CLOEXEC);
    uint64_t size;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(sym_cache_writer_finish(writer, &key, fd, &size), SYM_OK);
    file_size = (size_t)size;
    file = malloc(file_size);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(pread(fd, file, file_size, 0), (ssize_t)file_size);
    ck_assert_int_eq(lseek(fd, 0, SEEK_END), (off_t)file_size);
    (void)close(fd);
}

static struct sym_cache *open_file(void)
{
    struct sym_cache *cache;

    ck_assert_int_eq(sym_cache_open_bytes(file, file_size, &strings, &cache), SYM_OK);
    return cache;
}

static bool same_frame(const struct sym_frame *a, const struct sym_frame *b)
{
    return a->function == b->function && a->linkage_name == b->linkage_name && a->file == b->file &&
           a->line == b->line && a->column == b->column && a->start_line == b->start_line &&
           a->inlined == b->inlined && a->source == b->source;
}

static bool same_frames(const struct sym_frames *frames, const struct sym_frame *items,
                        size_t count)
{
    if (frames->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!same_frame(&frames->items[i], &items[i]))
            return false;
    return true;
}

/* ---- What is written comes back ---- */

enum { FRAMES = 4, RANGES = 5000, NAMES = 40 };

/* A range that a test made up; starts of all of them ascend.  */
struct made {
    uint64_t start, limit;
    struct sym_frame frames[FRAMES];
    size_t count;
};

static struct made made[RANGES];

static unsigned pick(unsigned below)
{
    return (unsigned)rand() % below;
}

/* Numbers of all sizes: small ones mostly.  */
static uint32_t any_number(void)
{
    uint32_t number = (uint32_t)rand() ^ (uint32_t)rand() << 16;

    return number >> pick(33) % 32;
}

static void make_ranges(bool far_apart)
{
    const char *names[NAMES];
    char text[64];
    uint64_t at = far_apart ? 1 : 0x1000;

    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(text, sizeof text, "name number %d", i);
        names[i] = intern(i ? text : "");
    }
    for (size_t i = 0; i < RANGES; i++) {
        struct made *range = &made[i];
        if (pick(8) == 0)
            at += far_apart ? (uint64_t)any_number() << pick(20) : pick(100);
        range->start = at;
        at += 1 + (far_apart && pick(50) == 0 ? any_number() : pick(30));
        range->limit = at;
        range->count = 1 + pick(FRAMES);
        for (size_t f = 0; f < range->count; f++)
            range->frames[f] = (struct sym_frame){
                .function = names[pick(NAMES)],
                .linkage_name = names[pick(NAMES)],
                .file = names[pick(4) ? 1 : pick(NAMES)],
                .line = any_number(),
                .column = any_number(),
                .start_line = pick(3) ? 100 : any_number(),
                .inlined = f + 1 < range->count,
                .source = (enum sym_quality)pick(SYM_QUALITY_DWARF + 1),
            };
    }
}

static void check_range(struct sym_cache *cache, struct sym_cache_place *place, uint64_t vaddr,
                        const struct made *range)
{
    struct sym_frames frames = { 0 };

    ck_assert_int_eq(sym_cache_seek(cache, vaddr, place), SYM_OK);
    ck_assert_int_eq(sym_cache_frames(cache, place, &frames), SYM_OK);
    ck_assert_msg(same_frames(&frames, range ? range->frames : NULL, range ? range->count : 0),
                  "0x%llx: %zu frames", (unsigned long long)vaddr, frames.count);
    if (vaddr < UINT64_MAX)
        ck_assert(place->start <= vaddr && vaddr < place->limit);
    free(frames.items);
}

/* Ascending, then in any order, each from the place of the one before and from none.  */
static void check_ranges(struct sym_cache *cache)
{
    struct sym_cache_place place = { 0 };

    for (size_t i = 0; i < RANGES; i++) {
        check_range(cache, &place, made[i].start, &made[i]);
        check_range(cache, &place, made[i].limit - 1, &made[i]);
        if (i + 1 == RANGES || made[i].limit < made[i + 1].start)
            check_range(cache, &place, made[i].limit, NULL);
    }
    for (size_t i = 0; i < RANGES; i++) {
        const struct made *range = &made[pick(RANGES)];
        struct sym_cache_place none = { 0 };
        check_range(cache, &place, range->limit - 1, range);
        check_range(cache, &none, range->start, range);
    }
    check_range(cache, &place, 0, NULL);
    check_range(cache, &place, UINT64_MAX, NULL);
}

START_TEST(gives_back_what_was_written)
{
    srand(1 + (unsigned)_i);
    make_ranges(_i % 2);
    for (size_t i = 0; i < RANGES; i++) {
        bool follows = i && made[i].start == made[i - 1].limit;
        ck_assert_int_eq(add(made[i].start, made[i].limit, !follows && pick(4) == 0, made[i].frames,
                             made[i].count),
                         SYM_OK);
    }
    finish();
    struct sym_cache *cache = open_file();
    const struct sym_cache_key *got = sym_cache_key(cache);
    ck_assert_uint_eq(got->build_id_length, 8);
    ck_assert_mem_eq(got->build_id, key.build_id, 8);
    ck_assert_int_eq(got->quality, SYM_QUALITY_DWARF);
    ck_assert_uint_eq(got->inputs, 77);
    check_ranges(cache);
    sym_cache_close(cache);
}
END_TEST

START_TEST(takes_pieces_in_any_order)
{
    static size_t order[RANGES];

    srand(5);
    make_ranges(false);
    for (size_t i = 0; i < RANGES; i++) {
        size_t j = pick((unsigned)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < RANGES; i++) {
        struct made *range = &made[order[i]];
        ck_assert_int_eq(add(range->start, range->limit, true, range->frames, range->count),
                         SYM_OK);
    }
    finish();
    struct sym_cache *cache = open_file();
    check_ranges(cache);
    sym_cache_close(cache);
}
END_TEST

START_TEST(holds_names_that_are_longer_than_a_block)
{
    static char text[3][200000];
    struct sym_frame frames[3];
    struct sym_cache_place place = { 0 };
    struct sym_frames got = { 0 };

    for (int i = 0; i < 3; i++) {
        for (size_t j = 0; j + 1 < sizeof text[i]; j++)
            text[i][j] = (char)('a' + (j * j + (size_t)i) % 26);
        frames[i] = (struct sym_frame){ .function = intern(text[i]),
                                        .linkage_name = intern(""),
                                        .file = intern("") };
    }
    ck_assert_int_eq(add(16, 32, true, frames, 3), SYM_OK);
    finish();
    struct sym_cache *cache = open_file();
    ck_assert_int_eq(sym_cache_seek(cache, 20, &place), SYM_OK);
    ck_assert_int_eq(sym_cache_frames(cache, &place, &got), SYM_OK);
    ck_assert(same_frames(&got, frames, 3));
    free(got.items);
    sym_cache_close(cache);
}
END_TEST

START_TEST(holds_a_module_without_a_name)
{
    struct sym_cache_place place = { 0 };
    struct sym_frames got = { 0 };

    finish();
    ck_assert_uint_eq(file_size, SYM_CACHE_HEADER + 2 * (SYM_CACHE_ENTRY + SYM_CACHE_SLACK));
    struct sym_cache *cache = open_file();
    ck_assert_int_eq(sym_cache_seek(cache, 20, &place), SYM_OK);
    ck_assert_int_eq(sym_cache_frames(cache, &place, &got), SYM_OK);
    ck_assert_uint_eq(got.count, 0);
    sym_cache_close(cache);
}
END_TEST

START_TEST(refuses_two_answers_for_one_address)
{
    struct sym_frame frame = { .function = "f", .linkage_name = intern(""), .file = intern("") };

    ck_assert_int_eq(add(16, 32, true, &frame, 1), SYM_OK);
    ck_assert_int_eq(add(31, 40, true, &frame, 1), SYM_OK);
    ck_assert_int_eq(sym_cache_writer_finish(writer, &key, -1, NULL), SYM_MALFORMED);
}
END_TEST

START_TEST(refuses_a_chain_of_frames_without_end)
{
    static struct sym_frame frames[SYM_CACHE_DEPTH + 1];

    for (size_t i = 0; i <= SYM_CACHE_DEPTH; i++)
        frames[i] =
            (struct sym_frame){ .function = "f", .linkage_name = intern(""), .file = intern("") };
    ck_assert_int_eq(add(16, 32, true, frames, SYM_CACHE_DEPTH + 1), SYM_MALFORMED);
    ck_assert_int_eq(add(16, 32, true, frames, 0), SYM_MALFORMED);
    ck_assert_int_eq(add(16, 32, true, frames, SYM_CACHE_DEPTH), SYM_OK);
    finish();
    struct sym_cache *cache = open_file();
    struct sym_cache_place place = { 0 };
    struct sym_frames got = { 0 };
    ck_assert_int_eq(sym_cache_seek(cache, 16, &place), SYM_OK);
    ck_assert_int_eq(sym_cache_frames(cache, &place, &got), SYM_OK);
    ck_assert_uint_eq(got.count, SYM_CACHE_DEPTH);
    free(got.items);
    sym_cache_close(cache);
}
END_TEST

START_TEST(says_that_a_file_cannot_be_written)
{
    struct sym_frame frame = { .function = "f", .linkage_name = intern(""), .file = intern("") };
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(add(16, 32, true, &frame, 1), SYM_OK);
    ck_assert_int_eq(sym_cache_writer_finish(writer, &key, fd, NULL), SYM_IO);
    (void)close(fd);
}
END_TEST

/* ---- Files that somebody changed ---- */

enum { SMALL = 40 };

static struct made small[SMALL];

/* A file of a few hundred bytes that uses everything the format has.  */
static void write_small(void)
{
    struct sym_frame outer = { .function = intern("outer"),
                               .linkage_name = intern("_Z5outerv"),
                               .file = intern("/src/a.cc"),
                               .start_line = 10,
                               .source = SYM_QUALITY_DWARF };
    struct sym_frame inner = { .function = intern("inner"),
                               .linkage_name = intern(""),
                               .file = intern("/src/b.h"),
                               .start_line = 3,
                               .inlined = true,
                               .source = SYM_QUALITY_DWARF };

    for (uint32_t i = 0; i < SMALL; i++) {
        struct made *range = &small[i];
        *range = (struct made){ .start = 0x1000 + 8 * i + i / 10,
                                .limit = 0x1008 + 8 * i + i / 10 };
        inner.line = 4 + i % 7;
        inner.column = i % 5;
        outer.line = 11 + i;
        if (i % 3)
            range->frames[range->count++] = inner;
        range->frames[range->count++] = outer;
        ck_assert_int_eq(add(range->start, range->limit, i == 20, range->frames, range->count),
                         SYM_OK);
    }
    finish();
}

static const struct made *small_at(uint64_t vaddr)
{
    for (size_t i = 0; i < SMALL; i++)
        if (vaddr >= small[i].start && vaddr < small[i].limit)
            return &small[i];
    return NULL;
}

/* Asks for every address.  false: some were refused because the file is damaged.  Where right is
 * set the others must be those that were written.  */
static bool ask_all(const uint8_t *data, size_t size, bool right)
{
    struct sym_cache *cache;
    struct sym_cache_place place = { 0 };
    struct sym_frames frames = { 0 };
    bool complete = true;
    enum sym_status status = sym_cache_open_bytes(data, size, &strings, &cache);

    if (status) {
        ck_assert(status == SYM_MALFORMED || status == SYM_NOT_FOUND);
        return false;
    }
    for (uint64_t vaddr = 0xff8; vaddr < 0x1160; vaddr++) {
        status = sym_cache_seek(cache, vaddr, &place);
        if (!status)
            status = sym_cache_frames(cache, &place, &frames);
        ck_assert(status == SYM_OK || status == SYM_MALFORMED);
        if (status) {
            complete = false;
            place = (struct sym_cache_place){ 0 };
            continue;
        }
        const struct made *range = small_at(vaddr);
        if (right)
            ck_assert(same_frames(&frames, range ? range->frames : NULL, range ? range->count : 0));
    }
    free(frames.items);
    sym_cache_close(cache);
    return complete;
}

START_TEST(notices_each_flipped_bit)
{
    write_small();
    ck_assert(ask_all(file, file_size, true));
    for (size_t bit = 0; bit < 8 * file_size; bit++) {
        file[bit / 8] ^= (uint8_t)(1U << bit % 8);
        ck_assert_msg(!ask_all(file, file_size, true), "bit %zu of %zu bytes", bit, file_size);
        file[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
}
END_TEST

START_TEST(notices_each_truncation)
{
    write_small();
    for (size_t size = 0; size < file_size; size++) {
        uint8_t *copy = malloc(size + 1);
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, file, size);
        ck_assert(!ask_all(copy, size, true));
        free(copy);
    }
}
END_TEST

START_TEST(notices_bytes_that_were_added)
{
    write_small();
    uint8_t *longer = calloc(1, file_size + 1);
    ck_assert_ptr_nonnull(longer);
    memcpy(longer, file, file_size);
    ck_assert(!ask_all(longer, file_size + 1, true));
    free(longer);
}
END_TEST

/* Makes all digests of a file right again, as somebody would who means harm.  */
static void sign(uint8_t *data, size_t size)
{
    uint32_t blocks = load_u32(data + HEADER_BLOCKS);
    size_t head = SYM_CACHE_HEADER + (size_t)blocks * SYM_CACHE_ENTRY, offset = head;

    if (blocks > 64 || head > size)
        return;
    for (uint32_t i = 0; i < blocks; i++) {
        uint8_t *entry = data + SYM_CACHE_HEADER + (size_t)i * SYM_CACHE_ENTRY;
        size_t stored = load_u32(entry) & ~SYM_CACHE_PACKED;
        if (stored > size - offset)
            break;
        store_u64(entry + 8, sym_cache_digest(data + offset, stored, 0));
        offset += stored;
    }
    store_u64(data + HEADER_CHECKSUM, 0);
    store_u64(data + HEADER_CHECKSUM, sym_cache_digest(data, head, 0));
}

START_TEST(survives_each_flipped_bit_with_right_digests)
{
    write_small();
    uint8_t *copy = malloc(file_size);
    ck_assert_ptr_nonnull(copy);
    for (size_t bit = 0; bit < 8 * file_size; bit++) {
        memcpy(copy, file, file_size);
        copy[bit / 8] ^= (uint8_t)(1U << bit % 8);
        sign(copy, file_size);
        (void)ask_all(copy, file_size, false);
    }
    free(copy);
}
END_TEST

/* Values that stand at some limit.  */
static const uint8_t limits[] = { 0, 1, 0x3f, 0x40, 0x41, 0x7f, 0x80, 0xff };

START_TEST(survives_each_byte_at_its_limits_with_right_digests)
{
    write_small();
    uint8_t *copy = malloc(file_size);
    ck_assert_ptr_nonnull(copy);
    for (size_t at = 0; at < file_size; at++) {
        memcpy(copy, file, file_size);
        memset(copy + at, limits[_i], at + 4 <= file_size ? 4 : 1);
        sign(copy, file_size);
        (void)ask_all(copy, file_size, false);
    }
    free(copy);
}
END_TEST

START_TEST(leaves_another_version_alone)
{
    static const size_t places[] = { HEADER_VERSION, HEADER_RELEASE };
    struct sym_cache *cache;

    write_small();
    file[places[_i]]++;
    sign(file, file_size);
    ck_assert_int_eq(sym_cache_open_bytes(file, file_size, &strings, &cache), SYM_NOT_FOUND);
}
END_TEST

START_TEST(bounds_what_a_small_file_may_claim)
{
    struct sym_cache *cache;

    write_small();
    store_u64(file + HEADER_SECTIONS + (size_t)(8 * SYM_CACHE_STRINGS), UINT64_C(1) << 39);
    sign(file, file_size);
    ck_assert_int_eq(sym_cache_open_bytes(file, file_size, &strings, &cache), SYM_MALFORMED);
}
END_TEST

/* A file of n names that are the ends of each other would take n * n / 2 bytes of memory.  */
START_TEST(refuses_a_name_that_starts_inside_another)
{
    write_small();
    uint8_t *last = file + file_size - 1; /* STRINGS are last, and too few to be packed */
    ck_assert_uint_eq(*last, 0);
    uint8_t *before = memrchr(file, 0, file_size - 1);
    ck_assert(before && before + 1 < last);
    *before = 'x';
    sign(file, file_size);
    ck_assert(!ask_all(file, file_size, false));
}
END_TEST

/* Frames of count functions that share a name of length bytes; each reads it.  */
static enum sym_status add_sharing(uint32_t count, size_t length)
{
    char *name = malloc(length + 1);
    enum sym_status status = SYM_OK;

    ck_assert_ptr_nonnull(name);
    memset(name, 'n', length);
    name[length] = '\0';
    const char *shared = intern(name);
    free(name);
    for (uint32_t i = 0; i < count && !status; i++) {
        struct sym_frame frame = {
            .function = shared, .linkage_name = intern(""), .file = intern(""), .start_line = i + 1
        };
        status = add(16 + 16 * (uint64_t)i, 32 + 16 * (uint64_t)i, i == 0, &frame, 1);
    }
    return status;
}

START_TEST(makes_no_file_whose_names_are_read_without_end)
{
    int fd = memfd_create("cache", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(add_sharing(40, 100000), SYM_OK);
    ck_assert_int_eq(sym_cache_writer_finish(writer, &key, fd, NULL), SYM_MALFORMED);
    ck_assert_int_eq(lseek(fd, 0, SEEK_END), 0);
    (void)close(fd);
}
END_TEST

/* The bytes of a section of one block, which is stored without packing from now on.  */
static uint8_t *unpack_section(enum sym_cache_section which)
{
    size_t size = (size_t)load_u64(file + HEADER_SECTIONS + 8 * (size_t)which), block = 0;
    size_t offset = SYM_CACHE_HEADER + load_u32(file + HEADER_BLOCKS) * (size_t)SYM_CACHE_ENTRY;

    ck_assert_uint_le(size, SYM_CACHE_BLOCK);
    for (unsigned i = 0; i < (unsigned)which; i++)
        block += (size_t)((load_u64(file + HEADER_SECTIONS + 8 * (size_t)i) + SYM_CACHE_BLOCK - 1) /
                          SYM_CACHE_BLOCK);
    for (size_t i = 0; i < block; i++)
        offset += load_u32(file + SYM_CACHE_HEADER + i * SYM_CACHE_ENTRY) & ~SYM_CACHE_PACKED;
    uint8_t *entry = file + SYM_CACHE_HEADER + block * SYM_CACHE_ENTRY;
    size_t stored = load_u32(entry) & ~SYM_CACHE_PACKED, behind = file_size - offset - stored;
    uint8_t *whole = malloc(offset + size + behind);
    ck_assert_ptr_nonnull(whole);
    if (load_u32(entry) & SYM_CACHE_PACKED)
        ck_assert_uint_eq(ZSTD_decompress(whole + offset, size, file + offset, stored), size);
    else
        memcpy(whole + offset, file + offset, size);
    store_u32(entry, (uint32_t)size);
    memcpy(whole, file, offset);
    memcpy(whole + offset + size, file + offset + stored, behind);
    free(file);
    file = whole;
    file_size = offset + size + behind;
    return file + offset;
}

static enum sym_status read_functions(uint32_t count)
{
    struct sym_cache *cache = open_file();
    struct sym_cache_place place = { 0 };
    struct sym_frames frames = { 0 };
    enum sym_status status = SYM_OK;

    for (uint32_t i = 0; i < count && !status; i++) {
        status = sym_cache_seek(cache, 16 + 16 * (uint64_t)i, &place);
        if (!status)
            status = sym_cache_frames(cache, &place, &frames);
    }
    free(frames.items);
    sym_cache_close(cache);
    return status;
}

/* The same from a file that somebody made: all functions are changed to share the longest name.  */
START_TEST(reads_shared_names_only_so_often)
{
    enum { COUNT = 40, LENGTH = 60000 };
    static char letters[LENGTH + 1];

    memset(letters, 'l', LENGTH);
    struct sym_frame last = { .function = intern(letters),
                              .linkage_name = intern(""),
                              .file = intern("") };
    ck_assert_int_eq(add_sharing(COUNT, 5), SYM_OK);
    ck_assert_int_eq(add(16 + 16 * COUNT, 32 + 16 * COUNT, false, &last, 1), SYM_OK);
    finish();
    ck_assert_int_eq(read_functions(COUNT + 1), SYM_OK);
    uint8_t *functions = unpack_section(SYM_CACHE_FUNCTIONS);
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t *name = functions + i * SYM_CACHE_FUNCTION;
        ck_assert_uint_eq(load_u32(name), 1);
        store_u32(name, 1 + 5 + 1);
    }
    sign(file, file_size);
    ck_assert_int_eq(read_functions(10), SYM_OK);
    ck_assert_int_eq(read_functions(COUNT), SYM_MALFORMED);
}
END_TEST

/* ---- Without memory ---- */

static enum sym_status write_and_read(int fd)
{
    struct sym_cache_writer *other = sym_cache_writer_new();
    struct sym_cache *cache = NULL;
    struct sym_cache_place place = { 0 };
    struct sym_frames frames = { 0 };
    struct sym_strings names = { 0 };
    uint64_t size = 0;
    enum sym_status status = other ? SYM_OK : SYM_NO_MEMORY;

    for (size_t i = 0; i < SMALL && !status; i++) {
        struct sym_walk_range range = { .start = small[i].start, .limit = small[i].limit };
        struct sym_frames of = { .items = small[i].frames, .count = small[i].count };
        status = sym_cache_writer_add(other, &range, &of);
    }
    if (!status)
        status = sym_cache_writer_finish(other, &key, fd, &size);
    if (!status)
        status = sym_cache_open(dup(fd), size, &names, &cache);
    if (!status)
        status = sym_cache_seek(cache, 0x1010, &place);
    if (!status)
        status = sym_cache_frames(cache, &place, &frames);
    free(frames.items);
    sym_cache_close(cache);
    sym_strings_release(&names);
    sym_cache_writer_free(other);
    return status;
}

START_TEST(reports_every_failed_allocation)
{
    int fd = memfd_create("cache", MFD_CLOEXEC);

    write_small();
    ck_assert_int_ge(fd, 0);
    allocation_fail_at(0);
    enum sym_status all = write_and_read(fd);
    unsigned long count = allocation_count();
    ck_assert_int_eq(all, SYM_OK);
    ck_assert_uint_gt(count, 20);
    for (unsigned long n = 1; n <= count; n++) {
        allocation_fail_at(n);
        enum sym_status status = write_and_read(fd);
        allocation_fail_at(0);
        ck_assert_msg(status == SYM_NO_MEMORY, "allocation %lu of %lu: %d", n, count, (int)status);
    }
    (void)close(fd);
}
END_TEST

/* ---- The digest ---- */

START_TEST(digests_differ_for_each_bit_and_length)
{
    uint8_t bytes[200];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t size = 0; size < sizeof bytes; size++) {
        uint64_t digest = sym_cache_digest(bytes, size, 0);
        ck_assert_uint_ne(digest, sym_cache_digest(bytes, size + 1, 0));
        ck_assert_uint_ne(digest, sym_cache_digest(bytes, size, 1));
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
            ck_assert_uint_ne(digest, sym_cache_digest(bytes, size, 0));
            bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_cache_file");
    TCase *tcase = tcase_create("file");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, gives_back_what_was_written, 0, 4);
    tcase_add_test(tcase, takes_pieces_in_any_order);
    tcase_add_test(tcase, holds_names_that_are_longer_than_a_block);
    tcase_add_test(tcase, holds_a_module_without_a_name);
    tcase_add_test(tcase, refuses_two_answers_for_one_address);
    tcase_add_test(tcase, refuses_a_chain_of_frames_without_end);
    tcase_add_test(tcase, says_that_a_file_cannot_be_written);
    tcase_add_test(tcase, notices_each_flipped_bit);
    tcase_add_test(tcase, notices_each_truncation);
    tcase_add_test(tcase, notices_bytes_that_were_added);
    tcase_add_test(tcase, survives_each_flipped_bit_with_right_digests);
    tcase_add_loop_test(tcase, survives_each_byte_at_its_limits_with_right_digests, 0,
                        ROWS(limits));
    tcase_add_loop_test(tcase, leaves_another_version_alone, 0, 2);
    tcase_add_test(tcase, bounds_what_a_small_file_may_claim);
    tcase_add_test(tcase, refuses_a_name_that_starts_inside_another);
    tcase_add_test(tcase, makes_no_file_whose_names_are_read_without_end);
    tcase_add_test(tcase, reads_shared_names_only_so_often);
    tcase_add_test(tcase, reports_every_failed_allocation);
    tcase_add_test(tcase, digests_differ_for_each_bit_and_length);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
