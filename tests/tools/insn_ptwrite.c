/* insn_ptwrite - an instruction trace on standard output, of a program that few processors here can
 * run: three rounds of two ptwrite instructions, the values of which are 1, 2 << 32, 3,
 * 4 << 32, 5 and 6 << 32.
 *
 * The code is in the trace as "code" blobs have it; packets are those of the encoder.  */
#include <stdio.h>
#include <stdlib.h>

#include <fxt/fxt.h>
#include <fxt/insn.h>

#define PROCESS 100
#define THREAD  101
#define ADDRESS UINT64_C(0x7f0000001000)

static const uint8_t code[] = {
    0xf3, 0x0f, 0xae, 0xe0,       /* ptwrite %eax */
    0xf3, 0x48, 0x0f, 0xae, 0xe3, /* ptwrite %rbx */
    0xeb, 0xf5,                   /* jmp to the first */
};

static uint8_t packets[4096];
static size_t packet_bytes;

static void check(bool fine)
{
    if (fine)
        return;
    (void)fprintf(stderr, "insn_ptwrite: the trace cannot be written\n");
    exit(2);
}

static int write_trace(void *context, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, context) == size ? 0 : 1;
}

static int take_packets(void *context, const uint8_t *bytes, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size && packet_bytes < sizeof packets; i++)
        packets[packet_bytes++] = bytes[i];
    return 0;
}

/* A microsecond between instructions.  */
static void encode(void)
{
    const struct insn_encoder_options options = { .size = sizeof options };
    const struct insn_opcode jump = { .branch = INSN_CLASS_JUMP, .length = 2 };
    struct insn_encoder *encoder;
    uint64_t ticks = 1000;

    check(insn_encoder_open(&options, take_packets, NULL, &encoder, NULL) == INSN_OK);
    insn_encoder_enable(encoder, ADDRESS, ticks);
    for (uint64_t round = 0; round < 3; round++) {
        insn_encoder_ptwrite(encoder, 2 * round + 1, ticks += 1000);
        insn_encoder_ptwrite(encoder, (2 * round + 2) << 32, ticks += 1000);
        insn_encoder_step(encoder, ADDRESS + 9, &jump, ADDRESS, ticks += 1000);
    }
    insn_encoder_disable(encoder, ADDRESS, ticks + 1000);
    insn_encoder_flush(encoder);
    check(insn_encoder_status(encoder) == INSN_OK);
    insn_encoder_close(encoder);
}

static void put_blob(struct fxt_writer *writer, const char *name, const struct fxt_arg *arg,
                     const uint8_t *bytes, size_t size)
{
    struct fxt_record blob = { .kind = FXT_RECORD_LARGE_BLOB,
                               .ticks = 1000,
                               .thread = { .process = PROCESS, .thread = THREAD },
                               .category = fxt_inline("insntrace"),
                               .name = fxt_inline(name),
                               .args = arg,
                               .arg_count = 1 };

    blob.value.large_blob.payload.bytes = bytes;
    blob.value.large_blob.payload.length = size;
    check(fxt_writer_record(writer, &blob, NULL) == FXT_OK);
}

int main(void)
{
    const struct fxt_arg address = { .type = FXT_ARG_POINTER,
                                     .name = fxt_inline("address"),
                                     .value.uint64 = ADDRESS };
    const struct fxt_arg time_mult = { .type = FXT_ARG_UINT64,
                                       .name = fxt_inline("time_mult"),
                                       .value.uint64 = 1 };
    struct fxt_record record = { .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 };
    struct fxt_writer *writer;

    encode();
    check(fxt_writer_open(write_trace, stdout, &writer, NULL) == FXT_OK);
    check(fxt_writer_record(writer, &record, NULL) == FXT_OK);
    record = (struct fxt_record){ .kind = FXT_RECORD_INIT };
    record.value.init.ticks_per_second = 1000000000;
    check(fxt_writer_record(writer, &record, NULL) == FXT_OK);
    put_blob(writer, "code", &address, code, sizeof code);
    put_blob(writer, "pt", &time_mult, packets, packet_bytes);
    fxt_writer_close(writer);
    return fflush(stdout) == 0 ? 0 : 2;
}
