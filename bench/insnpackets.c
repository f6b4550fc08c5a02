/* insnpackets - the packets of an instruction trace: repeats them, and decodes them with libipt
 * alone.
 *
 *   insnpackets repeat TRACE BYTES    copy TRACE to standard output, the packets of its middle half
 *                                     repeated until there are so many bytes of them
 *   insnpackets bare TRACE PROGRAM BYTES
 *                                     decode as many bytes with libipt's block decoder, which is
 *                                     told nothing but the code of PROGRAM, and do nothing with the
 *                                     blocks
 *
 * TRACE is of "sampler-capture insn --simulate" and has one thread; PROGRAM is linked statically at
 * fixed addresses.  "bare" prints KEY=NUMBER pairs.  */
#include <fxt/fxt.h>

#include <elf.h>
#include <fcntl.h>
#include <intel-pt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct bytes {
    uint8_t *items; /* owned */
    size_t size, room;
};

/* The packets of the middle half of a trace: the program neither starts nor ends in them.  */
struct middle {
    struct bytes packets;
    struct bytes records; /* that they are in */
};

static _Noreturn void give_up(const char *what)
{
    (void)fprintf(stderr, "insnpackets: %s\n", what);
    exit(4);
}

static void append(struct bytes *bytes, const void *more, size_t size)
{
    if (!bytes->items || bytes->size + size > bytes->room) {
        bytes->room = 2 * (bytes->size + size) + 1;
        bytes->items = realloc(bytes->items, bytes->room);
        if (!bytes->items)
            give_up("out of memory");
    }
    memcpy(bytes->items + bytes->size, more, size);
    bytes->size += size;
}

/* ---- The trace ---- */

static bool has_packets(const struct fxt_record *record)
{
    return record->kind == FXT_RECORD_LARGE_BLOB && record->name.length == 2 &&
           memcmp(record->name.bytes, "pt", 2) == 0;
}

/* Records with packets are numbered.  copy: all records but those of the last quarter of them go to
 * standard output.  Returns the number of records with packets.  */
static size_t read_trace(const char *path, bool copy, size_t count, struct middle *middle)
{
    struct fxt_input *input;
    struct fxt_reader *reader;
    const struct fxt_record *record;
    size_t number = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fxt_input_open_fd(fd, &input, NULL) != FXT_OK ||
        fxt_reader_open(input, NULL, &reader, NULL) != FXT_OK)
        give_up(path);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK && record) {
        struct fxt_bytes whole = fxt_reader_bytes(reader);
        struct fxt_bytes packets = record->value.large_blob.payload;

        if (has_packets(record) && number++ >= count / 4 * 3)
            continue;
        if (copy && fwrite(whole.bytes, whole.length, 1, stdout) != 1)
            give_up("standard output");
        if (!has_packets(record) || number <= count / 4)
            continue;
        append(&middle->packets, packets.bytes, packets.length);
        append(&middle->records, whole.bytes, whole.length);
    }
    fxt_reader_close(reader);
    fxt_input_close(input);
    (void)close(fd);
    return number;
}

static struct middle read_middle(const char *path, bool copy)
{
    struct middle middle = { .packets = { .items = NULL } };
    size_t count = read_trace(path, false, 0, &middle);

    if (count < 8)
        give_up("too few packets");
    (void)read_trace(path, copy, count, &middle);
    return middle;
}

static void release(struct middle *middle)
{
    free(middle->packets.items);
    free(middle->records.items);
}

static void repeat(const char *path, uint64_t wanted)
{
    struct middle middle = read_middle(path, true);

    for (uint64_t done = middle.packets.size; done < wanted; done += middle.packets.size)
        if (fwrite(middle.records.items, middle.records.size, 1, stdout) != 1)
            give_up("standard output");
    release(&middle);
}

/* ---- libipt alone ---- */

static void add_segments(struct pt_image *image, const char *program)
{
    FILE *file = fopen(program, "rbe");
    Elf64_Ehdr header;
    Elf64_Phdr segment;

    if (!file || fread(&header, sizeof header, 1, file) != 1 || header.e_type != ET_EXEC)
        give_up(program);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        if (fseek(file, (long)(header.e_phoff + i * sizeof segment), SEEK_SET) != 0 ||
            fread(&segment, sizeof segment, 1, file) != 1)
            give_up(program);
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) &&
            pt_image_add_file(image, program, segment.p_offset, segment.p_filesz, NULL,
                              segment.p_vaddr) < 0)
            give_up(program);
    }
    (void)fclose(file);
}

/* Instructions in the packets.  */
static uint64_t decode(struct pt_config *config, struct pt_image *image)
{
    struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);
    uint64_t instructions = 0;
    int status;

    if (!decoder || pt_blk_set_image(decoder, image) < 0)
        give_up("out of memory");
    while ((status = pt_blk_sync_forward(decoder)) >= 0) {
        while (status >= 0) {
            struct pt_block block;
            struct pt_event event;

            while (status >= 0 && (status & pts_event_pending))
                status = pt_blk_event(decoder, &event, sizeof event);
            if (status < 0 || (status & pts_eos))
                break;
            status = pt_blk_next(decoder, &block, sizeof block);
            if (status >= 0)
                instructions += block.ninsn;
        }
    }
    pt_blk_free_decoder(decoder);
    return instructions;
}

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void bare(const char *path, const char *program, uint64_t wanted)
{
    struct middle middle = read_middle(path, false);
    struct pt_image *image = pt_image_alloc("program");
    struct pt_config config;
    uint64_t instructions = 0, done = 0;
    double start;

    add_segments(image, program);
    pt_config_init(&config);
    config.begin = middle.packets.items;
    config.end = middle.packets.items + middle.packets.size;
    config.flags.variant.block.end_on_call = 1;
    config.flags.variant.block.end_on_jump = 1;
    start = now();
    for (; done < wanted; done += middle.packets.size)
        instructions += decode(&config, image);
    printf("bytes=%" PRIu64 " instructions=%" PRIu64 " cpu_seconds=%.3f\n", done, instructions,
           now() - start);
    pt_image_free(image);
    release(&middle);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "repeat") == 0)
        repeat(argv[2], strtoull(argv[3], NULL, 10));
    else if (argc == 5 && strcmp(argv[1], "bare") == 0)
        bare(argv[2], argv[3], strtoull(argv[4], NULL, 10));
    else
        give_up("usage: insnpackets repeat TRACE BYTES | bare TRACE PROGRAM BYTES");
    return fflush(stdout) == 0 ? 0 : 4;
}
