#include "tests/fuzz/object_resolve.h"

#include <stdlib.h>
#include <string.h>

#include <fxt/symbolize.h>
#include "tests/fuzz/support.h"

/* The objects of testdata/symbolize/hostile have their code at 0x1000, relocatable ones near 0.  */
enum { ADDRESSES = 130 };

static uint64_t vaddrs[ADDRESSES];

static void choose_addresses(void)
{
    for (size_t i = 0; i < 64; i++) {
        vaddrs[i] = 4 * i;
        vaddrs[64 + i] = 0x1000 + 4 * i;
    }
    vaddrs[128] = UINT64_MAX;
    vaddrs[129] = UINT64_C(1) << 63;
}

/* ---- Answers, as bytes that can be compared ---- */

struct answers {
    struct fuzz_buffer all;
    size_t start[ADDRESSES]; /* of the answer with this index in all */
    size_t length[ADDRESSES];
    bool told[ADDRESSES];
    size_t frames;
    size_t size; /* of the files */
};

static void put(struct fuzz_buffer *buffer, const char *text)
{
    fuzz_append(buffer, text, strlen(text) + 1);
}

static bool take_answer(void *context, size_t index, const struct sym_frame *frames, size_t count)
{
    struct answers *answers = context;
    struct fuzz_buffer *all = &answers->all;

    HOLD(index < ADDRESSES && !answers->told[index]);
    HOLD(count <= answers->size + 1);
    answers->told[index] = true;
    answers->start[index] = all->used;
    answers->frames += count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t numbers[] = { frames[i].line, frames[i].column, frames[i].start_line,
                                     frames[i].inlined, (uint32_t)frames[i].source };

        HOLD(frames[i].inlined == (i + 1 < count));
        put(all, frames[i].function);
        put(all, frames[i].linkage_name);
        put(all, frames[i].file);
        fuzz_append(all, numbers, sizeof numbers);
    }
    answers->length[index] = all->used - answers->start[index];
    return true;
}

static void check_same(const struct answers *one, size_t i, const struct answers *other, size_t j)
{
    HOLD(one->told[i] && other->told[j]);
    HOLD(one->length[i] == other->length[j]);
    HOLD(one->length[i] == 0 || memcmp(one->all.bytes + one->start[i],
                                       other->all.bytes + other->start[j], one->length[i]) == 0);
}

/* ---- The ways to ask ---- */

static struct sym_module *open_module(const char *path, struct sym_session **session)
{
    const struct sym_options options = { .size = sizeof options,
                                         .debug_root = "",
                                         .no_cache = true };
    const struct sym_module_key key = { .path = path };
    struct sym_module *module;

    HOLD(sym_session_open(&options, session, NULL) == SYM_OK);
    HOLD(sym_session_module(*session, &key, &module, NULL) == SYM_OK);
    return module;
}

static void check_other_order(const char *path, const struct answers *answers)
{
    struct answers other = { .size = answers->size };
    struct sym_session *session;
    struct sym_module *module = open_module(path, &session);
    uint64_t reversed[ADDRESSES];

    for (size_t i = 0; i < ADDRESSES; i++)
        reversed[i] = vaddrs[ADDRESSES - 1 - i];
    HOLD(sym_module_resolve(module, reversed, ADDRESSES, take_answer, &other, NULL) == SYM_OK);
    for (size_t i = 0; i < ADDRESSES; i++)
        check_same(answers, i, &other, ADDRESSES - 1 - i);
    sym_session_close(session);
    free(other.all.bytes);
}

static void check_batch(const char *path, const struct answers *answers)
{
    struct answers other = { .size = answers->size };
    struct sym_session *session;
    struct sym_module *module = open_module(path, &session);
    uint32_t ids[ADDRESSES];

    HOLD(sym_module_resolve_batch(module, vaddrs, ADDRESSES, ids, take_answer, &other, NULL) ==
         SYM_OK);
    for (size_t i = 0; i < ADDRESSES; i++)
        check_same(answers, i, &other, ids[i]);
    sym_session_close(session);
    free(other.all.bytes);
}

static void check_alone(const char *path, const struct answers *answers, size_t i)
{
    struct answers other = { .size = answers->size };
    struct sym_session *session;
    struct sym_module *module = open_module(path, &session);

    HOLD(sym_module_resolve(module, &vaddrs[i], 1, take_answer, &other, NULL) == SYM_OK);
    check_same(answers, i, &other, 0);
    sym_session_close(session);
    free(other.all.bytes);
}

static void check_report(const struct sym_module *module, size_t frames)
{
    const struct sym_report *report = sym_module_report(module);

    HOLD(report->code_path && report->debug_path && report->problem && report->remedy);
    /* With symbols or DWARF "nothing covers this address" is an answer.  */
    HOLD(frames > 0 || report->problem[0] || report->quality >= SYM_QUALITY_SYMTAB);
}

static void check_build_id(const char *path)
{
    struct sym_error error = { .message = "" };
    uint8_t id[20];
    size_t length = 0;
    enum sym_status status = sym_build_id(path, id, sizeof id, &length, &error);

    HOLD(status == SYM_OK || error.message[0]);
    HOLD(status != SYM_OK || (length > 0 && length <= 64));
}

void resolve_all_ways(const char *path, size_t size)
{
    struct answers answers = { .size = size };
    struct sym_session *session;
    struct sym_module *module;

    choose_addresses();
    check_build_id(path);
    module = open_module(path, &session);
    HOLD(sym_module_resolve(module, vaddrs, ADDRESSES, take_answer, &answers, NULL) == SYM_OK);
    check_report(module, answers.frames);
    sym_session_close(session);
    check_other_order(path, &answers);
    check_batch(path, &answers);
    check_alone(path, &answers, 64 + size % 64);
    free(answers.all.bytes);
}
