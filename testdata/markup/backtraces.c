/* A program that logs backtraces of itself as Fuchsia's do: in symbolizer markup.
 *
 *   backtraces FORM COUNT    FORM: none, logger, kernel, profiler
 *
 * Each of COUNT rounds, in two threads, logs four backtraces: leaf() was called directly, around a
 * function that is inlined, the same again, and out of a recursion.  Lines that say whose they are
 * come as the threads get to it, others one thread after the other.  */
#define _GNU_SOURCE
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };

static char form;
static unsigned process = 4242;
static __thread unsigned thread = 4243;
static const char *self; /* path of the program, which the linker does not say */

/* What stands before an element.  */
static void prefix(void)
{
    if (form == 'l')
        printf("[00012.345678][%u][%u][backtraces, demo] INFO: ", process, thread);
    else if (form == 'k')
        printf("[00012.345] %05u:%05u> ", process, thread);
}

/* ---- Modules ---- */

static void log_build_id(const struct dl_phdr_info *object)
{
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader named it */
        const char *next = (const char *)(object->dlpi_addr + header->p_vaddr),
                   *end = next + header->p_memsz;

        while (header->p_type == PT_NOTE && end - next >= (long)sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;

            memcpy(&note, next, sizeof note);
            next += sizeof note;
            if (note.n_type == 3 && memcmp(next, "GNU", 4) == 0)
                for (unsigned k = 0; k < note.n_descsz; k++)
                    printf("%02x", (unsigned char)next[4 + k]);
            next += ((note.n_namesz + 3) & ~3u) + ((note.n_descsz + 3) & ~3u);
        }
    }
}

static int log_module(struct dl_phdr_info *object, size_t size, void *context)
{
    unsigned *id = context;

    (void)size;
    prefix();
    printf("{{{module:%u:%s:elf:", *id, *id ? object->dlpi_name : self);
    log_build_id(object);
    printf("}}}\n");
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        unsigned long start = header->p_vaddr & -4096ul,
                      end = (header->p_vaddr + header->p_memsz + 4095) & -4096ul;

        if (header->p_type != PT_LOAD)
            continue;
        prefix();
        printf("{{{mmap:%#lx:%#lx:load:%u:%s%s%s:%#lx}}}\n", object->dlpi_addr + start, end - start,
               *id, header->p_flags & 4 ? "r" : "", header->p_flags & 2 ? "w" : "",
               header->p_flags & 1 ? "x" : "", start);
    }
    ++*id;
    return 0;
}

/* ---- Backtraces ---- */

__attribute__((noinline, noclone)) void leaf(void)
{
    void *frames[DEPTH];
    int count = backtrace(frames, DEPTH);

    if (form == 'p')
        printf("%u\n%u\n", process, thread);
    for (int i = 0; i < count; i++) {
        flockfile(stdout);
        prefix();
        printf("{{{bt:%d:%#lx:ra}}}\n", i, (unsigned long)frames[i]);
        funlockfile(stdout);
    }
}

static inline __attribute__((always_inline)) void inlined(void)
{
    leaf();
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) void direct(void)
{
    leaf();
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) void around(void)
{
    inlined();
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) void recursive(int depth)
{
    if (depth > 0)
        recursive(depth - 1);
    else
        direct();
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) void rounds(int count)
{
    for (int i = 0; i < count; i++) {
        direct();
        around();
        around();
        recursive(3);
    }
}

static void *other(void *count)
{
    thread = 4244;
    rounds(*(const int *)count);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned id = 0;
    int count = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    pthread_t second;

    if (count < 1)
        return 2;
    form = argv[1][0];
    self = realpath(argv[0], NULL);
    prefix();
    printf("{{{reset}}}\n");
    dl_iterate_phdr(log_module, &id);
    if (form != 'l' && form != 'k')
        rounds(count);
    if (pthread_create(&second, NULL, other, &count) != 0)
        return 1;
    if (form == 'l' || form == 'k')
        rounds(count);
    return pthread_join(second, NULL);
}
