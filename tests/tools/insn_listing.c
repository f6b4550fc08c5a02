/* insn_listing - prints what libinsn makes of one file of packets and one file of code.
 *
 *   insn_listing PACKETS CODE ADDRESS [FAMILY/MODEL[/STEPPING] [MODE START END]]
 *
 * CODE is mapped at ADDRESS (hexadecimal).  MODE START END is the first address
 * filter.  Prints a line per step:
 *   block FIRST LAST COUNT                                   instructions, hexadecimal addresses
 *   enabled IP, disabled, stopped IP, branch FROM TO, overflow IP, speculative, committed,
 *   aborted, ptwrite VALUE, gap REASON OFFSET SIZE  */
#include <fxt/insn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_step(const struct insn_step *step)
{
    static const char *const names[] = {
        [INSN_STEP_ENABLED] = "enabled",     [INSN_STEP_DISABLED] = "disabled",
        [INSN_STEP_STOPPED] = "stopped",     [INSN_STEP_BRANCH] = "branch",
        [INSN_STEP_OVERFLOW] = "overflow",   [INSN_STEP_SPECULATIVE] = "speculative",
        [INSN_STEP_COMMITTED] = "committed", [INSN_STEP_ABORTED] = "aborted",
        [INSN_STEP_PTWRITE] = "ptwrite",
    };

    if (step->kind == INSN_STEP_BLOCK)
        printf("block %" PRIx64 " %" PRIx64 " %u\n", step->ip, step->last_ip, step->count);
    else if (step->kind == INSN_STEP_GAP)
        printf("gap %s %" PRIx64 " %" PRIx64 "\n",
               insn_gap_reason_name((enum insn_gap_reason)step->reason), step->ip, step->last_ip);
    else
        printf("%s %" PRIx64 " %" PRIx64 "\n", names[step->kind], step->ip, step->last_ip);
}

static enum insn_status take(void *context, const struct insn_step *steps, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        print_step(&steps[i]);
    return INSN_OK;
}

static size_t read_file(const char *path, uint8_t *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, room, file) : 0;

    if (!file || size == room) {
        (void)fprintf(stderr, "insn_listing: %s: %s\n", path,
                      file ? "too large" : "cannot be opened");
        exit(2);
    }
    (void)fclose(file);
    return size;
}

static void read_cpu(const char *text, struct insn_config *config)
{
    char *end;

    config->family = (uint16_t)strtoul(text, &end, 10);
    config->model = *end == '/' ? (uint8_t)strtoul(end + 1, &end, 10) : 0;
    config->stepping = *end == '/' ? (uint8_t)strtoul(end + 1, &end, 10) : 0;
}

int main(int argc, char **argv)
{
    static uint8_t packets[1 << 20], bytes[1 << 20];
    struct insn_stream_options options = { .size = sizeof options };
    struct insn_code *code;
    struct insn_space *space;
    struct insn_stream *stream;
    struct insn_error error = { .message = "" };
    uint32_t section;
    size_t packet_size, size;

    if (argc < 4)
        return 2;
    packet_size = read_file(argv[1], packets, sizeof packets);
    size = read_file(argv[2], bytes, sizeof bytes);
    if (argc > 4)
        read_cpu(argv[4], &options.config);
    if (argc > 7)
        options.config.filters[0] = (struct insn_filter){
            .mode = (uint32_t)strtoul(argv[5], NULL, 0),
            .start = strtoull(argv[6], NULL, 0),
            .end = strtoull(argv[7], NULL, 0),
        };
    if (insn_code_open(&code, &error) != INSN_OK ||
        insn_space_open(code, &space, &error) != INSN_OK)
        return 3;
    if (size > 0 &&
        (insn_code_add(code, bytes, size, &section, &error) != INSN_OK ||
         insn_space_map(space, strtoull(argv[3], NULL, 16), section, 0, size, &error) != INSN_OK))
        return 3;
    if (insn_stream_open(&options, space, take, NULL, &stream, &error) != INSN_OK ||
        insn_stream_feed(stream, packets, packet_size, &error) != INSN_OK ||
        insn_stream_finish(stream, &error) != INSN_OK) {
        (void)fprintf(stderr, "insn_listing: %s\n", error.message);
        return 3;
    }
    insn_stream_close(stream);
    insn_space_close(space);
    insn_code_close(code);
    return 0;
}
