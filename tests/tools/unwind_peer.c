/* unwind_peer FILE [CLASS]: unwind the samples of a file of `perf record --call-graph dwarf` twice,
 * by libunwind and by libdw of elfutils, from the same registers and the same copy of the stack.
 *
 * Prints, for each class of result, how many samples have it, and an example:
 *
 *     CLASS <tab> SAMPLES <tab> the last common frame, numbers of frames, our next, the innermost
 *
 * Classes:
 *
 *     equal       the same frames
 *     ours-goes-on, libdw-goes-on     the frames of one are the first of the other
 *     differ      both have another frame after the last common one
 *
 * ours-goes-on and libdw-goes-on are followed by how the shorter stack ended.  With CLASS, the
 * stacks of the samples whose class begins with it are printed first, side by side.  Samples of
 * processes other than those of this machine's files are of no use: objects are found by path.
 *
 * libdw and libdwarf export functions of the same names, so libdw is loaded apart.  */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/cli/perf_unwind.h"
#include "libperf/perf_trace.h"

enum { MOST_FRAMES = 512, MOST_CLASSES = 4096, X86_REGISTERS = 17 };

/* ---- libdw, loaded apart ---- */

static struct {
    __typeof__(dwfl_begin) *begin;
    __typeof__(dwfl_end) *end;
    __typeof__(dwfl_report_begin_add) *report_begin_add;
    __typeof__(dwfl_report_end) *report_end;
    __typeof__(dwfl_report_elf) *report_elf;
    __typeof__(dwfl_addrmodule) *addrmodule;
    __typeof__(dwfl_module_info) *module_info;
    __typeof__(dwfl_attach_state) *attach_state;
    __typeof__(dwfl_getthread_frames) *getthread_frames;
    __typeof__(dwfl_frame_pc) *frame_pc;
    __typeof__(dwfl_thread_state_registers) *state_registers;
    __typeof__(dwfl_build_id_find_elf) *find_elf;
    __typeof__(dwfl_errmsg) *errmsg;
    __typeof__(dwfl_module_eh_cfi) *eh_cfi;
    __typeof__(dwarf_cfi_addrframe) *cfi_frame;
    __typeof__(dwarf_frame_cfa) *frame_cfa;
} dw;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (!found) {
        (void)fprintf(stderr, "unwind_peer: libdw has no %s\n", name);
        exit(4);
    }
    return found;
}

static void load_libdw(void)
{
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);

    if (!library) {
        (void)fprintf(stderr, "unwind_peer: %s\n", dlerror());
        exit(4);
    }
    *(void **)&dw.begin = symbol(library, "dwfl_begin");
    *(void **)&dw.end = symbol(library, "dwfl_end");
    *(void **)&dw.report_begin_add = symbol(library, "dwfl_report_begin_add");
    *(void **)&dw.report_end = symbol(library, "dwfl_report_end");
    *(void **)&dw.report_elf = symbol(library, "dwfl_report_elf");
    *(void **)&dw.addrmodule = symbol(library, "dwfl_addrmodule");
    *(void **)&dw.module_info = symbol(library, "dwfl_module_info");
    *(void **)&dw.attach_state = symbol(library, "dwfl_attach_state");
    *(void **)&dw.getthread_frames = symbol(library, "dwfl_getthread_frames");
    *(void **)&dw.frame_pc = symbol(library, "dwfl_frame_pc");
    *(void **)&dw.state_registers = symbol(library, "dwfl_thread_state_registers");
    *(void **)&dw.find_elf = symbol(library, "dwfl_build_id_find_elf");
    *(void **)&dw.errmsg = symbol(library, "dwfl_errmsg");
    *(void **)&dw.eh_cfi = symbol(library, "dwfl_module_eh_cfi");
    *(void **)&dw.cfi_frame = symbol(library, "dwarf_cfi_addrframe");
    *(void **)&dw.frame_cfa = symbol(library, "dwarf_frame_cfa");
}

/* ---- One sample ---- */

struct walk {
    Dwfl *dwfl;
    const struct perf_trace_copy *copy;
    uint64_t pointer; /* where the copy begins */
    uint64_t addresses[MOST_FRAMES];
    size_t count;
    const char *end; /* how it ended */
    bool is_foreign; /* an object is not what was reported at its place before */
    bool read_below; /* libdw wanted memory below the stack pointer, which is not in the copy */
};

static uint64_t register_of(const struct perf_trace_copy *copy, unsigned bit)
{
    uint64_t below = copy->mask & ((UINT64_C(1) << bit) - 1);

    return copy->registers[__builtin_popcountll(below)];
}

/* What is added to vaddrs of an object whose byte at file_offset is at address.  Its segments need
 * not be as far apart in memory as in the file.  */
static uint64_t bias_of(const char *path, uint64_t file_offset, uint64_t address)
{
    uint64_t bias = address - file_offset;
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && base_read_at(fd, &header, sizeof header, 0) == 0)
        for (unsigned i = 0; i < header.e_phnum; i++)
            if (base_read_at(fd, &segment, sizeof segment, header.e_phoff + sizeof segment * i) ==
                    0 &&
                segment.p_type == PT_LOAD && file_offset - segment.p_offset < segment.p_filesz)
                bias = address - (segment.p_vaddr + (file_offset - segment.p_offset));
    if (fd >= 0)
        (void)close(fd);
    return bias;
}

/* Where objects were reported, for libdw takes each at one place only.  */
static struct {
    char name[200];
    uint64_t bias;
} reported[256];
static size_t reported_count;

/* False: the file is reported at another place.  */
static bool note_place(const char *name, uint64_t bias)
{
    for (size_t i = 0; i < reported_count; i++)
        if (strcmp(reported[i].name, name) == 0)
            return reported[i].bias == bias;
    if (reported_count == 256)
        return false;
    (void)snprintf(reported[reported_count].name, sizeof reported->name, "%s", name);
    reported[reported_count++].bias = bias;
    return true;
}

/* Make libdw know the object around an address.  NULL, or why it cannot.  */
static const char *report(struct walk *walk, uint64_t address)
{
    struct perf_trace_place place;
    Dwfl_Module *module;
    uint64_t bias;

    if (!walk->copy->find(walk->copy->finder, address, &place) || place.number == 0 ||
        place.object.name[0] != '/')
        return "code of no file";
    bias = bias_of(place.object.name, place.file_offset, address);
    module = dw.addrmodule(walk->dwfl, address);
    if (module) {
        const char *name = dw.module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

        walk->is_foreign |= !name || strcmp(name, place.object.name) != 0;
        return walk->is_foreign ? "another process" : NULL;
    }
    if (!note_place(place.object.name, bias)) {
        walk->is_foreign = true;
        return "code of a file that is mapped twice";
    }
    dw.report_begin_add(walk->dwfl);
    module = dw.report_elf(walk->dwfl, place.object.name, place.object.name, -1, bias, true);
    (void)dw.report_end(walk->dwfl, NULL, NULL);
    if (!module)
        return dw.errmsg(-1);
    /* An executable that is not relocatable has its own place.  */
    return dw.addrmodule(walk->dwfl, address) == module ? NULL
                                                        : "code of a file that is mapped twice";
}

static struct walk *current; /* the sample of the callbacks */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
    (void)dwfl;
    (void)context;
    if (*thread)
        return 0;
    *thread = current;
    return 1;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    (void)context;
    /* rax rdx rcx rbx rsi rdi rbp rsp r8 to r15, rip, as bits of perf's mask */
    static const unsigned bits[X86_REGISTERS] = { 0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                  17, 18, 19, 20, 21, 22, 23, 8 };
    const struct walk *walk = current;
    Dwarf_Word words[X86_REGISTERS];

    for (unsigned i = 0; i < X86_REGISTERS; i++)
        words[i] = register_of(walk->copy, bits[i]);
    return dw.state_registers(thread, 0, X86_REGISTERS, words);
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *context)
{
    struct walk *walk = current;
    uint64_t offset = address - walk->pointer;

    (void)dwfl;
    (void)context;
    walk->read_below |= address < walk->pointer;
    if (offset > walk->copy->stack_size || walk->copy->stack_size - offset < 8)
        return false;
    memcpy(out, walk->copy->stack + offset, 8);
    return true;
}

static int take_frame(Dwfl_Frame *frame, void *context)
{
    (void)context;
    struct walk *walk = current;
    bool is_exact;
    Dwarf_Addr pc;

    /* Whether a frame is one of a signal needs the object.  */
    if (!dw.frame_pc(frame, &pc, NULL)) {
        walk->end = "no pc";
        return DWARF_CB_ABORT;
    }
    if (pc == 0) {
        walk->end = "pc 0";
        return DWARF_CB_ABORT;
    }
    walk->end = report(walk, pc - (walk->count > 0));
    if (walk->end)
        return DWARF_CB_ABORT;
    if (!dw.frame_pc(frame, &pc, &is_exact) || walk->count == MOST_FRAMES)
        return DWARF_CB_ABORT;
    walk->addresses[walk->count] = pc + (is_exact && walk->count > 0);
    walk->count++;
    return DWARF_CB_OK;
}

static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word crc, char **path)
{
    (void)module;
    (void)data;
    (void)name;
    (void)base;
    (void)file;
    (void)link;
    (void)crc;
    (void)path;
    return -1;
}

/* Modules stay from sample to sample; those of another process, at the same place, do not.  */
static Dwfl *kept;

static void forget(void)
{
    if (kept)
        dw.end(kept);
    kept = NULL;
    reported_count = 0;
}

static void walk_once(struct walk *walk)
{
    static const Dwfl_Thread_Callbacks threads = { .next_thread = next_thread,
                                                   .memory_read = read_memory,
                                                   .set_initial_registers = set_registers };
    static char *debug_path = NULL;
    static Dwfl_Callbacks members;
    bool is_new = !kept;

    members.find_elf = dw.find_elf;
    members.find_debuginfo = no_debug_file;
    members.debuginfo_path = &debug_path;
    if (is_new)
        kept = dw.begin(&members);
    if (!kept) {
        (void)fprintf(stderr, "unwind_peer: %s\n", dw.errmsg(-1));
        exit(4);
    }
    walk->dwfl = kept;
    walk->count = 0;
    walk->is_foreign = false;
    walk->end = report(walk, register_of(walk->copy, 8));
    if (walk->end || (is_new && !dw.attach_state(kept, NULL, 1, &threads, NULL))) {
        if (is_new)
            forget();
        return;
    }
    if (dw.getthread_frames(kept, 1, take_frame, NULL) < 0 && !walk->end)
        walk->end = dw.errmsg(-1);
    if (!walk->end)
        walk->end = walk->read_below ? "below the stack pointer" : "outermost";
}

static void walk_with_libdw(struct walk *walk)
{
    walk->pointer = register_of(walk->copy, 7);
    current = walk;
    walk_once(walk);
    if (!walk->is_foreign)
        return;
    forget();
    walk_once(walk);
    if (walk->is_foreign) /* in this process alone */
        forget();
}

/* The known reason for which libdw fails at an address, or NULL if there is none.  */
static const char *reason_at(const struct walk *walk, uint64_t address)
{
    Dwfl_Module *module = kept ? dw.addrmodule(kept, address) : NULL;
    Dwarf_Frame *frame;
    Dwarf_Op *operations;
    Dwarf_Addr bias;
    size_t count;
    Dwarf_CFI *table = module ? dw.eh_cfi(module, &bias) : NULL;
    bool is_rbx;

    if (!table)
        return NULL;
    if (dw.cfi_frame(table, address - bias, &frame) != 0)
        return "code without a table";
    is_rbx = dw.frame_cfa(frame, &operations, &count) == 0 && count == 1 &&
             operations[0].atom == DW_OP_bregx && operations[0].number == 3;
    free(frame);
    if (is_rbx)
        return "a frame address from rbx";
    return walk->read_below ? "below the stack pointer" : NULL;
}

/* ---- Classes ---- */

static struct {
    char name[400];
    char example[400];
    uint64_t samples;
} classes[MOST_CLASSES];
static size_t class_count;

static void count(const char *name, const char *example)
{
    size_t i = 0;

    while (i < class_count && strcmp(classes[i].name, name) != 0)
        i++;
    if (i == MOST_CLASSES) {
        (void)fprintf(stderr, "unwind_peer: more than %d classes\n", MOST_CLASSES);
        exit(1);
    }
    if (i == class_count) {
        (void)snprintf(classes[i].name, sizeof classes[i].name, "%s", name);
        (void)snprintf(classes[i].example, sizeof classes[i].example, "%s", example);
        class_count++;
    }
    classes[i].samples++;
}

static void describe(const struct perf_trace_copy *copy, uint64_t address, char *out, size_t size)
{
    struct perf_trace_place place;

    if (copy->find(copy->finder, address, &place))
        (void)snprintf(out, size, "%s+0x%" PRIx64, base_name(place.object.name), place.file_offset);
    else
        (void)snprintf(out, size, "nowhere");
}

static const char *object_of(char *place)
{
    char *offset = strrchr(place, '+');

    if (offset)
        *offset = '\0';
    return place;
}

static const char *shown_class; /* NULL: none */

static void show(const char *name, const struct walk *theirs, const uint64_t *ours,
                 size_t our_count)
{
    char left[100], right[100];

    if (!shown_class || strncmp(name, shown_class, strlen(shown_class)) != 0)
        return;
    printf("%s\n", name);
    for (size_t i = 0; i < our_count || i < theirs->count; i++) {
        left[0] = right[0] = '\0';
        if (i < our_count)
            describe(theirs->copy, ours[i], left, sizeof left);
        if (i < theirs->count)
            describe(theirs->copy, theirs->addresses[i], right, sizeof right);
        printf("  %-50s %s\n", left, right);
    }
}

static void compare(const struct walk *theirs, const uint64_t *ours, size_t our_count,
                    const char *our_end)
{
    char place[100], next[100] = "", leaf[100], name[400], example[400];
    const char *reason;
    size_t common = 0;
    uint64_t last;

    while (common < our_count && common < theirs->count &&
           ours[common] == theirs->addresses[common])
        common++;
    if (common == our_count && common == theirs->count) {
        count("equal", "");
        return;
    }
    last = common ? ours[common - 1] - (common > 1) : ours[0];
    describe(theirs->copy, last, place, sizeof place);
    reason = reason_at(theirs, last);
    if (common < our_count)
        describe(theirs->copy, ours[common] - 1, next, sizeof next);
    describe(theirs->copy, ours[0], leaf, sizeof leaf);
    (void)snprintf(example, sizeof example, "%s of %zu and %zu frames; then %s; innermost %s",
                   place, our_count, theirs->count, next, leaf);
    if (common == theirs->count)
        (void)snprintf(name, sizeof name, "ours-goes-on [%s] %s", reason ? reason : theirs->end,
                       object_of(place));
    else if (common == our_count)
        (void)snprintf(name, sizeof name, "libdw-goes-on [%s] %s", our_end, object_of(place));
    else
        (void)snprintf(name, sizeof name, "differ [%s] %s", reason ? reason : "", object_of(place));
    count(name, example);
    show(name, theirs, ours, our_count);
}

/* ---- The file ---- */

struct both {
    struct cli_perf_unwind *ours;
};

static size_t unwind_both(void *context, const struct perf_trace_copy *copy, uint64_t *addresses,
                          size_t capacity, bool *is_whole)
{
    static uint64_t frames[MOST_FRAMES];
    const struct both *both = context;
    struct walk theirs = { .copy = copy };
    size_t found = cli_perf_unwind_stack(both->ours, copy, frames, MOST_FRAMES, is_whole);

    (void)addresses;
    (void)capacity;
    if (found == 0)
        return 0;
    walk_with_libdw(&theirs);
    compare(&theirs, frames, found, *is_whole ? "outermost" : "short");
    return 0;
}

static int by_samples(const void *a, const void *b)
{
    const __typeof__(classes[0]) *left = a, *right = b;

    return (left->samples < right->samples) - (left->samples > right->samples);
}

int main(int argc, char **argv)
{
    static uint8_t buffer[1 << 16];
    const struct sym_options symbols = { .size = sizeof symbols, .no_cache = true };
    struct perf_trace_options options = { .size = sizeof options, .unwind = unwind_both };
    struct perf_data_error error;
    struct sym_session *session;
    struct perf_trace *trace;
    struct both both;
    int fd = argc == 2 || argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0 || sym_session_open(&symbols, &session, NULL) != SYM_OK) {
        (void)fprintf(stderr, "usage: unwind_peer FILE [CLASS]\n");
        return 2;
    }
    shown_class = argc == 3 ? argv[2] : NULL;
    load_libdw();
    both.ours = cli_perf_unwind_open(session);
    options.context = &both;
    if (!both.ours || perf_trace_open(fd, &options, &trace, &error) != PERF_DATA_OK) {
        (void)fprintf(stderr, "%s: %s\n", argv[1], error.message);
        return 3;
    }
    while (perf_trace_read(trace, buffer, sizeof buffer) > 0)
        continue;
    perf_trace_close(trace);
    cli_perf_unwind_close(both.ours);
    sym_session_close(session);
    qsort(classes, class_count, sizeof classes[0], by_samples);
    for (size_t i = 0; i < class_count; i++)
        printf("%s\t%" PRIu64 "\t%s\n", classes[i].name, classes[i].samples, classes[i].example);
    return 0;
}
