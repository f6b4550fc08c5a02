/* perf.data files as traces: processes, mappings, samples, callers from copies of stacks, packets
 * of Intel PT.
 *
 * - The conversion ends, and what it gives is a trace without damage.
 * - A file of few bytes becomes no trace of many.
 * - What is not used is described exactly when there is some.
 *
 * Tables to unwind by are those of testdata/perf, and of files whose paths an input names.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/cli/perf_unwind.h"
#include "tests/fuzz/support.h"

struct converted {
    struct sym_session *session;
    struct cli_perf_unwind *unwind;
    struct perf_trace *trace;
    uint64_t bytes;
};

static struct sym_session *open_session(void)
{
    static char path[4096];
    const char *root = getenv("ROOT");
    const char *const places[] = { path };
    const struct sym_options options = { .size = sizeof options,
                                         .symbol_paths = places,
                                         .symbol_path_count = 1,
                                         .debug_root = "",
                                         .debuginfod_cache = "",
                                         .jobs = 1,
                                         .no_cache = true };
    struct sym_session *session;

    (void)snprintf(path, sizeof path, "%s/testdata/perf", root ? root : ".");
    HOLD(sym_session_open(&options, &session, NULL) == SYM_OK);
    return session;
}

static bool find_vaddr(void *context, const struct perf_trace_object *object, uint64_t file_offset,
                       uint64_t size, uint64_t *vaddr)
{
    struct converted *converted = context;
    const struct sym_module_key key = { .build_id = object->build_id,
                                        .build_id_length = object->build_id_length };
    struct sym_module *module;

    HOLD(object->build_id_length <= 20 && strlen(object->name) < 4096);
    return object->build_id_length > 0 &&
           sym_session_module(converted->session, &key, &module, NULL) == SYM_OK &&
           sym_module_mapping_vaddr(module, file_offset, size, vaddr) == SYM_OK;
}

static size_t unwind(void *context, const struct perf_trace_copy *copy, uint64_t *addresses,
                     size_t capacity, bool *is_whole)
{
    struct converted *converted = context;
    size_t count = cli_perf_unwind_stack(converted->unwind, copy, addresses, capacity, is_whole);

    HOLD(count <= capacity);
    return count;
}

static const char *kernel_symbols(void *context, const uint8_t *build_id, size_t build_id_length,
                                  size_t *size)
{
    static const char text[] = "ffffffff81000000 T _text\nffffffff81001000 T schedule\n";

    (void)context, (void)build_id;
    *size = sizeof text - 1;
    return build_id_length == 20 ? text : NULL;
}

static ptrdiff_t read_bytes(void *context, void *buffer, size_t size)
{
    struct converted *converted = context;
    ptrdiff_t got = perf_trace_read(converted->trace, buffer, size < 1000 ? size : 1000);

    HOLD(got >= 0 && got <= 1000);
    converted->bytes += (uint64_t)got;
    return got;
}

static void read_trace(struct converted *converted, size_t size)
{
    const struct fxt_record *record;
    struct fxt_reader *reader;
    struct fxt_input *input;
    enum fxt_status status;
    uint64_t samples = 0;
    char text[800];

    HOLD(fxt_input_open_callback(read_bytes, converted, &input, NULL) == FXT_OK);
    HOLD(fxt_reader_open(input, NULL, &reader, NULL) == FXT_OK);
    while ((status = fxt_reader_next(reader, &record, NULL)) == FXT_OK)
        samples += record->kind == FXT_RECORD_LARGE_BLOB &&
                   (record->name.length == 0 ||
                    (record->name.length >= 6 && memcmp(record->name.bytes, "sample", 6) == 0));
    HOLD(status == FXT_END);
    for (int kind = 0; kind < FXT_DAMAGE_KINDS; kind++)
        HOLD(fxt_reader_damage(reader)->kinds[kind].bytes == 0);
    HOLD(samples == perf_trace_counts(converted->trace)->samples);
    /* Each fork may take over the mappings of all records before it.  */
    HOLD(converted->bytes <= 4096 + 64 * (uint64_t)size + (uint64_t)size * size / 16);
    HOLD(perf_trace_describe_unused(converted->trace, text, sizeof text) == (*text != '\0'));
    fxt_reader_close(reader);
    fxt_input_close(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct converted converted = { .bytes = 0 };
    const struct perf_trace_options options = { .size = sizeof options,
                                                .find_vaddr = find_vaddr,
                                                .unwind = unwind,
                                                .kernel_symbols = kernel_symbols,
                                                .context = &converted };
    int fd = memfd_create("perf.data", MFD_CLOEXEC);

    converted.session = open_session();
    HOLD(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    converted.unwind = cli_perf_unwind_open(converted.session);
    HOLD(converted.unwind);
    if (perf_trace_open(fd, &options, &converted.trace, NULL) == PERF_DATA_OK) {
        read_trace(&converted, size);
        perf_trace_close(converted.trace);
    }
    cli_perf_unwind_close(converted.unwind);
    sym_session_close(converted.session);
    (void)close(fd);
    return 0;
}
