/* What sampler-capture reads of ELF files, sound and hostile.  */
#include "sampler-capture/elf_image.h"

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- A small sound file ---- */

#define NOTE_OFFSET 0x1c0

struct small_elf {
    Elf64_Ehdr file;
    Elf64_Phdr programs[5];
    uint8_t padding[NOTE_OFFSET - sizeof(Elf64_Ehdr) - 5 * sizeof(Elf64_Phdr)];
    Elf64_Nhdr other_note;
    char other_name[4];
    uint8_t other_text[8];
    Elf64_Nhdr note;
    char name[4];
    uint8_t build_id[20];
};

/* Without what the compiler puts behind the last member.  */
#define SMALL_SIZE (offsetof(struct small_elf, build_id) + 20)

static struct small_elf small_elf(void)
{
    struct small_elf elf = {
        .file = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
                  .e_phoff = sizeof(Elf64_Ehdr),
                  .e_phentsize = sizeof(Elf64_Phdr),
                  .e_phnum = 5 },
        .programs = { { .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000 },
                      { .p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_offset = 0x1040,
                        .p_vaddr = 0x201040,
                        .p_filesz = 0x2100 },
                      { .p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_offset = 0x3140,
                        .p_vaddr = 0x405140,
                        .p_filesz = 0x100 },
                      { .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W | PF_X },
                      { .p_type = PT_NOTE,
                        .p_offset = NOTE_OFFSET,
                        .p_filesz = SMALL_SIZE - NOTE_OFFSET,
                        .p_align = 4 } },
        .other_note = { .n_namesz = 4, .n_descsz = 8, .n_type = NT_GNU_BUILD_ID },
        .other_name = "Foo",
        .note = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID },
        .name = "GNU",
    };

    for (size_t i = 0; i < sizeof elf.build_id; i++)
        elf.build_id[i] = (uint8_t)(0xa0 + i);
    return elf;
}

#define GO_PARTS "AAAAAAAAAAAAAAAAAAAA/BBBBBBBBBBBBBBBBBBBB/CCCCCCCCCCCCCCCCCCCC/"

/* Go's note in the place of the first, and the name of the second; the size of the build ID.  */
static const struct {
    const char *text, *second;
    size_t size;
} go_notes[] = {
    { GO_PARTS "AQIDBAUGBwgJCgsMDQ7_", "Bar", 15 },
    { GO_PARTS "AQIDBAUGBwgJCgsMDQ7_", "GNU", 20 }, /* which goes before Go's */
    { "redacted", "Bar", 0 },
    { GO_PARTS "AQIDBAUGBwgJCgsMDQ7", "Bar", 0 },
    { GO_PARTS "AQIDBAUGBwgJCgsMDQ7_A", "Bar", 0 },
    { GO_PARTS "AQIDBAUGBwgJCgsMDQ7+", "Bar", 0 },
    { GO_PARTS "AQIDBAUGBwgJCgsMDQ/_", "Bar", 0 },
    { "AAAAAAAAAAAAAAAAAAAABBBBBBBBBBBBBBBBBBBBBBCCCCCCCCCCCCCCCCCCCCC/AQIDBAUGBwgJCgsMDQ7_", "Bar",
      0 },
    { "", "Bar", 0 },
};

START_TEST(takes_go_s_build_id_where_there_is_no_other)
{
    static const uint8_t last[15] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255 };
    struct small_elf elf = small_elf();
    uint8_t bytes[SMALL_SIZE + 128];
    size_t length = strlen(go_notes[_i].text), padded = (length + 3) & ~(size_t)3;
    Elf64_Nhdr go = { .n_namesz = 4, .n_descsz = (Elf64_Word)length, .n_type = 4 };
    struct elf_image image;

    elf.programs[4].p_filesz = sizeof go + 4 + padded + SMALL_SIZE -
                               offsetof(struct small_elf, note);
    memcpy(elf.name, go_notes[_i].second, 4);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &elf, NOTE_OFFSET);
    memcpy(bytes + NOTE_OFFSET, &go, sizeof go);
    memcpy(bytes + NOTE_OFFSET + sizeof go, "Go", 3);
    memcpy(bytes + NOTE_OFFSET + sizeof go + 4, go_notes[_i].text, length);
    memcpy(bytes + NOTE_OFFSET + sizeof go + 4 + padded, &elf.note,
           SMALL_SIZE - offsetof(struct small_elf, note));
    ck_assert(elf_image_read_memory(bytes, sizeof bytes, &image));
    ck_assert_uint_eq(image.build_id_size, go_notes[_i].size);
    if (image.build_id_size)
        ck_assert_mem_eq(image.build_id, image.build_id_size == 15 ? last : elf.build_id,
                         image.build_id_size);
}
END_TEST

START_TEST(finds_segments_and_build_id)
{
    struct small_elf elf = small_elf();
    struct elf_image image;

    ck_assert(elf_image_read_memory(&elf, SMALL_SIZE, &image));
    ck_assert_uint_eq(image.segment_count, 2);
    ck_assert_uint_eq(image.segments[0].vaddr, 0x201040);
    ck_assert_uint_eq(image.build_id_size, 20);
    ck_assert_mem_eq(image.build_id, elf.build_id, 20);
}
END_TEST

static const struct {
    const char *what;
    uint64_t file_offset;
    uint64_t vaddr; /* 0: not found */
} places[] = {
    { "first page of the first segment", 0x1000, 0x201000 },
    { "inside the first segment", 0x2000, 0x202000 },
    { "page that both segments share: the one that begins there", 0x3000, 0x405000 },
    { "before the code", 0, 0 },
    { "behind the code", 0x4000, 0 },
    { "far behind", UINT64_MAX, 0 },
};

START_TEST(places_a_mapping_by_its_file_offset)
{
    struct small_elf elf = small_elf();
    struct elf_image image;
    uint64_t vaddr = 0;
    bool found;

    ck_assert(elf_image_read_memory(&elf, SMALL_SIZE, &image));
    found = elf_image_vaddr(&image, places[_i].file_offset, &vaddr);
    ck_assert_msg(found == (places[_i].vaddr != 0), "%s", places[_i].what);
    ck_assert_msg(vaddr == places[_i].vaddr, "%s: %llx", places[_i].what,
                  (unsigned long long)vaddr);
}
END_TEST

/* ---- Real files ---- */

struct own_code {
    uint64_t address;
    uint64_t vaddr;
};

/* The first object is the program itself.  */
static int find_own_code(struct dl_phdr_info *info, size_t size, void *context)
{
    struct own_code *code = context;

    (void)size;
    code->vaddr = code->address - info->dlpi_addr;
    return 1;
}

START_TEST(places_our_own_code_where_the_loader_did)
{
    struct own_code code = { .address = (uint64_t)(uintptr_t)find_own_code };
    unsigned long start, limit, offset;
    struct elf_image image;
    uint64_t vaddr = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    ck_assert(maps && fd >= 0);
    ck_assert(elf_image_read_fd(fd, &image));
    dl_iterate_phdr(find_own_code, &code);
    while (fgets(line, sizeof line, maps)) {
        char *end;
        start = strtoul(line, &end, 16);
        limit = strtoul(end + 1, &end, 16);
        offset = strtoul(end + 6, &end, 16); /* behind " r-xp " */
        if (code.address < start || code.address >= limit)
            continue;
        ck_assert(elf_image_vaddr(&image, offset, &vaddr));
        ck_assert_uint_eq(code.address - start + vaddr, code.vaddr);
        vaddr = 1;
    }
    ck_assert_uint_eq(vaddr, 1);
    (void)fclose(maps);
    (void)close(fd);
}
END_TEST

START_TEST(reads_the_vdso_from_memory)
{
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
    struct elf_image image;

    if (!vdso)
        return;
    ck_assert(elf_image_read_memory(vdso, 4096, &image));
    ck_assert_uint_eq(image.segment_count, 1);
    ck_assert_uint_gt(image.build_id_size, 0);
}
END_TEST

/* ---- Hostile bytes ---- */

/* An exact copy, so that the sanitizer sees a read behind the end.  */
static bool read_copy(const void *bytes, size_t size, struct elf_image *image)
{
    uint8_t *copy = malloc(size ? size : 1);
    bool read;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, size);
    read = elf_image_read_memory(copy, size, image);
    free(copy);
    return read;
}

START_TEST(a_cut_file_gives_what_is_whole)
{
    struct small_elf elf = small_elf();
    size_t headers = sizeof elf.file + sizeof elf.programs;
    struct elf_image image;

    for (size_t size = 0; size < SMALL_SIZE; size++) {
        bool read = read_copy(&elf, size, &image);
        ck_assert_int_eq(read, size >= headers);
        ck_assert_uint_eq(image.build_id_size, 0);
    }
}
END_TEST

START_TEST(flipped_bits_do_no_harm)
{
    struct small_elf elf;
    struct elf_image image;
    uint64_t vaddr;

    for (size_t bit = 0; bit < 8 * SMALL_SIZE; bit++) {
        elf = small_elf();
        ((uint8_t *)&elf)[bit / 8] ^= (uint8_t)(1U << bit % 8);
        if (!read_copy(&elf, SMALL_SIZE, &image))
            continue;
        ck_assert_uint_le(image.segment_count, ELF_IMAGE_MAX_SEGMENTS);
        ck_assert_uint_le(image.build_id_size, ELF_IMAGE_MAX_BUILD_ID);
        (void)elf_image_vaddr(&image, 0x2000, &vaddr);
    }
}
END_TEST

static void big_endian(struct small_elf *elf)
{
    elf->file.e_ident[EI_DATA] = ELFDATA2MSB;
}

static void odd_header_size(struct small_elf *elf)
{
    elf->file.e_phentsize++;
}

static void headers_at_the_end_of_numbers(struct small_elf *elf)
{
    elf->file.e_phoff = UINT64_MAX - 60;
}

static void too_many_headers(struct small_elf *elf)
{
    elf->file.e_phnum = UINT16_MAX;
}

static void no_magic(struct small_elf *elf)
{
    elf->file.e_ident[0] = 0;
}

static void unknown_class(struct small_elf *elf)
{
    elf->file.e_ident[EI_CLASS] = 3;
}

static void (*const breakers[])(struct small_elf *) = {
    big_endian,       odd_header_size, headers_at_the_end_of_numbers,
    too_many_headers, no_magic,        unknown_class,
};

START_TEST(refuses_what_no_loader_takes)
{
    struct small_elf elf = small_elf();
    struct elf_image image;

    breakers[_i](&elf);
    ck_assert(!read_copy(&elf, SMALL_SIZE, &image));
}
END_TEST

static const struct {
    const char *what;
    uint32_t name_size;
    uint32_t size;
} bad_notes[] = {
    { "description behind the end", 4, 21 },
    { "description of 4 GiB", 4, UINT32_MAX },
    { "name of 4 GiB", UINT32_MAX, 20 },
    { "both", UINT32_MAX, UINT32_MAX },
    { "no description", 4, 0 },
};

START_TEST(a_bad_note_is_no_build_id)
{
    struct small_elf elf = small_elf();
    struct elf_image image;

    elf.note.n_namesz = bad_notes[_i].name_size;
    elf.note.n_descsz = bad_notes[_i].size;
    ck_assert(read_copy(&elf, SMALL_SIZE, &image));
    ck_assert_msg(image.build_id_size == 0, "%s", bad_notes[_i].what);
    ck_assert_uint_eq(image.segment_count, 2);
}
END_TEST

START_TEST(a_segment_of_endless_notes_ends)
{
    struct small_elf elf = small_elf();
    struct elf_image image;
    size_t size = 1 << 20; /* of empty notes */
    uint8_t *bytes = calloc(1, size);

    ck_assert_ptr_nonnull(bytes);
    elf.programs[4].p_filesz = UINT64_MAX;
    elf.note = (Elf64_Nhdr){ 0 };
    memcpy(bytes, &elf, sizeof elf);
    ck_assert(elf_image_read_memory(bytes, size, &image));
    ck_assert_uint_eq(image.build_id_size, 0);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_elf_image");
    TCase *tcase = tcase_create("elf_image");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, finds_segments_and_build_id);
    tcase_add_loop_test(tcase, takes_go_s_build_id_where_there_is_no_other, 0,
                        sizeof go_notes / sizeof go_notes[0]);
    tcase_add_loop_test(tcase, places_a_mapping_by_its_file_offset, 0,
                        sizeof places / sizeof *places);
    tcase_add_test(tcase, places_our_own_code_where_the_loader_did);
    tcase_add_test(tcase, reads_the_vdso_from_memory);
    tcase_add_test(tcase, a_cut_file_gives_what_is_whole);
    tcase_add_test(tcase, flipped_bits_do_no_harm);
    tcase_add_loop_test(tcase, refuses_what_no_loader_takes, 0, sizeof breakers / sizeof *breakers);
    tcase_add_loop_test(tcase, a_bad_note_is_no_build_id, 0, sizeof bad_notes / sizeof *bad_notes);
    tcase_add_test(tcase, a_segment_of_endless_notes_ends);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
