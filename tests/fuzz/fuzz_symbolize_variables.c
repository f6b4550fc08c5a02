/* Any bytes as an ELF object with DWARF: parameters and variables of functions, and declarations of
 * static variables.  What is not known is 0, a second question has the same answer, and a caller
 * that wants no more gets no more.  */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fxt/symbolize.h>
#include "tests/fuzz/support.h"

enum {
    FUNCTIONS = 48, /* addresses */
    DATA = 96,
    LOCALS_MAX = 1 << 20, /* of one address: DIEs take bytes of the input */
};

struct told {
    uint64_t sum, count;
    uint64_t limit; /* no more are wanted then */
};

static uint64_t add_text(uint64_t sum, const char *text)
{
    HOLD(text != NULL);
    for (; *text; text++)
        sum = sum * 31 + (unsigned char)*text;
    return sum * 31;
}

static bool take_local(void *context, const struct sym_local *local)
{
    struct told *told = context;

    HOLD(told->count < told->limit);
    HOLD(local->has_frame_offset || local->frame_offset == 0);
    HOLD(local->has_size || local->size == 0);
    HOLD(local->has_tag_offset || local->tag_offset == 0);
    told->sum = add_text(add_text(add_text(told->sum, local->function), local->name), local->file);
    told->sum = told->sum * 31 + local->line + (uint64_t)local->frame_offset + local->size;
    return ++told->count < told->limit;
}

static struct told ask_locals(struct sym_module *module, uint64_t vaddr, uint64_t limit)
{
    struct told told = { .limit = limit };
    enum sym_status status = sym_module_locals(module, vaddr, take_local, &told, NULL);

    HOLD(status == (told.count == limit ? SYM_STOPPED : SYM_OK));
    return told;
}

static void check_locals(struct sym_module *module, uint64_t vaddr)
{
    struct told all = ask_locals(module, vaddr, LOCALS_MAX);
    struct told again = ask_locals(module, vaddr, LOCALS_MAX);

    HOLD(all.count < LOCALS_MAX && again.count == all.count && again.sum == all.sum);
    if (all.count > 1)
        HOLD(ask_locals(module, vaddr, 1).count == 1);
}

static void check_declaration(struct sym_module *module, uint64_t vaddr)
{
    const char *file = NULL, *again = NULL;
    uint32_t line = 0, other = 0;
    enum sym_status status = sym_module_declaration(module, vaddr, &file, &line, NULL);

    HOLD(status == SYM_OK || status == SYM_NOT_FOUND);
    HOLD((status == SYM_OK) == (file != NULL));
    HOLD(sym_module_declaration(module, vaddr, &again, &other, NULL) == status);
    HOLD(again == file && other == line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sym_options options = {
        .size = sizeof options, .debug_root = "", .no_cache = true, .jobs = 1
    };
    static int fd = -1;
    struct sym_session *session;
    struct sym_module *module;
    char path[64];

    if (fd < 0)
        fd = memfd_create("object", MFD_CLOEXEC);
    HOLD(fd >= 0);
    HOLD(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const struct sym_module_key key = { .path = path };
    HOLD(sym_session_open(&options, &session, NULL) == SYM_OK);
    HOLD(sym_session_module(session, &key, &module, NULL) == SYM_OK);
    for (uint64_t i = 0; i < FUNCTIONS; i++) {
        check_locals(module, 4 * i);
        check_locals(module, 0x1000 + 4 * i);
    }
    for (uint64_t i = 0; i < DATA; i++)
        check_declaration(module, 0x1000 + 8 * i);
    sym_session_close(session);
    return 0;
}
