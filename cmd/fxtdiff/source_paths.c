/* source_paths.c - paths of the debug information as CI systems want them: relative to the
 * repository.
 *
 * The compiler writes what it was given, joined with the folder in which it ran, or what
 * -ffile-prefix-map made of that.  A file of the repository is found by its beginning, or else by
 * its end.  */
#include "cmd/fxtdiff/source_paths.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

/* ---- The repository ---- */

static bool is_there(const char *folder, const char *name)
{
    char *slash = cli_join(folder, "/"), *path = cli_join(slash, name);
    bool found = access(path, F_OK) == 0;

    free(slash);
    free(path);
    return found;
}

/* The working directory or the folder above it that is a repository.  NULL: none; else owned.  */
static char *find_repository(void)
{
    char *folder = getcwd(NULL, 0);

    while (folder && *folder && !is_there(folder, ".git"))
        *strrchr(folder, '/') = '\0'; /* absolute */
    if (folder && *folder)
        return folder;
    free(folder);
    return NULL;
}

/* Where CI systems check out, without slashes at its end; else the repository.  NULL: unknown; else
 * owned.  */
static char *find_root(void)
{
    static const char *const variables[] = { "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE" };

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        size_t length = value ? strlen(value) : 0;
        char *root;

        while (length > 0 && value[length - 1] == '/')
            length--;
        if (length == 0 || *value != '/')
            continue;
        root = cli_join(value, "");
        root[length] = '\0';
        return root;
    }
    return find_repository();
}

/* ---- Paths ---- */

/* In place: without empty parts and "."; ".." is left at the beginning of a relative path only.  */
static void normalize(char *path)
{
    bool absolute = *path == '/';
    char *begin = path + absolute, *out = begin, *start = begin; /* ".." ends at start */
    const char *at = path;

    while (*at) {
        size_t length = strcspn(at, "/");
        bool above = length == 2 && at[0] == '.' && at[1] == '.';

        if (above && out > start) {
            while (out > start && *--out != '/')
                ;
        } else if (length > 0 && !(length == 1 && *at == '.') && !(above && absolute)) {
            if (out > begin)
                *out++ = '/';
            memmove(out, at, length);
            out += length;
            if (above)
                start = out;
        }
        at += length + strspn(at + length, "/");
    }
    *out = '\0';
}

/* What follows a folder in a path; NULL: it does not lie below.  */
static const char *below(const char *path, const char *folder)
{
    size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

/* A checkout may lie below the workspace: the path from the outermost repository on.  */
static const char *in_repository(const char *path, const char *root)
{
    const char *rest = below(path, root);
    char *folder = cli_join(path, "");

    for (const char *end = rest - 1; end; end = strchr(end + 1, '/')) {
        folder[end - path] = '\0';
        if (is_there(folder, ".git")) {
            rest = end + 1;
            break;
        }
        folder[end - path] = '/';
    }
    free(folder);
    return rest;
}

/* The longest end of a path that is a file of the repository.  A name alone could be that of many
 * files: it counts below one folder at most, which the compiler's option made up.  */
static const char *end_in_repository(const char *path, const char *root)
{
    const char *end = path + (*path == '/');
    size_t parts = 1;

    for (const char *at = end; *at; at++)
        parts += *at == '/';
    for (bool is_whole = parts <= 2; parts >= (is_whole ? 1 : 2); parts--) {
        if (is_there(root, end))
            return end;
        end += strcspn(end, "/");
        end += *end == '/';
    }
    return NULL;
}

/* A relative path that is one of the working directory, with it.  Takes path over.  */
static char *absolute(char *path)
{
    char *folder = getcwd(NULL, 0), *slash, *whole;

    if (!folder)
        return path;
    slash = cli_join(folder, "/");
    whole = cli_join(slash, path);
    normalize(whole);
    free(folder);
    free(slash);
    free(path);
    return whole;
}

char *diff_source_path(const char *file)
{
    static char *root;
    static bool is_known;
    char *path = cli_join(file, "");
    const char *found = NULL;

    if (!is_known)
        root = find_root();
    is_known = true;
    normalize(path);
    if (!*path || !root || (*path != '/' && is_there(root, path)))
        return path;
    if (*path != '/' && access(path, F_OK) == 0)
        path = absolute(path);
    if (below(path, root))
        found = in_repository(path, root);
    else if (access(path, F_OK) != 0)
        found = end_in_repository(path, root);
    if (found)
        memmove(path, found, strlen(found) + 1);
    return path;
}

/* ---- The workflow ---- */

/* "owner/name/.github/workflows/gate.yml@refs/heads/main".  */
static char *github_workflow(void)
{
    const char *reference = getenv("GITHUB_WORKFLOW_REF");
    const char *start = reference ? strstr(reference, "/.github/") : NULL;
    char *path = start ? cli_join(start + 1, "") : NULL;

    if (path)
        path[strcspn(path, "@")] = '\0';
    return path;
}

char *diff_workflow_path(void)
{
    char *path = github_workflow();
    const char *config = getenv("CI_CONFIG_PATH");

    if (path)
        return path;
    if (!getenv("GITLAB_CI"))
        return NULL;
    /* "gate.yml@group/project" and URLs are not in this repository.  */
    return cli_join(config && *config && !strpbrk(config, "@:") ? config : ".gitlab-ci.yml", "");
}
