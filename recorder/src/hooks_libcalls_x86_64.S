/* hooks_libcalls_x86_64.S: what calls of the program into its libraries go through (libcalls_linux.c).
 *
 * lr_libcall_enter stands between the caller and the library's function: all registers and the stack are
 * as the caller left them, but for r11, which the caller's stub and the loader's use freely, too. The function
 * then returns to lr_libcall_return, which puts the return address back that is kept in the stack's mirror,
 * and goes on as before a ret.
 *
 * Unwinders that come to lr_libcall_return find the caller by its rules: the return address lies in the
 * mirror. Its frame has a CFA of its own, 8 below the caller's stack pointer: libgcc tells frames by their CFA. */

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__) && defined(__linux__)

#include "hooks_x86_64.h"

  .text

  .macro libcall_arguments
  mov 72(%rbp),%rdi
  lea 80(%rbp),%rsi
  .endm

  .macro libcall_slow_arguments
  libcall_arguments
  mov -8(%rbp),%rdx
  .endm

  .hidden lr_libcall_enter, lr_libcall_return, lr_libcall_left
  .globl lr_libcall_enter
  .type lr_libcall_enter,@function
lr_libcall_enter: /* r11: struct lr_libcall */
  .cfi_startproc
  endbr64
  push_registers
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  and $-16,%rsp
  /* Room for the rest of struct lr_registers (values.h), as in hooks_fentry_x86_64.S. */
  sub $80,%rsp
  libcall_arguments
  lea -72(%rbp),%rdx
  call lr_libcall_fast
  test %eax,%eax
  jnz 2f
1:
  pop_registers
  jmp *(%r11)
2:
  .cfi_def_cfa %rbp, 88
  movq $0,-8(%rbp)
  cmpl $0,lr_taking(%rip)
  je 5f
  lea -72(%rbp),%rcx
  mov %rcx,-8(%rbp)
  keep_arguments
5:
  call_with_vectors_saved libcall_slow_arguments, lr_libcall_slow
  jmp 1b
  .cfi_endproc
  .size lr_libcall_enter,.-lr_libcall_enter

  /* LR_MIRROR is -0x100000000000. */
  .globl lr_libcall_return
  .type lr_libcall_return,@function
  .cfi_startproc
  .cfi_escape 0x0f, 2, 0x77, 0x78 /* the CFA is rsp - 8 */
  .cfi_escape 0x16, 7, 2, 0x77, 0 /* rsp is rsp */
  .cfi_escape 0x10, 16, 12, 0x77, 0x78, 0x0e, 0, 0, 0, 0, 0, 0xf0, 0xff, 0xff, 0x22 /* rip lies at rsp - 8 + LR_MIRROR */
  nop /* unwinders look before a return address */
lr_libcall_return:
  sub $8,%rsp
  .cfi_escape 0x0f, 2, 0x77, 0
  .cfi_escape 0x16, 7, 2, 0x77, 8
  .cfi_escape 0x10, 16, 12, 0x77, 0, 0x0e, 0, 0, 0, 0, 0, 0xf0, 0xff, 0xff, 0x22
  movabs $-0x100000000000,%r11
  mov (%rsp,%r11),%r11
  mov %r11,(%rsp)
  .cfi_def_cfa %rsp, 8
  .cfi_restore %rsp
  .cfi_restore %rip
  call lr_libcall_left
  ret
  .cfi_endproc
  .size lr_libcall_return,.-lr_libcall_return

#endif

#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
