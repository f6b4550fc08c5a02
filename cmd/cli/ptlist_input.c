#include "cmd/cli/ptlist_input.h"

#include "libptlist/ptlist.h"

#include <string.h>

#ifdef FXT_HAVE_INSN
bool cli_ptlist_is(const char *path)
{
    return ptlist_is(path);
}

enum cli_exit cli_ptlist_open(const char *path, struct ptlist **out)
{
    char message[4400];

    if (ptlist_open(path, out, message, sizeof message))
        return CLI_OK;
    cli_error("%s", message);
    return CLI_ENVIRONMENT;
}

ptrdiff_t cli_ptlist_read(void *list, void *buffer, size_t size)
{
    return ptlist_read(list, buffer, size);
}

enum cli_exit cli_ptlist_report(const char *path, const struct ptlist *list)
{
    const struct ptlist_counts *counts;
    enum cli_exit status = CLI_OK;

    if (!list)
        return CLI_OK;
    counts = ptlist_counts(list);
    if (counts->unknown_bytes)
        cli_note("%s: %s of packets left out: no record of the kernel shows which process they "
                 "belong to (the .ktrace file)",
                 path, cli_counted(counts->unknown_bytes, "byte", "bytes"));
    if (counts->kernel_bytes)
        cli_note("%s: %s of packets left out: they belong to the kernel's own address space", path,
                 cli_counted(counts->kernel_bytes, "byte", "bytes"));
    if (counts->bad_lines)
        cli_error("%s: damaged: %s in it or in the files beside it", path,
                  cli_counted(counts->bad_lines, "line that cannot be read",
                              "lines that cannot be read"));
    if (counts->bad_records)
        cli_error("%s: damaged: the .ktrace file beside it has a record that is cut or has no "
                  "size, and is not read from there on",
                  path);
    if (counts->bad_lines || counts->bad_records)
        status = CLI_DAMAGED;
    if (counts->missing_files) {
        cli_error("%s: %s missing or not readable: %s%s: %s", path,
                  cli_counted(counts->missing_files, "file is", "files are"),
                  counts->missing_files > 1 ? "the first is " : "",
                  counts->first_missing ? counts->first_missing : "not known",
                  strerror(counts->missing_errno));
        status = cli_worse(status, CLI_ENVIRONMENT);
    }
    return status;
}

void cli_ptlist_close(struct ptlist *list)
{
    ptlist_close(list);
}
#else
bool cli_ptlist_is(const char *path)
{
    size_t length = strlen(path);

    return length > 7 && strcmp(path + length - 7, ".ptlist") == 0;
}

enum cli_exit cli_ptlist_open(const char *path, struct ptlist **out)
{
    (void)out;
    cli_error("%s: instruction traces cannot be read: this program was built without libipt", path);
    return CLI_ENVIRONMENT;
}

ptrdiff_t cli_ptlist_read(void *list, void *buffer, size_t size)
{
    (void)list, (void)buffer, (void)size;
    return 0;
}

enum cli_exit cli_ptlist_report(const char *path, const struct ptlist *list)
{
    (void)path, (void)list;
    return CLI_OK;
}

void cli_ptlist_close(struct ptlist *list)
{
    (void)list;
}
#endif
