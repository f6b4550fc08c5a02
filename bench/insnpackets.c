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
#include <errno.h>
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

typedef void (*record_fn)(void *context, const struct fxt_record *record);

static void read_trace(const char *path, record_fn take, void *context)
{
    struct fxt_input *input;
    struct fxt_reader *reader;
    const struct fxt_record *record;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fxt_input_open_fd(fd, &input, NULL) != FXT_OK ||
        fxt_reader_open(input, NULL, &reader, NULL) != FXT_OK)
        give_up(path);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK && record)
        take(context, record);
    fxt_reader_close(reader);
    fxt_input_close(input);
    (void)close(fd);
}

static void take_packets(void *context, const struct fxt_record *record)
{
    if (has_packets(record))
        append(context, record->value.large_blob.payload.bytes,
               record->value.large_blob.payload.length);
}

/* The offset of the first PSB packet from an offset on.  */
static size_t find_psb(const struct bytes *packets, size_t from)
{
    static const uint8_t psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                     2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
    const uint8_t *found = memmem(packets->items + from, packets->size - from, psb, sizeof psb);

    if (!found)
        give_up("too few packets");
    return (size_t)(found - packets->items);
}

/* All packets, and the middle half of them, from a PSB packet to a PSB packet: the program neither
 * starts nor ends there.  */
struct packets {
    struct bytes all;
    size_t from, size; /* of the middle */
};

static struct packets read_packets(const char *path)
{
    struct packets packets = { .size = 0 };

    read_trace(path, take_packets, &packets.all);
    if (!packets.all.items)
        give_up("no packets");
    packets.from = find_psb(&packets.all, packets.all.size / 4);
    packets.size = find_psb(&packets.all, packets.all.size / 4 * 3) - packets.from;
    if (packets.size == 0)
        give_up("too few packets");
    return packets;
}

struct copy {
    const struct packets *packets;
    struct fxt_writer *writer;
    uint64_t wanted, done; /* bytes of packets */
};

static int write_out(void *context, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size ? 0 : EIO;
}

static void put(const struct copy *copy, const struct fxt_record *record)
{
    if (fxt_writer_record(copy->writer, record, NULL) != FXT_OK)
        give_up("standard output");
}

/* The first record of packets becomes those of all packets.  */
static void copy_record(void *context, const struct fxt_record *record)
{
    struct copy *copy = context;
    struct fxt_record blob = *record;
    struct fxt_bytes *payload = &blob.value.large_blob.payload;

    if (!has_packets(record)) {
        put(copy, record);
        return;
    }
    *payload = (struct fxt_bytes){ copy->packets->all.items, copy->packets->from };
    if (copy->done == 0)
        put(copy, &blob);
    *payload = (struct fxt_bytes){ copy->packets->all.items + copy->packets->from,
                                   copy->packets->size };
    for (; copy->done < copy->wanted; copy->done += payload->length)
        put(copy, &blob);
}

static void repeat(const char *path, uint64_t wanted)
{
    struct packets packets = read_packets(path);
    struct copy copy = { .packets = &packets, .wanted = wanted };

    if (fxt_writer_open(write_out, stdout, &copy.writer, NULL) != FXT_OK)
        give_up("out of memory");
    read_trace(path, copy_record, &copy);
    fxt_writer_close(copy.writer);
    free(packets.all.items);
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
    struct packets packets = read_packets(path);
    struct pt_image *image = pt_image_alloc("program");
    struct pt_config config;
    uint64_t instructions = 0, done = 0;
    double start;

    add_segments(image, program);
    pt_config_init(&config);
    config.begin = packets.all.items + packets.from;
    config.end = config.begin + packets.size;
    config.flags.variant.block.end_on_call = 1;
    config.flags.variant.block.end_on_jump = 1;
    start = now();
    for (; done < wanted; done += packets.size)
        instructions += decode(&config, image);
    printf("bytes=%" PRIu64 " instructions=%" PRIu64 " cpu_seconds=%.3f\n", done, instructions,
           now() - start);
    pt_image_free(image);
    free(packets.all.items);
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
