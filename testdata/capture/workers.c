/* workers - a server's master process with children that give up rights, as servers have them.
 *
 *   workers WHAT [NAME]
 *
 * Each of three children allocates 500 blocks of 100 bytes, after what WHAT says.  Ends with 0.  */

// NOLINTBEGIN(concurrency-mt-unsafe,bugprone-*)
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static void allocate(void)
{
    void *volatile block;

    for (int i = 0; i < 500; i++) {
        block = malloc(100);
        free(block);
    }
}

static void drop_rights(void)
{
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(9);
}

/* In a child of its own.  */
static void apart(void (*work)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        work();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        _exit(8);
}

static void work(const char *what, const char *name)
{
    if (strcmp(what, "none") == 0) {
        allocate();
    } else if (strcmp(what, "user") == 0) { /* nginx: the master forks, the worker drops */
        drop_rights();
        allocate();
    } else if (strcmp(what, "before") == 0) { /* it has allocated before */
        allocate();
        drop_rights();
    } else if (strcmp(what, "generations") == 0) { /* who dropped forks */
        drop_rights();
        apart(allocate);
    } else if (strcmp(what, "effective") == 0) { /* it could have them again */
        if (setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)
            _exit(9);
        allocate();
    } else if (strcmp(what, "root") == 0) { /* a folder of its own, as sshd */
        if (chroot("/proc/self/fd") != 0 || chdir("/") != 0)
            _exit(9);
        drop_rights();
        allocate();
    } else if (strcmp(what, "exec") == 0) { /* postgres is started by another user's shell */
        drop_rights();
        execl(name, name, "none", (char *)NULL);
        _exit(7);
    } else if (strcmp(what, "closed") == 0) { /* daemons close what they have not opened */
        closefrom(3);
        allocate();
    } else if (strcmp(what, "closed-user") == 0) {
        closefrom(3);
        drop_rights();
        allocate();
    } else {
        _exit(6);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (int i = 0; i < 3; i++) {
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            work(argv[1], argv[0]);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            (void)printf("child: %x\n", (unsigned)status);
            return 1;
        }
        if (strcmp(argv[1], "none") == 0) /* of an exec: one is enough */
            return 0;
    }
    return 0;
}
// NOLINTEND(concurrency-mt-unsafe,bugprone-*)
