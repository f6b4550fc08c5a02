/* Which instructions leave a trace, by their bytes.  */
#include <check.h>
#include <stdlib.h>

#include <fxt/insn.h>

static const struct {
    const char *text;
    size_t size;
    uint8_t bytes[16];
    enum insn_class branch;
    uint8_t length;
    bool repeats, calls_next;
} opcodes[] = {
    { "nop", 1, { 0x90 }, INSN_CLASS_OTHER, 0 },
    { "je +2", 2, { 0x74, 2 }, INSN_CLASS_CONDITIONAL, 2 },
    { "bnd jne", 3, { 0xf2, 0x75, 2 }, INSN_CLASS_CONDITIONAL, 3 },
    { "jle, 32 bits", 6, { 0x0f, 0x8e, 1, 0, 0, 0 }, INSN_CLASS_CONDITIONAL, 6 },
    { "loopne", 2, { 0xe0, 0xfe }, INSN_CLASS_CONDITIONAL, 2 },
    { "jecxz", 3, { 0x67, 0xe3, 0 }, INSN_CLASS_CONDITIONAL, 3 },
    { "call", 5, { 0xe8, 1, 0, 0, 0 }, INSN_CLASS_CALL, 5 },
    { "call the next", 5, { 0xe8, 0, 0, 0, 0 }, INSN_CLASS_CALL, 5, .calls_next = true },
    { "jmp, 32 bits", 5, { 0xe9, 0, 0, 0, 0 }, INSN_CLASS_JUMP, 5 },
    { "jmp, 8 bits", 2, { 0xeb, 0xfe }, INSN_CLASS_JUMP, 2 },
    { "call *%rax", 2, { 0xff, 0xd0 }, INSN_CLASS_CALL_INDIRECT, 2 },
    { "call *%r12", 3, { 0x41, 0xff, 0xd4 }, INSN_CLASS_CALL_INDIRECT, 3 },
    { "call *8(%rax)", 3, { 0xff, 0x50, 8 }, INSN_CLASS_CALL_INDIRECT, 3 },
    { "call *N(%rip)", 6, { 0xff, 0x15, 1, 2, 3, 4 }, INSN_CLASS_CALL_INDIRECT, 6 },
    { "call *N(,%rax,8)", 7, { 0xff, 0x14, 0xc5, 1, 2, 3, 4 }, INSN_CLASS_CALL_INDIRECT, 7 },
    { "call *(%rax,%rax)", 3, { 0xff, 0x14, 0x00 }, INSN_CLASS_CALL_INDIRECT, 3 },
    { "call *8(%rsp)", 4, { 0xff, 0x54, 0x24, 8 }, INSN_CLASS_CALL_INDIRECT, 4 },
    { "jmp *N(%rbx)", 6, { 0xff, 0xa3, 1, 2, 3, 4 }, INSN_CLASS_JUMP_INDIRECT, 6 },
    { "notrack jmp *%rax", 3, { 0x3e, 0xff, 0xe0 }, INSN_CLASS_JUMP_INDIRECT, 3 },
    { "lcall *(%rax)", 2, { 0xff, 0x18 }, INSN_CLASS_FAR, 2 },
    { "push (%rax)", 2, { 0xff, 0x30 }, INSN_CLASS_OTHER, 0 },
    { "inc %eax", 2, { 0xff, 0xc0 }, INSN_CLASS_OTHER, 0 },
    { "ret", 1, { 0xc3 }, INSN_CLASS_RETURN, 1 },
    { "repz ret", 2, { 0xf3, 0xc3 }, INSN_CLASS_RETURN, 2 },
    { "ret $8", 3, { 0xc2, 8, 0 }, INSN_CLASS_RETURN, 3 },
    { "lret", 1, { 0xcb }, INSN_CLASS_FAR, 1 },
    { "syscall", 2, { 0x0f, 0x05 }, INSN_CLASS_FAR, 2 },
    { "sysenter", 2, { 0x0f, 0x34 }, INSN_CLASS_FAR, 2 },
    { "int3", 1, { 0xcc }, INSN_CLASS_FAR, 1 },
    { "int $0x80", 2, { 0xcd, 0x80 }, INSN_CLASS_FAR, 2 },
    { "iretq", 2, { 0x48, 0xcf }, INSN_CLASS_FAR, 2 },
    { "rep movsb", 2, { 0xf3, 0xa4 }, INSN_CLASS_OTHER, 0, .repeats = true },
    { "rep stosq", 3, { 0xf3, 0x48, 0xab }, INSN_CLASS_OTHER, 0, .repeats = true },
    { "repne scasb", 2, { 0xf2, 0xae }, INSN_CLASS_OTHER, 0, .repeats = true },
    { "movsb", 1, { 0xa4 }, INSN_CLASS_OTHER, 0 },
    { "pause", 2, { 0xf3, 0x90 }, INSN_CLASS_OTHER, 0 },
    { "vzeroupper", 3, { 0xc5, 0xf8, 0x77 }, INSN_CLASS_OTHER, 0 },
    { "a VEX opcode like jcc", 4, { 0xc4, 0xe2, 0x75, 0x74 }, INSN_CLASS_OTHER, 0 },
    { "mov of a byte like call", 2, { 0xb0, 0xe8 }, INSN_CLASS_OTHER, 0 },
    { "half a call", 3, { 0xe8, 1, 0 }, INSN_CLASS_OTHER, 0 },
    { "half an indirect call", 3, { 0xff, 0x15, 1 }, INSN_CLASS_OTHER, 0 },
    { "prefixes alone", 3, { 0x66, 0x66, 0x66 }, INSN_CLASS_OTHER, 0 },
    { "nothing", 0, { 0xc3 }, INSN_CLASS_OTHER, 0 },
    { "too long",
      16,
      { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0xe8 },
      INSN_CLASS_OTHER,
      0 },
};

START_TEST(classifies)
{
    struct insn_opcode opcode;

    insn_classify(opcodes[_i].bytes, opcodes[_i].size, &opcode);
    ck_assert_msg(opcode.branch == opcodes[_i].branch, "%s: branch %d", opcodes[_i].text,
                  opcode.branch);
    ck_assert_msg(opcode.length == opcodes[_i].length, "%s: %u bytes", opcodes[_i].text,
                  opcode.length);
    ck_assert_msg(opcode.repeats == opcodes[_i].repeats, "%s", opcodes[_i].text);
    ck_assert_msg(opcode.calls_next == opcodes[_i].calls_next, "%s", opcodes[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insn opcode");
    TCase *all = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(all, classifies, 0, sizeof opcodes / sizeof *opcodes);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
