/* commit_git.c - what a repository knows of commits: hashes, order, subjects.
 *
 * Labels come from files and may be anything: git gets them on its standard input, where none is an
 * option, and each followed by ^{commit}, so that it is one commit or nothing.  */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/numbering.h"
#include "cmd/history/history.h"

/* ---- Running git ---- */

/* A file without a name that holds what git reads: no pipe, which would have to be written while
 * another is read.  */
static FILE *open_input(void)
{
    FILE *file = tmpfile();

    if (!file)
        cli_error("a temporary file: %s", strerror(errno));
    return file;
}

static pid_t start(FILE *input, const char *const *argv, int *out)
{
    int ends[2];
    pid_t pid;

    if (fflush(input) != 0 || fseek(input, 0, SEEK_SET) != 0 || pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    (void)lseek(fileno(input), 0, SEEK_SET);
    pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        (void)dup2(fileno(input), STDIN_FILENO);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        (void)execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    (void)close(ends[1]);
    *out = ends[0];
    if (pid < 0)
        (void)close(ends[0]);
    return pid;
}

typedef void (*line_fn)(void *context, char *line);

/* Run it, and pass on each line that it prints.  Returns its status, 127 if it could not start.  */
static int run(FILE *input, const char *const *argv, line_fn take, void *context)
{
    int fd, status = -1;
    pid_t pid = start(input, argv, &fd);
    char *line = NULL;
    size_t room = 0;
    FILE *output;

    if (pid < 0)
        return 127;
    output = fdopen(fd, "r");
    if (!output)
        cli_out_of_memory();
    for (ssize_t length; (length = getline(&line, &room, output)) > 0;) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        take(context, line);
    }
    free(line);
    (void)fclose(output);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- Hashes ---- */

struct hashes {
    struct commits *commits;
    size_t at; /* lines so far */
};

static bool is_hash(const char *text, size_t length)
{
    return (length == 40 || length == 64) && strspn(text, "0123456789abcdef") >= length;
}

static void take_hash(void *context, char *line)
{
    struct hashes *hashes = context;
    size_t length = strcspn(line, " ");

    if (hashes->at < hashes->commits->count && is_hash(line, length) &&
        strcmp(line + length, " commit") == 0) {
        line[length] = '\0';
        hashes->commits->items[hashes->at].hash = cli_join(line, "");
    }
    hashes->at++;
}

/* NULL, or why it could not be done.  */
static const char *find_hashes(struct commits *commits, const char *repository)
{
    const char *const argv[] = {
        "git", "-C", repository, "cat-file", "--batch-check=%(objectname) %(objecttype)", NULL
    };
    struct hashes hashes = { .commits = commits };
    FILE *input = open_input();
    size_t found = 0;
    int status = 127;

    for (size_t i = 0; input && i < commits->count; i++)
        (void)fprintf(input, "%s^{commit}\n", commits->items[i].label);
    if (input) {
        status = run(input, argv, take_hash, &hashes);
        (void)fclose(input);
    }
    if (status != 0)
        return status == 127 ? "git could not be started" : HISTORY_NO_REPOSITORY;
    for (size_t i = 0; i < commits->count; i++)
        found += commits->items[i].hash != NULL;
    if (found == 0 || hashes.at != commits->count)
        return HISTORY_NO_COMMITS;
    return found < commits->count ? "not every commit is in the git repository" : NULL;
}

/* ---- Order ---- */

struct ranks {
    struct commits *commits;
    struct base_texts hashes; /* number i is that of a hash */
    uint32_t *numbers;        /* of each commit */
    uint64_t *of_hash;        /* [number - 1]: place from 1 on */
    char **subjects;          /* likewise; owned */
    uint32_t current;         /* number of the hash whose lines come; 0: another one */
    uint64_t place;
};

/* "commit HASH", then "=" and the subject.  */
static void take_rank(void *context, char *line)
{
    struct ranks *ranks = context;

    if (strncmp(line, "commit ", 7) == 0) {
        ranks->current = base_texts_find(&ranks->hashes, line + 7, strlen(line + 7));
        ranks->place++;
        if (ranks->current)
            ranks->of_hash[ranks->current - 1] = ranks->place;
    } else if (*line == '=' && ranks->current && !ranks->subjects[ranks->current - 1]) {
        ranks->subjects[ranks->current - 1] = cli_join(line + 1, "");
    }
}

static bool find_ranks(struct ranks *ranks, const char *repository)
{
    const char *const argv[] = { "git",          "-C",           repository,
                                 "rev-list",     "--topo-order", "--reverse",
                                 "--format==%s", "--stdin",      NULL };
    FILE *input = open_input();
    bool ok = input != NULL;

    for (size_t i = 0; ok && i < ranks->commits->count; i++)
        (void)fprintf(input, "%s\n", ranks->commits->items[i].hash);
    ok = ok && run(input, argv, take_rank, ranks) == 0;
    for (size_t i = 0; ok && i < ranks->hashes.count; i++)
        ok = ranks->of_hash[i] > 0;
    if (input)
        (void)fclose(input);
    return ok;
}

static void number_hashes(struct ranks *ranks)
{
    struct commits *commits = ranks->commits;

    ranks->numbers = cli_allocate(commits->count, sizeof *ranks->numbers);
    ranks->of_hash = cli_allocate(commits->count, sizeof *ranks->of_hash);
    ranks->subjects = cli_allocate(commits->count, sizeof *ranks->subjects);
    for (size_t i = 0; i < commits->count; i++) {
        const char *hash = commits->items[i].hash;

        ranks->numbers[i] = base_texts_add(&ranks->hashes, hash, strlen(hash), NULL);
        if (ranks->numbers[i] == 0)
            cli_out_of_memory();
    }
}

bool commits_ask_git(struct commits *commits, const char *repository, uint64_t **ranks_out,
                     const char **why)
{
    struct ranks ranks = { .commits = commits };
    bool ok;

    *why = find_hashes(commits, repository);
    if (*why) {
        for (size_t i = 0; i < commits->count; i++) {
            free(commits->items[i].hash);
            commits->items[i].hash = NULL;
        }
        return false;
    }
    number_hashes(&ranks);
    ok = find_ranks(&ranks, repository);
    *ranks_out = cli_allocate(commits->count, sizeof **ranks_out);
    for (size_t i = 0; ok && i < commits->count; i++) {
        const char *subject = ranks.subjects[ranks.numbers[i] - 1];

        (*ranks_out)[i] = ranks.of_hash[ranks.numbers[i] - 1];
        commits->items[i].subject = subject ? cli_join(subject, "") : NULL;
    }
    for (size_t i = 0; i < commits->count; i++)
        free(ranks.subjects[i]);
    free(ranks.subjects);
    free(ranks.of_hash);
    free(ranks.numbers);
    base_texts_release(&ranks.hashes);
    if (!ok)
        *why = "git rev-list has failed";
    return ok;
}
