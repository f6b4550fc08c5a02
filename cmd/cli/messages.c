/* Messages to people, on stderr.  */
#include <errno.h>
#include <float.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/visible.h"
#include "base/width.h"
#include "cmd/cli/cli.h"
#include "cmd/cli/cli_internal.h"

enum { MESSAGE_BYTES = 64 << 10 };

const char *cli_name = "fxt";

/* The bytes of a line that a terminal's row of so many columns holds: up to the last blank before
 * its end, or all where there is no blank to break at.  */
static size_t row_bytes(const char *line, size_t length, size_t columns)
{
    size_t used = 0, at = 0, blank = 0;

    while (at < length) {
        size_t width, size = base_width_character(line + at, length - at, &width);

        if (used + width > columns && blank > 0)
            return blank;
        if (line[at] == ' ' && used > 0 && line[at - 1] != ' ')
            blank = at;
        used += width;
        at += size;
    }
    return length;
}

/* A line in rows of a terminal, those after the first indented by two blanks more than it.  taken:
 * columns in front of the first.  */
static void print_rows(const char *line, size_t length, size_t columns, size_t taken)
{
    size_t indent = strspn(line, " ") + 2;

    while (length > 0) {
        size_t row = columns > taken + indent ? row_bytes(line, length, columns - taken) : length;

        (void)fwrite(line, 1, row, stderr);
        line += row;
        length -= row;
        while (length > 0 && *line == ' ') {
            line++;
            length--;
        }
        taken = indent;
        if (length > 0)
            (void)fprintf(stderr, "\n%*s", (int)indent, "");
    }
}

/* Names and texts from files reach messages.  They are shown as base/visible.h says, ends of lines
 * included: a message is one line, which is broken between words for a terminal.  An empty name at
 * the start is shown as ''.  taken: the columns that stand before the message.  */
static void print_visible(size_t taken, const char *format, va_list arguments)
{
    struct base_text text = { .limit = MESSAGE_BYTES };
    struct base_text shown = { .bytes = NULL };
    const char *line;

    base_text_addv(&text, format, arguments);
    line = text.failed ? "out of memory, or a message that is too long" : text.bytes;
    if (strncmp(line, ": ", 2) == 0)
        base_text_adds(&shown, "''");
    base_text_add_visible(&shown, line, strlen(line));
    if (!shown.failed && shown.length > 0)
        print_rows(shown.bytes, shown.length, cli_columns(stderr), taken);
    (void)fputc('\n', stderr);
    if (taken > 0) /* a problem */
        cli_bounds_explain(text.failed ? "" : text.bytes);
    base_text_release(&shown);
    base_text_release(&text);
}

void cli_error(const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    (void)fprintf(stderr, "%s: ", cli_name);
    va_start(arguments, format);
    print_visible(strlen(cli_name) + 2, format, arguments);
    va_end(arguments);
}

void cli_warning(const char *format, ...)
{
    va_list arguments;

    (void)fprintf(stderr, "%s: warning: ", cli_name);
    va_start(arguments, format);
    print_visible(strlen(cli_name) + strlen(": warning: "), format, arguments);
    va_end(arguments);
}

void cli_note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_visible(0, format, arguments);
    va_end(arguments);
}

void cli_usage_error(const char *format, ...)
{
    va_list arguments;

    (void)fprintf(stderr, "%s: ", cli_name);
    va_start(arguments, format);
    print_visible(strlen(cli_name) + 2, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "Try '%s --help'.\n", cli_name);
    exit(CLI_USAGE);
}

int cli_flush_stdout(void)
{
    int reason = 0;

    /* What was lost on the way does not come back; most likely nothing failed since.  */
    if (ferror(stdout))
        reason = errno ? errno : EIO;
    if (fflush(stdout) != 0)
        reason = errno;
    if (reason == 0)
        return CLI_OK;
    cli_error("standard output: %s", strerror(reason));
    return CLI_ENVIRONMENT;
}

_Noreturn void cli_out_of_memory(void)
{
    cli_error("out of memory");
    exit(CLI_ENVIRONMENT);
}

void *cli_checked(void *memory)
{
    if (!memory)
        cli_out_of_memory();
    return memory;
}

void *cli_allocate(size_t count, size_t size)
{
    void *bytes = calloc(count ? count : 1, size ? size : 1);

    if (!bytes)
        cli_out_of_memory();
    return bytes;
}

void *cli_grow(void *items, size_t *capacity, size_t count, size_t size)
{
    void *bigger = base_grow(items, capacity, count, size);

    if (!bigger)
        cli_out_of_memory();
    return bigger;
}

char *cli_join(const char *a, const char *b)
{
    char *text;

    if (asprintf(&text, "%s%s", a, b) < 0)
        cli_out_of_memory();
    return text;
}

char *cli_text(const char *format, va_list arguments)
{
    char *text;

    if (vasprintf(&text, format, arguments) < 0)
        cli_out_of_memory();
    return text;
}

bool cli_colour(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    return isatty(fileno(stream)) && !(no_color && *no_color) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

bool cli_is_utf8(void)
{
    (void)setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

size_t cli_columns(FILE *stream)
{
    struct winsize size;

    if (!isatty(fileno(stream)) || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

const char *cli_grouped(uint64_t number)
{
    static char buffers[8][BASE_GROUPED_BYTES];
    static unsigned turn;

    return base_grouped(number, buffers[turn++ % 8]);
}

const char *cli_counted(uint64_t number, const char *one, const char *many)
{
    static char buffers[8][96];
    static unsigned turn;
    char *text = buffers[turn++ % 8];

    (void)snprintf(text, sizeof buffers[0], "%s %s", cli_grouped(number), number == 1 ? one : many);
    return text;
}

void cli_shortest_double(char *text, double number)
{
    /* %g leaves zeros at the end out, so 15 digits are no more than it takes where they suffice;
     * denormals are distinguished by fewer.  */
    for (int digits = fabs(number) < DBL_MIN ? 1 : 15; digits <= 15; digits++) {
        (void)snprintf(text, 32, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            return;
    }
    (void)snprintf(text, 32, "%.16g", number);
    if (strtod(text, NULL) != number)
        (void)snprintf(text, 32, "%.17g", number);
}

enum cli_exit cli_worse(enum cli_exit a, enum cli_exit b)
{
    static const int rank[] = {
        [CLI_OK] = 0,      [CLI_DIFFERENT] = 1,   [CLI_INCONCLUSIVE] = 2, [CLI_POLICY] = 3,
        [CLI_DAMAGED] = 4, [CLI_ENVIRONMENT] = 5, [CLI_USAGE] = 6
    };

    return rank[a] >= rank[b] ? a : b;
}
