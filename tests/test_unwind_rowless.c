/* Code of an object that no row covers, such as assembler: its caller is where the instructions
 * lead, and only if the address there follows a call.  */
#include <fxt/unwind.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define CODE_AT  0x400000
#define STACK_AT 0x7000
#define WORDS    16
#define CALLER   (CODE_AT + 0xc5) /* after a call */
#define OTHER    (CODE_AT + 0xd5) /* no call is there */

struct code {
    const char *name;
    uint8_t bytes[0xb8];
    size_t at;             /* of the program counter */
    uint64_t stack[WORDS]; /* from the stack pointer on */
    uint64_t frame;        /* the frame pointer */
    enum unwind_end end;
    size_t count; /* of frames, the program counter's included */
    size_t above; /* words between the stack pointer and the caller's */
};

#define AT(word) (STACK_AT + 8 * (word))

static const struct code codes[] = {
    { "add $8, %rsp; ret",
      { 0x48, 0x83, 0xc4, 8, 0xc3 },
      .stack = { 1, CALLER },
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 2 },
    { "what follows no call is no return address",
      { 0x48, 0x83, 0xc4, 8, 0xc3 },
      .stack = { 1, OTHER },
      .end = UNWIND_END_NO_TABLE,
      .count = 1 },
    { "after a call that never returns is another function",
      { 0x74, 7, 0xe8, 0, 1, 0, 0, 0x5b, 0xc3, 0x58, 0x5b, 0x5d, 0xc3 },
      .stack = { 1, 2, 3, CALLER },
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 4 },
    { "the stack was aligned, and its pointer saved: pop %rsp",
      { 0x48, 0x89, 0xec, 0x5c, 0x5d, 0xc3 },
      .stack = { 1, 2, AT(6), 3, 4, 5, AT(9), CALLER },
      .frame = AT(2),
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 8 },
    { "the same: mov 16(%rsp), %rsp; ret",
      { 0x48, 0x8b, 0x64, 0x24, 16, 0xc3 },
      .stack = { 1, 2, AT(6), 3, 4, 5, CALLER },
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 7 },
    { "the same: leave; lea -8(%r10), %rsp; ret",
      { 0x4c, 0x8b, 0x55, 0xf8, 0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3 },
      .stack = { 1, AT(5), 2, 3, CALLER },
      .frame = AT(2),
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 5 },
    { "jmp *%rax may leave the function",
      { 0x48, 0x83, 0xc4, 8, 0xff, 0xe0 },
      .stack = { 1, CALLER },
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 2 },
    { "or not",
      { 0x48, 0x83, 0xc4, 8, 0xff, 0xe0 },
      .stack = { 1, OTHER },
      .end = UNWIND_END_NO_TABLE,
      .count = 1 },
    { "no way out: from the beginning, after padding",
      { 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
        0x90, 0x90, 0x90, 0x90, 0x90, 0x53, 0x41, 0x54, 0x50, 0xeb, 0xfe },
      .at = 20,
      .stack = { 1, 2, 3, CALLER },
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 4 },
    { "many aligned places do not hide where the frame was set up",
      { 0x55, 0x48, 0x89, 0xe5, 0xe9, 0xa7, [0xb0] = 0xeb, 0xfe },
      .at = 0xb0,
      .stack = { 1, CALLER },
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 2 },
    { "five jumps that may leave the function do not hide the one after the last pop",
      { 0x74, 2,    0xff, 0xe0, 0x74, 2,    0xff, 0xe0, 0x74, 2,  0xff, 0xe0, 0x74, 2,
        0xff, 0xe0, 0x74, 2,    0xff, 0xe0, 0x48, 0x83, 0xc4, 16, 0x5d, 0xff, 0xe0 },
      .stack = { 1, 2, 3, CALLER },
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 4 },
    { "from endbr64",
      { 0x90, 0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0xeb, 0xfe },
      .at = 6,
      .stack = { 1, CALLER },
      .end = UNWIND_END_NO_STACK,
      .count = 2,
      .above = 2 },
    { "no way out, and no beginning",
      { 0x90, 0x53, 0xeb, 0xfe },
      .at = 2,
      .stack = { 1, CALLER },
      .end = UNWIND_END_NO_TABLE,
      .count = 1 },
    { "after its call a thread ends: syscall; hlt",
      { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0, 0x89, 0xc7, 0x0f, 0x05, 0xf4, 0, 0, 0,
        0xc3 },
      .at = 16,
      .stack = { CODE_AT + 8 },
      .end = UNWIND_END_COMPLETE,
      .count = 2,
      .above = 1 },
    { "a frame pointer says that there is a caller",
      { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0, 0x89, 0xc7, 0x0f, 0x05, 0xf4, 0, 0, 0,
        0xc3 },
      .at = 16,
      .stack = { CODE_AT + 8 },
      .frame = 1,
      .end = UNWIND_END_NO_TABLE,
      .count = 2,
      .above = 1 },
};
enum { CODES = sizeof codes / sizeof codes[0] };

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    (void)context;
    if (address >= CODE_AT && address < CODE_AT + 0x100)
        *out = (struct unwind_place){ .kind = UNWIND_PLACE_OBJECT,
                                      .start = CODE_AT,
                                      .limit = CODE_AT + 0x100 };
}

/* The bytes, then zeros, and a call at 0xc0.  */
static size_t read_code(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
    const struct code *code = context;
    uint64_t offset = address - CODE_AT;
    uint8_t all[0x100] = { 0 };

    if (offset >= sizeof all)
        return 0;
    memcpy(all, code->bytes, sizeof code->bytes);
    all[0xc0] = 0xe8;
    size = sizeof all - offset < size ? sizeof all - offset : size;
    memcpy(bytes, all + offset, size);
    return size;
}

/* The caller's frame pointer leads nowhere, so that there are no further frames.  */
START_TEST(finds_the_caller_of_code_without_rows)
{
    struct code code = codes[_i];
    uint64_t addresses[4], pointers[4];
    uint8_t found[4];
    struct unwind_stack stack = {
        .addresses = addresses, .found = found, .pointers = pointers, .capacity = 4
    };
    size_t words = code.above > 0 && code.end == UNWIND_END_NO_STACK ? code.above : WORDS;
    const struct unwind_piece piece = { STACK_AT, (const uint8_t *)code.stack, 8 * words };
    const struct unwind_map map = { find, &code, read_code };
    struct unwind_registers registers = { .machine = UNWIND_X86_64,
                                          .known = 1U << 6 | 1U << 7,
                                          .pc = CODE_AT + code.at };
    struct unwind_walker *walker;

    registers.values[6] = code.frame;
    registers.values[7] = STACK_AT;
    ck_assert_int_eq(unwind_walker_open(&walker, NULL), UNWIND_OK);
    for (int again = 0; again < 2; again++) { /* the second is remembered */
        ck_assert_int_eq(
            unwind_walk(walker, &registers, &(struct unwind_memory){ &piece, 1 }, &map, &stack),
            UNWIND_OK);
        ck_assert_msg(stack.count == code.count, "%s: %zu frames, %s", code.name, stack.count,
                      unwind_end_name(stack.end));
        if (code.count > 1) {
            ck_assert_msg(found[1] == UNWIND_FOUND_RETURN_PATH, "%s: %s", code.name,
                          unwind_found_name(found[1]));
            ck_assert_msg(pointers[1] == AT(code.above), "%s: %#llx", code.name,
                          (unsigned long long)pointers[1]);
        }
    }
    if (code.end != UNWIND_END_NO_STACK)
        ck_assert_msg(stack.end == code.end, "%s: %s", code.name, unwind_end_name(stack.end));
    unwind_walker_close(walker);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unwind_rowless");
    TCase *tests = tcase_create("code without rows");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tests, finds_the_caller_of_code_without_rows, 0, CODES);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
