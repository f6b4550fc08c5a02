/* Files of the symbol cache: somebody else's, damaged, and damaged with digests that are right.
 *
 * The first byte says what the rest is:
 *   0  a file, as it is;
 *   1  a file whose digests are made right before it is opened, or hardly one would be;
 *   2  one change of a file that the library wrote: which file (1 byte), where (2 bytes, little
 *      endian), what (1 byte: bytes are replaced, put in, taken out, or the file ends), and the
 *      bytes;
 *   3  a file that is made right, also in what it says it was made from: a session answers from it.
 *
 * What holds: each look-up ends with frames, without, or with the file called damaged, in bounds
 * that do not depend on what the file claims.  Read from memory or through a descriptor, it gives
 * the same.  After one change (2) a session's answers are those without a cache, and the file in
 * the directory is the one that was there or, where damage was seen, the sound one again.  The
 * objects are those of testdata/symbolize/hostile, below $ROOT or the working directory.  */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libsymbolize/cache_pack.h"
#include "tests/fuzz/support.h"

enum {
    ADDRESSES = 130, /* the objects have their code at 0x1000 */
    FILE_MAX = 1 << 16,
    CHANGE_MAX = 16, /* bytes; a longer change could hold a digest and what it covers */
};

static const char *const objects[] = { "x86-64-dwarf5.so", "x86-64-gcc.so",   "i386-dwarf4",
                                       "ppc32-dwarf2",     "ppc64-dwarf3.so", "split" };

enum { OBJECTS = sizeof objects / sizeof *objects };

/* An object, what it answers without a cache, and the cache file that the library makes of it.  */
struct sample {
    char object[256], file[256];
    struct fuzz_buffer answers, bytes;
};

static struct sample samples[OBJECTS];
static char folder[] = "/tmp/fuzz_cacheXXXXXX";
static char cache_folder[sizeof folder + 16];
static uint64_t vaddrs[ADDRESSES];

/* ---- Files ---- */

static void read_whole(const char *path, struct fuzz_buffer *buffer)
{
    static uint8_t block[FILE_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    HOLD(fd >= 0);
    ssize_t length = read(fd, block, sizeof block);
    HOLD(length >= 0 && (size_t)length < sizeof block && close(fd) == 0);
    buffer->used = 0;
    if (length)
        fuzz_append(buffer, block, (size_t)length);
}

static void write_whole(const char *path, const uint8_t *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    HOLD(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
}

static bool same_bytes(const struct fuzz_buffer *a, const struct fuzz_buffer *b)
{
    return a->used == b->used && (a->used == 0 || memcmp(a->bytes, b->bytes, a->used) == 0);
}

/* ---- Answers, as bytes that can be compared ---- */

static void put_frames(struct fuzz_buffer *all, const struct sym_frame *frames, size_t count)
{
    HOLD(count <= SYM_CACHE_DEPTH);
    fuzz_append(all, &count, sizeof count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t numbers[] = { frames[i].line, frames[i].column, frames[i].start_line,
                                     frames[i].inlined, (uint32_t)frames[i].source };

        HOLD(frames[i].source <= SYM_QUALITY_DWARF);
        fuzz_append(all, frames[i].function, strlen(frames[i].function) + 1);
        fuzz_append(all, frames[i].linkage_name, strlen(frames[i].linkage_name) + 1);
        fuzz_append(all, frames[i].file, strlen(frames[i].file) + 1);
        fuzz_append(all, numbers, sizeof numbers);
    }
}

/* Asked in ascending order, answers come in that order.  */
static bool take_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    fuzz_append(context, &index, sizeof index);
    put_frames(context, frames, count);
    return true;
}

/* What a session answers for an object; *file, which may be NULL, becomes where its cache file is
 * or stays.  */
static void ask_session(const struct sample *sample, bool cached, struct fuzz_buffer *answers,
                        char *file, size_t file_size)
{
    const struct sym_options options = {
        .size = sizeof options, .debug_root = "", .cache_dir = cache_folder, .no_cache = !cached
    };
    const struct sym_module_key key = { .path = sample->object };
    struct sym_session *session;
    struct sym_module *module;

    answers->used = 0;
    HOLD(sym_session_open(&options, &session, NULL) == SYM_OK);
    HOLD(sym_session_module(session, &key, &module, NULL) == SYM_OK);
    HOLD(sym_module_resolve(module, vaddrs, ADDRESSES, take_answer, answers, NULL) == SYM_OK);
    const char *path = sym_module_report(module)->cache_path;
    HOLD(cached || !path[0]);
    if (file)
        (void)snprintf(file, file_size, "%s", path);
    sym_session_close(session);
}

/* ---- Setting up ---- */

static void remove_folder(void)
{
    char path[512];

    for (int i = 0; i < OBJECTS; i++) {
        (void)unlink(samples[i].object);
        (void)unlink(samples[i].file);
        free(samples[i].answers.bytes);
        free(samples[i].bytes.bytes);
    }
    (void)snprintf(path, sizeof path, "%s/split.dwp", folder);
    (void)unlink(path);
    (void)rmdir(cache_folder);
    (void)rmdir(folder);
}

static void copy_object(const char *name, char *path, size_t size)
{
    const char *root = getenv("ROOT");
    struct fuzz_buffer bytes = { 0 };
    char from[4096];

    (void)snprintf(from, sizeof from, "%s/testdata/symbolize/hostile/%s", root ? root : ".", name);
    (void)snprintf(path, size, "%s/%s", folder, name);
    read_whole(from, &bytes);
    write_whole(path, bytes.bytes, bytes.used);
    free(bytes.bytes);
}

static void make_sample(struct sample *sample, const char *name)
{
    struct fuzz_buffer cached = { 0 };

    copy_object(name, sample->object, sizeof sample->object);
    ask_session(sample, false, &sample->answers, NULL, 0);
    HOLD(sample->answers.used > 16 * ADDRESSES + 400); /* names, not only counts */
    ask_session(sample, true, &cached, sample->file, sizeof sample->file);
    HOLD(sample->file[0]);
    read_whole(sample->file, &sample->bytes);
    HOLD(same_bytes(&cached, &sample->answers));
    ask_session(sample, true, &cached, NULL, 0);
    HOLD(same_bytes(&cached, &sample->answers));
    free(cached.bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[256];

    (void)argc, (void)argv;
    HOLD(mkdtemp(folder) != NULL);
    HOLD(atexit(remove_folder) == 0);
    (void)snprintf(cache_folder, sizeof cache_folder, "%s/cache", folder);
    for (size_t i = 0; i < ADDRESSES - 2; i++)
        vaddrs[i] = 0xff8 + 2 * i;
    vaddrs[ADDRESSES - 2] = UINT64_C(1) << 63;
    vaddrs[ADDRESSES - 1] = UINT64_MAX;
    copy_object("split.dwp", path, sizeof path);
    for (size_t i = 0; i < OBJECTS; i++)
        make_sample(&samples[i], objects[i]);
    return 0;
}

/* ---- Any bytes ---- */

/* Makes the digests right, and the release, which seeds are not written anew for.  */
static void sign(uint8_t *data, size_t size)
{
    if (size < SYM_CACHE_HEADER)
        return;
    uint64_t blocks = load_u32(data + HEADER_BLOCKS);
    if (blocks > (size - SYM_CACHE_HEADER) / SYM_CACHE_ENTRY)
        return;
    size_t head = SYM_CACHE_HEADER + (size_t)blocks * SYM_CACHE_ENTRY, offset = head;

    for (size_t i = 0; i < blocks; i++) {
        uint8_t *entry = data + SYM_CACHE_HEADER + i * SYM_CACHE_ENTRY;
        size_t stored = load_u32(entry) & ~SYM_CACHE_PACKED;
        if (stored > size - offset)
            break;
        store_u64(entry + 8, sym_cache_digest(data + offset, stored, 0));
        offset += stored;
    }
    store_u64(data + HEADER_RELEASE, sym_cache_release());
    store_u64(data + HEADER_CHECKSUM, 0);
    store_u64(data + HEADER_CHECKSUM, sym_cache_digest(data, head, 0));
}

/* One look-up from *place; what came out goes to all.  */
static void look_up(struct sym_cache *cache, uint64_t vaddr, struct sym_cache_place *place,
                    struct sym_frames *frames, struct fuzz_buffer *all)
{
    enum sym_status status = sym_cache_seek(cache, vaddr, place);

    if (!status) {
        HOLD(place->known && place->start <= vaddr);
        HOLD(vaddr < place->limit || vaddr == UINT64_MAX);
        status = sym_cache_frames(cache, place, frames);
    }
    HOLD(status == SYM_OK || status == SYM_MALFORMED);
    fuzz_append(all, &status, sizeof status);
    if (status)
        *place = (struct sym_cache_place){ 0 };
    else
        put_frames(all, frames->items, frames->count);
}

/* Ascending; jumping about, each from the place of the one before and from none; around the place
 * that was found, where the rows of one group meet the next.  */
static void look_up_all(struct sym_cache *cache, struct fuzz_buffer *all)
{
    struct sym_cache_place place = { 0 };
    struct sym_frames frames = { 0 };

    for (size_t i = 0; i < ADDRESSES; i++)
        look_up(cache, vaddrs[i], &place, &frames, all);
    for (size_t i = 0; i < ADDRESSES; i++) {
        struct sym_cache_place none = { 0 };
        uint64_t vaddr = vaddrs[i * 37 % ADDRESSES];
        look_up(cache, vaddr, &place, &frames, all);
        look_up(cache, place.limit, &place, &frames, all);
        look_up(cache, vaddr, &none, &frames, all);
        look_up(cache, none.start - 1, &none, &frames, all);
    }
    free(frames.items);
}

static enum sym_status ask_file(const uint8_t *data, size_t size, bool from_memory,
                                struct fuzz_buffer *all)
{
    static int fd = -1;
    struct sym_strings strings = { 0 };
    struct sym_cache *cache = NULL;
    enum sym_status status;

    if (from_memory) {
        status = sym_cache_open_bytes(data, size, &strings, &cache);
    } else {
        if (fd < 0)
            fd = memfd_create("cache", MFD_CLOEXEC);
        HOLD(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
        status = sym_cache_open(dup(fd), size, &strings, &cache);
    }
    HOLD(status == SYM_OK || status == SYM_MALFORMED || status == SYM_NOT_FOUND);
    if (!status)
        look_up_all(cache, all);
    sym_cache_close(cache);
    sym_strings_release(&strings);
    return status;
}

static void check_file(const uint8_t *data, size_t size)
{
    struct fuzz_buffer from_memory = { 0 }, from_file = { 0 };
    enum sym_status status = ask_file(data, size, true, &from_memory);

    HOLD(ask_file(data, size, false, &from_file) == status);
    HOLD(same_bytes(&from_memory, &from_file));
    free(from_memory.bytes);
    free(from_file.bytes);
}

/* ---- One change ---- */

/* The sample's file with the change that data describes.  */
static void change_file(const struct fuzz_buffer *sound, const uint8_t *data, size_t size,
                        struct fuzz_buffer *changed)
{
    size_t at = ((size_t)data[1] | (size_t)data[2] << 8) % (sound->used + 1);
    size_t left = sound->used - at, length = size - 4;
    unsigned what = data[3] % 4;

    if (length > CHANGE_MAX)
        length = CHANGE_MAX;
    if (at)
        fuzz_append(changed, sound->bytes, at);
    if (what < 2 && length)
        fuzz_append(changed, data + 4, length);
    size_t skipped = what == 1 ? 0 : what == 3 ? left : length;
    if (skipped < left)
        fuzz_append(changed, sound->bytes + at + skipped, left - skipped);
}

static void check_change(const uint8_t *data, size_t size)
{
    if (size < 4)
        return;
    const struct sample *sample = &samples[data[0] % OBJECTS];
    struct fuzz_buffer changed = { 0 }, answers = { 0 }, after = { 0 };

    change_file(&sample->bytes, data, size, &changed);
    write_whole(sample->file, changed.bytes, changed.used);
    ask_session(sample, true, &answers, NULL, 0);
    HOLD(same_bytes(&answers, &sample->answers));
    read_whole(sample->file, &after);
    HOLD(same_bytes(&after, &sample->bytes) || same_bytes(&after, &changed));
    ask_session(sample, true, &answers, NULL, 0);
    HOLD(same_bytes(&answers, &sample->answers));
    free(changed.bytes);
    free(answers.bytes);
    free(after.bytes);
}

/* ---- A session with a file that lies ---- */

static void check_lie(uint8_t *data, size_t size)
{
    const struct sample *sample = &samples[0];
    struct fuzz_buffer answers = { 0 };

    if (size >= SYM_CACHE_HEADER)
        memcpy(data + HEADER_INPUTS, sample->bytes.bytes + HEADER_INPUTS,
               HEADER_SECTIONS - HEADER_INPUTS);
    sign(data, size);
    write_whole(sample->file, data, size);
    ask_session(sample, true, &answers, NULL, 0);
    free(answers.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    unsigned mode = data[0] % 4;
    uint8_t *copy = fuzz_allocate(size - 1); /* exactly, so that a read beyond its end is seen */
    memcpy(copy, data + 1, size - 1);
    if (mode == 1)
        sign(copy, size - 1);
    if (mode == 2)
        check_change(copy, size - 1);
    else if (mode == 3)
        check_lie(copy, size - 1);
    else
        check_file(copy, size - 1);
    free(copy);
    return 0;
}
