#include "sampler-capture/heap/shim/spawn.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in glibc since 2.29; what its tags are, we learn.  */
struct action {
    int tag;
    union {
        int fd; /* of close and fchdir */
        struct {
            int fd;
            int new_fd;
        } dup2;
        struct {
            int fd;
            char *path;
            int flags;
            mode_t mode;
        } open;
        char *path; /* of chdir */
    } action;
};

enum {
    CHDIR,
    FCHDIR,
    OPEN,
    DUP2,
    CLOSE,
    KINDS,
};

static struct {
    bool is_known;
    int tags[KINDS];
} layout;

#define SAMPLE_PATH "/fxt"
#define SAMPLE_FD   5
#define OTHER_FD    6

static const struct action *list_of(const posix_spawn_file_actions_t *actions)
{
    return (const void *)actions->__actions;
}

static bool add_samples(posix_spawn_file_actions_t *actions)
{
    int (*add_chdir)(posix_spawn_file_actions_t *, const char *) = (int (*)(
        posix_spawn_file_actions_t *, const char *))dlsym(RTLD_NEXT,
                                                          "posix_spawn_file_actions_addchdir_np");
    int (*add_fchdir)(posix_spawn_file_actions_t *, int) = (int (*)(
        posix_spawn_file_actions_t *, int))dlsym(RTLD_NEXT,
                                                 "posix_spawn_file_actions_addfchdir_np");

    return add_chdir && add_fchdir && add_chdir(actions, SAMPLE_PATH) == 0 &&
           add_fchdir(actions, SAMPLE_FD) == 0 &&
           posix_spawn_file_actions_addopen(actions, SAMPLE_FD, SAMPLE_PATH, O_RDONLY, 0) == 0 &&
           posix_spawn_file_actions_adddup2(actions, SAMPLE_FD, OTHER_FD) == 0 &&
           posix_spawn_file_actions_addclose(actions, SAMPLE_FD) == 0;
}

static bool are_as_expected(const posix_spawn_file_actions_t *actions)
{
    const struct action *each = list_of(actions);

    if (actions->__used != KINDS)
        return false;
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < i; j++)
            if (each[i].tag == each[j].tag)
                return false;
    return each[FCHDIR].action.fd == SAMPLE_FD && each[OPEN].action.open.fd == SAMPLE_FD &&
           each[DUP2].action.dup2.fd == SAMPLE_FD && each[DUP2].action.dup2.new_fd == OTHER_FD &&
           each[CLOSE].action.fd == SAMPLE_FD &&
           strcmp(each[CHDIR].action.path, SAMPLE_PATH) == 0 &&
           strcmp(each[OPEN].action.open.path, SAMPLE_PATH) == 0;
}

void spawn_learn(void)
{
    posix_spawn_file_actions_t actions;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return;
    layout.is_known = add_samples(&actions) && are_as_expected(&actions);
    for (int i = 0; layout.is_known && i < KINDS; i++)
        layout.tags[i] = list_of(&actions)[i].tag;
    (void)posix_spawn_file_actions_destroy(&actions);
}

/* Whether the first of the actions leave the descriptor as it is here.  */
static bool is_untouched(const struct action *actions, int count, int fd)
{
    for (int i = 0; i < count; i++) {
        const struct action *each = &actions[i];

        if (each->tag == layout.tags[CHDIR] || each->tag == layout.tags[FCHDIR])
            continue;
        if (each->tag == layout.tags[DUP2] ? each->action.dup2.new_fd == fd
            : each->tag == layout.tags[OPEN] || each->tag == layout.tags[CLOSE]
                ? each->action.fd == fd
                : true)
            return false;
    }
    return true;
}

static void close_folder(int folder_fd)
{
    if (folder_fd != AT_FDCWD)
        (void)syscall(SYS_close, folder_fd);
}

bool spawn_find_folder(const posix_spawn_file_actions_t *actions, int *folder_fd)
{
    int folder = AT_FDCWD;

    *folder_fd = AT_FDCWD;
    if (!actions || actions->__used == 0)
        return true;
    for (int i = 0; layout.is_known && i < actions->__used; i++) {
        const struct action *each = &list_of(actions)[i];
        int next = folder;

        if (each->tag == layout.tags[CHDIR])
            next = (int)syscall(SYS_openat, folder, each->action.path,
                                O_PATH | O_DIRECTORY | O_CLOEXEC);
        else if (each->tag == layout.tags[FCHDIR])
            next = is_untouched(list_of(actions), i, each->action.fd)
                       ? (int)syscall(SYS_openat, each->action.fd, ".",
                                      O_PATH | O_DIRECTORY | O_CLOEXEC)
                       : -1;
        if (next != folder)
            close_folder(folder);
        if (next == -1)
            return false;
        folder = next;
    }
    *folder_fd = folder;
    return layout.is_known;
}
