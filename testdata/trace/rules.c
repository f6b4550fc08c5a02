/* What programs do that they should not, or seldom do; what comes of it is said on stdout.
 *
 *   rules blobs | alerts | observers     with FXT_TRACE_FILE
 *   rules categories NAME                until its input ends
 *   rules descriptors                    until its input ends; u uses them up, f frees them
 *   rules closed                         until its input ends; c closes all but the first three
 *                                        and makes others of their numbers, s says whether it is
 *                                        recorded                                              */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fxt/trace.h>

static trace_provider_t *create(const char *name)
{
    trace_provider_t *provider = trace_provider_create_with_name(name);

    if (!provider)
        abort();
    return provider;
}

/* ---- Blobs that nobody ends, and such that are too large ---- */

static void *begin_blob(void *none)
{
    trace_context_t *context = trace_acquire_context();
    trace_string_ref_t name = trace_make_inline_c_string_ref("never ended");

    if (!trace_context_begin_write_blob_record(context, TRACE_BLOB_TYPE_DATA, &name, 16))
        abort();
    return none;
}

static void blobs(void)
{
    static const char bytes[40000];
    trace_string_ref_t name = trace_make_inline_c_string_ref("too large");
    trace_provider_t *provider = create("blobs");
    trace_context_t *context;
    pthread_t thread;

    if (pthread_create(&thread, NULL, begin_blob, NULL) != 0 || pthread_join(thread, NULL) != 0)
        abort();
    trace_provider_destroy(provider);
    provider = create("blobs again"); /* as nobody writes to the memory any more */
    context = trace_acquire_context();
    TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "too large", bytes, sizeof bytes);
    trace_context_write_blob_record(context, TRACE_BLOB_TYPE_DATA, &name, bytes, sizeof bytes);
    if (trace_context_begin_write_blob_record(context, TRACE_BLOB_TYPE_DATA, &name, sizeof bytes))
        abort();
    TRACE_INSTANT("rules", "after blobs", TRACE_SCOPE_THREAD);
    trace_provider_destroy(provider);
}

/* ---- An alert that no manager took does not reach the next one ---- */

static void alerts(void)
{
    trace_provider_t *provider = create("alerts");

    TRACE_ALERT("rules", "stale");
    trace_provider_destroy(provider);
    if (unsetenv("FXT_TRACE_FILE") != 0)
        abort();
    (void)create("alerts again");
    TRACE_ALERT("rules", "fresh");
    (void)puts("done");
    (void)fflush(stdout);
    (void)getchar();
}

/* ---- Observers are told; one to which a write would block is left out ---- */

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void observers(void)
{
    int first = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), full = eventfd(0, EFD_CLOEXEC);
    trace_provider_t *provider;
    eventfd_t told = 0;

    /* Writing to the second one would block.  */
    if (eventfd_write(full, UINT64_MAX - 1) != 0 || trace_register_observer(full) != 0 ||
        trace_register_observer(first) != 0)
        abort();
    provider = create("observers");
    if (eventfd_read(first, &told) != 0)
        abort();
    (void)printf("told %d at the start", (int)told);
    trace_provider_destroy(provider);
    if (eventfd_read(first, &told) != 0)
        abort();
    (void)printf(", %d at the stop\n", (int)told);
}

/* ---- Until the input ends ---- */

static void known_categories(const char *name)
{
    static char too_long[102];

    memset(too_long, 'x', sizeof too_long - 1);
    trace_provider_add_known_category("first", NULL);
    trace_provider_add_known_category(too_long, "too long");
    trace_provider_add_known_category("no text\xff", "");
    trace_provider_add_known_category("\x1b[31mred\tand\nlines", "a\tb\n\x07");
    trace_provider_add_known_category("last", "the last one");
    (void)create(name);
    (void)getchar();
}

static void descriptors(void)
{
    static int fds[256];
    const struct rlimit limit = { 256, 256 };
    int count = 0;

    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        abort();
    (void)create("descriptors");
    for (int c; (c = getchar()) != EOF;) {
        if (c == 'u')
            while (count < 256 && (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
                count++;
        else if (c == 'f')
            while (count > 0)
                (void)close(fds[--count]);
        else
            continue;
        (void)printf("%c\n", c);
        (void)fflush(stdout);
    }
}

/* ---- A program that closes what is not its own ---- */

#define LEAST 890 /* the library takes numbers from 900 on */
#define OWN   30

/* Eventfds are alike in all but their number.  */
static void make_own(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0)
        abort();
    for (int i = 0; i < OWN; i++)
        if (dup2(fd, LEAST + i) < 0)
            abort();
    (void)close(fd);
}

/* Nobody has closed them, written to them, or changed what they are.  */
static void check_own(void)
{
    eventfd_t count;

    for (int i = 0; i < OWN; i++)
        if (eventfd_read(LEAST + i, &count) == 0 || errno != EAGAIN)
            (void)printf("descriptor %d is used by others\n", LEAST + i);
}

static void closed(void)
{
    const struct rlimit limit = { 1024, 1024 };
    bool has_own = false;

    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        abort();
    (void)create("closed");
    for (int c; (c = getchar()) != EOF;) {
        if (c == 'c') {
            if (close_range(3, ~0u, 0) != 0)
                abort();
            make_own();
            has_own = true;
            (void)printf("c\n");
        } else if (c == 's')
            (void)printf("%s\n", TRACE_ENABLED() ? "recorded" : "not recorded");
        (void)fflush(stdout);
    }
    if (has_own)
        check_own();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int64_t begun = now_ms();

    if (strcmp(what, "blobs") == 0)
        blobs();
    else if (strcmp(what, "alerts") == 0)
        alerts();
    else if (strcmp(what, "observers") == 0)
        observers();
    else if (strcmp(what, "categories") == 0)
        known_categories(argc > 2 ? argv[2] : NULL);
    else if (strcmp(what, "descriptors") == 0)
        descriptors();
    else if (strcmp(what, "closed") == 0)
        closed();
    (void)fprintf(stderr, "%s: %d ms\n", what, (int)(now_ms() - begun));
    return 0;
}
