/* Write the first inputs of the fuzz targets: fuzz_seeds DIR makes DIR/TARGET/NAME.
 *
 * testdata/fuzz/make calls this.  What fuzzing found later lies beside them, as found-*.  */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define ZLIB_CONST /* next_in may point to what is const */
#include <zlib.h>
#include <zstd.h>

#include "tests/support/every_kind.h"
#include "tests/support/fidl_vectors.h"
#include "tests/support/fxt_vectors.h"
#include "tests/support/pprof_text.h"

#define ROWS(table) (sizeof(table) / sizeof *(table))

static const char *folder;

/* The trace in which everything occurs.  */
static uint8_t every_kind[32768];
static size_t every_kind_length;

_Noreturn static void give_up(const char *what)
{
    perror(what);
    exit(4);
}

static void save(const char *target, const char *name, const void *bytes, size_t length)
{
    char path[4096];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, target);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        give_up(path);
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, target, name);
    file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
        give_up(path);
}

/* ---- Traces ---- */

static int append(void *context, const void *bytes, size_t size)
{
    (void)context;
    if (size > sizeof every_kind - every_kind_length)
        return ENOSPC;
    memcpy(every_kind + every_kind_length, bytes, size);
    every_kind_length += size;
    return 0;
}

static void make_every_kind(void)
{
    struct fxt_writer *writer;

    if (fxt_writer_open(append, NULL, &writer, NULL) != FXT_OK ||
        every_kind_write(writer) != FXT_OK)
        give_up("every kind of record");
    fxt_writer_close(writer);
}

/* "V1 magic" as a file name: v1-magic.  */
static void save_vector(const char *target, const struct fxt_vector *vector)
{
    char name[100];
    size_t used = 0;

    for (const char *c = vector->name; *c && used + 1 < sizeof name; c++) {
        unsigned char character = (unsigned char)*c;

        if (isalnum(character))
            name[used++] = (char)tolower(character);
        else if (used > 0 && name[used - 1] != '-')
            name[used++] = '-';
    }
    name[used] = '\0';
    save(target, name, vector->bytes, vector->length);
}

/* Nested, crossing, unfinished and complete slices of two threads.  */
static void save_spans(void)
{
    static const struct {
        unsigned type;
        uint64_t ticks;
        uint64_t end;
    } events[] = { { 2, 5, 0 },  { 2, 7, 0 },  { 4, 8, 9 },  { 3, 9, 0 },
                   { 4, 6, 12 }, { 3, 10, 0 }, { 3, 11, 0 }, { 2, 20, 0 } };
    uint64_t words[100] = { UINT64_C(0x0016547846040010),
                            2 | 2 << 4 | UINT64_C(1) << 16 | UINT64_C(1) << 32,
                            'a',
                            3 | 3 << 4 | UINT64_C(1) << 16,
                            71,
                            72 };
    size_t count = 6;

    for (size_t i = 0; i < ROWS(events); i++) {
        uint64_t size = 2 + (uint64_t)(events[i].type == 4) + 2 * (i % 2);

        words[count++] = 4 | size << 4 | (uint64_t)events[i].type << 16 |
                         (uint64_t)(i % 2 ? 0 : 1) << 24 | UINT64_C(1) << 48;
        words[count++] = events[i].ticks;
        if (i % 2) {
            words[count++] = 71;
            words[count++] = 72;
        }
        if (events[i].type == 4)
            words[count++] = events[i].end;
    }
    save("fuzz_profile", "spans", words, 8 * count);
    save("fuzz_profile_timeline", "spans", words, 8 * count);
}

/* A region of the kernel sampler: three samples of two frames, of which the middle one is damaged,
 * and unused room.  As a group it is two regions of which the first byte says where the second
 * begins; as the inside of an engine buffer, which has its own eight bytes before, it is two more
 * records and what cannot be one.  */
static void save_parts(void)
{
    static const uint8_t circular[8] = { 1, 2, 1, 2, 8, 8, 3, 0 };
    const struct fxt_vector *sample = &fxt_vectors[24];
    uint8_t bytes[1024] = { 0 };

    for (size_t i = 0; i < 3; i++)
        memcpy(bytes + 8 + i * sample->length, sample->bytes, sample->length);
    save("fuzz_fxt_parts", "region", bytes + 8, 512);
    bytes[8 + sample->length + 40] ^= 0x70; /* the length of its payload */
    save("fuzz_fxt_parts", "region-damaged", bytes + 8, 512);
    memcpy(bytes, circular, sizeof circular);
    save("fuzz_fxt_parts", "circular", bytes, 512);
    memset(bytes, 0, sizeof circular);
    save("fuzz_fxt_parts", "oneshot", bytes, 512);
    bytes[7] = 9;
    save("fuzz_fxt_parts", "group", bytes + 7, 512);
}

static void save_traces(void)
{
    for (size_t i = 0; i < ROWS(fxt_vectors); i++)
        save_vector("fuzz_fxt_reader", &fxt_vectors[i]);
    save("fuzz_fxt_reader", "every-kind", every_kind, every_kind_length);
    save("fuzz_profile", "every-kind", every_kind, every_kind_length);
    save("fuzz_profile_timeline", "every-kind", every_kind, every_kind_length);
    save_vector("fuzz_profile", &fxt_vectors[24]); /* a kernel sampler's stack */
    save_vector("fuzz_profile", &fxt_vectors[35]); /* the smallest complete CPU profile */
    save_spans();
}

/* ---- Compressed ---- */

static uint8_t packed[65536];

/* One gzip member at position at; returns where it ends.  */
static size_t pack(const void *bytes, size_t length, size_t at)
{
    z_stream stream = { .next_in = bytes,
                        .avail_in = (uInt)length,
                        .next_out = packed + at,
                        .avail_out = (uInt)(sizeof packed - at) };

    if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&stream, Z_FINISH) != Z_STREAM_END || deflateEnd(&stream) != Z_OK)
        give_up("gzip");
    return at + (size_t)stream.total_out;
}

static void save_packed(void)
{
    static const uint8_t skipped[] = { 0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c' };
    size_t length = pack(every_kind, every_kind_length, 0);

    save("fuzz_fxt_input", "plain", every_kind, 200);
    save("fuzz_fxt_input", "gzip", packed, length);
    save("fuzz_fxt_input", "gzip-cut", packed, length / 2);
    length = pack("one", 3, 0);
    memset(packed + length, 0, 5); /* as tapes pad */
    length = pack("two", 3, length + 5);
    save("fuzz_fxt_input", "gzip-two-members", packed, length);
    length = ZSTD_compress(packed, sizeof packed, every_kind, every_kind_length, 3);
    save("fuzz_fxt_input", "zstd", packed, length);
    save("fuzz_fxt_input", "zstd-cut", packed, length / 2);
    memcpy(packed, skipped, sizeof skipped);
    length = sizeof skipped +
             ZSTD_compress(packed + sizeof skipped, sizeof packed - sizeof skipped, "one", 3, 1);
    length += ZSTD_compress(packed + length, sizeof packed - length, "two", 3, 1);
    save("fuzz_fxt_input", "zstd-three-frames", packed, length);
}

/* ---- Messages ---- */

static size_t hex_bytes(const char *text, uint8_t *bytes, size_t capacity)
{
    size_t used = 0;
    unsigned byte;
    int length;

    for (; used < capacity && sscanf(text, " %2x%n", &byte, &length) == 1; text += length)
        bytes[used++] = (uint8_t)byte;
    return used;
}

static void save_messages(void)
{
    static const struct {
        const char *name;
        const char *text;
    } messages[] = {
        { "allocation-1", VECTOR_ALLOCATION_1 },     { "allocation-2", VECTOR_ALLOCATION_2 },
        { "deallocation-1", VECTOR_DEALLOCATION_1 }, { "deallocation-2", VECTOR_DEALLOCATION_2 },
        { "process-info", VECTOR_PROCESS_INFO },
    };
    /* Modules, an allocation, its release, two more of an address; then they follow each other with
     * something between that is no message.  The third byte is the time that passes.  */
    static const uint8_t order[] = { 4, 0, 2, 1, 0, 3, 1 };
    uint8_t bytes[1024], stream[4096] = { 17 };
    size_t used = 1;

    for (size_t i = 0; i < ROWS(messages); i++)
        save("fuzz_fidl", messages[i].name, bytes,
             hex_bytes(messages[i].text, bytes, sizeof bytes));
    for (size_t i = 0; i < ROWS(order); i++) {
        size_t length = hex_bytes(messages[order[i]].text, stream + used, sizeof stream - used);

        stream[used + 1] = 40;
        used += length;
    }
    save("fuzz_profile_heap", "messages", stream, used);
    save("fuzz_fxt_parts", "messages", stream + 1, used - 1);
    memset(stream + used, 0x55, 24);
    (void)hex_bytes(messages[1].text, stream + used + 24, sizeof stream - used - 24);
    save("fuzz_profile_heap", "messages-damaged", stream, used + 100);
    save("fuzz_fxt_parts", "messages-damaged", stream + 1, used + 99);
}

/* ---- Text ---- */

static void save_markup(void)
{
    static const char text[] =
        "[1.2] {{{reset:begin}}}\n"
        "{{{module:0:libc.so:elf:83238ab56ba10497}}}{{{module:0x1::other:}}}\n"
        "{{{mmap:0x7acba69d5000:0x5a000:load:0:rx:0x1000}}}\n"
        "{{{mmap:0x7acba69d6000:4096:load:0x1:rw:0}}}\n"
        "   {{{bt:0:0x7acba69d6234:pc}}} "
        "{{{bt:1:0x7acba69d5001}}}\033[1m{{{pc:0x7acba6a2e000:ra}}}\n"
        "{{{data:0}}}{{{symbol:_Z3foov}}}{{{dumpfile:llvm-profdata:x}}}{{{bt:x}}}{{{unknown}}}{{{\n"
        "{{{reset:end}}}{{{reset}}}{{{mmap:0xffffffffffffffff:1:load:0:x:0}}}\n";

    static const char log[] =
        "{{{reset}}}\n{{{module:0:a:elf:0123}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
        "10\n11\n{{{bt:0:0x1010:pc}}}\n{{{bt:1:0x1020:ra}}}\n{{{bt:4:0x3000}}}\n"
        "[1.0][10][11][tag] INFO: {{{module:0:a:elf:0123}}}\n"
        "[1.0][10][11][tag] INFO: {{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
        "[1.0][10][11][tag] INFO: {{{bt:0:0x1010:pc}}}\n"
        "[1.0] 10:12> {{{bt:0:0x1010:pc}}} {{{bt:1:0x1011:sp 0x10}}}\n"
        "[1.0][10][11][tag] INFO: {{{bt:1:0x1010}}}\n{{{reset}}}\n{{{bt:1:x}}}\n";

    save("fuzz_symbolize_markup", "elements", text, sizeof text - 1);
    save("fuzz_profile_markup", "log", log, sizeof log - 1);
}

/* ---- Profiles of other tools ---- */

static void save_profiles(void)
{
    static const char folded[] = "main;operator new(unsigned long);f 5\nmain;;a b 0.5 7\r\n"
                                 "nothing\n 3\nmain 18446744073709551616\n";

    for (int raw = 0; raw < 2; raw++) {
        struct pprof_bytes bytes = { .count = 0 };

        if (pprof_example(raw, &bytes) == PROFILE_OK)
            save("fuzz_profile_files", raw ? "pprof" : "pprof-gzip", bytes.items, bytes.count);
        free(bytes.items);
    }
    save("fuzz_profile_files", "folded", folded, sizeof folded - 1);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fputs("usage: fuzz_seeds DIR\n", stderr);
        return 2;
    }
    folder = argv[1];
    make_every_kind();
    save_traces();
    save_parts();
    save_packed();
    save_messages();
    save_markup();
    save_profiles();
    return 0;
}
