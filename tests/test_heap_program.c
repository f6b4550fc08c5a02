/* Which programs get rights when they start, so that nothing can be preloaded into them
 * (program.h): what we say of a file, against what the kernel does (AT_SECURE, getauxval(3)).  */
#include "sampler-capture/heap/program.h"

#include <check.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NOBODY 65534

enum {
    NO_NEW_PRIVILEGES = 1,
    NO_SETUID_MOUNT = 2,
    UNREADABLE = 4, /* but for root */
    SAVED_ROOT = 8, /* the user could be root again, and keeps what capabilities that has */
};

/* Of a file's capabilities (capabilities(7)).  */
enum { NO_CAPS, CAP_EP, CAP_P, CAP_I, CAP_IE };

static const struct {
    const char *name;
    uid_t owner;
    mode_t mode;
    int caps;
    uid_t real, effective;
    gid_t real_group, effective_group;
    int flags;
} starts[] = {
    { "an ordinary file", 0, 0755, NO_CAPS, 0, 0, 0, 0, 0 },
    { "an ordinary file and user", 0, 0755, NO_CAPS, NOBODY, NOBODY, NOBODY, NOBODY, 0 },
    { "set-user-ID of another user", NOBODY, 04755, NO_CAPS, 0, 0, 0, 0, 0 },
    { "set-user-ID of root", 0, 04755, NO_CAPS, NOBODY, NOBODY, NOBODY, NOBODY, 0 },
    { "set-user-ID of the own user", NOBODY, 04755, NO_CAPS, NOBODY, NOBODY, NOBODY, NOBODY, 0 },
    { "set-user-ID of the effective user", NOBODY, 04755, NO_CAPS, 0, NOBODY, 0, 0, 0 },
    { "no new privileges", NOBODY, 04755, NO_CAPS, 0, 0, 0, 0, NO_NEW_PRIVILEGES },
    { "a mount without them", NOBODY, 04755, NO_CAPS, 0, 0, 0, 0, NO_SETUID_MOUNT },
    { "set-group-ID", NOBODY, 02755, NO_CAPS, 0, 0, 0, 0, 0 },
    { "set-group-ID of no program", NOBODY, 02745, NO_CAPS, 0, 0, 0, 0, 0 },
    { "another effective user", 0, 0755, NO_CAPS, 0, NOBODY, 0, 0, 0 },
    { "another real user", 0, 0755, NO_CAPS, NOBODY, 0, 0, 0, 0 },
    { "another effective group", 0, 0755, NO_CAPS, 0, 0, 0, NOBODY, 0 },
    { "another user and no new ones", 0, 0755, NO_CAPS, 0, NOBODY, 0, 0, NO_NEW_PRIVILEGES },
    { "capabilities", 0, 0755, CAP_EP, NOBODY, NOBODY, NOBODY, NOBODY, 0 },
    { "capabilities for root", 0, 0755, CAP_EP, 0, 0, 0, 0, 0 },
    { "permitted ones", 0, 0755, CAP_P, NOBODY, NOBODY, NOBODY, NOBODY, 0 },
    { "inheritable ones", 0, 0755, CAP_I, NOBODY, NOBODY, NOBODY, NOBODY, 0 },
    { "effective ones alone", 0, 0755, CAP_IE, NOBODY, NOBODY, NOBODY, NOBODY, 0 },
    { "no new capabilities", 0, 0755, CAP_EP, NOBODY, NOBODY, NOBODY, NOBODY, NO_NEW_PRIVILEGES },
    { "no new permitted ones", 0, 0755, CAP_P, NOBODY, NOBODY, NOBODY, NOBODY, NO_NEW_PRIVILEGES },
    { "permitted ones again", 0, 0755, CAP_P, NOBODY, NOBODY, NOBODY, NOBODY,
      NO_NEW_PRIVILEGES | SAVED_ROOT },
    { "capabilities, mount", 0, 0755, CAP_EP, NOBODY, NOBODY, NOBODY, NOBODY, NO_SETUID_MOUNT },
    { "unreadable set-user-ID", 0, 04711, NO_CAPS, NOBODY, NOBODY, NOBODY, NOBODY, UNREADABLE },
    { "unreadable capabilities", 0, 0711, CAP_EP, NOBODY, NOBODY, NOBODY, NOBODY, UNREADABLE },
    { "unreadable", 0, 0711, NO_CAPS, NOBODY, NOBODY, NOBODY, NOBODY, UNREADABLE },
};

#define FOLDER "/tmp/heap-program.XXXXXX"

static char folder[sizeof FOLDER];
static char path[sizeof folder + 16];

static void copy_self(void)
{
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    struct stat status;

    ck_assert(from >= 0 && to >= 0 && fstat(from, &status) == 0);
    for (off_t left = status.st_size; left > 0;) {
        ssize_t size = sendfile(to, from, NULL, (size_t)left);

        ck_assert_int_gt(size, 0);
        left -= size;
    }
    ck_assert(close(from) == 0 && close(to) == 0);
}

static void set_caps(int caps)
{
    const uint32_t net_raw = 1 << 13;
    uint32_t words[5] = { 0x02000000U | (caps == CAP_EP || caps == CAP_IE) };

    words[caps == CAP_I || caps == CAP_IE ? 2 : 1] = net_raw;
    if (caps != NO_CAPS)
        ck_assert_int_eq(setxattr(path, "security.capability", words, sizeof words, 0), 0);
}

static void set_up(void)
{
    (void)snprintf(folder, sizeof folder, FOLDER);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chmod(folder, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/program", folder);
}

static void tear_down(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

/* Ends with what the kernel says of the program: 0 or 1; 2 more if ours is not the same.  */
static void become_and_run(size_t row)
{
    struct program program;
    const struct program_start start = { .folder_fd = AT_FDCWD,
                                         .own = &(struct program_loader){ 0, 0 } };

    if (setgroups(0, NULL) != 0 ||
        setresgid(starts[row].real_group, starts[row].effective_group, (gid_t)-1) != 0 ||
        setresuid(starts[row].real, starts[row].effective,
                  (starts[row].flags & SAVED_ROOT) ? 0 : starts[row].effective) != 0 ||
        ((starts[row].flags & NO_NEW_PRIVILEGES) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0))
        _exit(10);
    program_read_at(&program, AT_FDCWD, path, &start);
    (void)execl(path, path, program.kind == PROGRAM_PRIVILEGED ? "gains" : "plain", (char *)NULL);
    _exit(11);
}

START_TEST(knows_who_gains_rights)
{
    bool has_mount = (starts[_i].flags & NO_SETUID_MOUNT) != 0;
    int status;
    pid_t child;

    if (geteuid() != 0)
        return;
    child = fork();
    if (child == 0) {
        if (has_mount && (unshare(CLONE_NEWNS) != 0 ||
                          mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
                          mount("none", folder, "tmpfs", MS_NOSUID, "mode=755") != 0))
            _exit(12);
        copy_self();
        if (chown(path, starts[_i].owner, starts[_i].owner) != 0 ||
            chmod(path, starts[_i].mode) != 0)
            _exit(13);
        set_caps(starts[_i].caps);
        become_and_run((size_t)_i);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "%s: status %x", starts[_i].name, (unsigned)status);
    if (has_mount && WEXITSTATUS(status) == 12)
        return; /* in a container */
    ck_assert_msg(WEXITSTATUS(status) < 2, "%s: exit status %d", starts[_i].name,
                  WEXITSTATUS(status));
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite;
    TCase *tcase;
    SRunner *runner;
    int failed;

    if (argc > 1 && (strcmp(argv[1], "gains") == 0 || strcmp(argv[1], "plain") == 0)) {
        bool is_secure = getauxval(AT_SECURE) != 0;

        _exit(is_secure + 2 * (is_secure != (strcmp(argv[1], "gains") == 0))); /* no leak check */
    }
    suite = suite_create("heap_program");
    tcase = tcase_create("rights");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, knows_who_gains_rights, 0, (int)(sizeof starts / sizeof *starts));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
