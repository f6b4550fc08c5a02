/* Rounds of a capture on rings filled by hand: order over CPUs, what waits, what is lost, and what
 * the trace says.  The trace is read back with libfxt.  */
#include <fxt/fxt.h>
#include "sampler-capture/cpu/cpu_capture.h"
#include "sampler-capture/cpu/cpu_options.h"
#include "tests/support/perf_bytes.h"

#include <check.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CPUS      2
#define RING_SIZE 65536
#define FAR       ((uint64_t)1 << 62) /* a time after every round of the test */

static struct perf_event_mmap_page controls[CPUS];
static uint8_t rings[CPUS][RING_SIZE];
static struct perf_bytes bytes;
static struct cpu_events cpus[CPUS];
static struct events events = { .cpus = cpus, .count = CPUS, .cpu_limit = 6 };
static struct trace *trace;
static struct drain drain;
static struct capture capture;
static FILE *file;

static void open_with(size_t region_size)
{
    file = tmpfile();
    ck_assert_ptr_nonnull(file);
    bytes.size = 0;
    for (unsigned i = 0; i < CPUS; i++) {
        memset(&controls[i], 0, sizeof controls[i]);
        cpus[i] = (struct cpu_events){ .cpu = 5 * i,
                                       .sideband.fd = -1,
                                       .samples = { .fd = -1, .mapping = &controls[i] } };
        ring_init(&cpus[i].samples.ring, &controls[i], rings[i], RING_SIZE);
    }
    trace = trace_open(fileno(file), events.cpu_limit, &(struct trace_options){ .regions_fd = -1 });
    ck_assert_ptr_nonnull(trace);
    ck_assert(drain_init(&drain, &events, DRAIN_STREAMING, region_size));
    capture_init(&capture, &drain, trace);
}

static void setup(void)
{
    open_with(65536);
}

static void teardown(void)
{
    capture_release(&capture);
    drain_release(&drain);
    trace_close(trace);
    for (unsigned i = 0; i < CPUS; i++)
        ring_release(&cpus[i].samples.ring);
    (void)fclose(file);
}

/* The kernel writes what is in bytes into the ring of CPU 0 or 5.  */
static void kernel_writes(unsigned index)
{
    for (size_t i = 0; i < bytes.size; i++)
        rings[index][(controls[index].data_head + i) % RING_SIZE] = bytes.bytes[i];
    controls[index].data_head += bytes.size;
    bytes.size = 0;
}

static void sample(unsigned index, uint32_t pid, uint64_t time_ns)
{
    const uint64_t chain[] = { PERF_CONTEXT_USER, time_ns, 0x402000 };

    perf_bytes_sample(&bytes, pid, pid, time_ns, chain, 3);
    kernel_writes(index);
}

static void map_file(unsigned index, uint32_t pid, uint64_t start, uint64_t time_ns,
                     const char *name)
{
    perf_bytes_map(&bytes, (struct perf_bytes_map){ .pid = pid,
                                                    .tid = pid,
                                                    .time_ns = time_ns,
                                                    .start = start,
                                                    .length = 0x1000,
                                                    .name = name,
                                                    .build_id = "abcdefghijklmnopqrst" });
    kernel_writes(index);
}

static uint64_t argument(const struct fxt_record *record, const char *name)
{
    const struct fxt_arg *arg = fxt_record_arg(record, name);

    ck_assert_ptr_nonnull(arg);
    return arg->value.uint64;
}

/* One record in a few letters; provider CPUs are 1 and 6.  */
static int describe(char *text, size_t size, const struct fxt_record *r)
{
    switch (r->kind) {
    case FXT_RECORD_KERNEL_OBJECT:
        return snprintf(text, size, "%s%llu=%.*s ", r->value.object.type == 1 ? "P" : "T",
                        (unsigned long long)r->value.object.koid, (int)r->name.length,
                        r->name.bytes);
    case FXT_RECORD_MODULE:
        return snprintf(text, size, "module%u=%.*s ", r->value.module.id, (int)r->name.length,
                        r->name.bytes);
    case FXT_RECORD_MAPPING:
        return snprintf(text, size, "map%u@%llx ", r->value.mapping.module_id,
                        (unsigned long long)r->value.mapping.start);
    case FXT_RECORD_LARGE_BLOB:
        return snprintf(text, size, "%u:%llu/%llu@%llu ", r->provider->id,
                        (unsigned long long)r->thread.process, (unsigned long long)r->thread.thread,
                        (unsigned long long)r->ticks);
    case FXT_RECORD_PROVIDER_EVENT:
        return snprintf(text, size, "!%u ", r->value.provider.id);
    case FXT_RECORD_EVENT:
        return snprintf(
            text, size, "lost%llu=%llu,%llu,%llu,%llu,%llu ", (unsigned long long)r->value.event.id,
            (unsigned long long)argument(r, "ring"), (unsigned long long)argument(r, "throttled"),
            (unsigned long long)argument(r, "region_full"),
            (unsigned long long)argument(r, "unreadable"),
            (unsigned long long)argument(r, "exited"));
    default:
        return 0;
    }
}

/* What is in the file so far, as text.  */
static const char *written(void)
{
    static char text[4096];
    struct fxt_input *input = NULL;
    struct fxt_reader *reader = NULL;
    const struct fxt_record *record;
    size_t used = 0;

    text[0] = '\0';
    ck_assert(lseek(fileno(file), 0, SEEK_SET) == 0);
    ck_assert_int_eq(fxt_input_open_fd(fileno(file), &input, NULL), FXT_OK);
    ck_assert_int_eq(fxt_reader_open(input, NULL, &reader, NULL), FXT_OK);
    while (fxt_reader_next(reader, &record, NULL) == FXT_OK) {
        int n = describe(text + used, sizeof text - used, record);
        ck_assert(n >= 0 && (size_t)n < sizeof text - used);
        used += (size_t)n;
    }
    ck_assert_uint_eq(fxt_damage_total(fxt_reader_damage(reader), false), 0);
    fxt_reader_close(reader);
    fxt_input_close(input);
    return text;
}

static void finish(void)
{
    ck_assert(capture_round(&capture, true));
}

START_TEST(merges_the_cpus_by_time)
{
    perf_bytes_name(&bytes, 100, 100, 1, "program", true);
    kernel_writes(1);
    sample(0, 100, 30);
    sample(0, 100, 50);
    sample(1, 100, 20);
    sample(1, 100, 40);
    finish();
    ck_assert_str_eq(written(), "P100=program T100=program 6:100/100@20 1:100/100@30 6:100/100@40 "
                                "1:100/100@50 lost0=0,0,0,0,0 lost5=0,0,0,0,0 ");
}
END_TEST

START_TEST(mappings_come_before_the_samples_that_need_them)
{
    perf_bytes_name(&bytes, 100, 100, 1, "program", true);
    kernel_writes(1);
    sample(0, 100, 30);
    sample(0, 100, 50);
    map_file(1, 100, 0x1000, 10, "/x/program");
    map_file(1, 100, 0x2000, 40, "/x/plugin");
    map_file(1, 100, 0x9000, 60, "/x/late"); /* no sample comes after it */
    finish();
    ck_assert_str_eq(written(),
                     "P100=program T100=program module1=/x/program map1@1000 1:100/100@30 "
                     "module2=/x/plugin map2@2000 1:100/100@50 "
                     "lost0=0,0,0,0,0 lost5=0,0,0,0,0 ");
}
END_TEST

START_TEST(at_one_time_the_mapping_comes_first)
{
    perf_bytes_name(&bytes, 100, 100, 1, "program", true);
    kernel_writes(1);
    sample(0, 100, 30);
    map_file(1, 100, 0x1000, 30, "/x/program");
    finish();
    ck_assert_ptr_nonnull(strstr(written(), "map1@1000 1:100/100@30 "));
}
END_TEST

START_TEST(anonymous_code_replaces_a_written_mapping)
{
    perf_bytes_name(&bytes, 100, 100, 1, "program", true);
    kernel_writes(0);
    map_file(0, 100, 0x1000, 10, "/x/program");
    map_file(0, 100, 0x7000, 11, "//anon");
    sample(0, 100, 20);
    map_file(0, 100, 0x1000, 30, "//anon");
    map_file(0, 100, 0x7000, 31, "//anon");
    sample(0, 100, 40);
    finish();
    ck_assert_str_eq(written(),
                     "P100=program T100=program module1=/x/program map1@1000 1:100/100@20 "
                     "module0=[anon] map0@1000 1:100/100@40 lost0=0,0,0,0,0 ");
}
END_TEST

/* Or readers would let the file's mapping hold from the beginning, and the first sample would be in
 * the file.  */
START_TEST(anonymous_code_with_samples_is_mapped_before_it_is_replaced)
{
    perf_bytes_name(&bytes, 100, 100, 1, "program", true);
    kernel_writes(0);
    map_file(0, 100, 0x1000, 10, "//anon");
    sample(0, 100, 20);
    map_file(0, 100, 0x1000, 30, "/x/plugin");
    sample(0, 100, 40);
    finish();
    ck_assert_str_eq(written(), "P100=program T100=program 1:100/100@20 module0=[anon] map0@1000 "
                                "module1=/x/plugin map1@1000 1:100/100@40 lost0=0,0,0,0,0 ");
}
END_TEST

START_TEST(a_process_without_samples_costs_nothing)
{
    perf_bytes_name(&bytes, 100, 100, 1, "program", true);
    perf_bytes_fork(&bytes, 101, 100, 101, 100, 2);
    kernel_writes(0);
    map_file(0, 101, 0x1000, 10, "/x/program");
    perf_bytes_exit(&bytes, 101, 101, 11);
    kernel_writes(0);
    finish();
    ck_assert_str_eq(written(), "lost0=0,0,0,0,0 ");
}
END_TEST

START_TEST(an_exec_between_samples_changes_the_koids)
{
    perf_bytes_name(&bytes, 100, 100, 1, "sh", true);
    kernel_writes(0);
    sample(1, 100, 10);
    perf_bytes_name(&bytes, 100, 100, 20, "ls", true);
    kernel_writes(0);
    sample(1, 100, 30);
    finish();
    ck_assert_str_eq(written(), "P100=sh T100=sh 6:100/100@10 P4294967396=ls T4294967396=ls "
                                "6:4294967396/4294967396@30 lost0=0,0,0,0,0 lost5=0,0,0,0,0 ");
}
END_TEST

START_TEST(what_is_younger_than_the_last_round_waits)
{
    perf_bytes_name(&bytes, 100, 100, 1, "program", true);
    kernel_writes(0);
    sample(0, 100, 10);
    sample(0, 100, FAR);
    ck_assert(capture_round(&capture, false));
    ck_assert_str_eq(written(), ""); /* there was no round before this one */
    ck_assert(lseek(fileno(file), 0, SEEK_END) >= 0);
    ck_assert(capture_round(&capture, false));
    ck_assert_str_eq(written(), "P100=program T100=program 1:100/100@10 ");
    ck_assert(lseek(fileno(file), 0, SEEK_END) >= 0);
    /* A mapping that another CPU reports late, from before the sample that waits.  */
    map_file(1, 100, 0x1000, FAR - 1, "/x/program");
    ck_assert(capture_round(&capture, false));
    finish();
    ck_assert_str_eq(written(), "P100=program T100=program 1:100/100@10 module1=/x/program "
                                "map1@1000 1:100/100@4611686018427387904 "
                                "lost0=0,0,0,0,0 lost5=0,0,0,0,0 ");
}
END_TEST

START_TEST(counts_what_is_lost_by_cause)
{
    static const uint64_t kernel_only[] = { PERF_CONTEXT_KERNEL, 1 };
    static const uint64_t user[] = { PERF_CONTEXT_USER, 1 };

    perf_bytes_lost(&bytes, 7, 5);
    perf_bytes_throttle(&bytes, 6);
    perf_bytes_sample(&bytes, 100, 100, 7, kernel_only, 2);
    perf_bytes_sample(&bytes, 100, 100, 8, kernel_only, 2);
    perf_bytes_sample(&bytes, UINT32_MAX, UINT32_MAX, 9, user, 2);
    kernel_writes(1);
    ck_assert(capture_round(&capture, false));
    ck_assert_str_eq(written(), "lost5=7,1,0,2,1 !6 ");
    ck_assert(lseek(fileno(file), 0, SEEK_END) >= 0);
    ck_assert(capture_round(&capture, false)); /* nothing new */
    perf_bytes_lost(&bytes, 3, 10);
    kernel_writes(1);
    finish();
    ck_assert_str_eq(written(), "lost5=7,1,0,2,1 !6 lost5=10,1,0,2,1 !6 ");
    ck_assert_uint_eq(drain_loss(&drain).ring, 10);
}
END_TEST

/* The kernel tells of losses with the next record that fits; at the end there may be none.  */
START_TEST(counts_what_is_lost_behind_the_last_record)
{
    static const uint64_t value_and_lost[2] = { 5000, 12 };
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0); /* for the event's descriptor */
    ck_assert_int_eq(write(ends[1], value_and_lost, sizeof value_and_lost), sizeof value_and_lost);
    ck_assert_int_eq(close(ends[1]), 0);
    cpus[0].attached = &(struct attached){ .sideband = -1, .samples = { ends[0], -1, -1, -1 } };
    cpus[0].attached_count = 1;
    perf_bytes_lost(&bytes, 7, 5);
    kernel_writes(0);
    finish();
    ck_assert_str_eq(written(), "lost0=12,0,0,0,0 !1 ");
    ck_assert_int_eq(close(ends[0]), 0);
}
END_TEST

START_TEST(a_full_region_drops_and_tells)
{
    uint64_t chain[1 + REGION_MAX_FRAMES] = { PERF_CONTEXT_USER };

    teardown();
    open_with(4096); /* room for seven deep samples */
    for (uint64_t i = 1; i <= REGION_MAX_FRAMES; i++)
        chain[i] = 0x1000 + i;
    for (uint64_t i = 0; i < 10; i++) {
        perf_bytes_sample(&bytes, 100, 100, 10 + i, chain, 1 + REGION_MAX_FRAMES);
        kernel_writes(0);
    }
    finish();
    ck_assert_uint_eq(drain_loss(&drain).region_full, 3);
    ck_assert_uint_eq(trace_totals(trace)->samples, 7);
    ck_assert_ptr_nonnull(strstr(written(), "lost0=0,0,3,0,0 !1 "));
    ck_assert(lseek(fileno(file), 0, SEEK_END) >= 0);
    sample(0, 100, 50); /* the next round has an empty region */
    finish();
    ck_assert_uint_eq(trace_totals(trace)->samples, 8);
}
END_TEST

START_TEST(a_record_that_makes_no_sense_is_a_loss)
{
    struct perf_event_header header = { .type = PERF_RECORD_SAMPLE, .size = sizeof header };

    memcpy(bytes.bytes, &header, sizeof header);
    bytes.size = sizeof header;
    kernel_writes(0);
    sample(0, 100, 10);
    finish();
    ck_assert_uint_eq(drain_loss(&drain).ring, 1);
    ck_assert_ptr_nonnull(strstr(written(), "1:100/100@10 "));
}
END_TEST

START_TEST(names_are_made_text)
{
    perf_bytes_name(&bytes, 100, 100, 1, "caf\xc3\xa9\xff", true);
    kernel_writes(0);
    map_file(0, 100, 0x1000, 2, "/x/\xc3(lib\n.so");
    sample(0, 100, 10);
    finish();
    ck_assert_ptr_nonnull(strstr(written(), "P100=caf\xc3\xa9? "));
    ck_assert_ptr_nonnull(strstr(written(), "module1=/x/?(lib\n.so "));
}
END_TEST

START_TEST(long_paths_lose_their_start)
{
    char name[400];

    memset(name, 'd', sizeof name);
    name[0] = '/';
    memcpy(name + 380, "/lib.so", sizeof "/lib.so");
    perf_bytes_name(&bytes, 100, 100, 1, "x", true);
    kernel_writes(0);
    map_file(0, 100, 0x1000, 2, name);
    sample(0, 100, 10);
    finish();
    ck_assert_ptr_nonnull(strstr(written(), "ddd/lib.so map1@1000 "));
}
END_TEST

/* A limit on the size of files stands for the full disk.  */
START_TEST(a_failed_write_leaves_whole_records)
{
    struct rlimit none, limit = { .rlim_cur = 1000, .rlim_max = RLIM_INFINITY };
    bool fine;

    (void)signal(SIGXFSZ, SIG_IGN);
    for (uint64_t i = 0; i < 100; i++)
        sample(0, 100, 10 + i);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &none), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fine = capture_round(&capture, true);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0); /* Check writes files itself */
    ck_assert(!fine);
    ck_assert_int_eq(trace_errno(trace), EFBIG);
    ck_assert_ptr_nonnull(strstr(written(), "1:100/100@10 "));
    ck_assert(lseek(fileno(file), 0, SEEK_END) % 8 == 0);
    ck_assert_uint_eq((uint64_t)lseek(fileno(file), 0, SEEK_END), trace_totals(trace)->bytes);
}
END_TEST

static const struct {
    const char *name;
    size_t count; /* of frames, leaf first; the program is at 0x1000, a library at 0x5000 */
    uint64_t frames[3];
    uint64_t broken;
} stacks[] = {
    { "the leaf alone", 1, { 0x1010 }, 1 },
    { "a caller in the same file", 2, { 0x1010, 0x1020 }, 1 },
    { "a caller that is no code", 2, { 0x1010, 0x9000 }, 1 },
    { "neither is code of a file", 2, { 0x9010, 0x9000 }, 1 },
    { "main(), called by the C library", 2, { 0x1010, 0x5010 }, 0 },
    { "a function of the library, called by main()", 2, { 0x5010, 0x1010 }, 0 },
    { "three frames", 3, { 0x1010, 0x1020, 0x1030 }, 0 },
};

START_TEST(tells_stacks_that_end_early)
{
    uint64_t chain[4] = { PERF_CONTEXT_USER };

    perf_bytes_name(&bytes, 100, 100, 1, "program", true);
    kernel_writes(0);
    map_file(0, 100, 0x1000, 10, "/x/program");
    map_file(0, 100, 0x5000, 11, "/x/library");
    memcpy(chain + 1, stacks[_i].frames, sizeof stacks[_i].frames);
    perf_bytes_sample(&bytes, 100, 100, 20, chain, 1 + stacks[_i].count);
    kernel_writes(0);
    finish();
    ck_assert_msg(capture.broken == stacks[_i].broken, "%s", stacks[_i].name);
}
END_TEST

/* ---- Sizes and periods ---- */

static const struct {
    uint64_t hz;
    uint64_t period_ns;
} frequencies[] = { { 1, 1000000000 },
                    { 7, 142857143 },
                    { 99, 10101010 },
                    { 1000, 1000000 },
                    { 4000, 250000 },
                    { 99999, 10000 },
                    { 100000, SAMPLER_MIN_PERIOD_NS } };

START_TEST(a_frequency_is_a_period)
{
    ck_assert_uint_eq(period_from_hz(frequencies[_i].hz), frequencies[_i].period_ns);
}
END_TEST

static const struct {
    uint64_t period_ns;
    size_t region_size;
    size_t ring_size;
} ring_sizes[] = {
    { DEFAULT_PERIOD_NS, DEFAULT_REGION_SIZE, 256 << 10 }, /* within perf_event_mlock_kb */
    { 1000000000, DEFAULT_REGION_SIZE, 256 << 10 },
    { 100000, DEFAULT_REGION_SIZE, 2 << 20 },
    { SAMPLER_MIN_PERIOD_NS, 64 << 20, 4 << 20 },
    { SAMPLER_MIN_PERIOD_NS, DEFAULT_REGION_SIZE,
      2 << 20 }, /* half a region: the rest waits there */
    { DEFAULT_PERIOD_NS, 100000, 32 << 10 },
    { DEFAULT_PERIOD_NS, 1, 16 << 10 },
};

START_TEST(a_ring_holds_a_quarter_second_within_limits)
{
    ck_assert_uint_eq(
        sampler_ring_size(ring_sizes[_i].period_ns, ring_sizes[_i].region_size, REGION_MAX_FRAMES),
        ring_sizes[_i].ring_size);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, merges_the_cpus_by_time);
    tcase_add_test(tcase, mappings_come_before_the_samples_that_need_them);
    tcase_add_test(tcase, at_one_time_the_mapping_comes_first);
    tcase_add_test(tcase, anonymous_code_replaces_a_written_mapping);
    tcase_add_test(tcase, anonymous_code_with_samples_is_mapped_before_it_is_replaced);
    tcase_add_test(tcase, a_process_without_samples_costs_nothing);
    tcase_add_test(tcase, an_exec_between_samples_changes_the_koids);
    tcase_add_test(tcase, what_is_younger_than_the_last_round_waits);
    tcase_add_test(tcase, counts_what_is_lost_by_cause);
    tcase_add_test(tcase, counts_what_is_lost_behind_the_last_record);
    tcase_add_test(tcase, a_full_region_drops_and_tells);
    tcase_add_test(tcase, a_record_that_makes_no_sense_is_a_loss);
    tcase_add_test(tcase, names_are_made_text);
    tcase_add_test(tcase, long_paths_lose_their_start);
    tcase_add_test(tcase, a_failed_write_leaves_whole_records);
    tcase_add_loop_test(tcase, tells_stacks_that_end_early, 0, sizeof stacks / sizeof *stacks);
    tcase_add_loop_test(tcase, a_frequency_is_a_period, 0,
                        sizeof frequencies / sizeof *frequencies);
    tcase_add_loop_test(tcase, a_ring_holds_a_quarter_second_within_limits, 0,
                        sizeof ring_sizes / sizeof *ring_sizes);
}

int main(void)
{
    Suite *suite = suite_create("capture_rounds");
    TCase *tcase = tcase_create("rounds");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    add_tests(tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
