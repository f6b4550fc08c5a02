/* What a capture reads about the PMU intel_pt, and the events that it asks for, without it.  */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler-capture/insn/pt_hardware.h"

static char folder[64];
static char message[256];

static void put(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* The files of a processor (Xeon, family 6, model 85), as Linux 6.1 has them.  */
static const char *const files[][2] = {
    { "type", "8\n" },
    { "max_nonturbo_ratio", "37\n" },
    { "tsc_art_ratio", "308:2\n" },
    { "caps/topa_output", "1\n" },
    { "caps/mtc", "1\n" },
    { "caps/mtc_periods", "249\n" },
    { "caps/psb_cyc", "1\n" },
    { "caps/cycle_thresholds", "3fff\n" },
    { "caps/psb_periods", "3f\n" },
    { "caps/ip_filtering", "1\n" },
    { "caps/num_address_ranges", "2\n" },
    { "caps/ptwrite", "0\n" },
};
#define FILES (sizeof files / sizeof *files)

static void setup(void)
{
    char caps[96];

    (void)snprintf(folder, sizeof folder, "/tmp/insn-pt-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(caps, sizeof caps, "%s/caps", folder);
    ck_assert_int_eq(mkdir(caps, 0700), 0);
    for (size_t i = 0; i < FILES; i++)
        put(files[i][0], files[i][1]);
}

static void teardown(void)
{
    char path[128];

    for (size_t i = 0; i < FILES; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i][0]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/caps", folder);
    (void)rmdir(path);
    (void)rmdir(folder);
}

static struct pt_facts read_facts(void)
{
    struct pt_facts facts;

    ck_assert(pt_read_facts(folder, &facts, message, sizeof message));
    return facts;
}

START_TEST(reads_what_the_processor_can_do)
{
    struct pt_facts facts = read_facts();

    ck_assert_uint_eq(facts.type, 8);
    ck_assert(facts.abilities.has_pt && facts.abilities.has_topa && facts.abilities.has_threads);
    ck_assert_uint_eq(facts.abilities.mtc_periods, 0x249);
    ck_assert_uint_eq(facts.abilities.cyc_thresholds, 0x3fff);
    ck_assert_uint_eq(facts.abilities.psb_periods, 0x3f);
    ck_assert(facts.abilities.ctl & INSN_CTL_MTC);
    ck_assert(!(facts.abilities.ctl & (INSN_CTL_PTW | INSN_CTL_OS)));
    ck_assert_uint_eq(facts.filters, 2);
    ck_assert_uint_eq(facts.decoder.nom_freq, 37);
    ck_assert_uint_eq(facts.decoder.cpuid_0x15_ebx, 308);
    ck_assert_uint_eq(facts.decoder.cpuid_0x15_eax, 2);
}
END_TEST

START_TEST(says_why_there_is_none)
{
    struct pt_facts facts;

    ck_assert(!pt_read_facts("/nowhere", &facts, message, sizeof message));
    ck_assert_str_eq(message, "this machine has no Intel PT: /nowhere is missing, as in most "
                              "virtual machines; use --simulate");
    put("caps/topa_output", "0\n");
    ck_assert(!pt_read_facts(folder, &facts, message, sizeof message));
    ck_assert_ptr_nonnull(strstr(message, "cannot write to tables"));
}
END_TEST

static const struct {
    int cause;
    bool is_mmap;
    const char *remedy;
} remedies[] = {
    { EACCES, false, "; lower kernel.perf_event_paranoid, or run as root" },
    { EPERM, false, "; lower kernel.perf_event_paranoid, or run as root" },
    { EPERM, true, "; use a smaller --buffer-size, or raise kernel.perf_event_mlock_kb" },
    { ENOMEM, true, "; use a smaller --buffer-size, or raise kernel.perf_event_mlock_kb" },
    { EBUSY, false, "; another program uses Intel PT" },
    { EMFILE, false, "; raise ulimit -n" },
    { EINVAL, false, "" },
};

START_TEST(names_the_remedy_for_the_cause)
{
    ck_assert_str_eq(pt_remedy(remedies[_i].cause, remedies[_i].is_mmap), remedies[_i].remedy);
}
END_TEST

START_TEST(asks_for_what_the_processor_can_do)
{
    struct pt_facts facts = read_facts();
    uint64_t usual = INSN_CTL_USER | INSN_CTL_TSC | INSN_CTL_BRANCH;
    uint64_t mtc = INSN_CTL_MTC | UINT64_C(3) << INSN_CTL_MTC_FREQ_SHIFT;

    ck_assert_uint_eq(pt_choose_ctl(&facts, INSN_TIMING_TSC, false), usual);
    ck_assert_uint_eq(pt_choose_ctl(&facts, INSN_TIMING_MTC, false), usual | mtc);
    ck_assert_uint_eq(pt_choose_ctl(&facts, INSN_TIMING_CYC, true),
                      usual | mtc | INSN_CTL_CYC | INSN_CTL_NO_RETC);
    facts.abilities.mtc_periods = 0x200; /* 9 only */
    ck_assert_uint_eq(pt_choose_ctl(&facts, INSN_TIMING_MTC, false),
                      usual | INSN_CTL_MTC | UINT64_C(9) << INSN_CTL_MTC_FREQ_SHIFT);
    facts.abilities.ctl &= ~(INSN_CTL_MTC | INSN_CTL_CYC);
    ck_assert_uint_eq(pt_choose_ctl(&facts, INSN_TIMING_CYC, false), usual);
}
END_TEST

START_TEST(events_are_of_user_code_and_begin_at_the_exec)
{
    const struct insn_buffer_config config = {
        .num_chunks = 4,
        .chunk_order = 8,
        .ctl = INSN_CTL_USER | INSN_CTL_TSC | INSN_CTL_BRANCH | INSN_CTL_NO_RETC,
    };
    struct pt_facts facts = read_facts();
    struct perf_event_attr attr;

    pt_describe_event(&facts, &config, true, &attr);
    ck_assert_uint_eq(attr.type, 8);
    ck_assert_uint_eq(attr.config, 1 | 1 << 10 | 1 << 11 | 1 << 13);
    ck_assert(attr.exclude_kernel && !attr.exclude_user && attr.inherit);
    ck_assert(attr.disabled && attr.enable_on_exec);
    ck_assert_uint_eq(attr.aux_watermark, 1 << 20);
    pt_describe_event(&facts, &config, false, &attr);
    ck_assert(!attr.inherit); /* the kernel refuses it for a thread on any CPU */
}
END_TEST

START_TEST(filters_are_offsets_of_files)
{
    struct filter filter = {
        .count = 2,
        .ranges = { { .file = (char *)"/bin/a b",
                      .start = 0x401000,
                      .end = 0x401080,
                      .file_offset = 0x1000 },
                    { .file = (char *)"/lib/c", .start = 0x10, .end = 0x20, .file_offset = 0x10 } }
    };
    char *text = pt_filter_text(&filter);

    ck_assert_str_eq(text, "filter 0x1000/0x80@/bin/a b,filter 0x10/0x10@/lib/c");
    free(text);
}
END_TEST

/* On this machine, whatever it is.  */
START_TEST(opening_an_event_that_cannot_be_says_why)
{
    struct pt_facts facts = read_facts();
    struct pt_hardware pt;
    const struct insn_buffer_config config = { .num_chunks = 1, .ctl = INSN_CTL_USER };

    facts.type = 0x7fffffff; /* no PMU has it */
    ck_assert(pt_hardware_init(&pt, &facts, 1));
    pt.by_cpu = true;
    pt.pid = getpid();
    ck_assert_int_ne(pt.hardware.allocate(&pt, 0, &config), INSN_ANSWER_OK);
    ck_assert_ptr_nonnull(strstr(pt.message, "perf_event_open of intel_pt: "));
    ck_assert_int_eq(pt_poll_fd(&pt, 0), -1);
    pt_hardware_release(&pt);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn pt");
    TCase *all = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, reads_what_the_processor_can_do);
    tcase_add_test(all, says_why_there_is_none);
    tcase_add_loop_test(all, names_the_remedy_for_the_cause, 0, sizeof remedies / sizeof *remedies);
    tcase_add_test(all, asks_for_what_the_processor_can_do);
    tcase_add_test(all, events_are_of_user_code_and_begin_at_the_exec);
    tcase_add_test(all, filters_are_offsets_of_files);
    tcase_add_test(all, opening_an_event_that_cannot_be_says_why);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
