/* modules.c - what is loaded, as SetProcessInfo tells it (docs/formats/memory-sampler.md section
 * 5).
 *
 * The list is read at the start, and again when a stack is in an object that it does not have: then
 * dlopen() has added one.  dl_iterate_phdr() is not asked otherwise, since it takes a lock of the
 * loader, which in a forked child may be held by a thread that there is no more.  The list is only
 * added to, so that a child has it whole.  */
#include "sampler-capture/heap/shim/shim.h"

#include "libfxt/fidl/fidl_sampler.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_MODULES  4096
#define MAX_SEGMENTS 4 /* executable ones; linkers make one or two */
#define SEEN         512
#define ATTEMPTS     100 /* at module_lock */

struct loaded {
    uint64_t low, high; /* of all its segments */
    uint8_t build_id[FIDL_MAX_BUILD_ID];
    uint32_t build_id_length;
    uint32_t segment_count;
    struct fidl_segment segments[MAX_SEGMENTS];
};

static struct loaded modules[MAX_MODULES];
static size_t module_count;

/* Objects known to be in the list: by address of their map, and something that differs in another
 * object which took its place.  */
static struct {
    uintptr_t start, mark;
} seen[SEEN];

/* ---- Names ---- */

/* Lines for the file of names, until they are written; under module_lock or at the start.  */
static struct {
    char bytes[16384];
    size_t used;
} names;

static void write_names(void)
{
    long fd;

    if (names.used == 0)
        return;
    fd = syscall(SYS_openat, AT_FDCWD, shim_settings.names_path,
                 O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        (void)syscall(SYS_write, fd, names.bytes, names.used);
        (void)syscall(SYS_close, fd);
    }
    names.used = 0;
}

static void add_name(const struct loaded *module, const char *path)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = strlen(path), line = 2 * (size_t)module->build_id_length + 1 + length + 1;

    if (path[0] != '/' || module->build_id_length == 0 || strchr(path, '\n') ||
        line > sizeof names.bytes)
        return;
    if (line > sizeof names.bytes - names.used)
        write_names();
    for (size_t i = 0; i < module->build_id_length; i++) {
        names.bytes[names.used++] = digits[module->build_id[i] >> 4];
        names.bytes[names.used++] = digits[module->build_id[i] & 15];
    }
    names.bytes[names.used++] = ' ';
    memcpy(names.bytes + names.used, path, length);
    names.used += length;
    names.bytes[names.used++] = '\n';
}

/* The program itself has no name in the loader's list.  */
static void name_object(const struct loaded *module, const struct dl_phdr_info *info)
{
    static char own[4096];
    ssize_t length;

    if (info->dlpi_name && info->dlpi_name[0] != '\0') {
        add_name(module, info->dlpi_name);
        return;
    }
    length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0)
        return;
    own[length] = '\0';
    add_name(module, own);
}

/* ---- Reading ---- */

static uint64_t page_down(uint64_t address)
{
    return address & -(uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_segment(struct loaded *module, const struct dl_phdr_info *info,
                        const ElfW(Phdr) * header)
{
    uint64_t start = page_down(header->p_vaddr);
    uint64_t end = page_down(header->p_vaddr + header->p_memsz + (uint64_t)sysconf(_SC_PAGESIZE) -
                             1);

    if (info->dlpi_addr + start < module->low)
        module->low = info->dlpi_addr + start;
    if (info->dlpi_addr + end > module->high)
        module->high = info->dlpi_addr + end;
    if ((header->p_flags & PF_X) && module->segment_count < MAX_SEGMENTS)
        module->segments[module->segment_count++] = (struct fidl_segment){
            .start_address = info->dlpi_addr + start,
            .size = end - start,
            .relative_address = start,
            .has_start_address = true,
            .has_size = true,
            .has_relative_address = true,
        };
}

/* Notes may be anywhere in the file, but those that are loaded lie in a readable segment.  */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * notes)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) &&
            notes->p_vaddr >= header->p_vaddr && notes->p_filesz <= header->p_filesz &&
            notes->p_vaddr - header->p_vaddr <= header->p_filesz - notes->p_filesz)
            return true;
    }
    return false;
}

/* The protocol has room for 20 bytes: what is longer is cut, as a build ID's start is one too.  */
static void find_build_id(struct loaded *module, const struct dl_phdr_info *info,
                          const ElfW(Phdr) * header)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const uint8_t *next = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
    size_t left = header->p_filesz, align = header->p_align == 8 ? 8 : 4;

    while (left >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        size_t name, descriptor;

        memcpy(&note, next, sizeof note);
        name = sizeof note + (((size_t)note.n_namesz + align - 1) & -align);
        descriptor = ((size_t)note.n_descsz + align - 1) & -align;
        if (name > left || descriptor > left - name)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(next + sizeof note, "GNU", 4) == 0) {
            module->build_id_length = note.n_descsz < FIDL_MAX_BUILD_ID ? note.n_descsz
                                                                        : FIDL_MAX_BUILD_ID;
            memcpy(module->build_id, next + name, module->build_id_length);
            return;
        }
        next += name + descriptor;
        left -= name + descriptor;
    }
}

static bool overlap(const struct loaded *a, const struct loaded *b)
{
    return a->low < b->high && b->low < a->high;
}

static bool is_same(const struct loaded *a, const struct loaded *b)
{
    return a->low == b->low && a->high == b->high && a->build_id_length == b->build_id_length &&
           memcmp(a->build_id, b->build_id, a->build_id_length) == 0;
}

/* Whether the list says that this is what lies there: the last that overlaps it counts.  */
static bool is_known(const struct loaded *module)
{
    for (size_t i = module_count; i-- > 0;)
        if (overlap(&modules[i], module))
            return is_same(&modules[i], module);
    return false;
}

static int take_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct loaded *module = &modules[module_count];

    (void)size, (void)unused;
    if (module_count == MAX_MODULES)
        return 1;
    memset(module, 0, sizeof *module);
    module->low = UINT64_MAX;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD)
            add_segment(module, info, header);
        else if (header->p_type == PT_NOTE && !module->build_id_length && is_loaded(info, header))
            find_build_id(module, info, header);
    }
    if (module->segment_count > 0 && !is_known(module)) {
        name_object(module, info);
        module_count++;
    }
    return 0;
}

void shim_modules_read(void)
{
    (void)dl_iterate_phdr(take_object, NULL);
    write_names();
}

/* ---- Telling ---- */

/* Whoever finds the lock taken for long goes on: to wait could be for ever, inside a callback of
 * dl_iterate_phdr().  Somebody is just looking then, and what is told later gives addresses their
 * meaning too.  */
bool shim_modules_lock(void)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        if (shim_trylock(&shim_process->module_lock))
            return true;
        (void)sched_yield();
    }
    return false;
}

/* As many modules as fit into one message; 0: not even one could be sent.  */
static size_t tell_some(const char *name)
{
    static struct fidl_module_source sources[MAX_MODULES]; /* under module_lock */
    size_t first = shim_process->modules_told;
    size_t count = module_count - first, length;

    for (size_t i = 0; i < count; i++) {
        const struct loaded *module = &modules[first + i];

        sources[i] = (struct fidl_module_source){
            .build_id = module->build_id_length ? module->build_id : NULL,
            .build_id_length = module->build_id_length,
            .segments = module->segments,
            .segment_count = module->segment_count,
        };
    }
    while (fidl_encode_process_info(FIDL_GENERATION_2, name, sources, count, shim_process->info,
                                    sizeof shim_process->info, &length) != FIDL_OK)
        count /= 2; /* without any it always fits */
    if (shim_send(shim_process->info, length) != SHIM_SENT) {
        if (shim_process->losses)
            shim_count(&shim_process->losses->infos);
        return 0;
    }
    shim_process->modules_told = first + count;
    return count;
}

void shim_modules_tell(void)
{
    char name[32] = "";

    (void)prctl(PR_GET_NAME, name, 0, 0, 0);
    if (tell_some(name) > 0)
        while (shim_process->modules_told < module_count && tell_some(NULL) > 0)
            ;
}

/* ---- Modules of a stack ---- */

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35: asks without a lock */

/* Whether the object at pc is one that was looked for before; otherwise it is noted.  */
static bool was_seen(uint64_t pc)
{
    struct dl_find_object object;
    uintptr_t start, mark;
    size_t at;

    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (_dl_find_object((void *)pc, &object) != 0)
        return true; /* code of no object */
    start = (uintptr_t)object.dlfo_map_start;
    mark = (uintptr_t)object.dlfo_eh_frame ^ (uintptr_t)object.dlfo_map_end;
    at = (start >> 12) * 0x9e3779b1U >> 7 & (SEEN - 1);
    if (seen[at].start == start && seen[at].mark == mark)
        return true;
    seen[at].start = start;
    seen[at].mark = mark;
    return false;
}

static bool is_changed(const uint64_t *stack, size_t count)
{
    bool changed = false;

    for (size_t i = 0; i < count; i++)
        changed |= !was_seen(stack[i] - 1);
    return changed;
}

#else

static int take_counts(struct dl_phdr_info *info, size_t size, void *counts)
{
    (void)size;
    *(uint64_t *)counts = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

static bool is_changed(const uint64_t *stack, size_t count)
{
    uint64_t counts = 0, before = seen[0].start;

    (void)stack, (void)count;
    (void)dl_iterate_phdr(take_counts, &counts);
    seen[0].start = counts;
    return counts != before;
}

#endif

void shim_modules_check(const uint64_t *stack, size_t count)
{
    if (!shim_modules_lock())
        return;
    if (is_changed(stack, count))
        shim_modules_read();
    while (shim_process->modules_told < module_count && tell_some(NULL) > 0)
        ;
    shim_unlock(&shim_process->module_lock);
}
