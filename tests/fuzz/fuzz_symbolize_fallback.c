/* Any bytes as the answer of the process in which libdwarf reads a unit.
 *
 * The first byte chooses the object, one of testdata/symbolize/hostile below $ROOT or the working
 * directory (bits 0 and 1), whether the decoder has read nothing of the unit (bit 2), and whether
 * all details are wanted (bit 3).  An answer takes memory in proportion to its size.  If it is
 * accepted, it has the properties of tests/support/fallback_parts.h.  If it is used, an address has
 * the same frames in any order and in a batch, and the last frame is the real function.  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libsymbolize/fallback.h"
#include "libsymbolize/symbolize_internal.h"
#include "tests/fuzz/support.h"
#include "tests/support/fallback_parts.h"

enum {
    ADDRESSES = 96,
    FRAMES_MAX = 513,
    BYTES_EACH = 64, /* of memory, for each byte of an answer */
    BYTES_MORE = 1 << 20,
};

static const char *const objects[] = { "x86-64-gcc.so", "i386-dwarf4", "split", "split4" };

/* A module whose unit an answer is for.  */
struct asked {
    struct sym_session *session;
    struct sym_module *module;
    struct sym_dwarf *dwarf;
    struct sym_unit *unit;
};

static void open_module(struct asked *asked, uint8_t choice)
{
    const struct sym_options options = {
        .size = sizeof options, .debug_root = "", .no_cache = true, .details = choice & 8, .jobs = 1
    };
    const char *root = getenv("ROOT");
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/testdata/symbolize/hostile/%s", root ? root : ".",
                   objects[choice & 3]);
    const struct sym_module_key key = { .path = path };
    HOLD(sym_session_open(&options, &asked->session, NULL) == SYM_OK);
    HOLD(sym_session_module(asked->session, &key, &asked->module, NULL) == SYM_OK);
    asked->dwarf = &asked->module->loaded.dwarf;
    asked->dwarf->fallback.is_off = true; /* no child is started */
    HOLD(sym_module_load(asked->module) == SYM_OK);
    HOLD(sym_dwarf_unit(asked->dwarf, 0x1000, NULL, &asked->unit) == SYM_OK);
    HOLD(asked->unit && asked->unit->decoded);
}

/* ---- Reading ---- */

static void check_reading(const struct asked *asked, struct sym_bytes answer)
{
    struct base_account account = { .limit = (int64_t)(BYTES_EACH * answer.size + BYTES_MORE) };
    struct base_account *before = base_account_enter(&account);
    struct sym_fallback_parts parts;
    enum sym_status status = sym_fallback_read(asked->dwarf, asked->unit, answer, &parts);

    (void)base_account_enter(before);
    HOLD(!account.exceeded);
    HOLD(status == SYM_OK || status == SYM_MALFORMED);
    if (!status) {
        const char *fault = fallback_parts_fault(asked->dwarf, &parts);

        if (fault)
            fuzz_broken(__FILE__, __LINE__, fault);
    }
    sym_fallback_release(&parts);
}

/* ---- Using ---- */

/* The frames of each address, as bytes.  */
struct frames {
    struct fuzz_buffer of[ADDRESSES];
};

static void put(struct fuzz_buffer *buffer, const char *text)
{
    HOLD(text != NULL);
    fuzz_append(buffer, text, strlen(text) + 1);
}

static bool keep(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    struct fuzz_buffer *buffer = &((struct frames *)context)->of[index];

    HOLD(index < ADDRESSES && buffer->used == 0 && count <= FRAMES_MAX);
    fuzz_append(buffer, &count, sizeof count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t numbers[] = { frames[i].line, frames[i].column, frames[i].start_line,
                                     frames[i].inlined, (uint32_t)frames[i].source };

        HOLD(frames[i].inlined == (i + 1 < count));
        put(buffer, frames[i].function);
        put(buffer, frames[i].linkage_name);
        put(buffer, frames[i].file);
        fuzz_append(buffer, numbers, sizeof numbers);
    }
    return true;
}

static void check_same(struct frames *frames, const uint32_t *ids, struct frames *others)
{
    for (size_t i = 0; i < ADDRESSES; i++) {
        const struct fuzz_buffer *one = &frames->of[i], *other = &others->of[ids[i]];

        HOLD(one->used > 0 && one->used == other->used);
        HOLD(memcmp(one->bytes, other->bytes, one->used) == 0);
    }
    for (size_t i = 0; i < ADDRESSES; i++)
        free(others->of[i].bytes);
    *others = (struct frames){ 0 };
}

static void check_frames(struct sym_module *module)
{
    static uint64_t vaddrs[ADDRESSES], reversed[ADDRESSES];
    uint32_t ids[ADDRESSES], ends[ADDRESSES];
    struct frames frames = { 0 }, others = { 0 };

    for (uint32_t i = 0; i < ADDRESSES; i++) {
        ends[i] = ADDRESSES - 1 - i;
        vaddrs[i] = reversed[ends[i]] = 0x1000 + i;
    }
    HOLD(sym_module_resolve(module, vaddrs, ADDRESSES, keep, &frames, NULL) == SYM_OK);
    HOLD(sym_module_resolve(module, reversed, ADDRESSES, keep, &others, NULL) == SYM_OK);
    check_same(&frames, ends, &others);
    HOLD(sym_module_resolve_batch(module, vaddrs, ADDRESSES, ids, keep, &others, NULL) == SYM_OK);
    check_same(&frames, ids, &others);
    for (size_t i = 0; i < ADDRESSES; i++)
        free(frames.of[i].bytes);
}

static void check_using(struct asked *asked, bool is_empty, struct sym_bytes answer)
{
    struct sym_unit *unit = asked->unit;
    enum sym_fallback_end end;

    if (is_empty) {
        sym_scopes_release(&unit->scopes);
        sym_lines_release(&unit->lines);
    }
    unit->refused = SYM_PART_FUNCTIONS | SYM_PART_LINES;
    enum sym_status status = sym_fallback_use(asked->dwarf, unit, answer, &end);
    HOLD((end == SYM_FALLBACK_HELPS) == (unit->by_libdwarf == unit->refused));
    HOLD(status == SYM_OK || (status == SYM_MALFORMED && !unit->by_libdwarf));
    if (unit->by_libdwarf)
        check_frames(asked->module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct asked asked;

    if (size == 0)
        return 0;
    const struct sym_bytes answer = { data + 1, size - 1 };
    open_module(&asked, data[0]);
    check_reading(&asked, answer);
    check_using(&asked, data[0] & 4, answer);
    sym_session_close(asked.session);
    return 0;
}
