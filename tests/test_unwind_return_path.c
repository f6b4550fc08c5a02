/* Code of no object: its caller is found by the instructions with which it returns, and by frame
 * pointer only where they are not known.  */
#include <fxt/unwind.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define STACK_AT 0x7000
#define WORDS    16
#define CODE_AT  0x100000
#define CALLER   0x200000
#define FRAMED   0x300000 /* the caller by frame pointer */

/* The frame pointer leads to words 12 and 13.  */
#define FRAME_WORD 12

struct row {
    const char *name;
    uint8_t code[64];
    size_t size;
    uint64_t caller_word; /* the return address is in; 0: frame pointer */
    uint64_t frame;       /* the frame pointer of the caller */
    size_t at;            /* in the code, of the program counter */
    size_t popped;        /* words behind the return address */
};

#define FRAME (STACK_AT + 8 * FRAME_WORD)
/* What word N holds, so that it is seen which were popped.  */
#define WORD(n) (0x1000U + (n))

static const struct row rows[] = {
    { "add $8, %rsp; ret", { 0x48, 0x83, 0xc4, 0x08, 0xc3 }, 5, 1, FRAME },
    { "add $16, %rsp (32 bits); ret", { 0x48, 0x81, 0xc4, 16, 0, 0, 0, 0xc3 }, 8, 2, FRAME },
    { "lea 24(%rsp), %rsp; ret", { 0x48, 0x8d, 0x64, 0x24, 24, 0xc3 }, 6, 3, FRAME },
    { "lea 32(%rsp), %rsp (32 bits)", { 0x48, 0x8d, 0xa4, 0x24, 32, 0, 0, 0, 0xc3 }, 9, 4, FRAME },
    { "pop %rbx, %r12, %rbp; ret", { 0x5b, 0x41, 0x5c, 0x5d, 0xc3 }, 5, 3, WORD(2) },
    { "pop %rbp, %rax, %r15; ret", { 0x5d, 0x58, 0x41, 0x5f, 0xc3 }, 5, 3, WORD(0) },
    { "leave; ret", { 0xc9, 0xc3 }, 2, FRAME_WORD + 1, WORD(FRAME_WORD) },
    { "mov %rbp, %rsp; pop %rbp; ret", { 0x48, 0x89, 0xec, 0x5d, 0xc3 }, 5, 13, WORD(12) },
    { "the same, other bytes", { 0x48, 0x8b, 0xe5, 0x5d, 0xc3 }, 5, 13, WORD(12) },
    { "endbr64; add; ret", { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xc4, 8, 0xc3 }, 9, 1, FRAME },
    { "vzeroupper; nops; pop; rep ret",
      { 0xc5, 0xf8, 0x77, 0x90, 0x66, 0x90, 0x58, 0xf3, 0xc3 },
      9,
      1,
      FRAME },
    { "pop; ret $16", { 0x58, 0xc2, 16, 0 }, 4, 1, FRAME, 0, 2 },
    { "another call", { 0xff, 0xd1, 0x58, 0xc3 }, 4, 1, FRAME },
    { "call N; mov; cmp (memory); pop; ret",
      { 0xe8, 0, 1, 0, 0, 0x89, 0xc3, 0x49, 0x3b, 0xa7, 0x78, 3, 0, 0, 0x58, 0xc3 },
      16,
      1,
      FRAME },
    { "push; pop; ret, from the start", { 0x55, 0x5d, 0x58, 0xc3 }, 4, 1, FRAME },
    { "push %rbp; mov; leave; pop; ret",
      { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xc9, 0x58, 0xc3 },
      11,
      1,
      FRAME },
    { "jne to ud2; pop; ret", { 0x75, 2, 0x58, 0xc3, 0x0f, 0x0b }, 6, 1, FRAME },
    { "ud2 behind je (32 bits)", { 0x0f, 0x84, 2, 0, 0, 0, 0x0f, 0x0b, 0x58, 0xc3 }, 10, 1, FRAME },
    { "a loop, and out", { 0xff, 0xc8, 0x75, 0xfc, 0x58, 0xc3 }, 6, 1, FRAME },
    { "jmp over bytes that are no code", { 0xeb, 1, 0x06, 0x58, 0xc3 }, 5, 1, FRAME },
    { "lea -16(%rbp), %rsp; pop; pop; pop; ret",
      { 0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x41, 0x5c, 0x5d, 0xc3 },
      9,
      FRAME_WORD + 1,
      WORD(FRAME_WORD) },
    { "mov 8(%rsp), %rbp; add $16, %rsp; ret",
      { 0x48, 0x8b, 0x6c, 0x24, 8, 0x48, 0x83, 0xc4, 16, 0xc3 },
      10,
      2,
      WORD(1) },
    { "vector code; pop; ret",
      { 0xc5, 0xfa, 0x6f, 0x07, 0x62, 0xf1, 0x7e, 0x48, 0x6f, 0x40, 1, 0xc4, 0xe3, 0x79, 0x61, 0x06,
        0x18, 0x58, 0xc3 },
      19,
      1,
      FRAME },
    { "pop %rbp; jmp elsewhere", { 0x48, 0x83, 0xc4, 8, 0x5d, 0xe9, 0, 0, 1, 0 }, 10, 2, WORD(1) },
    { "pop %rbp; jmp *%rdx", { 0x5d, 0xff, 0xe2 }, 3, 1, WORD(0) },
    { "a return is better than a jump",
      { 0x75, 3, 0x5d, 0xff, 0xe2, 0x48, 0x83, 0xc4, 16, 0xc3 },
      10,
      2,
      FRAME },
    { "push %rbp; sub $16, %rsp; a loop without end",
      { 0x90, 0x55, 0x48, 0x83, 0xec, 16, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb,
        0xfe },
      16,
      3,
      WORD(2),
      14 },
    { "push %rbp; mov %rsp, %rbp; sub $8, %rsp; a loop without end",
      { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 8, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfe },
      15,
      2,
      WORD(1),
      13 },
    { "sub $24, %rsp; mov %rbp, 16(%rsp); a loop without end",
      { 0x48, 0x83, 0xec, 24, 0x48, 0x89, 0x6c, 0x24, 16, 0x90, 0x90, 0x90, 0xeb, 0xfe },
      14,
      3,
      WORD(2),
      12 },
    { "a beginning that does not lead here",
      { 0x55, 0x48, 0x83, 0xec, 16, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xfe },
      14,
      0,
      0,
      12 },
    { "and %rsp", { 0x48, 0x83, 0xe4, 0xf0, 0xc3 }, 5, 0, 0 },
    { "mov %rax, %rsp", { 0x48, 0x89, 0xc4, 0xc3 }, 4, 0, 0 },
    { "xchg %rsp", { 0x48, 0x94, 0xc3 }, 3, 0, 0 },
    { "push above", { 0x58, 0x50, 0xc3 }, 3, 0, 0 },
    { "no instruction", { 0x06, 0xc3 }, 2, 0, 0 },
    { "hlt", { 0xf4, 0xc3 }, 2, 0, 0 },
    { "jmp *%rax", { 0xff, 0xe0, 0xc3 }, 3, 0, 0 },
    { "a jump out of the mapping", { 0xe9, 0, 0, 1, 0, 0xc3 }, 6, 0, 0 },
    { "jmp", { 0xeb, 0xfe, 0xc3 }, 3, 0, 0 },
    { "pop %rsp", { 0x5c, 0xc3 }, 2, 0, 0 },
    { "no code", { 0 }, 0, 0, 0 },
    { "code ends in an instruction", { 0x48, 0x83, 0xc4 }, 3, 0, 0 },
    { "code ends before it returns", { 0x58, 0x58 }, 2, 0, 0 },
    { "the stack pointer goes down", { 0x48, 0x83, 0xc4, 0xf0, 0xc3 }, 5, 0, 0 },
    { "far up", { 0x48, 0x81, 0xc4, 0, 0, 0, 0x7f, 0xc3 }, 8, 0, 0 },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void find(void *context, uint64_t address, struct unwind_place *out)
{
    (void)context;
    *out = (struct unwind_place){ .kind = UNWIND_PLACE_OTHER,
                                  .start = address & ~UINT64_C(0xfff),
                                  .limit = address | 0xfff };
}

static size_t read_code(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
    const struct row *row = *(const struct row **)context;

    uint64_t offset = address - CODE_AT;

    if (offset >= row->size)
        return 0;
    size = row->size - offset < size ? row->size - offset : size;
    memcpy(bytes, row->code + offset, size);
    return size;
}

static uint64_t addresses[4], pointers[4];
static uint8_t found[4];
static struct unwind_stack stack;

/* From the code of a row, with so many words of the stack.  */
static void walk(const struct row *row, uint64_t caller_word, size_t words)
{
    const struct row *context = row;
    uint64_t memory[WORDS];
    const struct unwind_piece piece = { STACK_AT, (const uint8_t *)memory, 8 * words };
    const struct unwind_map map = { find, &context, read_code };
    struct unwind_registers registers = { .machine = UNWIND_X86_64,
                                          .known = 1U << 6 | 1U << 7,
                                          .pc = CODE_AT + row->at };
    struct unwind_walker *walker;

    for (unsigned i = 0; i < WORDS; i++)
        memory[i] = WORD(i);
    memory[FRAME_WORD + 1] = FRAMED;
    if (caller_word)
        memory[caller_word] = CALLER;
    registers.values[6] = FRAME;
    registers.values[7] = STACK_AT;
    stack = (struct unwind_stack){
        .addresses = addresses, .found = found, .pointers = pointers, .capacity = 4
    };
    ck_assert_int_eq(unwind_walker_open(&walker, NULL), UNWIND_OK);
    ck_assert_int_eq(
        unwind_walk(walker, &registers, &(struct unwind_memory){ &piece, 1 }, &map, &stack),
        UNWIND_OK);
    unwind_walker_close(walker);
}

START_TEST(finds_the_caller_of_code_that_returns)
{
    const struct row *row = &rows[_i];

    walk(row, row->caller_word, WORDS);
    ck_assert_msg(stack.count >= 2, "%s: no caller", row->name);
    if (row->caller_word == 0) {
        ck_assert_msg(found[1] == UNWIND_FOUND_FRAME_POINTER && addresses[1] == FRAMED,
                      "%s: %s, %#llx", row->name, unwind_found_name(found[1]),
                      (unsigned long long)addresses[1]);
        return;
    }
    ck_assert_msg(found[1] == UNWIND_FOUND_RETURN_PATH && addresses[1] == CALLER, "%s: %s, %#llx",
                  row->name, unwind_found_name(found[1]), (unsigned long long)addresses[1]);
    ck_assert_msg(pointers[1] == STACK_AT + 8 * (row->caller_word + 1 + row->popped), "%s: %#llx",
                  row->name, (unsigned long long)pointers[1]);
    /* The caller's frame pointer is the one that the next step uses.  */
    if (row->frame == FRAME && row->caller_word + row->popped <= FRAME_WORD)
        ck_assert_msg(stack.count >= 3 && addresses[2] == FRAMED, "%s: frame pointer lost",
                      row->name);
    else
        ck_assert_msg(stack.count == 2, "%s: frame pointer kept", row->name);
}
END_TEST

START_TEST(says_that_the_copy_ended_where_a_step_needs_more)
{
    const struct row *row = &rows[_i];

    if (row->caller_word == 0)
        return;
    walk(row, row->caller_word, row->caller_word);
    ck_assert_msg(stack.count == 1 && stack.end == UNWIND_END_NO_STACK, "%s: %s", row->name,
                  unwind_end_name(stack.end));
}
END_TEST

START_TEST(other_machines_and_maps_without_code_use_frame_pointers)
{
    const struct row *context = &rows[0];
    uint64_t memory[WORDS] = { 0 };
    const struct unwind_piece piece = { STACK_AT, (const uint8_t *)memory, sizeof memory };
    const struct unwind_memory pieces = { &piece, 1 };
    const struct unwind_map maps[] = { { find, &context, NULL }, { find, &context, read_code } };
    struct unwind_registers registers[] = {
        { .machine = UNWIND_X86_64, .known = 1U << 6 | 1U << 7, .pc = CODE_AT },
        { .machine = UNWIND_ARM64, .known = 1U << 29 | 1U << 31, .pc = CODE_AT },
    };
    struct unwind_walker *walker;

    memory[1] = CALLER;
    memory[FRAME_WORD + 1] = FRAMED;
    registers[0].values[6] = registers[1].values[29] = FRAME;
    registers[0].values[7] = registers[1].values[31] = STACK_AT;
    ck_assert_int_eq(unwind_walker_open(&walker, NULL), UNWIND_OK);
    for (int i = 0; i < 2; i++) {
        stack = (struct unwind_stack){ .addresses = addresses, .found = found, .capacity = 4 };
        ck_assert_int_eq(unwind_walk(walker, &registers[i], &pieces, &maps[i], &stack), UNWIND_OK);
        ck_assert_uint_ge(stack.count, 2);
        ck_assert_uint_eq(addresses[1], FRAMED);
        ck_assert_int_eq(found[1], UNWIND_FOUND_FRAME_POINTER);
    }
    unwind_walker_close(walker);
}
END_TEST

/* A return address of 0 ends a chain of frame pointers.  Before one has begun, a register that
 * leads to a 0 is no frame pointer.  */
START_TEST(a_zero_ends_chains_that_have_begun)
{
    static const struct {
        enum unwind_end end;
        size_t count;
    } expected[] = { { UNWIND_END_NO_TABLE, 1 }, { UNWIND_END_COMPLETE, 2 } };
    const struct row *context = &rows[0];
    const struct unwind_map map = { find, &context, NULL };
    struct unwind_walker *walker;

    ck_assert_int_eq(unwind_walker_open(&walker, NULL), UNWIND_OK);
    for (unsigned begun = 0; begun < 2; begun++) {
        uint64_t memory[WORDS] = { 0 };
        const struct unwind_piece piece = { STACK_AT, (const uint8_t *)memory, sizeof memory };
        struct unwind_registers registers = { .machine = UNWIND_ARM64,
                                              .known = 1U << 29 | 1U << 31,
                                              .pc = CODE_AT };

        registers.values[29] = begun ? STACK_AT : FRAME;
        registers.values[31] = STACK_AT;
        memory[0] = FRAME;
        memory[1] = FRAMED;
        stack = (struct unwind_stack){ .addresses = addresses, .found = found, .capacity = 4 };
        ck_assert_int_eq(
            unwind_walk(walker, &registers, &(struct unwind_memory){ &piece, 1 }, &map, &stack),
            UNWIND_OK);
        ck_assert_int_eq(stack.end, expected[begun].end);
        ck_assert_uint_eq(stack.count, expected[begun].count);
    }
    unwind_walker_close(walker);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unwind_return_path");
    TCase *tests = tcase_create("return path");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tests, finds_the_caller_of_code_that_returns, 0, ROWS);
    tcase_add_loop_test(tests, says_that_the_copy_ended_where_a_step_needs_more, 0, ROWS);
    tcase_add_test(tests, other_machines_and_maps_without_code_use_frame_pointers);
    tcase_add_test(tests, a_zero_ends_chains_that_have_begun);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
