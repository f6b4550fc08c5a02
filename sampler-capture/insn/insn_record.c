#include "sampler-capture/insn/insn_record.h"

#include "base/grow.h"
#include "sampler-capture/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* NOLINTBEGIN(performance-no-int-to-ptr): ptrace() and process_vm_readv() take the addresses of
 * another process as pointers.  */

/* ---- Names and maps ---- */

static bool put_mapping(struct insn_recorder *recorder, struct process *process,
                        const struct mapping *mapping)
{
    static const struct module anonymous = { .serial = 0 };
    const struct module *module = mapping->module ? mapping->module : &anonymous;
    bool is_new;
    uint16_t id;

    if (!process_module_id(process, module, &id, &is_new))
        return true; /* 65,536 modules: frames without names */
    if (is_new && !stream_module(recorder->stream, process->koid, module, id, mapping->time_ns))
        return false;
    return stream_mapping(recorder->stream, process->koid, mapping, id);
}

static bool put_map(struct insn_recorder *recorder, struct process *process)
{
    for (size_t i = 0; i < process->map.count; i++) {
        struct mapping *mapping = &process->map.mappings[i];

        if (!mapping->written && !put_mapping(recorder, process, mapping))
            return false;
        mapping->written = true;
    }
    process->map.has_unwritten = false;
    return true;
}

bool insn_recorder_describe(struct insn_recorder *recorder, struct thread *thread)
{
    struct process *process = thread->process;

    if (!process->name_written) {
        process->name_written = true;
        if (!stream_process(recorder->stream, process->koid, process->name))
            return false;
    }
    if (!thread->name.written) {
        thread->name.written = true;
        if (!stream_thread(recorder->stream, thread->name.koid, process->koid, thread->name.text))
            return false;
    }
    return !process->map.has_unwritten || put_map(recorder, process);
}

struct reading {
    struct insn_recorder *recorder;
    uint64_t time_ns;
};

static bool take_map(void *context, const struct perf_record *record)
{
    struct reading *reading = context;
    struct perf_record now = *record;

    now.time_ns = reading->time_ns;
    return processes_apply(&reading->recorder->processes, &now);
}

bool insn_recorder_read_maps(struct insn_recorder *recorder, struct thread *thread, uint64_t ticks)
{
    struct reading reading = { .recorder = recorder, .time_ns = recorder->base_ns + ticks };

    return proc_describe((pid_t)thread->process->pid, take_map, &reading) &&
           insn_recorder_describe(recorder, thread);
}

/* ---- Code ---- */

struct code_page *insn_recorder_find(const struct insn_recorder *recorder, uint64_t process,
                                     uint64_t address)
{
    uint32_t number = base_pairs_find(&recorder->page_keys, process, address);

    return number ? recorder->pages[number - 1] : NULL;
}

static struct code_page *add_page(struct insn_recorder *recorder, uint64_t process,
                                  uint64_t address)
{
    size_t count = recorder->page_keys.count;
    struct code_page *page;

    if (!base_make_room(&recorder->pages, &recorder->page_capacity, count + 1, sizeof(void *)))
        return NULL;
    page = calloc(1, sizeof *page);
    if (!page || !base_pairs_add(&recorder->page_keys, process, address, NULL)) {
        free(page);
        return NULL;
    }
    page->process = process;
    page->address = address;
    recorder->pages[count] = page;
    return page;
}

/* Whether the module's file has these bytes at vaddr.  */
static bool file_has(const struct module *module, uint64_t vaddr, const uint8_t *bytes, size_t size)
{
    const struct elf_image *image = &module->image;
    uint8_t read_back[CODE_PAGE];
    int fd = -1;
    bool same = false;

    for (size_t i = 0; i < image->segment_count && fd < 0; i++) {
        uint64_t start = image->segments[i].vaddr;

        if (vaddr < start || vaddr - start >= image->segments[i].file_size)
            continue;
        if (size > image->segments[i].file_size - (vaddr - start))
            size = image->segments[i].file_size - (vaddr - start);
        fd = module->name[0] == '/' ? open(module->name, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0)
            return false;
        same = pread(fd, read_back, size,
                     (off_t)(image->segments[i].file_offset + (vaddr - start))) == (ssize_t)size &&
               memcmp(read_back, bytes, size) == 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return same;
}

/* What lies in the page before the mapping or the segment is no code.  */
static bool is_in_file(const struct process *process, const struct code_page *page)
{
    const struct mapping *mapping = address_map_find(&process->map, page->address);

    return mapping && mapping->module && mapping->module->image.build_id_size > 0 &&
           file_has(mapping->module, mapping->vaddr + (page->address - mapping->start), page->bytes,
                    page->size);
}

static bool put_code(struct insn_recorder *recorder, const struct process *process,
                     const struct code_page *page, uint64_t ticks)
{
    const struct fxt_arg address = { .type = FXT_ARG_POINTER,
                                     .name = fxt_inline("address"),
                                     .value.uint64 = page->address };
    struct fxt_record blob = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .ticks = recorder->base_ns + ticks,
        .thread = { .process = process->koid },
        .category = fxt_inline("insntrace"),
        .name = fxt_inline("code"),
        .args = &address,
        .arg_count = 1,
    };

    recorder->blobs_of_code++;
    blob.value.large_blob.payload.bytes = page->bytes;
    blob.value.large_blob.payload.length = page->size;
    return stream_put(recorder->stream, &blob);
}

/* Bytes of the page that can be read.  */
static size_t read_page(const struct process *process, uint64_t address, uint8_t *bytes)
{
    struct iovec local = { .iov_base = bytes, .iov_len = CODE_PAGE };
    struct iovec remote = { .iov_base = (void *)address, .iov_len = CODE_PAGE };
    ssize_t size = process_vm_readv((pid_t)process->pid, &local, 1, &remote, 1, 0);

    return size > 0 ? (size_t)size : 0;
}

struct code_page *insn_recorder_page(struct insn_recorder *recorder, struct thread *thread,
                                     uint64_t address, uint64_t ticks)
{
    struct process *process = thread->process;
    struct code_page *page = insn_recorder_find(recorder, process->koid, address);
    bool known = page != NULL;

    if (!page)
        page = add_page(recorder, process->koid, address);
    if (!page)
        return NULL;
    page->size = read_page(process, address, page->bytes);
    if (!address_map_find(&process->map, address) &&
        !insn_recorder_read_maps(recorder, thread, ticks))
        return NULL;
    if (page->size == 0 || (!known && is_in_file(process, page)))
        return page;
    page->in_trace = true;
    return put_code(recorder, process, page, ticks) ? page : NULL;
}

/* ---- Packets ---- */

/* How much of an owner's packets was written; NULL: no memory.  */
static uint64_t *written_of(struct insn_recorder *recorder, const struct insn_owner *owner)
{
    bool is_new;
    uint32_t number;

    if (!base_make_room(&recorder->written, &recorder->owner_capacity, recorder->owners.count + 1,
                        sizeof *recorder->written))
        return NULL;
    number = base_pairs_add(&recorder->owners, owner->process, owner->thread, &is_new);
    if (number == 0)
        return NULL;
    if (is_new)
        recorder->written[number - 1] = 0;
    return &recorder->written[number - 1];
}

/* Of packets: these, and two more where they are known or true.  */
enum { ARGUMENTS = 11, MOST_ARGUMENTS = ARGUMENTS + 2 };

bool insn_recorder_packets(struct insn_recorder *recorder, const struct insn_owner *owner,
                           const struct insn_packets *packets, uint64_t ticks)
{
    const struct insn_config *config = &recorder->config;
    uint64_t *written = written_of(recorder, owner);
    struct fxt_arg args[MOST_ARGUMENTS] = {
        stream_number("mtc_freq", config->mtc_freq),
        stream_number("nom_freq", config->nom_freq),
        stream_number("cpuid_0x15_eax", config->cpuid_0x15_eax),
        stream_number("cpuid_0x15_ebx", config->cpuid_0x15_ebx),
        stream_number("family", config->family),
        stream_number("model", config->model),
        stream_number("stepping", config->stepping),
        stream_number("time_shift", recorder->time_shift),
        stream_number("time_mult", recorder->time_mult),
        stream_number("time_zero", recorder->time_zero),
        stream_number("offset", written ? *written : 0),
    };
    size_t count = ARGUMENTS;
    struct fxt_record blob = {
        .kind = FXT_RECORD_LARGE_BLOB,
        .ticks = recorder->base_ns + ticks,
        .thread = { .process = owner->process, .thread = owner->thread },
        .category = fxt_inline("insntrace"),
        .name = fxt_inline("pt"),
        .args = args,
    };

    if (!written)
        return false;
    if (packets->cpu != INSN_NO_CPU)
        args[count++] = stream_number("cpu", packets->cpu);
    if (packets->is_cut)
        args[count++] = stream_number("cut", 1);
    *written += packets->size;
    recorder->packet_bytes += packets->size;
    blob.arg_count = count;
    blob.value.large_blob.payload.bytes = packets->bytes;
    blob.value.large_blob.payload.length = packets->size;
    return stream_put(recorder->stream, &blob);
}

void insn_recorder_release(struct insn_recorder *recorder)
{
    for (size_t i = 0; i < recorder->page_keys.count; i++)
        free(recorder->pages[i]);
    free(recorder->pages);
    base_pairs_release(&recorder->page_keys);
    free(recorder->written);
    base_pairs_release(&recorder->owners);
    processes_release(&recorder->processes);
}

/* NOLINTEND(performance-no-int-to-ptr) */
