/* shim_modules.c - what is loaded, as SetProcessInfo tells it (docs/formats/memory-sampler.md
 * section 5).
 *
 * The list is read at the start.  When a stack is in an object that it does not have, dlopen() has
 * added that: it is read by itself.  dl_iterate_phdr() is not asked then, since it takes a lock of
 * the loader, which in a forked child may be held by a thread that there is no more.  The list is
 * only added to, so that a child has it whole.  */
#include "sampler-capture/heap/shim/shim.h"
#include "sampler-capture/heap/shim/shim_object.h"

#include <fxt/fidl_sampler.h>

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
#define SEEN         1024
#define SEEN_TRIES   8
#define ATTEMPTS     100 /* at module_lock */

struct loaded {
    uint64_t low, high; /* of all its segments */
    uint8_t build_id[FIDL_MAX_BUILD_ID];
    uint32_t build_id_length;
    uint32_t segment_count;
    struct fidl_segment segments[MAX_SEGMENTS];
};

static struct loaded modules[MAX_MODULES];
static _Atomic size_t module_count;

/* Objects known to be in the list, by a hash of what tells one from another that took its place; in
 * the order of their addresses' hashes, the first of SEEN_TRIES that was free.  */
static _Atomic uint64_t seen[SEEN];
/* How often the loader had added and removed objects when they were read; for old glibcs.  */
static _Atomic uint64_t changes_read;

/* ---- Names ---- */

/* Lines for the file of names, until they are written; under module_lock or at the start.  */
static struct shim_names names = { .kind = HEAP_GATE_NAMES };

static void write_names(void)
{
    if (names.used > 0)
        shim_send_names(&names);
    names.used = 0;
}

/* What was loaded by a relative path, in the folder where the program is now, if it is there.  */
static const char *absolute(const char *path)
{
    static char whole[4096];
    size_t size;
    long length;

    if (path[0] == '/')
        return path;
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    size = strlen(path) + 1;
    length = syscall(SYS_getcwd, whole, sizeof whole); /* with the zero at its end */
    if (length < 2 || whole[0] != '/' || size > sizeof whole - (size_t)length)
        return path;
    whole[length - 1] = '/';
    memcpy(whole + length, path, size);
    return syscall(SYS_faccessat, AT_FDCWD, whole, F_OK) == 0 ? whole : path;
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
        add_name(module, absolute(info->dlpi_name));
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
    const uint8_t *notes = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
    size_t length;
    const uint8_t *id = shim_find_build_id(notes, header->p_filesz, header->p_align == 8 ? 8 : 4,
                                           &length);

    if (!id)
        return;
    module->build_id_length = length < FIDL_MAX_BUILD_ID ? (uint32_t)length : FIDL_MAX_BUILD_ID;
    memcpy(module->build_id, id, module->build_id_length);
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

/* Add an object to the list, unless it is there.  */
static void read_object(const struct dl_phdr_info *info)
{
    struct loaded *module = &modules[module_count];

    if (module_count == MAX_MODULES)
        return;
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
}

static int take_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    changes_read = info->dlpi_adds + info->dlpi_subs;
    read_object(info);
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
    switch (shim_send(shim_process->info, length)) {
    case SHIM_SENT:
        shim_process->modules_told = first + count;
        return count;
    case SHIM_DROPPED:
        shim_count(&shim_losses()->infos);
        break;
    case SHIM_CLOSED: /* the next connection is told of all */
    case SHIM_AWAY:
    case SHIM_GONE:
        break;
    }
    return 0;
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

static bool was_seen(uint64_t mark)
{
    for (size_t i = 0; i < SEEN_TRIES; i++)
        if (atomic_load_explicit(&seen[((mark >> 32) + i) & (SEEN - 1)], memory_order_relaxed) ==
            mark)
            return true;
    return false;
}

/* Its own frames are in no stack.  */
static bool is_shim(const struct dl_find_object *object)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));

    return object->dlfo_map_start == __ehdr_start;
}

void shim_modules_visit(struct cfi_walk *walk, const struct dl_find_object *object, uint64_t mark)
{
    walk->is_unknown |= !is_shim(object) && !was_seen(mark);
}

/* Calls each object that frames are in, which often is that of the one before; false if a call
 * returned that.  */
static bool each_object(const uint64_t *frames, size_t count,
                        bool (*call)(const struct dl_find_object *object))
{
    uint64_t start = 0, size = 0;
    bool all = true;

    for (size_t i = 0; i < count; i++) {
        struct dl_find_object object;

        if (frames[i] - 1 - start < size)
            continue;
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        if (_dl_find_object((void *)(uintptr_t)(frames[i] - 1), &object) != 0)
            continue; /* code of no object */
        start = (uint64_t)(uintptr_t)object.dlfo_map_start;
        size = (uint64_t)(uintptr_t)object.dlfo_map_end - start;
        all &= call(&object);
    }
    return all;
}

static bool is_seen(const struct dl_find_object *object)
{
    return was_seen(shim_object_mark(object));
}

bool shim_modules_know(const uint64_t *frames, size_t count)
{
    return each_object(frames, count, is_seen);
}

static bool read_mapped(const struct dl_find_object *object)
{
    struct dl_phdr_info info = { .dlpi_addr = object->dlfo_link_map->l_addr,
                                 .dlpi_name = object->dlfo_link_map->l_name };
    size_t count;

    info.dlpi_phdr = shim_object_headers(object, &count);
    if (!info.dlpi_phdr)
        return false;
    info.dlpi_phnum = (ElfW(Half))count;
    read_object(&info);
    return true;
}

/* Under module_lock.  */
static bool learn(const struct dl_find_object *object)
{
    if (!is_seen(object) && !read_mapped(object))
        shim_modules_read();
    return true;
}

static bool note(const struct dl_find_object *object)
{
    uint64_t mark = shim_object_mark(object);
    size_t first = mark >> 32, at = first & (SEEN - 1);

    if (was_seen(mark))
        return true;
    for (size_t i = 0; i < SEEN_TRIES; i++) {
        if (atomic_load_explicit(&seen[(first + i) & (SEEN - 1)], memory_order_relaxed) == 0) {
            at = (first + i) & (SEEN - 1);
            break;
        }
    }
    atomic_store_explicit(&seen[at], mark, memory_order_relaxed);
    return true;
}

static void learn_objects(const struct shim_stack *stack)
{
    (void)each_object(stack->frames, stack->count, learn);
    write_names();
}

static void note_objects(const struct shim_stack *stack)
{
    (void)each_object(stack->frames, stack->count, note);
}

#else

static int take_changes(struct dl_phdr_info *info, size_t size, void *changes)
{
    (void)size;
    *(uint64_t *)changes = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

void shim_modules_visit(struct cfi_walk *walk, const struct dl_find_object *object, uint64_t mark)
{
    (void)walk, (void)object, (void)mark;
}

bool shim_modules_know(const uint64_t *frames, size_t count)
{
    uint64_t changes = 0;

    (void)frames, (void)count;
    (void)dl_iterate_phdr(take_changes, &changes);
    return changes == atomic_load(&changes_read);
}

static void learn_objects(const struct shim_stack *stack)
{
    (void)stack;
    shim_modules_read();
}

static void note_objects(const struct shim_stack *stack)
{
    (void)stack; /* take_object() did */
}

#endif

void shim_modules_check(const struct shim_stack *stack)
{
    if (!stack->is_unknown &&
        atomic_load_explicit(&shim_process->modules_told, memory_order_relaxed) ==
            atomic_load_explicit(&module_count, memory_order_relaxed))
        return;
    if (!shim_modules_lock())
        return;
    if (stack->is_unknown)
        learn_objects(stack);
    while (shim_process->modules_told < module_count && tell_some(NULL) > 0)
        ;
    if (stack->is_unknown)
        note_objects(stack); /* now, so that other threads wait for what they are in, too */
    shim_unlock(&shim_process->module_lock);
}
