/* Records that several kinds of traces have.  */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/generate/generate.h"

struct cli_output output;
static uint16_t *site_index; /* [site]; 0: inline */
static uint16_t last_string; /* the highest index in use */
static struct fxt_writer *writer;

void open_writer(void)
{
    struct fxt_error error;

    if (fxt_writer_open(cli_output_write, &output, &writer, &error) == FXT_OK)
        return;
    cli_error("%s", error.message);
    exit(CLI_ENVIRONMENT);
}

void close_writer(void)
{
    fxt_writer_close(writer);
    free(site_index);
}

uint64_t written(void)
{
    return fxt_writer_bytes(writer);
}

void put(struct fxt_record record)
{
    struct fxt_error error;

    if (fxt_writer_record(writer, &record, &error) == FXT_OK)
        return;
    cli_error("%s", error.message);
    cli_output_abort(&output);
    exit(CLI_ENVIRONMENT);
}

bool is_done(uint64_t done)
{
    return wanted.size ? fxt_writer_bytes(writer) >= wanted.size : done >= wanted.count;
}

void put_magic(void)
{
    put((struct fxt_record){ .kind = FXT_RECORD_MAGIC, .value.magic.number = 0x16547846 });
}

void put_init(void)
{
    put((struct fxt_record){ .kind = FXT_RECORD_INIT, .value.init.ticks_per_second = wanted.rate });
}

void put_provider(uint32_t id, const char *name)
{
    put((struct fxt_record){
        .kind = FXT_RECORD_PROVIDER_INFO, .name = fxt_inline(name), .value.provider.id = id });
    put_init();
}

void put_process_name(uint32_t process)
{
    char name[32];

    (void)snprintf(name, sizeof name, "process-%u", process);
    put((struct fxt_record){
        .kind = FXT_RECORD_KERNEL_OBJECT,
        .name = fxt_inline(name),
        .value.object = { .type = FXT_OBJECT_PROCESS, .koid = pid_of(process) },
    });
}

void put_thread_name(uint32_t process, uint32_t thread, bool with_process)
{
    struct fxt_arg owner = {
        .type = FXT_ARG_KOID,
        .name = fxt_inline("process"),
        .value.uint64 = pid_of(process),
    };
    char name[32];

    (void)snprintf(name, sizeof name, "thread-%u", thread);
    put((struct fxt_record){
        .kind = FXT_RECORD_KERNEL_OBJECT,
        .name = fxt_inline(name),
        .args = with_process ? &owner : NULL,
        .arg_count = with_process ? 1 : 0,
        .value.object = { .type = FXT_OBJECT_THREAD, .koid = tid_of(process, thread) },
    });
}

void put_all_names(void)
{
    for (uint32_t process = 0; process < wanted.processes; process++) {
        put_process_name(process);
        for (uint32_t thread = 0; thread < wanted.threads; thread++)
            put_thread_name(process, thread, true);
    }
}

/* A module of a process and where it lies.  Module ids count up over the whole file.  */
void put_module(uint32_t process, uint32_t module, uint64_t ticks)
{
    static uint16_t next_id;
    struct fxt_thread owner = { .process = pid_of(process) };
    uint16_t id = next_id++;
    uint8_t build_id[BUILD_ID_SIZE];
    char name[32];

    module_build_id(module, build_id);
    (void)snprintf(name, sizeof name, "libgen%u.so", module);
    put((struct fxt_record){
        .kind = FXT_RECORD_MODULE,
        .ticks = ticks,
        .thread = owner,
        .name = fxt_inline(name),
        .value.module = { .id = id, .build_id = { build_id, sizeof build_id } },
    });
    put((struct fxt_record){
        .kind = FXT_RECORD_MAPPING,
        .ticks = ticks,
        .thread = owner,
        .value.mapping = { .module_id = id,
                           .flags = 5,
                           .start = module_start(process, module),
                           .length = module_length(),
                           .vaddr = module_vaddr(module) },
    });
}

void put_zeros(uint64_t count)
{
    static const uint8_t zeros[PAGE];

    while (count) {
        size_t part = count < PAGE ? (size_t)count : PAGE;
        (void)cli_output_write(&output, zeros, part); /* a failure is kept for the commit */
        count -= part;
    }
}

/* ---- Strings and threads by index ---- */

const char *site_name(uint32_t site, char name[NAME_SIZE])
{
    (void)snprintf(name, NAME_SIZE, "n%07u", site % 10000000);
    return name;
}

uint16_t put_string(const char *text)
{
    put((struct fxt_record){
        .kind = FXT_RECORD_STRING, .name = fxt_inline(text), .value.table.index = ++last_string });
    return last_string;
}

void put_tables(void)
{
    site_index = cli_allocate(wanted.stacks, sizeof *site_index);
    (void)put_string("category");
    for (uint32_t i = 1; i <= wanted.stacks && last_string < MAX_INDEX; i++) {
        uint32_t site = nodes[i].site;
        char name[NAME_SIZE];
        if (!site_index[site])
            site_index[site] = put_string(site_name(site, name));
    }
    for (uint32_t i = 0; i < thread_total() && i < 255; i++)
        put((struct fxt_record){
            .kind = FXT_RECORD_THREAD,
            .thread = { .process = pid_of(i / wanted.threads),
                        .thread = tid_of(i / wanted.threads, i % wanted.threads) },
            .value.table.index = (uint16_t)(i + 1),
        });
}

bool has_index(uint32_t site)
{
    return site_index[site] != 0;
}

struct fxt_thread indexed_thread(uint32_t i)
{
    return (struct fxt_thread){
        .process = pid_of(i / wanted.threads),
        .thread = tid_of(i / wanted.threads, i % wanted.threads),
        .index = i < 255 ? (uint8_t)(i + 1) : 0,
    };
}

/* By index if the site has one; name must live until the record is written.  */
struct fxt_string indexed_name(uint32_t site, char name[NAME_SIZE])
{
    struct fxt_string string = fxt_inline(site_name(site, name));

    string.index = site_index[site];
    return string;
}
