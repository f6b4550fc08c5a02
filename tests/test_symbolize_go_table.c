/* Go's table in objects made byte by byte: what of it is damaged is no table, and sections that lie
 * upon each other are not searched again and again.  */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/symbolize_build.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum {
    TABLE_BYTES = 4096,
    TABLE_VADDR = 0x10000,
    NAMES = 5 * sizeof(Elf64_Ehdr), /* offset of the section names */
    TABLE = 1024,
    HEADERS = TABLE + TABLE_BYTES,
};

struct table_header {
    uint32_t magic;
    uint8_t zeros[2], quantum, pointer_size;
    uint64_t functions, files, text_start, names, units, file_names, pcs, entries;
};

static const struct table_header sound = {
    .magic = 0xfffffff1,
    .quantum = 1,
    .pointer_size = 8,
    .functions = 2,
    .text_start = 0x1000,
    .names = 72,
    .units = 80,
    .file_names = 88,
    .pcs = 96,
    .entries = 104,
};

/* Writes the object NAME: the table, and count sections of relocations that all have the bytes of
 * the whole file.  */
static char *write_object(const char *name, const struct table_header *header, size_t count)
{
    static const char names[] = "\0.gopclntab\0.rela\0.shstrtab\0.text";
    size_t sections = 4 + count, size = HEADERS + sections * sizeof(Elf64_Shdr);
    uint8_t *bytes = calloc(1, size);
    Elf64_Shdr *rows;
    char *path = build_path(name);

    ck_assert_ptr_nonnull(bytes);
    Elf64_Ehdr file = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                     EV_CURRENT },
                        .e_type = ET_DYN,
                        .e_machine = EM_X86_64,
                        .e_version = EV_CURRENT,
                        .e_ehsize = sizeof file,
                        .e_shoff = HEADERS,
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = (uint16_t)sections,
                        .e_shstrndx = 2 };
    memcpy(bytes, &file, sizeof file);
    memcpy(bytes + NAMES, names, sizeof names);
    memcpy(bytes + TABLE, header, sizeof *header);
    rows = (Elf64_Shdr *)(void *)(bytes + HEADERS);
    rows[1] = (Elf64_Shdr){ .sh_name = 1,
                            .sh_type = SHT_PROGBITS,
                            .sh_flags = SHF_ALLOC,
                            .sh_addr = TABLE_VADDR,
                            .sh_offset = TABLE,
                            .sh_size = TABLE_BYTES };
    rows[2] = (Elf64_Shdr){
        .sh_name = 18, .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = sizeof names
    };
    rows[3] = (Elf64_Shdr){ .sh_name = 28,
                            .sh_type = SHT_PROGBITS,
                            .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                            .sh_addr = 0x1000,
                            .sh_offset = TABLE,
                            .sh_size = 64 };
    for (size_t i = 4; i < sections; i++)
        rows[i] = (Elf64_Shdr){
            .sh_name = 12, .sh_type = SHT_RELA, .sh_size = size, .sh_entsize = sizeof(Elf64_Rela)
        };
    FILE *out = fopen(path, "wb");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes, 1, size, out), size);
    ck_assert_int_eq(fclose(out), 0);
    free(bytes);
    return path;
}

/* Whether the report of the object at path, which is freed, promises Go's table.  */
static bool has_table(char *path)
{
    struct sym_options options = { .size = sizeof options, .debug_root = "", .no_cache = true };
    struct sym_module_key key = { .path = path };
    struct built_answer answer = { .calls = 0 };
    struct sym_session *session;
    struct sym_module *module;
    uint64_t vaddr = 0x1000;

    ck_assert_int_eq(sym_session_open(&options, &session, NULL), SYM_OK);
    ck_assert_int_eq(sym_session_module(session, &key, &module, NULL), SYM_OK);
    ck_assert_int_eq(sym_module_resolve(module, &vaddr, 1, built_keep, &answer, NULL), SYM_OK);
    bool has = sym_module_report(module)->go_table;
    ck_assert_int_eq(sym_module_report(module)->quality,
                     has ? SYM_QUALITY_SYMTAB : SYM_QUALITY_NONE);
    sym_session_close(session);
    free(path);
    return has;
}

START_TEST(knows_a_sound_header)
{
    ck_assert(has_table(write_object("sound", &sound, 0)));
}
END_TEST

static const struct {
    const char *name;
    size_t offset, size;
    uint64_t value;
} damages[] = {
    { "magic of Go 1.16", 0, 4, 0xfffffffa },
    { "no zero behind the magic", 4, 1, 1 },
    { "instructions of 3 bytes", 6, 1, 3 },
    { "instructions of no byte", 6, 1, 0 },
    { "pointers of 4 bytes in a 64-bit object", 7, 1, 4 },
    { "no functions", 8, 8, 0 },
    { "more functions than there is room for", 8, 8, TABLE_BYTES / 8 },
    { "functions without end", 8, 8, UINT64_MAX },
    { "names outside", 32, 8, TABLE_BYTES + 1 },
    { "units outside", 40, 8, UINT64_MAX },
    { "files outside", 48, 8, TABLE_BYTES + 1 },
    { "pc tables outside", 56, 8, UINT64_MAX },
    { "functions outside", 64, 8, TABLE_BYTES + 1 },
};

START_TEST(refuses_a_damaged_header)
{
    struct table_header header = sound;

    memcpy((uint8_t *)&header + damages[_i].offset, &damages[_i].value, damages[_i].size);
    ck_assert_msg(!has_table(write_object("damaged", &header, 0)), "%s", damages[_i].name);
}
END_TEST

/* 60,000 tables of 160,000 relocations take minutes of CPU time, one of them no millisecond.  */
START_TEST(does_not_search_the_same_bytes_again_and_again)
{
    char *path = write_object("many", &sound, 60000);
    clock_t start = clock();

    ck_assert(has_table(path));
    ck_assert_int_lt((clock() - start) / CLOCKS_PER_SEC, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("symbolize_go_table");
    TCase *tcase = tcase_create("table");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, knows_a_sound_header);
    tcase_add_loop_test(tcase, refuses_a_damaged_header, 0, ROWS(damages));
    tcase_add_test(tcase, does_not_search_the_same_bytes_again_and_again);
    suite_add_tcase(suite, tcase);
    (void)build_folder();
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    build_remove();
    return failed != 0;
}
