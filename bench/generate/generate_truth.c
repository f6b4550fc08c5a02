/* What a reader must find: a growing list of lines, sorted in the end.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/generate/generate.h"

#define LINE_SIZE 20480u /* MAX_FRAMES frames of up to 64 bytes, and the ends */

static const char *beginning;
static char **lines;
static size_t line_count, line_room;

void truth_begin(const char *text)
{
    beginning = text;
}

static void add_line(const char *text)
{
    if (line_count == line_room) {
        size_t room = line_room ? 2 * line_room : 1024;
        char **larger = cli_allocate(room, sizeof *larger);
        if (line_count)
            memcpy(larger, lines, line_count * sizeof *lines);
        free(lines);
        lines = larger;
        line_room = room;
    }
    lines[line_count++] = cli_join(text, "\n");
}

/* "beginning;process-P".  In a region nothing names processes.  */
static size_t start_line(char line[LINE_SIZE], uint32_t process)
{
    const char *text = beginning ? beginning : "";
    const char *separator = beginning ? ";" : "";

    if (wanted.kind == REGION)
        return (size_t)snprintf(line, LINE_SIZE, "%s%spid-%" PRIu64, text, separator,
                                pid_of(process));
    return (size_t)snprintf(line, LINE_SIZE, "%s%sprocess-%u", text, separator, process);
}

static size_t print_build_id(char *at, size_t room, uint32_t module)
{
    uint8_t build_id[BUILD_ID_SIZE];
    size_t used = (size_t)snprintf(at, room, ";");

    module_build_id(module, build_id);
    for (unsigned i = 0; i < BUILD_ID_SIZE; i++)
        used += (size_t)snprintf(at + used, room - used, "%02x", build_id[i]);
    return used;
}

static size_t print_frame(char *at, size_t room, enum frame_form form, uint32_t process,
                          uint32_t site)
{
    uint64_t vaddr = module_vaddr(site % MODULES) + site_offset(site);
    char name[NAME_SIZE];
    size_t used;

    switch (form) {
    case FRAME_NAME:
        return (size_t)snprintf(at, room, ";%s", site_name(site, name));
    case FRAME_ADDRESS:
        return (size_t)snprintf(at, room, ";0x%" PRIx64, site_address(process, site));
    case FRAME_MODULE:
        return (size_t)snprintf(at, room, ";libgen%u.so+0x%" PRIx64, site % MODULES, vaddr);
    case FRAME_BUILD_ID:
        used = print_build_id(at, room, site % MODULES);
        return used + (size_t)snprintf(at + used, room - used, "+0x%" PRIx64, vaddr);
    }
    return 0;
}

/* "process;root;...;leaf".  */
static size_t print_stack(char line[LINE_SIZE], enum frame_form form, bool alone, uint32_t process,
                          uint32_t node)
{
    uint32_t path[MAX_FRAMES];
    uint32_t depth = 0;
    size_t used = start_line(line, process);

    for (uint32_t i = node; i && (!alone || depth == 0); i = nodes[i].parent)
        path[depth++] = nodes[i].site;
    while (depth)
        used += print_frame(line + used, LINE_SIZE - used, form, process, path[--depth]);
    return used;
}

void truth_stacks(enum frame_form form, bool alone, uint64_t *const *columns, size_t count)
{
    char line[LINE_SIZE];

    for (uint32_t process = 0; process < wanted.processes; process++) {
        for (uint32_t node = 1; node <= wanted.stacks; node++) {
            size_t index = total_index(process, node);
            uint64_t any = 0;
            size_t used;
            for (size_t i = 0; i < count; i++)
                any |= columns[i][index];
            if (!any)
                continue;
            used = print_stack(line, form, alone, process, node);
            for (size_t i = 0; i < count; i++)
                used += (size_t)snprintf(line + used, LINE_SIZE - used, " %" PRIu64,
                                         columns[i][index]);
            add_line(line);
        }
    }
}

void truth_text(uint32_t process, const char *text, uint64_t total)
{
    char line[LINE_SIZE];
    size_t used = start_line(line, process);

    (void)snprintf(line + used, LINE_SIZE - used, ";%s %" PRIu64, text, total);
    add_line(line);
}

/* By the stacks alone, so that numbers have no say.  */
static int compare_lines(const void *a, const void *b)
{
    const char *left = *(char *const *)a;
    const char *right = *(char *const *)b;
    size_t left_length = strcspn(left, " ");
    size_t right_length = strcspn(right, " ");
    size_t both = left_length < right_length ? left_length : right_length;
    int order = memcmp(left, right, both);

    return order ? order : (left_length > right_length) - (left_length < right_length);
}

enum cli_exit write_truth(void)
{
    struct cli_output truth;
    enum cli_exit status = cli_output_open(&truth, wanted.truth);

    if (status != CLI_OK)
        return status;
    if (line_count)
        qsort(lines, line_count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < line_count; i++) {
        /* A failure is kept for the commit.  */
        (void)cli_output_write(&truth, lines[i], strlen(lines[i]));
        free(lines[i]);
    }
    free(lines);
    return cli_output_commit(&truth);
}
