#include "sampler-capture/keep.h"

#include "base/file.h"
#include "cmd/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WAITING 64 /* files, each a descriptor */
#define NAME_SIZE   (2 * ELF_IMAGE_MAX_BUILD_ID + 40)

struct waiting {
    int fd;
    uint8_t build_id[ELF_IMAGE_MAX_BUILD_ID];
    size_t build_id_size;
};

struct keeper {
    int tree_fd; /* of FOLDER/.build-id */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct waiting waiting[MAX_WAITING]; /* a ring */
    size_t first, count;
    bool is_over;
    struct keep_result result;
};

/* ---- Files ---- */

static bool make_folder(int at_fd, const char *path)
{
    return mkdirat(at_fd, path, 0777) == 0 || errno == EEXIST;
}

struct keeper *keeper_open(const char *folder)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);
    int folder_fd, cause;

    if (!keeper)
        return NULL;
    keeper->tree_fd = -1;
    folder_fd = make_folder(AT_FDCWD, folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                              : -1;
    if (folder_fd >= 0 && make_folder(folder_fd, ".build-id"))
        keeper->tree_fd = openat(folder_fd, ".build-id", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cause = errno;
    if (folder_fd >= 0)
        (void)close(folder_fd);
    if (keeper->tree_fd < 0) {
        free(keeper);
        errno = cause;
        return NULL;
    }
    (void)pthread_mutex_init(&keeper->lock, NULL);
    (void)pthread_cond_init(&keeper->changed, NULL);
    return keeper;
}

/* "xx/yyyy.debug".  */
static void name_file(const struct waiting *file, char name[NAME_SIZE])
{
    size_t used = 0;

    for (size_t i = 0; i < file->build_id_size; i++)
        used += (size_t)snprintf(name + used, NAME_SIZE - used, "%02x%s", file->build_id[i],
                                 i == 0 ? "/" : "");
    (void)snprintf(name + used, NAME_SIZE - used, ".debug");
}

/* 0 or an errno value.  The file may be written while it is copied: then it is no module any
 * more.  */
static int copy_bytes(int from, int to, uint64_t size)
{
    static char block[1 << 17]; /* of the one thread */
    uint64_t offset = 0;

    while (offset < size) {
        size_t some = size - offset < sizeof block ? (size_t)(size - offset) : sizeof block;
        int error = base_read_at(from, block, some, offset);

        if (error == 0)
            error = base_write_all(to, block, some);
        if (error)
            return error;
        offset += some;
    }
    return 0;
}

/* Under a name of our own first.  0 or an errno value.  */
static int copy_file(const struct keeper *keeper, const struct waiting *file, const char *name,
                     uint64_t size)
{
    char part[NAME_SIZE + 32], folder[3] = { name[0], name[1], '\0' };
    int to, error;

    if (!make_folder(keeper->tree_fd, folder))
        return errno;
    (void)snprintf(part, sizeof part, "%s.%d.part", name, (int)getpid());
    to = openat(keeper->tree_fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (to < 0)
        return errno;
    error = copy_bytes(file->fd, to, size);
    if (close(to) != 0 && error == 0)
        error = errno;
    if (error == 0 && renameat(keeper->tree_fd, part, keeper->tree_fd, name) != 0)
        error = errno;
    if (error)
        (void)unlinkat(keeper->tree_fd, part, 0);
    return error;
}

static void keep(const struct keeper *keeper, const struct waiting *file,
                 struct keep_result *result)
{
    char name[NAME_SIZE];
    struct stat status;
    int error;

    name_file(file, name);
    if (faccessat(keeper->tree_fd, name, F_OK, 0) == 0) {
        result->there++;
        return;
    }
    if (fstat(file->fd, &status) != 0 || status.st_size <= 0) {
        result->gone++;
        return;
    }
    if ((uint64_t)status.st_size > KEEP_MAX_BYTES - result->kept_bytes) {
        result->left_out++;
        return;
    }
    error = copy_file(keeper, file, name, (uint64_t)status.st_size);
    if (error == 0) {
        result->kept++;
        result->kept_bytes += (uint64_t)status.st_size;
        return;
    }
    if (result->failed++ == 0)
        result->error = error;
}

/* ---- The thread ---- */

static void *work(void *context)
{
    struct keeper *keeper = context;

    (void)pthread_mutex_lock(&keeper->lock);
    for (;;) {
        struct keep_result result;
        struct waiting file;

        while (keeper->count == 0 && !keeper->is_over)
            (void)pthread_cond_wait(&keeper->changed, &keeper->lock);
        if (keeper->count == 0)
            break;
        file = keeper->waiting[keeper->first];
        keeper->first = (keeper->first + 1) % MAX_WAITING;
        keeper->count--;
        (void)pthread_cond_signal(&keeper->changed);
        result = (struct keep_result){ .kept_bytes = keeper->result.kept_bytes,
                                       .failed = keeper->result.failed,
                                       .error = keeper->result.error };
        (void)pthread_mutex_unlock(&keeper->lock);
        keep(keeper, &file, &result);
        (void)close(file.fd);
        (void)pthread_mutex_lock(&keeper->lock);
        keeper->result.kept += result.kept;
        keeper->result.there += result.there;
        keeper->result.gone += result.gone;
        keeper->result.left_out += result.left_out;
        keeper->result.kept_bytes = result.kept_bytes;
        keeper->result.failed = result.failed;
        keeper->result.error = result.error;
    }
    (void)pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

/* Not before the first file, so that no process is forked while there is a thread.  */
static bool has_thread(struct keeper *keeper)
{
    if (!keeper->has_thread)
        keeper->has_thread = pthread_create(&keeper->thread, NULL, work, keeper) == 0;
    return keeper->has_thread;
}

static void add(struct keeper *keeper, const struct waiting *file)
{
    while (keeper->count == MAX_WAITING)
        (void)pthread_cond_wait(&keeper->changed, &keeper->lock);
    keeper->waiting[(keeper->first + keeper->count++) % MAX_WAITING] = *file;
    (void)pthread_cond_signal(&keeper->changed);
}

void keeper_take(struct keeper *keeper, int fd, const struct elf_image *image)
{
    struct waiting file = { .build_id_size = image->build_id_size };

    memcpy(file.build_id, image->build_id, image->build_id_size);
    (void)pthread_mutex_lock(&keeper->lock);
    if (file.build_id_size < 2) {
        keeper->result.unnamed++;
    } else if ((file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0 || !has_thread(keeper)) {
        if (file.fd >= 0)
            (void)close(file.fd);
        if (keeper->result.failed++ == 0)
            keeper->result.error = errno;
    } else {
        add(keeper, &file);
    }
    (void)pthread_mutex_unlock(&keeper->lock);
}

void keeper_miss(struct keeper *keeper)
{
    (void)pthread_mutex_lock(&keeper->lock);
    keeper->result.gone++;
    (void)pthread_mutex_unlock(&keeper->lock);
}

struct keep_result keeper_finish(struct keeper *keeper)
{
    (void)pthread_mutex_lock(&keeper->lock);
    keeper->is_over = true;
    (void)pthread_cond_signal(&keeper->changed);
    (void)pthread_mutex_unlock(&keeper->lock);
    if (keeper->has_thread)
        (void)pthread_join(keeper->thread, NULL);
    keeper->has_thread = false;
    return keeper->result;
}

void keeper_close(struct keeper *keeper)
{
    if (!keeper)
        return;
    (void)keeper_finish(keeper);
    (void)close(keeper->tree_fd);
    (void)pthread_cond_destroy(&keeper->changed);
    (void)pthread_mutex_destroy(&keeper->lock);
    free(keeper);
}

/* ---- Telling ---- */

void keep_summarize(const struct keep_result *result, const char *folder, bool quiet)
{
    if (!quiet)
        cli_note("%s: %s copied, %.1f MiB; %" PRIu64 " were there", folder,
                 cli_counted(result->kept, "module", "modules"),
                 (double)result->kept_bytes / (1 << 20), result->there);
    if (result->failed)
        cli_warning("%s: %s not copied: %s", folder,
                    cli_counted(result->failed, "module was", "modules were"),
                    strerror(result->error));
    if (result->left_out)
        cli_warning("%s: %s not copied, since all together would be more than %" PRIu64 " GiB",
                    folder, cli_counted(result->left_out, "module was", "modules were"),
                    KEEP_MAX_BYTES >> 30);
    if (result->gone)
        cli_warning("%s: %s not copied: the file was gone, or another one, when it was looked for",
                    folder, cli_counted(result->gone, "module was", "modules were"));
    if (result->unnamed)
        cli_warning("%s: %s not copied, because of a missing build ID: link with -Wl,--build-id",
                    folder, cli_counted(result->unnamed, "module was", "modules were"));
}
