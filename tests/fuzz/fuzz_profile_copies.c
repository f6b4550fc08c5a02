/* Raw stacks of Fuchsia's CPU profiler: registers and pieces of memory, unwound by the tables of an
 * object of testdata/unwind.  The first byte chooses the object.
 *
 * - A copy becomes one sample, or is counted as one that cannot be unwound.
 * - A stack that is not whole is counted.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/profile.h>
#include "tests/fuzz/support.h"

static struct fxt_string text(const char *bytes)
{
    return (struct fxt_string){ .bytes = bytes, .length = (uint32_t)strlen(bytes) };
}

static struct fxt_record record(enum fxt_record_kind kind)
{
    return (struct fxt_record){ .kind = kind, .thread = { .process = 1, .thread = 2 } };
}

/* Where the segments of the objects are, or near it.  */
static void put_module(struct profile_ingest *ingest, const char *path)
{
    static const uint64_t starts[] = { 0x400000, 0x10000 };
    struct fxt_record module = record(FXT_RECORD_MODULE);

    module.name = text(path);
    HOLD(profile_ingest_record(ingest, &module, NULL) == PROFILE_OK);
    for (size_t i = 0; i < 2; i++) {
        struct fxt_record mapping = record(FXT_RECORD_MAPPING);

        mapping.value.mapping.start = mapping.value.mapping.vaddr = starts[i];
        mapping.value.mapping.length = 0x4000;
        HOLD(profile_ingest_record(ingest, &mapping, NULL) == PROFILE_OK);
    }
}

static const char *path_of(unsigned machine)
{
    static const char *const names[] = { "x86-64", "arm64", "riscv64" };
    static char path[4096];
    const char *root = getenv("ROOT");

    (void)snprintf(path, sizeof path, "%s/testdata/unwind/%s.elf", root ? root : ".",
                   names[machine % 3]);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sym_session *session;
    const struct sym_options symbols = { .size = sizeof symbols, .no_cache = true };
    struct profile_ingest_options options = { .size = sizeof options };
    struct fxt_record blob = record(FXT_RECORD_LARGE_BLOB);
    const struct profile_notices *notices;
    struct profile_ingest *ingest;
    struct profile_sink sink;
    struct profile *profile;
    uint64_t samples;

    if (size == 0)
        return 0;
    if (!session)
        HOLD(sym_session_open(&symbols, &session, NULL) == SYM_OK);
    options.session = session;
    blob.category = text("cpu_profiler");
    blob.name = text("stack_sample");
    blob.value.large_blob.payload = (struct fxt_bytes){ data + 1, size - 1 };
    HOLD(profile_open(&profile, NULL) == PROFILE_OK);
    profile_sink_of(profile, &sink);
    HOLD(profile_ingest_open(&sink, profile_stacks_of(profile), &options, &ingest, NULL) ==
         PROFILE_OK);
    HOLD(profile_ingest_record(ingest, &blob, NULL) == PROFILE_OK);
    put_module(ingest, path_of(data[0]));
    HOLD(profile_ingest_finish(ingest, NULL) == PROFILE_OK);
    notices = profile_ingest_notices(ingest);
    samples = profile_sample_count(profile, PROFILE_CPU);
    HOLD(samples + notices->bad_copies + notices->copies_of_32_bit == 1);
    HOLD(notices->short_copies + notices->untabled_copies + notices->stray_copies +
             notices->refused_copies <=
         2 * samples);
    profile_ingest_close(ingest);
    profile_close(profile);
    return 0;
}
