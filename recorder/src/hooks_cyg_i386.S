/* hooks_cyg_i386.S: what the hooks of -finstrument-functions end with for x86 (hooks_cyg.c) where their fast path does not do. ebx,
 * ebp, esi and edi are as they were at the call of the hook, and so is the stack; a plan finds values by them. */

#if defined(__i386__) && defined(__ELF__) && defined(__linux__)

  .text

  .macro late name, valued
  .hidden \name, \valued
  .globl \name
  .type \name,@function
\name:
  .cfi_startproc
  /* A struct lr_registers (values.h), on a stack that may be aligned to 4 bytes only. */
  push %ebp
  .cfi_adjust_cfa_offset 4
  .cfi_rel_offset %ebp, 0
  mov %esp,%ebp
  .cfi_def_cfa_register %ebp
  push %edi
  push %esi
  push (%ebp)
  push %ebx
  push $0
  push $0
  push $0
  push $0
  mov %esp,%ecx
  lea 4(%ebp),%edx
  and $-16,%esp
  push %edx
  push %ecx
  push 12(%ebp)
  push 8(%ebp)
  call \valued
  leave
  .cfi_def_cfa %esp, 4
  .cfi_restore %ebp
  ret
  .cfi_endproc
  .size \name,.-\name
  .endm

  late lr_cyg_enter_late, lr_cyg_enter_valued
  late lr_cyg_exit_late, lr_cyg_exit_valued

#endif

#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
