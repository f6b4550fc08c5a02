/* Bytes as a pprof profile and as folded stacks, through a store.
 *
 * - What was read of a profile comes out of the store as one that is sound, and that gives the same
 *   bytes when it goes through a store again.
 * - A second time the profile is known.
 * - The store is sound, and its sums are those of the samples.  */
#include <stdlib.h>
#include <string.h>

#include <fxt/profile_files.h>
#include <fxt/store_export.h>
#include "libstore/store_internal.h"
#include "tests/fuzz/support.h"

static enum store_status import(struct store *store, enum store_profile_format format,
                                const uint8_t *data, size_t size)
{
    struct fuzz_source source = { .bytes = data, .left = size };
    const struct fxt_input_options from = {
        .size = sizeof from, .read = fuzz_read, .context = &source, .as_stream = true
    };
    struct store_profile_result result;
    struct fxt_input *input = NULL;
    enum store_status status;

    HOLD(fxt_input_open(&from, &input, NULL) == FXT_OK);
    status = store_import_profile(store, NULL, input, format, &result, NULL);
    fxt_input_close(input);
    HOLD(status == STORE_OK || status == STORE_KNOWN || status == STORE_MALFORMED ||
         status == STORE_LIMIT);
    HOLD(status != STORE_OK || result.is_damaged == (result.damage[0] != '\0'));
    return status;
}

static struct store *new_store(void)
{
    struct store *store = NULL;

    HOLD(store_create(NULL, NULL, &store, NULL) == STORE_OK);
    return store;
}

static void check_rows(struct store *store)
{
    static const char *const none[] = {
        "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
        "SELECT count(*) FROM profile_sample WHERE callsite_id > (SELECT count(*) FROM callsite)",
        "SELECT count(*) FROM callsite WHERE frame_id NOT IN (SELECT id FROM frame)",
        "SELECT count(*) FROM symbol WHERE function NOT IN (SELECT id FROM string)",
        "SELECT count(*) FROM profile_location WHERE frame_id NOT IN (SELECT id FROM frame)",
        "SELECT count(*) FROM profile_sample WHERE upid NOT IN (SELECT id FROM process)",
        /* where nothing overflows */
        "SELECT count(*) FROM (SELECT sample_type_id AS t, total(value) AS v FROM callsite_sum "
        "GROUP BY 1) AS a JOIN (SELECT sample_type_id AS t, total(value) AS v FROM "
        "profile_value AS p WHERE p.ordinal = (SELECT min(q.ordinal) FROM profile_type AS q WHERE "
        "q.sample_type_id = p.sample_type_id) GROUP BY 1) AS b USING (t) WHERE a.v <> b.v AND "
        "(SELECT max(abs(CAST(value AS REAL))) FROM profile_value) < 1e9",
    };
    int64_t count;

    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        HOLD(store_number(store, none[i], &count, NULL) == STORE_OK);
        if (count != 0)
            fuzz_broken(__FILE__, __LINE__, none[i]);
    }
}

/* The only capture as a pprof message.  */
static struct fuzz_buffer as_pprof(struct store *store)
{
    const struct store_export_options raw = { .size = sizeof raw, .raw = true };
    struct store_export_counts counts;
    struct fuzz_buffer out = { .used = 0 };

    HOLD(store_export_pprof(store, NULL, &raw, fuzz_write, &out, &counts, NULL) == STORE_OK);
    return out;
}

/* Locations of folded stacks come about in another order than those of a profile: exact is what a
 * profile gives.  */
static void check_again(const struct fuzz_buffer *first, bool exact)
{
    struct store *store = new_store();
    struct fuzz_buffer second;

    HOLD(import(store, STORE_PROFILE_PPROF, first->bytes, first->used) == STORE_OK);
    second = as_pprof(store);
    if (exact)
        HOLD(first->used == second.used && memcmp(first->bytes, second.bytes, first->used) == 0);
    else
        check_again(&second, true);
    free(second.bytes);
    store_close(store);
}

static void check(enum store_profile_format format, const uint8_t *data, size_t size)
{
    struct store *store = new_store();
    struct fuzz_buffer out;

    if (import(store, format, data, size) == STORE_OK) {
        check_rows(store);
        HOLD(import(store, format, data, size) == STORE_KNOWN);
        out = as_pprof(store);
        check_again(&out, format == STORE_PROFILE_PPROF);
        free(out.bytes);
    }
    store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(STORE_PROFILE_PPROF, data, size);
    check(STORE_PROFILE_FOLDED, data, size);
    return 0;
}
