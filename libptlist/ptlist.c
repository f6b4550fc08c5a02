/* ptlist.c - the packets of CPUs, divided among processes by their address spaces, as records.  */
#include "libptlist/ptlist_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fxt/fxt.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/utf8.h"

#define FEED_BYTES ((size_t)64 << 10)
#define BLOB_BYTES ((size_t)256 << 10)
#define STATUS     24 /* bytes of a PSB packet and the TSC packet after it */
#define CPU_SHIFT  56 /* of the number of a thread: its CPU, counted from 1, and its process */

enum { NUMBER_UNKNOWN, NUMBER_KERNEL, NUMBER_FIRST };

struct ptlist_thread {
    bool written;
    uint64_t packet_bytes; /* written */
};

struct ptlist {
    struct ptlist_sideband sideband;
    uint64_t time_shift, time_mult;
    struct fxt_writer *writer;
    struct insn_splitter *splitter; /* of the current file */
    size_t file;                    /* that is read now, or next */
    int fd;                         /* -1: none is open */
    uint64_t start, done, length;   /* of the file: where it begins; a circular buffer may be cut */
    struct ptlist_thread *threads;  /* of the file: by process */
    bool introduced, ended;
    int failure; /* errno */

    uint8_t *bytes; /* records that were not read yet: [next, used) */
    size_t next, used, capacity;
    uint8_t *fed; /* FEED_BYTES */
};

/* ---- Records ---- */

static int take_bytes(void *context, const void *bytes, size_t size)
{
    struct ptlist *list = context;

    if (!base_make_room(&list->bytes, &list->capacity, list->used + size, 1))
        return ENOMEM;
    memcpy(list->bytes + list->used, bytes, size);
    list->used += size;
    return 0;
}

static bool put(struct ptlist *list, const struct fxt_record *record)
{
    if (fxt_writer_record(list->writer, record, NULL) == FXT_OK)
        return true;
    list->failure = list->failure ? list->failure : ENOMEM;
    return false;
}

static struct fxt_arg number(const char *name, uint64_t value)
{
    return (
        struct fxt_arg){ .type = FXT_ARG_UINT64, .name = fxt_inline(name), .value.uint64 = value };
}

/* Names come from other machines: '?' for bytes that are no text.  */
static void clean(char *name)
{
    for (size_t length; *name; name += length ? length : 1) {
        length = base_utf8_character(name, strlen(name));
        if (length == 0)
            *name = '?';
    }
}

static bool put_session(struct ptlist *list)
{
    struct fxt_record magic = { .kind = FXT_RECORD_MAGIC };
    struct fxt_record info = { .kind = FXT_RECORD_PROVIDER_INFO, .name = fxt_inline("insntrace") };
    struct fxt_record init = { .kind = FXT_RECORD_INIT };
    static const char *const facts[][2] = { { "layout", "insntrace" },
                                            { "source", "intel_pt" },
                                            { "arch", "x86_64" } };
    struct fxt_arg args[sizeof facts / sizeof *facts];
    struct fxt_record session = { .kind = FXT_RECORD_EVENT,
                                  .category = fxt_inline("fxt.capture"),
                                  .name = fxt_inline("session"),
                                  .args = args,
                                  .arg_count = sizeof args / sizeof *args };

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        args[i] = (struct fxt_arg){ .type = FXT_ARG_STRING,
                                    .name = fxt_inline(facts[i][0]),
                                    .value.string = fxt_inline(facts[i][1]) };
    magic.value.magic.number = 0x16547846;
    info.value.provider.id = 1;
    init.value.init.ticks_per_second = UINT64_C(1000000000);
    session.value.event.type = FXT_EVENT_INSTANT;
    session.value.event.has_scope = true;
    session.value.event.scope = FXT_SCOPE_GLOBAL;
    return put(list, &magic) && put(list, &info) && put(list, &init) && put(list, &session);
}

static bool put_module(struct ptlist *list, const struct ptlist_module *module, uint16_t id)
{
    struct fxt_record record = { .kind = FXT_RECORD_MODULE, .thread.process = module->koid };
    struct fxt_record mapping = { .kind = FXT_RECORD_MAPPING, .thread.process = module->koid };

    record.name = fxt_inline(module->name);
    record.value.module.id = id;
    record.value.module.build_id.bytes = module->build_id;
    record.value.module.build_id.length = module->build_id_length;
    mapping.value.mapping.module_id = id;
    mapping.value.mapping.flags = 1 | 4;
    mapping.value.mapping.start = module->start;
    mapping.value.mapping.length = module->limit - module->start;
    mapping.value.mapping.vaddr = module->start - module->base;
    return put(list, &record) && put(list, &mapping);
}

/* A process with its name and modules, once.  */
static bool put_process(struct ptlist *list, size_t index)
{
    struct ptlist_sideband *sideband = &list->sideband;
    uint64_t koid = sideband->processes[index].koid;
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT, .name = fxt_inline("") };
    uint16_t id = 1;

    for (size_t i = 0; i < sideband->process_count; i++) { /* one may have had several spaces */
        if (sideband->processes[i].koid == koid && sideband->processes[i].written)
            return true;
    }
    sideband->processes[index].written = true;
    for (size_t i = 0; i < sideband->name_count; i++) {
        if (sideband->names[i].koid != koid)
            continue;
        clean(sideband->names[i].text);
        object.name = fxt_inline(sideband->names[i].text);
    }
    object.value.object.type = FXT_OBJECT_PROCESS;
    object.value.object.koid = koid;
    if (!put(list, &object))
        return false;
    for (size_t i = 0; i < sideband->module_count && id < UINT16_MAX; i++) {
        struct ptlist_module *module = &sideband->modules[i];

        if (module->koid != koid || !module->name)
            continue;
        clean(module->name);
        if (!put_module(list, module, id++))
            return false;
    }
    return true;
}

static uint64_t thread_koid(const struct ptlist *list, uint64_t process)
{
    return (uint64_t)(list->sideband.files[list->file].cpu + 1) << CPU_SHIFT | process;
}

static bool put_thread(struct ptlist *list, size_t index)
{
    const struct ptlist_process *process = &list->sideband.processes[index];
    const struct fxt_arg owner = { .type = FXT_ARG_KOID,
                                   .name = fxt_inline("process"),
                                   .value.uint64 = process->koid };
    struct fxt_record object = { .kind = FXT_RECORD_KERNEL_OBJECT, .args = &owner, .arg_count = 1 };
    char name[24];

    if (list->threads[index].written)
        return true;
    list->threads[index].written = true;
    (void)snprintf(name, sizeof name, "cpu-%u", list->sideband.files[list->file].cpu);
    object.name = fxt_inline(name);
    object.value.object.type = FXT_OBJECT_THREAD;
    object.value.object.koid = thread_koid(list, process->koid);
    return put_process(list, index) && put(list, &object);
}

static bool put_packets(struct ptlist *list, size_t index, uint64_t ticks, struct fxt_bytes bytes)
{
    const struct ptlist_process *process = &list->sideband.processes[index];
    struct ptlist_thread *thread = &list->threads[index];
    const struct insn_config *config = &list->sideband.config;
    const struct fxt_arg args[] = {
        number("mtc_freq", config->mtc_freq),
        number("nom_freq", config->nom_freq),
        number("family", config->family),
        number("model", config->model),
        number("stepping", config->stepping),
        number("time_shift", list->time_shift),
        number("time_mult", list->time_mult),
        number("offset", thread->packet_bytes),
        number("cpu", list->sideband.files[list->file].cpu),
    };
    struct fxt_record blob = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .thread = { .process = process->koid, .thread = thread_koid(list, process->koid) },
        .category = fxt_inline("insntrace"),
        .name = fxt_inline("pt"),
        .args = args,
        .arg_count = sizeof args / sizeof *args,
    };
    unsigned __int128 ns = (unsigned __int128)ticks * list->time_mult >> list->time_shift;

    blob.ticks = ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
    blob.value.large_blob.payload = bytes;
    thread->packet_bytes += bytes.length;
    return put(list, &blob);
}

static enum insn_status take_part(void *context, uint64_t part, uint64_t ticks,
                                  const uint8_t *bytes, size_t size)
{
    struct ptlist *list = context;
    struct ptlist_counts *counts = &list->sideband.counts;

    if (part < NUMBER_FIRST) {
        *(part == NUMBER_KERNEL ? &counts->kernel_bytes : &counts->unknown_bytes) += size;
        return INSN_OK;
    }
    if (!put_thread(list, (size_t)(part - NUMBER_FIRST)))
        return INSN_STOPPED;
    for (size_t done = 0; done < size;) {
        size_t length = size - done < BLOB_BYTES ? size - done : BLOB_BYTES;

        if (!put_packets(list, (size_t)(part - NUMBER_FIRST), ticks,
                         (struct fxt_bytes){ .bytes = bytes + done, .length = length }))
            return INSN_STOPPED;
        done += length;
    }
    return INSN_OK;
}

/* ---- Address spaces ---- */

/* The process that has an address space at that time: the latest one that was given it.  */
static uint64_t find_process(void *context, uint64_t cr3, uint64_t ticks)
{
    const struct ptlist *list = context;
    const struct ptlist_sideband *sideband = &list->sideband;
    uint64_t page = ~(uint64_t)4095, found = NUMBER_UNKNOWN;

    if (sideband->kernel_cr3 && (cr3 & page) == (sideband->kernel_cr3 & page))
        return NUMBER_KERNEL;
    for (size_t i = 0; i < sideband->process_count; i++)
        if ((sideband->processes[i].cr3 & page) == (cr3 & page) &&
            (found == NUMBER_UNKNOWN || sideband->processes[i].ticks <= ticks))
            found = i + NUMBER_FIRST;
    return found;
}

/* ---- Files ---- */

/* Where a circular buffer was written last: its times do not go on there.  The buffer is read from
 * the first PSB packet after it.  */
static void find_start(struct ptlist *list)
{
    static const uint8_t psb[] = { 2,    0x82, 2,    0x82, 2,    0x82, 2,    0x82, 2,
                                   0x82, 2,    0x82, 2,    0x82, 2,    0x82, 0x19 };
    uint64_t before = 0;

    list->start = 0;
    for (uint64_t at = 0; at < list->length; at += FEED_BYTES - STATUS) {
        size_t size = list->length - at < FEED_BYTES ? (size_t)(list->length - at) : FEED_BYTES;
        const uint8_t *found = list->fed, *end = list->fed + size;

        if (base_read_at(list->fd, list->fed, size, at) != 0)
            return;
        while ((found = memmem(found, (size_t)(end - found), psb, sizeof psb)) != NULL &&
               end - found >= STATUS) {
            uint64_t ticks = 0;

            for (unsigned i = 0; i < 7; i++)
                ticks |= (uint64_t)found[sizeof psb + i] << 8 * i;
            if (ticks < before) {
                list->start = at + (uint64_t)(found - list->fed);
                return;
            }
            before = ticks;
            found += STATUS;
        }
    }
}

static bool open_next(struct ptlist *list)
{
    struct ptlist_sideband *sideband = &list->sideband;
    const char *path = sideband->files[list->file].path;
    struct stat info = { .st_size = 0 };
    /* Packets that name no address space are of the only process.  */
    uint64_t first = sideband->process_count == 1 ? NUMBER_FIRST : NUMBER_UNKNOWN;

    list->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (list->fd < 0 || fstat(list->fd, &info) != 0) {
        ptlist_miss(sideband, path);
    } else if (!S_ISREG(info.st_mode)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : ENOTSUP;
        ptlist_miss(sideband, path);
        info.st_size = 0;
    }
    list->length = (uint64_t)info.st_size;
    list->done = 0;
    find_start(list);
    memset(list->threads, 0, sideband->process_count * sizeof *list->threads);
    list->failure = ENOMEM;
    if (insn_splitter_open(&sideband->config, take_part, list, &list->splitter, NULL) != INSN_OK)
        return false;
    insn_splitter_follow(list->splitter, find_process);
    list->failure = 0;
    return insn_splitter_switch(list->splitter, 0, first, NULL) == INSN_OK;
}

static void close_file(struct ptlist *list)
{
    insn_splitter_close(list->splitter);
    list->splitter = NULL;
    if (list->fd >= 0)
        (void)close(list->fd);
    list->fd = -1;
}

/* From start to the end of the file, then from its beginning.  0: no more of it can be read.  */
static size_t read_some(struct ptlist *list)
{
    uint64_t at = list->start + list->done, left;
    int failure;

    if (at >= list->length) {
        at -= list->length;
        left = list->length - list->done;
    } else {
        left = list->length - at;
    }
    if (left > FEED_BYTES)
        left = FEED_BYTES;
    failure = base_read_at(list->fd, list->fed, (size_t)left, at);
    if (failure == 0)
        return (size_t)left;
    errno = failure;
    ptlist_miss(&list->sideband, list->sideband.files[list->file].path);
    return 0;
}

static bool feed(struct ptlist *list)
{
    size_t size = list->done < list->length ? read_some(list) : 0;
    enum insn_status status;

    if (size == 0) {
        status = insn_splitter_finish(list->splitter, NULL);
        close_file(list);
        list->file++;
    } else {
        list->done += size;
        status = insn_splitter_feed(list->splitter, list->fed, size, NULL);
        if (status == INSN_OK)
            status = insn_splitter_advance(list->splitter, UINT64_MAX, NULL, NULL);
    }
    if (status != INSN_OK && list->failure == 0)
        list->failure = ENOMEM;
    return status == INSN_OK;
}

/* ---- The list ---- */

static void set_clock(struct ptlist *list)
{
    unsigned __int128 mult;

    list->time_shift = 32;
    list->time_mult = UINT64_C(1) << 32; /* a tick is taken for a nanosecond */
    while (list->time_mult > UINT32_MAX && list->time_shift > 0) {
        list->time_shift--;
        mult = ((unsigned __int128)1000000 << list->time_shift) /
               (list->sideband.ticks_per_ms ? list->sideband.ticks_per_ms : 1000000);
        list->time_mult = mult > UINT64_MAX ? UINT64_MAX : (uint64_t)mult;
    }
    if (list->time_mult == 0 || list->time_mult > UINT32_MAX)
        list->time_mult = 1;
}

bool ptlist_open(const char *path, struct ptlist **out, char *message, size_t size)
{
    struct ptlist *list = calloc(1, sizeof *list);

    (void)snprintf(message, size, "out of memory");
    if (!list)
        return false;
    list->fd = -1;
    if (!ptlist_read_sideband(&list->sideband, path, message, size)) {
        ptlist_close(list);
        return false;
    }
    set_clock(list);
    list->threads = calloc(list->sideband.process_count + 1, sizeof *list->threads);
    list->fed = malloc(FEED_BYTES);
    if (!list->threads || !list->fed ||
        fxt_writer_open(take_bytes, list, &list->writer, NULL) != FXT_OK) {
        (void)snprintf(message, size, "out of memory");
        ptlist_close(list);
        return false;
    }
    *out = list;
    return true;
}

static bool make_bytes(struct ptlist *list)
{
    list->next = list->used = 0;
    if (!list->introduced) {
        list->introduced = true;
        return put_session(list);
    }
    while (list->used == 0 && list->file < list->sideband.file_count)
        if ((!list->splitter && !open_next(list)) || !feed(list))
            return false;
    list->ended = list->used == 0;
    return true;
}

ptrdiff_t ptlist_read(void *context, void *buffer, size_t size)
{
    struct ptlist *list = context;

    if (list->next == list->used && !list->ended && !list->failure)
        (void)make_bytes(list);
    if (size > list->used - list->next)
        size = list->used - list->next;
    if (size == 0 && list->failure) {
        errno = list->failure;
        return -1;
    }
    if (size > 0)
        memcpy(buffer, list->bytes + list->next, size);
    list->next += size;
    return (ptrdiff_t)size;
}

const struct ptlist_counts *ptlist_counts(const struct ptlist *list)
{
    return &list->sideband.counts;
}

void ptlist_close(struct ptlist *list)
{
    if (!list)
        return;
    close_file(list);
    ptlist_release_sideband(&list->sideband);
    fxt_writer_close(list->writer);
    free(list->threads);
    free(list->bytes);
    free(list->fed);
    free(list);
}
