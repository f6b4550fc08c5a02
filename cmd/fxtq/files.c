#include "cmd/fxtq/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fxt/store.h>
#include "cmd/cli/cli.h"
#include "cmd/fxtq/format/fxtq_text.h"

#define LARGEST ((size_t)16 << 20)

/* 0 or errno; EFBIG for what is too large.  */
static int read_all(FILE *file, struct base_text *text)
{
    char bytes[16384];
    size_t size;

    while ((size = fread(bytes, 1, sizeof bytes, file)) > 0) {
        if (size > LARGEST - text->length)
            return EFBIG;
        text_add(text, bytes, size);
    }
    return ferror(file) ? errno : 0;
}

char *file_read_text(const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    struct base_text text = { .bytes = NULL };
    FILE *file;
    int failed;

    if (!is_stdin && store_is_database(path)) { /* to close it would drop the locks of a store */
        cli_error("%s: an SQLite database, not a file of SQL", path);
        return NULL;
    }
    file = is_stdin ? stdin : fopen(path, "re");
    failed = file ? 0 : errno;
    text_add(&text, "", 0);
    if (file)
        failed = read_all(file, &text);
    if (file && !is_stdin)
        (void)fclose(file);
    if (failed) {
        cli_error("%s: %s", is_stdin ? "standard input" : path,
                  failed == EFBIG ? "more than 16 MiB, the limit for SQL files" : strerror(failed));
    } else if (strlen(text.bytes) != text.length) {
        cli_error("%s: not SQL: the file contains NUL bytes", is_stdin ? "standard input" : path);
    } else {
        return text.bytes;
    }
    free(text.bytes);
    return NULL;
}
