/* text_file.c - small files, line by line.  */
#include "cmd/fxtdiff/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* ---- Reading ---- */

/* At most most + 1 bytes of fd; 0 or errno.  */
static int read_all(struct diff_text_file *file, int fd, size_t most)
{
    file->bytes = cli_allocate(most + 2, 1);
    while (file->length <= most) {
        ssize_t got = read(fd, file->bytes + file->length, most + 1 - file->length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : 0;
        file->length += (size_t)got;
    }
    return 0;
}

/* Where there is something else than UTF-8 without control characters: its line; 0: nowhere.  What
 * such a file says is printed, and must neither drive a terminal nor break XML.  */
static size_t strange_line(const struct diff_text_file *file)
{
    size_t line = 1, size;

    for (size_t i = 0; i < file->length; i += size) {
        unsigned char c = (unsigned char)file->bytes[i];

        size = base_utf8_character(file->bytes + i, file->length - i);
        line += c == '\n';
        if (size == 0 || c == 0x7f || (c < ' ' && !strchr("\t\r\n", c)) ||
            (size == 2 && c == 0xc2 && (unsigned char)file->bytes[i + 1] < 0xa0) ||
            (size == 3 && memcmp(file->bytes + i, "\xef\xbf", 2) == 0 &&
             (unsigned char)file->bytes[i + 2] >= 0xbe))
            return line;
    }
    return 0;
}

enum cli_exit diff_text_open(struct diff_text_file *file, const char *path, size_t most)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    size_t strange;
    int failed;

    *file = (struct diff_text_file){ .path = is_stdin ? "standard input" : path };
    if (fd < 0) {
        cli_error("%s: %s", path, strerror(errno));
        return CLI_ENVIRONMENT;
    }
    failed = read_all(file, fd, most);
    if (!is_stdin)
        (void)close(fd);
    if (failed) {
        cli_error("%s: %s", file->path, strerror(failed));
    } else if (file->length > most) {
        cli_error("%s: more than %s bytes", file->path, cli_grouped(most));
    } else if (memchr(file->bytes, '\0', file->length)) {
        cli_error("%s: not a text file", file->path);
    } else if ((strange = strange_line(file)) > 0) {
        cli_error("%s:%zu: control characters, or no UTF-8", file->path, strange);
    } else {
        return CLI_OK;
    }
    diff_text_close(file);
    return failed ? CLI_ENVIRONMENT : CLI_USAGE;
}

void diff_text_close(struct diff_text_file *file)
{
    free(file->bytes);
    file->bytes = NULL;
}

char *diff_text_line(struct diff_text_file *file)
{
    char *line = file->bytes + file->at;
    size_t length;

    if (file->at >= file->length)
        return NULL;
    length = strcspn(line, "\n");
    file->at += length + 1;
    file->line++;
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    line[length] = '\0';
    return line;
}

char *diff_text_statement(struct diff_text_file *file)
{
    char *line;

    while ((line = diff_text_line(file)) != NULL) {
        while (is_blank(*line))
            line++;
        if (*line && *line != '#')
            return line;
    }
    return NULL;
}

enum cli_exit diff_text_wrong(const struct diff_text_file *file, const char *format, ...)
{
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    cli_error("%s:%zu: %s", file->path, file->line, text);
    return CLI_USAGE;
}

/* ---- Words, patterns, numbers ---- */

char *diff_take_word(char **text)
{
    char *word = *text;
    char *end = word + strcspn(word, " \t");

    if (*end)
        *end++ = '\0';
    while (is_blank(*end))
        end++;
    *text = end;
    return word;
}

char *diff_take_last_word(char *text)
{
    size_t end = strlen(text), start;

    while (end > 0 && is_blank(text[end - 1]))
        end--;
    text[end] = '\0';
    start = end;
    while (start > 0 && !is_blank(text[start - 1]))
        start--;
    if (start > 0)
        text[start - 1] = '\0'; /* a blank */
    return text + start;
}

/* Where a '*' went too short, the last one takes one character more: linear memory, and at most
 * pattern times name steps.  */
bool diff_match_pattern(const char *pattern, const char *name)
{
    const char *star = NULL, *again = NULL;

    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            again = name;
        } else if (*pattern == '?' || (*pattern && *pattern == *name)) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool diff_take_number(const char *text, double *number, const char **rest)
{
    double scale = 1;
    const char *at = text;

    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (*at - '0');
    if (at == text)
        return false;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++) {
            scale *= 10;
            *number += (*at - '0') / scale;
        }
    *rest = at;
    return *number <= 1e18;
}
