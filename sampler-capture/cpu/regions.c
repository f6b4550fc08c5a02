/* regions.c - a trace as Zircon leaves it: the regions of the CPUs as raw files, and for each
 * process a file of symbolizer markup that says what its addresses mean
 * (docs/formats/zx-sampler.md section 3, docs/formats/symbolizer.md section 1).  */
#include "sampler-capture/cpu/layout.h"

#include <fxt/fxt.h>
#include "base/hex.h"
#include "sampler-capture/capture_output.h"
#include "sampler-capture/clean_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_SIZE (256U << 10)
#define NAME_SIZE   4096

struct region_file {
    int fd; /* -1: no sample yet */
    size_t used;
    uint8_t *bytes; /* owned; whole records */
};

static bool flush_file(struct trace *trace, struct region_file *file)
{
    size_t done;

    if (file->used == 0 || trace->failed)
        return trace->failed == 0;
    trace->failed = output_write(file->fd, file->bytes, file->used, &done);
    trace->totals.bytes += done;
    file->used = 0;
    return trace->failed == 0;
}

static bool put_record(struct trace *trace, struct region_file *file, const uint8_t *bytes,
                       size_t size)
{
    if (size > BUFFER_SIZE - file->used && !flush_file(trace, file))
        return false;
    memcpy(file->bytes + file->used, bytes, size); /* a sample has at most 127 frames */
    file->used += size;
    return true;
}

bool regions_open(struct trace *trace)
{
    trace->regions = calloc(trace->cpu_limit, sizeof *trace->regions);
    for (size_t i = 0; trace->regions && i < trace->cpu_limit; i++)
        trace->regions[i].fd = -1;
    return trace->regions;
}

/* Whether name is START, a number, perhaps a dot and a number, and END.  */
static bool is_numbered(const char *name, const char *start, const char *end)
{
    size_t digits;

    if (strncmp(name, start, strlen(start)) != 0)
        return false;
    name += strlen(start);
    digits = strspn(name, "0123456789");
    if (digits == 0)
        return false;
    name += digits;
    if (name[0] == '.' && (digits = strspn(name + 1, "0123456789")) > 0)
        name += 1 + digits;
    return strcmp(name, end) == 0;
}

bool trace_clear_regions(int folder_fd)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), cause = 0;
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!folder) {
        cause = errno;
        if (fd >= 0)
            (void)close(fd);
        errno = cause;
        return false;
    }
    while ((entry = readdir(folder)))
        if ((is_numbered(entry->d_name, "cpu-", ".region") ||
             is_numbered(entry->d_name, "modules-", ".markup")) &&
            unlinkat(folder_fd, entry->d_name, 0) != 0)
            cause = errno;
    (void)closedir(folder);
    errno = cause;
    return cause == 0;
}

static void regions_close(struct trace *trace)
{
    struct region_file *files = trace->regions;

    if (!files)
        return;
    for (size_t i = 0; i < trace->cpu_limit; i++) {
        if (files[i].fd >= 0)
            (void)close(files[i].fd);
        free(files[i].bytes);
    }
    free(files);
}

static bool regions_flush(struct trace *trace, bool last)
{
    (void)last;
    for (size_t i = 0; i < trace->cpu_limit; i++)
        if (!flush_file(trace, &trace->regions[i]))
            return false;
    return true;
}

/* ---- Samples ---- */

static bool open_file(struct trace *trace, struct region_file *file, unsigned cpu)
{
    char name[32];

    (void)snprintf(name, sizeof name, "cpu-%u.region", cpu);
    file->bytes = malloc(BUFFER_SIZE);
    file->fd = openat(trace->options.regions_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                      0666);
    if (!file->bytes || file->fd < 0)
        trace->failed = file->bytes ? errno : ENOMEM;
    return trace->failed == 0;
}

/* The file has the records of the region, with koids.  */
static bool regions_sample(struct trace *trace, unsigned cpu, const struct region_sample *sample,
                           const struct thread *thread)
{
    struct region_file *file = &trace->regions[cpu];

    if (file->fd < 0 && !open_file(trace, file, cpu))
        return false;
    region_set_koids(sample, thread->process->koid, thread->name.koid);
    return put_record(trace, file, sample->record, sample->record_size);
}

/* A region has no room for what was lost: the summary tells.  */
static bool regions_loss(struct trace *trace, unsigned cpu, uint64_t ticks, const struct loss *loss,
                         bool lost)
{
    (void)trace, (void)cpu, (void)ticks, (void)loss, (void)lost;
    return true;
}

static bool regions_session(struct trace *trace, const struct trace_session *session)
{
    (void)trace, (void)session;
    return true;
}

/* ---- Markup ---- */

/* One more line in the file of a process: modules-PID.markup, and for what an exec or a new use of
 * the pid made of it modules-PID.INCARNATION.markup.  */
static bool put_line(struct trace *trace, const struct process *process, const char *line,
                     bool first)
{
    char name[64];
    uint32_t incarnation = (uint32_t)(process->koid >> 32);
    size_t done;
    int fd;

    if (incarnation == 0)
        (void)snprintf(name, sizeof name, "modules-%" PRIu32 ".markup", process->pid);
    else
        (void)snprintf(name, sizeof name, "modules-%" PRIu32 ".%" PRIu32 ".markup", process->pid,
                       incarnation);
    fd = openat(trace->options.regions_fd, name,
                O_WRONLY | O_CREAT | O_CLOEXEC | (first ? O_TRUNC : O_APPEND), 0666);
    if (fd < 0) {
        trace->failed = errno;
        return false;
    }
    trace->failed = output_write(fd, line, strlen(line), &done);
    trace->totals.bytes += done;
    if (close(fd) != 0 && trace->failed == 0)
        trace->failed = errno;
    return trace->failed == 0;
}

static bool regions_process(struct trace *trace, const struct process *process)
{
    return process->sampled || put_line(trace, process, "{{{reset}}}\n", true);
}

/* There is no record of a thread's name.  */
static bool regions_thread(struct trace *trace, const struct thread *thread)
{
    (void)trace, (void)thread;
    return true;
}

/* Fields have neither ':' nor '}' nor line ends.  */
static void clean_field(char *text)
{
    for (; *text; text++)
        if (*text == ':' || *text == '}' || *text == '{' || (unsigned char)*text < ' ')
            *text = '_';
}

static bool regions_module(struct trace *trace, const struct process *process,
                           const struct module *module, uint16_t id, uint64_t ticks)
{
    char name[NAME_SIZE], id_text[2 * ELF_IMAGE_MAX_BUILD_ID + 1], line[NAME_SIZE + 256];

    (void)ticks;
    utf8_copy_tail(name, sizeof name, module->name ? module->name : "[anon]");
    clean_field(name);
    id_text[base_hex(id_text, module->image.build_id, module->image.build_id_size)] = '\0';
    (void)snprintf(line, sizeof line, "{{{module:%u:%s:elf:%s}}}\n", id, name, id_text);
    return put_line(trace, process, line, false);
}

static bool regions_mapping(struct trace *trace, const struct process *process,
                            const struct mapping *mapping, uint16_t id)
{
    char line[256];

    (void)snprintf(line, sizeof line,
                   "{{{mmap:0x%016" PRIx64 ":0x%" PRIx64 ":load:%u:%s%s%s:0x%016" PRIx64 "}}}\n",
                   mapping->start, mapping->limit - mapping->start, id,
                   mapping->flags & 4 ? "r" : "", mapping->flags & 2 ? "w" : "",
                   mapping->flags & 1 ? "x" : "", mapping->vaddr);
    return put_line(trace, process, line, false);
}

const struct layout layout_regions = {
    .session = regions_session,
    .process = regions_process,
    .thread = regions_thread,
    .module = regions_module,
    .mapping = regions_mapping,
    .sample = regions_sample,
    .loss = regions_loss,
    .flush = regions_flush,
    .close = regions_close,
};
