/* Command lines: option tables parse them.  */
#include "base/map.h"
#include "cmd/cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli_internal.h"

void cli_start(struct cli_parser *parser, const struct cli_command *command, char **argv)
{
    *parser = (struct cli_parser){ .command = command, .argv = argv };
    cli_name = command->name;
}

const struct cli_option *cli_command_option(const struct cli_command *command, size_t i)
{
    for (size_t group = 0;; group++) {
        const struct cli_option *table = group == 0        ? command->options
                                         : command->groups ? command->groups[group - 1]
                                                           : NULL;

        if (!table && group > 0)
            return NULL;
        for (; table && table->key; table++, i--)
            if (i == 0)
                return table;
    }
}

bool cli_option_has_letter(const struct cli_command *command, const struct cli_option *option)
{
    const struct cli_option *first;

    for (size_t i = 0; (first = cli_command_option(command, i)) != NULL; i++)
        if (first->letter == option->letter)
            return first == option && option->letter != 0;
    return false;
}

bool cli_option_takes_word(const struct cli_option *option)
{
    return option->argument && !option->optional;
}

/* The argument is there.  Its place among the choices, if there are any.  */
static void check_choice(struct cli_parser *parser, const struct cli_option *option)
{
    char name[40];

    if (!option->choices || option->value != CLI_TEXT)
        return;
    (void)snprintf(name, sizeof name, "--%s", option->name);
    parser->choice = cli_choice(name, parser->value, option->choices);
}

/* Whether text is the beginning of name, or name with a letter more or less, or with one changed or
 * two swapped.  */
static bool is_near(const char *text, size_t length, const char *name)
{
    size_t size = strlen(name), head = 0, tail = 0;
    size_t shorter = size < length ? size : length, longer = size < length ? length : size;

    while (head < shorter && text[head] == name[head])
        head++;
    while (tail < shorter - head && text[length - 1 - tail] == name[size - 1 - tail])
        tail++;
    if (length < 3)
        return false;
    return head == length || head + tail + (size == length ? 2 : 1) >= longer;
}

static _Noreturn void refuse_name(const struct cli_parser *parser, const char *text, size_t length)
{
    const struct cli_option *option;

    for (size_t i = 0; (option = cli_command_option(parser->command, i)) != NULL; i++)
        if (option->name && is_near(text, length, option->name))
            cli_usage_error("unknown option --%.*s: is it --%s?", (int)length, text, option->name);
    cli_usage_error("unknown option --%.*s", (int)length, text);
}

/* --name, --name=VALUE or --name VALUE.  */
static int long_option(struct cli_parser *parser, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    const struct cli_option *option;

    cli_answer(parser, text);
    for (size_t i = 0; (option = cli_command_option(parser->command, i)) != NULL; i++) {
        if (!option->name || strlen(option->name) != length ||
            strncmp(option->name, text, length) != 0)
            continue;
        if (!option->argument) {
            if (equals)
                cli_usage_error("--%s takes no value", option->name);
            return option->key;
        }
        if (option->optional && !equals)
            return option->key;
        parser->value = equals ? equals + 1 : *parser->argv;
        if (!parser->value)
            cli_usage_error("--%s needs a value: --%s=%s", option->name, option->name,
                            option->argument);
        if (!equals)
            parser->argv++;
        check_choice(parser, option);
        return option->key;
    }
    refuse_name(parser, text, length);
}

/* -o VALUE, -oVALUE, -o=VALUE if it is optional, or the next letter of a group.  */
static int short_option(struct cli_parser *parser)
{
    char letter = *parser->letters++;
    const struct cli_option *option;

    for (size_t i = 0; (option = cli_command_option(parser->command, i)) != NULL; i++) {
        if (option->letter != letter)
            continue;
        if (!option->argument || (option->optional && *parser->letters != '='))
            return option->key;
        parser->letters += option->optional; /* the '=' */
        parser->value = *parser->letters ? parser->letters : *parser->argv;
        if (!parser->value)
            cli_usage_error("-%c needs a value: -%c %s", letter, letter, option->argument);
        if (!*parser->letters)
            parser->argv++;
        parser->letters = NULL;
        check_choice(parser, option);
        return option->key;
    }
    if (letter == 'h' || letter == 'H')
        cli_answer(parser, "help");
    if (letter == 'v' || letter == 'V')
        cli_answer(parser, "version");
    cli_usage_error("unknown option -%c", letter);
}

/* "-" is a file, and "-- text" SQL that begins with a comment.  */
static bool is_option(const char *argument)
{
    return argument[0] == '-' && argument[1] != '\0' && strncmp(argument, "-- ", 3) != 0;
}

int cli_next(struct cli_parser *parser)
{
    const char *argument;

    parser->value = NULL;
    if (parser->letters && *parser->letters)
        return short_option(parser);
    argument = *parser->argv;
    if (!argument)
        return CLI_END;
    if (!parser->only_operands && strcmp(argument, "--") == 0) {
        parser->only_operands = true;
        parser->argv++;
        return parser->command->stop_at_operand ? CLI_END : cli_next(parser);
    }
    if (parser->only_operands || !is_option(argument)) {
        if (parser->command->stop_at_operand)
            return CLI_END;
        parser->argv++;
        parser->value = argument;
        return CLI_OPERAND;
    }
    parser->argv++;
    if (argument[1] == '-')
        return long_option(parser, argument + 2);
    parser->letters = argument + 1;
    return short_option(parser);
}

struct number {
    uint64_t value;
    bool too_large; /* for 64 bits */
};

/* Digits at the start of text to *value; what follows them to *end.  */
static bool parse_digits(const char *text, struct number *number, const char **end)
{
    char *stop;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    number->value = strtoull(text, &stop, 10);
    number->too_large = errno != 0;
    *end = stop;
    return true;
}

/* The number, if there is one and it lies in the range.  */
static uint64_t in_range(const char *option, const char *text, bool good,
                         const struct number *number, uint64_t minimum, uint64_t maximum)
{
    uint64_t value = number->value;

    if (!good)
        cli_usage_error("%s: '%s' is not a number", option, text);
    if (number->too_large || value < minimum || value > maximum)
        cli_usage_error("%s: %s is not between %s and %s", option, text, cli_grouped(minimum),
                        cli_grouped(maximum));
    return value;
}

double cli_part(const char *option, const char *text, double limit)
{
    char *end;
    double number = strtod(text, &end);
    bool percent = strcmp(end, "%") == 0 || strcmp(end, "pp") == 0;

    if (end == text || (*end && !percent) || !isfinite(number) || number < 0 ||
        strpbrk(text, "xXpP\t\n ") == text)
        cli_usage_error("%s: '%s' is not a share such as 5%%, 0.3pp or 0.05", option, text);
    if (percent)
        number /= 100;
    if (number > limit)
        cli_usage_error("%s: %s is more than %g%%", option, text, 100 * limit);
    return number;
}

uint64_t cli_number(const char *option, const char *text, uint64_t minimum, uint64_t maximum)
{
    struct number number = { .value = 0 };
    const char *end = text;
    bool good = parse_digits(text, &number, &end) && *end == '\0';

    return in_range(option, text, good, &number, minimum, maximum);
}

uint64_t cli_id(const char *option, const char *text, uint64_t minimum, uint64_t maximum)
{
    struct number number;
    size_t digits;

    if (strncmp(text, "0x", 2) != 0)
        return cli_number(option, text, minimum, maximum);
    digits = strspn(text + 2, "0123456789abcdefABCDEF");
    errno = 0;
    number.value = strtoull(text + 2, NULL, 16);
    number.too_large = errno != 0;
    return in_range(option, text, digits > 0 && text[2 + digits] == '\0', &number, minimum,
                    maximum);
}

uint64_t cli_size(const char *option, const char *text, uint64_t minimum, uint64_t maximum)
{
    static const char suffixes[] = "kmg";
    struct number number;
    uint64_t value;
    const char *end;

    if (!parse_digits(text, &number, &end))
        cli_usage_error("%s: '%s' is not a size such as 512k or 4M", option, text);
    value = number.value;
    if (*end != '\0') {
        const char *suffix = strchr(suffixes, *end | 0x20);
        unsigned shift = suffix && *suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;

        if (shift == 0 ||
            (end[1] != '\0' && strcmp(end + 1, "iB") != 0 && strcmp(end + 1, "B") != 0))
            cli_usage_error("%s: '%s' is not a size such as 512k or 4M", option, text);
        if (value > UINT64_MAX >> shift)
            cli_usage_error("%s: %s is too large", option, text);
        value <<= shift;
    }
    if (number.too_large)
        cli_usage_error("%s: %s is too large", option, text);
    if (value < minimum || value > maximum)
        cli_usage_error("%s: %s is not between %s and %s bytes", option, text, cli_grouped(minimum),
                        cli_grouped(maximum));
    return value;
}

uint64_t cli_duration(const char *option, const char *text)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = { { "", 1 },   { "s", 1 },    { "ms", 1e-3 }, { "us", 1e-6 },
                  { "m", 60 }, { "min", 60 }, { "h", 3600 } };
    char *end;
    double number = strtod(text, &end);

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end != text && strcmp(end, units[i].unit) == 0 && isfinite(number) && number > 0 &&
            number * units[i].seconds >= 1e-3 && number * units[i].seconds < 1e8)
            return (uint64_t)(number * units[i].seconds * 1e9);
    cli_usage_error("%s: '%s' is not a duration such as 10, 1.5s, 300ms or 2m", option, text);
}

size_t cli_choice(const char *option, const char *text, const char *const *names)
{
    char list[400] = "";
    size_t used = 0;

    for (size_t i = 0; names[i]; i++) {
        int length;

        if (strcmp(names[i], text) == 0)
            return i;
        length = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
        if (length > 0 && used + (size_t)length < sizeof list)
            used += (size_t)length;
    }
    cli_usage_error("%s: '%s' is not one of %s", option, text, list);
}

void cli_texts_add(struct cli_texts *texts, const char *text)
{
    texts->items = cli_grow(texts->items, &texts->capacity, texts->count + 1, sizeof *texts->items);
    texts->items[texts->count++] = text;
}

void cli_map_set(struct base_map *map, uint64_t key, uint64_t value)
{
    if (!base_map_set(map, key, value))
        cli_out_of_memory();
}

void cli_numbers_add(struct cli_numbers *numbers, uint64_t number)
{
    numbers->items = cli_grow(numbers->items, &numbers->capacity, numbers->count + 1,
                              sizeof *numbers->items);
    numbers->items[numbers->count++] = number;
}
