/* history.h - histories of costs as people and programs read them.
 *
 *   history_options.c  what can be asked
 *   history_find.c     from a set of runs to the outputs
 *   commit_order.c  commits by their labels, and their order
 *   commit_git.c    what a repository knows of them
 *   history_text.c, history_json.c, history_page.c   the outputs
 */
#ifndef CMD_HISTORY_H
#define CMD_HISTORY_H

#include <fxt/compare_history.h>

#include "cmd/cli/cli.h"

/* ---- Commits ---- */

struct commit {
    char *label;   /* as given: a hash, a tag, a name */
    char *hash;    /* in the repository; NULL: none */
    char *subject; /* first line of its message; NULL: unknown */
};

enum history_order {
    HISTORY_AUTO = 0,  /* as git has them, or by name */
    HISTORY_GIT = 1,   /* parents before children; commits must be in the repository */
    HISTORY_NAME = 2,  /* by name, numbers in names by value */
    HISTORY_GIVEN = 3, /* as they were added */
};
extern const char *const history_orders[]; /* their names, NULL at the end */

struct commits {
    struct commit *items;
    size_t count, capacity;
    const char *order; /* after commits_sort(): a phrase on the order that they have */
    const char *note;  /* why it is not git's, though it might be; NULL: nothing to say */
};

/* The number of the commit with that label, which is copied; added if it is new.  */
uint32_t commits_add(struct commits *commits, const char *label);
void commits_release(struct commits *commits);

/* Leave out commits without runs.  to, one of each, becomes their new numbers.  */
void commits_keep(struct commits *commits, const size_t *runs, uint32_t *to);

/* Order them; numbers of commits before are no longer valid, but *to is filled in with the new one
 * of each, from malloc().  repository: a folder in a git work tree, or "" for none.  CLI_OK, or
 * CLI_USAGE after a message: order is HISTORY_GIT, but the repository does not have them all.  */
enum cli_exit commits_sort(struct commits *commits, enum history_order order,
                           const char *repository, uint32_t **to);

#define HISTORY_NO_REPOSITORY "there is no git repository"
#define HISTORY_NO_COMMITS    "no run is named after a commit of the git repository"

/* commit_git.c: ask the repository for hashes and subjects.  *ranks is filled in with the place of
 * each in the order of git rev-list, from malloc().  False: it does not know all of them; *why says
 * so, a static phrase.  */
bool commits_ask_git(struct commits *commits, const char *repository, uint64_t **ranks,
                     const char **why);

/* ---- A request ---- */

struct history_request {
    struct compare_history_options options;
    enum history_order order;
    const char *repository; /* of commits_sort() */
    const char *html;       /* where to write the page; NULL: nowhere */
    const char *title;      /* of the page */
    bool json;
    size_t rows;   /* series in the text; 0: all */
    size_t recent; /* of history_status() */
};

/* Defaults; the options for a command, and what takes one.  False: the key is none of theirs.  */
enum { HISTORY_OPTION_KEYS = 3000 };
extern const struct cli_option history_options[];
void history_request_init(struct history_request *request);
bool history_option(struct history_request *request, int key, const struct cli_parser *parser);

/* After the last option.  Ends the program with CLI_USAGE if an output would replace an input.  */
void history_check(struct history_request *request, const struct cli_texts *operands);

/* Find the change points, and write what was asked for.  of_run: the number of the commit of each
 * run of the set.  Runs without samples are left out with a warning.  The commits are sorted, and
 * of_run with them.  */
enum cli_exit history_find(const struct history_request *request, const struct compare_set *set,
                           struct commits *commits, uint32_t *of_run);

/* ---- Outputs ---- */

struct history_view {
    const struct compare_history *history;
    const struct commits *commits; /* those of the history, by number */
    size_t rows;                   /* series in the text; 0: all */
    const char *title;             /* of the page */
};

typedef void (*history_write_fn)(const struct history_view *view, struct cli_output *output);
void history_write_text(const struct history_view *view, struct cli_output *output);
void history_write_json(const struct history_view *view, struct cli_output *output);
void history_write_page(const struct history_view *view, struct cli_output *output);

/* CLI_OK; CLI_INCONCLUSIVE with too few commits; CLI_DIFFERENT if a cost began to grow in one of
 * the last recent commits.  If recent is 0, no growth is a failure.  */
enum cli_exit history_status(const struct history_view *view, size_t recent);

/* The one JSON object of both; html: no tag can begin in it.  */
struct json;
void history_put_json(const struct history_view *view, struct json *json);

/* ---- What the outputs share ---- */

/* A hash is cut to 12 digits.  */
struct history_label {
    char text[64];
};
struct history_label history_label(const struct commit *commit);

/* The name of a series: "total", or that of its function.  */
const char *history_name(const struct history_view *view,
                         const struct compare_history_series *series);

#endif /* CMD_HISTORY_H */
