#include "cmd/fxtq/line_editor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "cmd/cli/cli.h"
#include "cmd/fxtq/sql_session.h"

#ifdef FXTQ_HAVE_LIBEDIT

#include <editline/readline.h>

#define HISTORY_LINES 2000

static lines_words complete_with;
static const char *files_behind;
static char *history_path; /* NULL: there is no place for it */

const char *lines_library(void)
{
    return "libedit";
}

/* ---- Completion ---- */

/* libedit asks for the matches one after the other; state is 0 for the first.  */
static char *next_match(const char *text, int state)
{
    static size_t index;
    const char *word;
    char *copy;

    if (state == 0)
        index = 0;
    word = complete_with(text, index++, rl_line_buffer ? rl_line_buffer : "");
    if (!word)
        return NULL;
    copy = strdup(word);
    return copy;
}

static char **complete(const char *text, int start, int end)
{
    (void)start;
    (void)end;
    rl_attempted_completion_over = !rl_line_buffer ||
                                   strncmp(rl_line_buffer, files_behind, strlen(files_behind)) != 0;
    if (!rl_attempted_completion_over)
        return NULL;
    return rl_completion_matches(text, next_match);
}

/* ---- History ---- */

/* $XDG_STATE_HOME/fxtq/history, whose folders are made.  */
static char *find_history(void)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;

    if (state && *state == '/')
        path = cli_join(state, "/fxtq/history");
    else if (home && *home == '/')
        path = cli_join(home, "/.local/state/fxtq/history");
    for (char *slash = path ? strchr(path + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            free(path);
            return NULL;
        }
        *slash = '/';
    }
    return path;
}

/* A Control-D that is typed while a statement runs ends the input of the terminal as it is then:
 * libedit, which has it otherwise, gets a NUL.  */
#define CONTROL_D '\4'
static bool at_start;

/* Wait for a character.  False: Control-C was typed, also if that was just before this call.  */
static bool wait_for_character(int fd)
{
    struct pollfd input = { .fd = fd, .events = POLLIN };
    sigset_t interrupt, before;
    int ready = 0;

    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &interrupt, &before);
    while (!interrupt_seen() && (ready = ppoll(&input, 1, NULL, &before)) < 0 && errno == EINTR)
        continue;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return ready > 0 || !interrupt_seen();
}

/* The next character from the terminal.  libedit's own goes on reading after a signal; this one
 * gives up, so that Control-C leaves the line.  */
static int read_character(FILE *stream)
{
    mbstate_t state = { 0 };
    wchar_t character;
    size_t size = (size_t)-2;

    while (size == (size_t)-2) {
        char byte;
        ssize_t got = wait_for_character(fileno(stream)) ? read(fileno(stream), &byte, 1) : 0;

        if (got < 0 && errno == EINTR && !interrupt_seen())
            continue;
        if (got != 1)
            return EOF;
        if (byte == '\0' && at_start)
            byte = CONTROL_D;
        at_start = false;
        size = mbrtowc(&character, &byte, 1, &state);
        if (size == (size_t)-1) /* not of the locale's encoding */
            return '?';
    }
    return (int)character;
}

void lines_start(lines_words words, const char *file_command)
{
    static char breaks[] = " \t\n\"\\'`@$><=;|&{(,*+-/%";

    complete_with = words;
    files_behind = file_command;
    rl_getc_function = read_character;
    rl_readline_name = "fxtq";
    rl_attempted_completion_function = complete;
    rl_completion_append_character = 0; /* a bracket or comma may follow */
    rl_completer_word_break_characters = breaks;
    using_history();
    stifle_history(HISTORY_LINES);
    history_path = find_history();
    if (history_path)
        (void)read_history(history_path);
}

void lines_end(void)
{
    if (history_path && write_history(history_path) == 0)
        (void)chmod(history_path, 0600); /* what somebody asked is nobody else's business */
    free(history_path);
    history_path = NULL;
}

char *lines_read(const char *prompt)
{
    at_start = true;
    return readline(prompt);
}

/* The history has one line for a statement: line ends become blanks, and comments that go on to
 * them, which would swallow the rest, nothing.  */
static void join_lines(char *line)
{
    char *to = line, quote = 0;

    for (const char *from = line; *from; from++) {
        if (quote) {
            quote = *from == quote ? 0 : quote;
        } else if (*from == '\'' || *from == '"' || *from == '`') {
            quote = *from;
        } else if (from[0] == '-' && from[1] == '-') {
            from += strcspn(from, "\n");
            if (*from == '\0')
                break;
        }
        *to++ = *from == '\n' ? ' ' : *from;
    }
    *to = '\0';
}

void lines_remember(const char *statement)
{
    char *line = strdup(statement);

    if (line) {
        join_lines(line);
        (void)add_history(line);
    }
    free(line);
}

#else

const char *lines_library(void)
{
    return "no libedit";
}

void lines_start(lines_words words, const char *file_command)
{
    (void)words;
    (void)file_command;
}

void lines_end(void)
{
}

char *lines_read(const char *prompt)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;

    (void)fputs(prompt, stdout);
    (void)fflush(stdout);
    length = getline(&line, &capacity, stdin);
    if (length < 0) {
        clearerr(stdin); /* SIGINT is no end */
        free(line);
        return NULL;
    }
    if (length > 0 && line[length - 1] == '\n')
        line[length - 1] = '\0';
    return line;
}

void lines_remember(const char *statement)
{
    (void)statement;
}

#endif
