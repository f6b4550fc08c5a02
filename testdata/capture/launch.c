/* launch - starts a program in one of the ways there are, and ends as that does.
 *
 *   launch WAY PROGRAM [ARGUMENT]   at most one argument; launch ways: prints their names
 *   launch as USER WAY PROGRAM...   the same as another user and group, given by number */

// NOLINTBEGIN(concurrency-mt-unsafe,bugprone-*)
#include <fcntl.h>
#include <grp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const ways[] = {
    "execve",       "execv",        "execvp",       "execvpe",         "execl",
    "execlp",       "execle",       "fexecve",      "fexecve-by-path", "vfork",
    "posix_spawn",  "posix_spawnp", "spawn-chdir",  "spawn-chdir2",    "spawn-fchdir",
    "spawn-search", "spawn-opened", "spawn-closes", "system",
};

static int end_as(pid_t child)
{
    int status;

    if (child <= 0 || waitpid(child, &status, 0) != child)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int vfork_and_wait(char **argv)
{
    pid_t child = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested */

    if (child == 0) {
        execve(argv[0], argv, environ);
        _exit(97);
    }
    return end_as(child);
}

static int spawn(char **argv, int by_search)
{
    pid_t child;

    if (by_search ? posix_spawnp(&child, argv[0], NULL, NULL, argv, environ)
                  : posix_spawn(&child, argv[0], NULL, NULL, argv, environ))
        return 96;
    return end_as(child);
}

/* The program in its folder, where the child goes first.  */
static int spawn_in_folder(const char *way, char **argv)
{
    char *slash = strrchr(argv[0], '/'), name[256], folder[256];
    posix_spawn_file_actions_t actions;
    int status, by_search = strcmp(way, "spawn-search") == 0;
    pid_t child;

    if (!slash)
        return 94;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - argv[0]), argv[0]);
    (void)snprintf(name, sizeof name, "%s%s", by_search ? "" : "./", slash + 1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, 77);
    if (strcmp(way, "spawn-fchdir") == 0) {
        posix_spawn_file_actions_addfchdir_np(&actions, open(folder, O_RDONLY | O_CLOEXEC));
    } else if (strcmp(way, "spawn-opened") == 0) {
        posix_spawn_file_actions_addopen(&actions, 50, folder, O_RDONLY, 0);
        posix_spawn_file_actions_addfchdir_np(&actions, 50);
        posix_spawn_file_actions_addclose(&actions, 50);
    } else if (strcmp(way, "spawn-chdir2") == 0) {
        posix_spawn_file_actions_addchdir_np(&actions, "/");
        posix_spawn_file_actions_addfchdir_np(&actions, open(".", O_RDONLY | O_CLOEXEC));
        posix_spawn_file_actions_addchdir_np(&actions, folder);
    } else if (strcmp(way, "spawn-closes") == 0) {
        (void)snprintf(name, sizeof name, "%s", argv[0]);
    } else {
        posix_spawn_file_actions_addchdir_np(&actions, folder);
    }
    if (by_search)
        (void)setenv("PATH", ".", 1);
    argv[0] = name;
    status = by_search ? posix_spawnp(&child, name, &actions, NULL, argv, environ)
                       : posix_spawn(&child, name, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return status ? 96 : end_as(child);
}

static int run_shell(char **argv)
{
    char line[4096];
    int status;

    (void)snprintf(line, sizeof line, "exec %s %s", argv[0], argv[1] ? argv[1] : "");
    status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int launch(const char *way, char **argv)
{
    if (strcmp(way, "execve") == 0)
        execve(argv[0], argv, environ);
    else if (strcmp(way, "execv") == 0)
        execv(argv[0], argv);
    else if (strcmp(way, "execvp") == 0)
        execvp(argv[0], argv);
    else if (strcmp(way, "execvpe") == 0)
        execvpe(argv[0], argv, environ);
    else if (strcmp(way, "execl") == 0)
        execl(argv[0], argv[0], argv[1], (char *)NULL);
    else if (strcmp(way, "execlp") == 0)
        execlp(argv[0], argv[0], argv[1], (char *)NULL);
    else if (strcmp(way, "execle") == 0 && !argv[1])
        execle(argv[0], argv[0], (char *)NULL, environ);
    else if (strcmp(way, "execle") == 0)
        execle(argv[0], argv[0], argv[1], (char *)NULL, environ);
    else if (strcmp(way, "fexecve") == 0)
        fexecve(open(argv[0], O_RDONLY), argv, environ); /* not O_CLOEXEC, for scripts */
    else if (strcmp(way, "fexecve-by-path") == 0)
        fexecve(open(argv[0], O_PATH), argv, environ);
    else if (strncmp(way, "spawn-", 6) == 0)
        return spawn_in_folder(way, argv);
    else if (strcmp(way, "vfork") == 0)
        return vfork_and_wait(argv);
    else if (strcmp(way, "system") == 0)
        return run_shell(argv);
    else
        return spawn(argv, strcmp(way, "posix_spawnp") == 0);
    perror(argv[0]);
    return 127;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "ways") == 0) {
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
            puts(ways[i]);
        return 0;
    }
    if (argc > 3 && strcmp(argv[1], "as") == 0) {
        const id_t id = (id_t)strtoul(argv[2], NULL, 10);

        if (setgroups(0, NULL) != 0 || setgid(id) != 0 || setuid(id) != 0)
            return 95;
        argv += 2;
        argc -= 2;
    }
    return argc < 3 ? 2 : launch(argv[1], argv + 2);
}
// NOLINTEND(concurrency-mt-unsafe,bugprone-*)
