/* Address maps of captured processes: what overlaps, what is forked, what is written.  */
#include "sampler-capture/capture_modules.h"
#include "sampler-capture/proc_maps.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct module program = { .serial = 1, .name = (char *)"program" };
static const struct module library = { .serial = 2, .name = (char *)"library" };
static struct address_map map;

static void setup(void)
{
    memset(&map, 0, sizeof map);
}

static void teardown(void)
{
    address_map_release(&map);
}

/* Mappings of the program start at vaddr 0x100 for address 0x1000, in step.  */
static struct mapping of(const struct module *module, uint64_t start, uint64_t limit)
{
    return (struct mapping){ .start = start,
                             .limit = limit,
                             .vaddr = module ? start - 0xf00 : 0,
                             .module = module,
                             .flags = 5 };
}

static void add(const struct module *module, uint64_t start, uint64_t limit)
{
    struct mapping mapping = of(module, start, limit);

    ck_assert(address_map_add(&map, &mapping));
}

static void write_all(void)
{
    for (size_t i = 0; i < map.count; i++)
        map.mappings[i].written = true;
    map.has_unwritten = false;
}

/* The map as text: "1000-3000 program, ...", "*" behind what is not written.  */
static const char *show(void)
{
    static char text[4096];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < map.count; i++) {
        const struct mapping *m = &map.mappings[i];
        int n = snprintf(text + used, sizeof text - used, "%s%llx-%llx@%llx %s%s", i ? ", " : "",
                         (unsigned long long)m->start, (unsigned long long)m->limit,
                         (unsigned long long)m->vaddr, m->module ? m->module->name : "-",
                         m->written ? "" : "*");
        ck_assert(n > 0 && (size_t)n < sizeof text - used);
        used += (size_t)n;
    }
    return text;
}

static const struct {
    const char *what;
    bool library;
    uint64_t start, limit;
    const char *after; /* of program 3000-6000 and 8000-9000, written */
} overlaps[] = {
    { "beside", true, 0x6000, 0x8000,
      "3000-6000@2100 program, 6000-8000@5100 library*, 8000-9000@7100 program" },
    { "in front", true, 0x1000, 0x3000,
      "1000-3000@100 library*, 3000-6000@2100 program, 8000-9000@7100 program" },
    { "over the start", true, 0x2000, 0x4000,
      "2000-4000@1100 library*, 4000-6000@3100 program, 8000-9000@7100 program" },
    { "over the end", true, 0x5000, 0x7000,
      "3000-5000@2100 program, 5000-7000@4100 library*, 8000-9000@7100 program" },
    { "in the middle", true, 0x4000, 0x5000,
      "3000-4000@2100 program, 4000-5000@3100 library*, 5000-6000@4100 program, "
      "8000-9000@7100 program" },
    { "the same place", true, 0x3000, 0x6000, "3000-6000@2100 library*, 8000-9000@7100 program" },
    { "over both", true, 0x2000, 0xa000, "2000-a000@1100 library*" },
    { "over parts of both", true, 0x4000, 0x8800,
      "3000-4000@2100 program, 4000-8800@3100 library*, 8800-9000@7900 program" },
    { "again", false, 0x3000, 0x6000, "3000-6000@2100 program, 8000-9000@7100 program" },
    { "a part of itself again", false, 0x4000, 0x5000,
      "3000-6000@2100 program, 8000-9000@7100 program" },
    { "itself grown", false, 0x3000, 0x7000, "3000-7000@2100 program*, 8000-9000@7100 program" },
};

START_TEST(the_newest_mapping_wins)
{
    add(&program, 0x3000, 0x6000);
    add(&program, 0x8000, 0x9000);
    write_all();
    add(overlaps[_i].library ? &library : &program, overlaps[_i].start, overlaps[_i].limit);
    ck_assert_msg(strcmp(show(), overlaps[_i].after) == 0, "%s: %s", overlaps[_i].what, show());
    ck_assert_int_eq(map.has_unwritten, strchr(overlaps[_i].after, '*') != NULL);
}
END_TEST

START_TEST(other_code_at_the_same_place_is_another_mapping)
{
    struct mapping moved = of(&program, 0x3000, 0x6000);

    add(&program, 0x3000, 0x6000);
    write_all();
    moved.vaddr += 0x1000;
    ck_assert(address_map_add(&map, &moved));
    ck_assert_str_eq(show(), "3000-6000@3100 program*");
}
END_TEST

START_TEST(anonymous_code_is_written_only_over_what_the_trace_has)
{
    add(NULL, 0x1000, 0x2000); /* over nothing */
    add(&program, 0x3000, 0x6000);
    add(NULL, 0x4000, 0x5000); /* over what was not written */
    ck_assert_str_eq(show(), "1000-2000@0 -, 3000-4000@2100 program*, 4000-5000@0 -, "
                             "5000-6000@4100 program*");
    write_all();
    add(NULL, 0x4800, 0x5800); /* over what was: the trace must hear of it */
    ck_assert_str_eq(show(), "1000-2000@0 -, 3000-4000@2100 program, 4000-4800@0 -, "
                             "4800-5800@0 -*, 5800-6000@4900 program");
    write_all();
    add(NULL, 0x4800, 0x5800);
    ck_assert(!map.has_unwritten);
    add(&library, 0x4400, 0x5000); /* leaves anonymous code on both sides, which has no vaddr */
    ck_assert_uint_eq(map.mappings[2].vaddr, 0);
    ck_assert_uint_eq(map.mappings[4].start, 0x5000);
    ck_assert_uint_eq(map.mappings[4].vaddr, 0);
}
END_TEST

START_TEST(a_file_over_anonymous_code_says_so)
{
    add(NULL, 0x1000, 0x2000);
    add(&program, 0x1800, 0x2800);
    add(&program, 0x5000, 0x6000);
    ck_assert_str_eq(show(), "1000-1800@0 -, 1800-2800@900 program*, 5000-6000@4100 program*");
    ck_assert(map.mappings[1].over_anonymous);
    ck_assert(!map.mappings[2].over_anonymous);
}
END_TEST

START_TEST(a_fork_has_the_same_mappings_and_wrote_none)
{
    struct address_map child = { .count = 0 };

    add(&program, 0x3000, 0x6000);
    write_all();
    add(NULL, 0x4000, 0x5000);
    add(&library, 0x8000, 0x9000);
    ck_assert(address_map_fork(&map, 77, &child));
    address_map_release(&map);
    map = child;
    ck_assert_str_eq(show(), "3000-4000@2100 program*, 4000-5000@0 -, 5000-6000@4100 program*, "
                             "8000-9000@7100 library*");
    ck_assert(map.has_unwritten);
    for (size_t i = 0; i < map.count; i++)
        ck_assert_uint_eq(map.mappings[i].time_ns, 77);
}
END_TEST

/* The one mapping at address must be of the module with that serial; 0 stands for none.  */
static bool agrees(uint64_t address, unsigned serial)
{
    unsigned found = 0, count = 0;

    for (size_t i = 0; i < map.count; i++) {
        const struct mapping *m = &map.mappings[i];
        if (address < m->start || address >= m->limit)
            continue;
        count++;
        found = m->module ? m->module->serial : 0;
        if (m->module && m->vaddr != m->start - 0xf00)
            return false;
    }
    return count <= 1 && found == serial;
}

/* Against a model: one byte an address, which module it belongs to.  */
START_TEST(agrees_with_a_map_of_single_addresses)
{
    static const struct module *const modules[] = { NULL, &program, &library, &library };
    uint8_t model[64] = { 0 };
    uint32_t random = 12345 + (uint32_t)_i;

    for (int step = 0; step < 200; step++) {
        random = random * 1664525 + 1013904223;
        uint64_t start = random >> 8 & 63, length = random >> 16 & 15;
        const struct module *module = modules[random >> 24 & 3];
        bool good = true;

        if (length == 0 || start + length > 64)
            continue;
        add(module, start, start + length);
        memset(model + start, module ? (int)module->serial : 0, length);
        if (step % 16 == 0)
            write_all();
        for (uint64_t address = 0; address < 64; address++)
            good = good && agrees(address, model[address]);
        ck_assert_msg(good, "step %d: %s", step, show());
    }
}
END_TEST

static const struct {
    const char *what;
    uint64_t generations[3];
    unsigned serials[3];
} sightings[] = {
    { "records of the kernel", { 7, 7, 8 }, { 1, 1, 2 } },
    { "read from /proc, then records", { 0, 7, 7 }, { 1, 1, 1 } },
    { "a record, then read from /proc again", { 7, 0, 7 }, { 1, 1, 1 } },
    { "another file of the same inode", { 0, 7, 8 }, { 1, 1, 2 } },
};

/* A file without a build ID, which maps are read again of.  */
START_TEST(a_file_is_one_module_however_it_was_seen)
{
    struct module_table table = { .count = 0 };

    for (size_t i = 0; i < 3; i++) {
        const struct perf_map seen = { .start = 0x1000,
                                       .length = 0x1000,
                                       .inode = 42,
                                       .inode_generation = sightings[_i].generations[i],
                                       .name = "/nowhere/program" };
        const struct module *module = modules_find(&table, &seen, 1);

        ck_assert_ptr_nonnull(module);
        ck_assert_msg(module->serial == sightings[_i].serials[i], "%s: %zu is module %u",
                      sightings[_i].what, i, (unsigned)module->serial);
    }
    modules_release(&table);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_maps");
    TCase *tcase = tcase_create("maps");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, the_newest_mapping_wins, 0, sizeof overlaps / sizeof *overlaps);
    tcase_add_test(tcase, other_code_at_the_same_place_is_another_mapping);
    tcase_add_test(tcase, anonymous_code_is_written_only_over_what_the_trace_has);
    tcase_add_test(tcase, a_file_over_anonymous_code_says_so);
    tcase_add_test(tcase, a_fork_has_the_same_mappings_and_wrote_none);
    tcase_add_loop_test(tcase, a_file_is_one_module_however_it_was_seen, 0,
                        sizeof sightings / sizeof *sightings);
    tcase_add_loop_test(tcase, agrees_with_a_map_of_single_addresses, 0, 20);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
