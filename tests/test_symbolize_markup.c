#include <fxt/markup.h>
#include "tests/support/allocation.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* ---- Lines ---- */

static void add(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

#define TEXT(text) (int)(text).length, (text).bytes

/* "text 'a' | bt #1 0x10 ra": what the rows below compare.  */
static void describe(char *out, size_t size, const struct sym_markup_node *node)
{
    switch (node->kind) {
    case SYM_MARKUP_TEXT:
        add(out, size, "'%.*s'", TEXT(node->text));
        break;
    case SYM_MARKUP_SGR:
        add(out, size, "sgr %.*s", (int)node->text.length - 1, node->text.bytes + 1);
        break;
    case SYM_MARKUP_RESET:
        add(out, size, "reset");
        break;
    case SYM_MARKUP_RESET_END:
        add(out, size, "reset end");
        break;
    case SYM_MARKUP_MODULE:
        add(out, size, "module %" PRIu64 " '%.*s' %.*s ", node->id, TEXT(node->name),
            TEXT(node->type));
        for (size_t i = 0; i < node->build_id_length; i++)
            add(out, size, "%02x", node->build_id[i]);
        break;
    case SYM_MARKUP_MMAP:
        add(out, size, "mmap 0x%" PRIx64 "+0x%" PRIx64 " %" PRIu64 " '%.*s' 0x%" PRIx64,
            node->address, node->size_bytes, node->id, TEXT(node->access), node->vaddr);
        break;
    case SYM_MARKUP_BT:
        add(out, size, "bt #%" PRIu64 " 0x%" PRIx64 " %s", node->frame, node->address,
            node->is_return ? "ra" : "pc");
        if (node->message.length)
            add(out, size, " '%.*s'", TEXT(node->message));
        break;
    case SYM_MARKUP_PC:
        add(out, size, "pc 0x%" PRIx64 " %s", node->address, node->is_return ? "ra" : "pc");
        break;
    case SYM_MARKUP_DATA:
        add(out, size, "data 0x%" PRIx64, node->address);
        break;
    case SYM_MARKUP_SYMBOL:
        add(out, size, "symbol %.*s", TEXT(node->name));
        break;
    case SYM_MARKUP_DUMPFILE:
        add(out, size, "dumpfile %.*s %.*s", TEXT(node->type), TEXT(node->name));
        break;
    case SYM_MARKUP_MALFORMED:
        add(out, size, "malformed");
        break;
    }
}

static const struct {
    const char *line, *nodes;
} lines[] = {
    { "", "" },
    { "plain\n", "'plain\n'" },
    /* Every kind.  */
    { "{{{reset}}}", "reset" },
    { "{{{reset:begin}}}", "reset" },
    { "{{{reset:end}}}", "reset end" },
    { "{{{reset:what}}}", "malformed" },
    { "{{{module:1:libc.so:elf:83238ab56ba10497}}}", "module 1 'libc.so' elf 83238ab56ba10497" },
    { "{{{module:0x10::elf:}}}", "module 16 '' elf " },
    { "{{{module:010:a:elf:AB}}}", "module 8 'a' elf ab" },
    { "{{{module:7:a:pe:what:ever}}}", "module 7 'a' pe " },
    { "{{{mmap:0x7acba69d5000:0x5a000:load:1:rx:0x1000}}}",
      "mmap 0x7acba69d5000+0x5a000 1 'rx' 0x1000" },
    { "{{{mmap:0x0:4096:load:0x1:RwX:0x0}}}", "mmap 0x0+0x1000 1 'RwX' 0x0" },
    { "{{{mmap:0x10:010:load:0::0}}}", "mmap 0x10+0x8 0 '' 0x0" },
    { "{{{bt:0:0x12345678:pc}}}", "bt #0 0x12345678 pc" },
    { "{{{bt:12:0x12345678:ra}}}", "bt #12 0x12345678 ra" },
    { "{{{bt:1:0x12345678}}}", "bt #1 0x12345678 ra" },
    { "{{{bt:1:0x10:sp 0x7f0}}}", "bt #1 0x10 ra 'sp 0x7f0'" },
    { "{{{bt:1:0x10:pc:sp 0x7f0}}}", "bt #1 0x10 pc 'sp 0x7f0'" },
    { "{{{bt:1:0x10:ra:sp 0x0}}}", "bt #1 0x10 ra 'sp 0x0'" },
    { "{{{pc:0x12345678}}}", "pc 0x12345678 ra" },
    { "{{{pc:0x12345678:pc}}}", "pc 0x12345678 pc" },
    { "{{{data:0x12345678}}}", "data 0x12345678" },
    { "{{{symbol:_ZN7Mangled4NameEv}}}", "symbol _ZN7Mangled4NameEv" },
    { "{{{dumpfile:llvm-profdata:data}}}", "dumpfile llvm-profdata data" },
    { "\033[1m\033[31mred\033[0m", "sgr [1m|sgr [31m|'red'|sgr [0m" },
    /* Numbers: odd counts of digits are taken, and zeros without 0x.  */
    { "{{{pc:0x123}}}", "pc 0x123 ra" },
    { "{{{pc:0X1aBc}}}", "pc 0x1abc ra" },
    { "{{{data:0000}}}", "data 0x0" },
    { "{{{data:0xffffffffffffffff}}}", "data 0xffffffffffffffff" },
    { "{{{data:0x1ffffffffffffffff}}}", "malformed" },
    { "{{{data:1234}}}", "malformed" },
    { "{{{data:0x}}}", "malformed" },
    { "{{{data:}}}", "malformed" },
    { "{{{module:1:odd:elf:123}}}", "module 1 'odd' elf " },
    { "{{{module:1:x:elf:12xy}}}", "malformed" },
    { "{{{module:18446744073709551616:x:elf:12}}}", "malformed" },
    { "{{{module:08:x:elf:12}}}", "malformed" },
    { "{{{bt:0x1:0x10}}}", "malformed" },
    /* Fields: too few, too many, of the wrong kind.  */
    { "{{{bt}}}", "malformed" },
    { "{{{bt:0}}}", "malformed" },
    { "{{{bt:0:0x10:ra:}}}", "malformed" },
    { "{{{bt:0:0x10:xx}}}", "malformed" },
    { "{{{bt:0:0x10:sp 7f0}}}", "malformed" },
    { "{{{bt:0:0x10:sp 0x}}}", "malformed" },
    { "{{{bt:0:0x10:sp 0x10:pc}}}", "malformed" },
    { "{{{bt:0:0x10:pc:sp 0x10:more}}}", "malformed" },
    { "{{{bt:0:0x10:pc:ra}}}", "malformed" },
    { "{{{bt:0:10:pc}}}", "malformed" },
    { "{{{pc:0x10:sp 0x10}}}", "malformed" },
    { "{{{pc:0x10:pc:ra}}}", "malformed" },
    { "{{{pc}}}", "malformed" },
    { "{{{data}}}", "malformed" },
    { "{{{symbol}}}", "malformed" },
    { "{{{symbol:}}}", "malformed" },
    { "{{{dumpfile:a}}}", "malformed" },
    { "{{{module:1:a}}}", "malformed" },
    { "{{{module:1:a:elf}}}", "malformed" },
    { "{{{mmap:0x10:0x10:load:0:xr:0x0}}}", "malformed" },
    { "{{{mmap:0x10:0x10:load:0:rr:0x0}}}", "malformed" },
    { "{{{mmap:0x10:0x10:swap:0:r:0x0}}}", "malformed" },
    { "{{{mmap:0x10:0x10:load:0:r:0x0:more:and:more:of:it}}}", "malformed" },
    /* What is none of ours is text.  */
    { "{{{hexdict: a: 0x10}}}", "'{{{hexdict: a: 0x10}}}'" },
    { "{{{hexdict:\n", "'{{{hexdict:\n'" },
    { "{{{BT:0:0x10}}}", "'{{{BT:0:0x10}}}'" },
    { "{{{}}}", "'{{{}}}'" },
    { "{{{pc:0x10}}", "'{{{pc:0x10}}'" },
    { "{{{pc:0x10}\n}}", "'{{{pc:0x10}\n}}'" },
    { "{{pc:0x10}}", "'{{pc:0x10}}'" },
    { "\033[2m\033[38m\033[3m\033", "'\033[2m\033[38m\033[3m\033'" },
    { "\033[3", "'\033[3'" },
    /* Text around, braces that are too many, elements in elements.  */
    { "a {{{pc:0x10}}} b {{{pc:0x20}}}\r\n", "'a '|pc 0x10 ra|' b '|pc 0x20 ra|'\r\n'" },
    { "{{{{pc:0x10}}}}", "'{'|pc 0x10 ra|'}'" },
    { "{{{bt:{{{pc:0x10}}}}}}", "'{{{bt:'|pc 0x10 ra|'}}}'" },
    { "{{{nonsense:{{{pc:0x10}}}", "'{{{nonsense:'|pc 0x10 ra" },
};

START_TEST(takes_a_line_apart)
{
    struct sym_markup_cursor cursor = { lines[_i].line, strlen(lines[_i].line) };
    const char *next = lines[_i].line;
    struct sym_markup_node node;
    char nodes[512] = "";

    while (sym_markup_next(&cursor, &node)) {
        ck_assert_ptr_eq(node.text.bytes, next); /* the nodes together are the line */
        next += node.text.length;
        if (nodes[0])
            add(nodes, sizeof nodes, "|");
        describe(nodes, sizeof nodes, &node);
    }
    ck_assert_str_eq(nodes, lines[_i].nodes);
    ck_assert_ptr_eq(next, lines[_i].line + strlen(lines[_i].line));
}
END_TEST

/* A cut element is text; nothing is read behind the cut (the sanitizer looks on).  */
START_TEST(reads_no_further_than_the_line)
{
    static const char line[] = "a\033[31m{{{mmap:0x1000:0x5a:load:1:rx:0x1000}}}{{{bt:0:0x1:pc}}}";

    for (size_t length = 0; length < sizeof line; length++) {
        char *copy = malloc(length + 1);
        struct sym_markup_cursor cursor = { copy, length };
        struct sym_markup_node node;
        size_t seen = 0;

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, line, length);
        while (sym_markup_next(&cursor, &node))
            seen += node.text.length;
        free(copy);
        ck_assert_uint_eq(seen, length);
    }
}
END_TEST

/* Elements that never end must not be searched to the end of the line each.  */
START_TEST(takes_linear_time_for_hostile_lines)
{
    static const char *const pieces[] = { "{{{bt:", "{", "{{{pc:0x10}}", "\033[",
                                          "{{{bt:0:0x1}}}" };
    size_t piece = strlen(pieces[_i]), length = (4 << 20) / piece * piece, seen = 0;
    char *line = malloc(length);
    struct sym_markup_cursor cursor = { line, length };
    struct sym_markup_node node;

    ck_assert_ptr_nonnull(line);
    for (size_t at = 0; at < length; at += piece)
        memcpy(line + at, pieces[_i], piece);
    while (sym_markup_next(&cursor, &node)) /* the timeout of the test is what fails */
        seen += node.text.length;
    free(line);
    ck_assert_uint_eq(seen, length);
}
END_TEST

/* ---- Context ---- */

/* The effect of a line that is one element.  No assertion: allocations may be about to fail.  */
static enum sym_markup_effect apply(struct sym_markup_context *context, const char *element)
{
    struct sym_markup_cursor cursor = { element, strlen(element) };
    struct sym_markup_node node;

    if (!sym_markup_next(&cursor, &node) || cursor.left || node.kind == SYM_MARKUP_TEXT)
        return (enum sym_markup_effect) - 1;
    return sym_markup_apply(context, &node);
}

/* "libc.so+0x10", or "-".  */
static void assert_place(const struct sym_markup_context *context, uint64_t address,
                         const char *expected)
{
    struct sym_markup_place place;
    char text[64] = "-";

    if (sym_markup_find(context, address, &place))
        (void)snprintf(text, sizeof text, "%s+0x%" PRIx64, place.module->name, place.vaddr);
    ck_assert_msg(strcmp(text, expected) == 0, "0x%" PRIx64 ": %s, not %s", address, text,
                  expected);
}

START_TEST(maps_addresses_to_modules)
{
    struct sym_markup_context *context = sym_markup_context_new();

    assert_place(context, 0, "-");
    ck_assert_int_eq(apply(context, "{{{module:0:a:elf:01}}}"), SYM_MARKUP_DONE);
    ck_assert_int_eq(apply(context, "{{{module:1:b:elf:02}}}"), SYM_MARKUP_DONE);
    ck_assert_int_eq(apply(context, "{{{mmap:0x2000:0x1000:load:1:rx:0x500}}}"), SYM_MARKUP_DONE);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x1000:load:0:r:0x0}}}"), SYM_MARKUP_DONE);
    assert_place(context, 0xfff, "-");
    assert_place(context, 0x1000, "a+0x0");
    assert_place(context, 0x1fff, "a+0xfff");
    assert_place(context, 0x2000, "b+0x500");
    assert_place(context, 0x2fff, "b+0x14ff");
    assert_place(context, 0x3000, "-");
    ck_assert_int_eq(apply(context, "{{{reset}}}"), SYM_MARKUP_DONE);
    assert_place(context, 0x1000, "-");
    ck_assert_ptr_null(sym_markup_module(context, 0));
    sym_markup_context_free(context);
}
END_TEST

START_TEST(keeps_the_first_of_two_modules_with_one_number)
{
    struct sym_markup_context *context = sym_markup_context_new();

    ck_assert_int_eq(apply(context, "{{{module:0:a:elf:01}}}"), SYM_MARKUP_DONE);
    ck_assert_int_eq(apply(context, "{{{module:0:a:elf:01}}}"), SYM_MARKUP_REPEATED);
    ck_assert_int_eq(apply(context, "{{{module:0:a:elf:02}}}"), SYM_MARKUP_CONFLICT);
    ck_assert_int_eq(apply(context, "{{{module:0:b:elf:01}}}"), SYM_MARKUP_CONFLICT);
    ck_assert_int_eq(apply(context, "{{{module:0:a:pe:01}}}"), SYM_MARKUP_CONFLICT);
    ck_assert_str_eq(sym_markup_module(context, 0)->name, "a");
    ck_assert_uint_eq(sym_markup_module(context, 0)->build_id[0], 1);
    ck_assert_int_eq(apply(context, "{{{reset:begin}}}"), SYM_MARKUP_DONE);
    ck_assert_int_eq(apply(context, "{{{module:0:b:elf:02}}}"), SYM_MARKUP_DONE);
    sym_markup_context_free(context);
}
END_TEST

static const struct {
    const char *mmap;
    const char *places[6]; /* of 0x0800, 0x1000, 0x1800, 0x2000, 0x2800, 0x3000 */
} overlaps[] = {
    { "{{{mmap:0x1000:0x2000:load:1:r:0x0}}}",
      { "-", "b+0x0", "b+0x800", "b+0x1000", "b+0x1800", "-" } },
    { "{{{mmap:0x0:0x9000:load:1:r:0x0}}}",
      { "b+0x800", "b+0x1000", "b+0x1800", "b+0x2000", "b+0x2800", "b+0x3000" } },
    { "{{{mmap:0x1800:0x800:load:1:r:0x0}}}",
      { "-", "a+0x0", "b+0x0", "a+0x1000", "a+0x1800", "-" } },
    { "{{{mmap:0x800:0x1000:load:1:r:0x0}}}",
      { "b+0x0", "b+0x800", "a+0x800", "a+0x1000", "a+0x1800", "-" } },
    { "{{{mmap:0x2000:0x2000:load:1:r:0x0}}}",
      { "-", "a+0x0", "a+0x800", "b+0x0", "b+0x800", "b+0x1000" } },
    { "{{{mmap:0x2000:0xffffffffffffe000:load:1:r:0x0}}}",
      { "-", "a+0x0", "a+0x800", "b+0x0", "b+0x800", "b+0x1000" } },
};

START_TEST(lets_the_later_of_two_mappings_count)
{
    struct sym_markup_context *context = sym_markup_context_new();

    (void)apply(context, "{{{module:0:a:elf:01}}}");
    (void)apply(context, "{{{module:1:b:elf:02}}}");
    (void)apply(context, "{{{mmap:0x1000:0x2000:load:0:r:0x0}}}");
    ck_assert_int_eq(apply(context, overlaps[_i].mmap), SYM_MARKUP_OVERLAP);
    for (size_t i = 0; i < 6; i++)
        assert_place(context, 0x800 * (i + 1), overlaps[_i].places[i]);
    sym_markup_context_free(context);
}
END_TEST

START_TEST(takes_a_mapping_that_is_there_for_repeated)
{
    struct sym_markup_context *context = sym_markup_context_new();

    (void)apply(context, "{{{module:0:a:elf:01}}}");
    (void)apply(context, "{{{module:1:b:elf:02}}}");
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x1000:load:0:r:0x0}}}"), SYM_MARKUP_DONE);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x1000:load:0:rw:0x0}}}"), SYM_MARKUP_REPEATED);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x1000:load:0:r:0x10}}}"), SYM_MARKUP_OVERLAP);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x1000:load:1:r:0x10}}}"), SYM_MARKUP_OVERLAP);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x1001:load:1:r:0x10}}}"), SYM_MARKUP_OVERLAP);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1001:0x1000:load:1:r:0x11}}}"), SYM_MARKUP_OVERLAP);
    assert_place(context, 0x1800, "b+0x810");
    sym_markup_context_free(context);
}
END_TEST

START_TEST(leaves_out_mappings_that_cannot_be)
{
    struct sym_markup_context *context = sym_markup_context_new();

    (void)apply(context, "{{{module:0:a:elf:01}}}");
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x0:load:0:r:0x0}}}"), SYM_MARKUP_BAD_RANGE);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0xfffffffffffff001:load:0:r:0x0}}}"),
                     SYM_MARKUP_BAD_RANGE);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x1000:load:1:r:0x0}}}"), SYM_MARKUP_NO_MODULE);
    assert_place(context, 0x1000, "-");
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0xfffffffffffff000:load:0:r:0x0}}}"),
                     SYM_MARKUP_DONE);
    assert_place(context, UINT64_MAX, "a+0xffffffffffffefff");
    sym_markup_context_free(context);
}
END_TEST

START_TEST(remembers_a_bounded_number)
{
    struct sym_markup_context *context = sym_markup_context_new();
    enum sym_markup_effect effect = SYM_MARKUP_DONE;
    char element[80];
    unsigned count;

    for (count = 0; count <= 65536 && effect == SYM_MARKUP_DONE; count++) {
        (void)snprintf(element, sizeof element, "{{{module:%u:m:elf:01}}}", count);
        effect = apply(context, element);
    }
    ck_assert_int_eq(effect, SYM_MARKUP_TOO_MANY);
    ck_assert_uint_eq(count, 65537);
    for (effect = SYM_MARKUP_DONE, count = 0; count <= 65536 && effect == SYM_MARKUP_DONE;
         count++) {
        (void)snprintf(element, sizeof element, "{{{mmap:0x%x:0x10:load:0:r:0x0}}}", count * 32);
        effect = apply(context, element);
    }
    ck_assert_int_eq(effect, SYM_MARKUP_TOO_MANY);
    assert_place(context, 32, "m+0x0");
    sym_markup_context_free(context);
}
END_TEST

/* Modules with names of a megabyte until one is not taken.  */
static unsigned add_long_names(struct sym_markup_context *context, unsigned most,
                               enum sym_markup_effect *effect)
{
    size_t length = 1 << 20;
    char *name = malloc(length);
    struct sym_markup_node node = { .kind = SYM_MARKUP_MODULE, .name = { name, length } };

    ck_assert_ptr_nonnull(name);
    memset(name, 'n', length);
    node.type = (struct sym_markup_text){ "elf", 3 };
    for (node.id = 0; node.id < most; node.id++) {
        *effect = sym_markup_apply(context, &node);
        if (*effect != SYM_MARKUP_DONE)
            break;
    }
    free(name);
    return (unsigned)node.id;
}

START_TEST(takes_a_bounded_amount_of_memory)
{
    static const struct sym_markup_node forget = { .kind = SYM_MARKUP_RESET };
    struct sym_markup_context *context = sym_markup_context_new();
    enum sym_markup_effect effect = SYM_MARKUP_DONE;

    ck_assert_uint_ge(add_long_names(context, 300, &effect), 250);
    ck_assert_int_eq(effect, SYM_MARKUP_TOO_LARGE);
    ck_assert_int_eq(apply(context, "{{{mmap:0x1000:0x10:load:0:r:0x0}}}"), SYM_MARKUP_DONE);
    ck_assert_int_eq(sym_markup_apply(context, &forget), SYM_MARKUP_DONE);
    ck_assert_uint_eq(add_long_names(context, 10, &effect), 10);
    sym_markup_context_lift(context);
    (void)sym_markup_apply(context, &forget);
    ck_assert_uint_eq(add_long_names(context, 300, &effect), 300);
    sym_markup_context_free(context);
}
END_TEST

START_TEST(survives_every_failing_allocation)
{
    unsigned long count, n = 0;

    do {
        allocation_fail_at(++n);
        struct sym_markup_context *context = sym_markup_context_new();
        enum sym_markup_effect module = SYM_MARKUP_NO_MEMORY, mapping = SYM_MARKUP_NO_MEMORY;

        if (context) {
            module = apply(context, "{{{module:0:a:elf:01}}}");
            mapping = apply(context, "{{{mmap:0x1000:0x1000:load:0:r:0x0}}}");
        }
        count = allocation_count();
        allocation_fail_at(0);
        ck_assert(module == SYM_MARKUP_NO_MEMORY || module == SYM_MARKUP_DONE);
        if (context && module == SYM_MARKUP_NO_MEMORY)
            ck_assert_int_eq(mapping, SYM_MARKUP_NO_MODULE);
        sym_markup_context_free(context);
    } while (count >= n); /* the n-th was asked for, and refused */
    ck_assert_uint_eq(n, 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolizer markup");
    TCase *reading = tcase_create("lines"), *context = tcase_create("context");

    tcase_set_timeout(reading, 10);
    tcase_add_loop_test(reading, takes_a_line_apart, 0, ROWS(lines));
    tcase_add_test(reading, reads_no_further_than_the_line);
    tcase_add_loop_test(reading, takes_linear_time_for_hostile_lines, 0, 5);
    suite_add_tcase(suite, reading);
    tcase_add_test(context, maps_addresses_to_modules);
    tcase_add_test(context, keeps_the_first_of_two_modules_with_one_number);
    tcase_add_loop_test(context, lets_the_later_of_two_mappings_count, 0, ROWS(overlaps));
    tcase_add_test(context, takes_a_mapping_that_is_there_for_repeated);
    tcase_add_test(context, leaves_out_mappings_that_cannot_be);
    tcase_add_test(context, remembers_a_bounded_number);
    tcase_add_test(context, takes_a_bounded_amount_of_memory);
    tcase_add_test(context, survives_every_failing_allocation);
    suite_add_tcase(suite, context);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
