/* What a capture says of the kernel, from files as /proc and /sys have them.  */
#include "sampler-capture/cpu/kernel.h"
#include "tests/support/allocation.h"

#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];
static struct kernel kernel;

/* Make root/path, with its folders.  */
static void put(const char *path, const void *bytes, size_t size)
{
    char whole[256];
    FILE *file;

    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(whole, 0777);
        *slash = '/';
    }
    file = fopen(whole, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static void put_text(const char *path, const char *text)
{
    put(path, text, strlen(text));
}

static void put_note(const char *path, const char *id)
{
    /* Another note stands before it.  */
    static const uint8_t other[] = { 4, 0, 0,   0,   1,   0, 0, 0, 1, 0,
                                     0, 0, 'X', 'e', 'n', 0, 9, 0, 0, 0 };
    static const uint8_t head[] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };
    uint8_t bytes[sizeof other + sizeof head + 20];

    memcpy(bytes, other, sizeof other);
    memcpy(bytes + sizeof other, head, sizeof head);
    memcpy(bytes + sizeof other + sizeof head, id, 20);
    put(path, bytes, sizeof bytes);
}

static void put_kcore(const char *text)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
        char notes[64];
    } core = { .header = { .e_ident = ELFMAG, .e_phoff = sizeof(Elf64_Ehdr) } };

    core.segment.p_type = PT_NOTE;
    core.segment.p_offset = sizeof core.header + sizeof core.segment;
    core.segment.p_filesz = sizeof core.notes;
    (void)snprintf(core.notes, sizeof core.notes, "VMCOREINFO\n%s\n", text);
    put("/proc/kcore", &core, sizeof core);
}

static void setup(void)
{
    (void)snprintf(root, sizeof root, "/tmp/fxt-kernel-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    put_text("/proc/kallsyms", "ffffffff9e000000 T _stext\n"
                               "ffffffff9e000000 T _text\n"
                               "ffffffff9e001000 T do_one_initcall\n"
                               "ffffffff9e800000 D some_data\n"
                               "ffffffff9f000000 T _etext\n"
                               "ffffffffc0201010 t ext4_read\t[ext4]\n"
                               "ffffffffc0900000 t lost\t[unknown]\n");
    put_text("/proc/modules", "ext4 1064960 1 - Live 0xffffffffc0200000\n"
                              "broken line\n"
                              "hidden 4096 0 - Live 0x0000000000000000\n");
    put_text("/sys/module/ext4/sections/.text", "0xffffffffc0201000\n");
    put_note("/sys/kernel/notes", "kernelkernelkernelke");
    put_note("/sys/module/ext4/notes/.note.gnu.build-id", "ext4ext4ext4ext4ext4");
}

static void teardown(void)
{
    char command[128];

    kernel_release(&kernel);
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) */
}

START_TEST(a_moved_kernel_is_mapped_to_the_addresses_of_its_file)
{
    put_kcore("KERNELOFFSET=1d000000");
    ck_assert(kernel_read(&kernel, root));
    ck_assert(!kernel.hidden);
    ck_assert_uint_eq(kernel.count, 2);
    ck_assert_str_eq(kernel.images[0].name, "[kernel.kallsyms]");
    ck_assert_uint_eq(kernel.images[0].start, 0xffffffff9e000000);
    ck_assert_uint_eq(kernel.images[0].limit, 0xffffffff9f000000);
    ck_assert_uint_eq(kernel.images[0].vaddr, 0xffffffff81000000);
    ck_assert_uint_eq(kernel.images[0].build_id_size, 20);
    ck_assert_mem_eq(kernel.images[0].build_id, "kernelkernelkernelke", 20);
}
END_TEST

START_TEST(a_module_begins_with_its_text)
{
    ck_assert(kernel_read(&kernel, root));
    ck_assert_str_eq(kernel.images[1].name, "[ext4]");
    ck_assert_uint_eq(kernel.images[1].start, 0xffffffffc0201000);
    ck_assert_uint_eq(kernel.images[1].limit, 0xffffffffc0200000 + 1064960);
    ck_assert_uint_eq(kernel.images[1].vaddr, 0);
    ck_assert_mem_eq(kernel.images[1].build_id, "ext4ext4ext4ext4ext4", 20);
}
END_TEST

/* Wrong names are worse than none: nobody is to look into vmlinux with these addresses.  */
START_TEST(a_kernel_moved_nobody_knows_how_far_has_no_build_id)
{
    ck_assert(kernel_read(&kernel, root));
    ck_assert_uint_eq(kernel.images[0].build_id_size, 0);
    ck_assert_uint_eq(kernel.images[0].vaddr, kernel.images[0].start);
}
END_TEST

START_TEST(symbols_are_functions_with_the_addresses_of_the_mappings)
{
    put_kcore("KERNELOFFSET=1d000000");
    ck_assert(kernel_read(&kernel, root));
    ck_assert_uint_eq(kernel.symbols_size, strlen("ffffffff81000000 T _stext\n"
                                                  "ffffffff81000000 T _text\n"
                                                  "ffffffff81001000 T do_one_initcall\n"
                                                  "ffffffff82000000 T _etext\n"
                                                  "0000000000000010 t ext4_read\t[ext4]\n"));
    ck_assert_mem_eq(kernel.symbols,
                     "ffffffff81000000 T _stext\n"
                     "ffffffff81000000 T _text\n"
                     "ffffffff81001000 T do_one_initcall\n"
                     "ffffffff82000000 T _etext\n"
                     "0000000000000010 t ext4_read\t[ext4]\n",
                     kernel.symbols_size);
}
END_TEST

START_TEST(hidden_addresses_are_told)
{
    put_text("/proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T _etext\n");
    ck_assert(kernel_read(&kernel, root));
    ck_assert(kernel.hidden);
    ck_assert_uint_eq(kernel.count, 0);
    ck_assert_uint_eq(kernel.symbols_size, 0);
}
END_TEST

START_TEST(no_proc_at_all_is_hidden_too)
{
    ck_assert(kernel_read(&kernel, "/nowhere"));
    ck_assert(kernel.hidden);
}
END_TEST

static const uint8_t bad_notes[][24] = {
    { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U' },            /* cut */
    { 0xff, 0xff, 0xff, 0xff, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N' },     /* endless name */
    { 4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 'G', 'N', 'U' }, /* endless ID */
    { 0 },
};

START_TEST(damaged_notes_give_no_build_id)
{
    put_kcore("KERNELOFFSET=1d000000");
    put("/sys/kernel/notes", bad_notes[_i], sizeof bad_notes[_i]);
    ck_assert(kernel_read(&kernel, root));
    ck_assert_uint_eq(kernel.images[0].build_id_size, 0);
}
END_TEST

START_TEST(want_of_memory_is_told)
{
    unsigned long n = 0;
    bool fine = false;

    while (!fine) {
        kernel_release(&kernel);
        allocation_fail_at(++n);
        fine = kernel_read(&kernel, root);
        allocation_fail_at(0);
    }
    ck_assert_uint_gt(n, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_kernel");
    TCase *tcase = tcase_create("kernel");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_moved_kernel_is_mapped_to_the_addresses_of_its_file);
    tcase_add_test(tcase, a_module_begins_with_its_text);
    tcase_add_test(tcase, a_kernel_moved_nobody_knows_how_far_has_no_build_id);
    tcase_add_test(tcase, symbols_are_functions_with_the_addresses_of_the_mappings);
    tcase_add_test(tcase, hidden_addresses_are_told);
    tcase_add_test(tcase, no_proc_at_all_is_hidden_too);
    tcase_add_loop_test(tcase, damaged_notes_give_no_build_id, 0,
                        (int)(sizeof bad_notes / sizeof *bad_notes));
    tcase_add_test(tcase, want_of_memory_is_told);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
