/* 225 instructions, without a library: the same in each run.  */
    .globl _start
_start:
    mov $40, %ecx
1:  dec %ecx
    test $1, %cl
    jz 2f
    nop
2:  test %ecx, %ecx
    jnz 1b
    jmp 3f
    nop
3:  xor %edi, %edi
    jz 4f
    nop
4:  mov $60, %eax
    syscall
