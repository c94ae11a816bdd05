/* hooks_cyg_x86_64.S: __cyg_profile_func_enter and __cyg_profile_func_exit, where values can be taken of
 * what calls them. They keep the registers as they were at the call, since the plan knows which of them
 * have arguments or the result there; hooks_cyg.c does the rest. */

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)

  .text

  /* What is kept is a struct lr_registers (values.h), of 192 bytes. */
  .macro cyg name, plain, valued
  .globl \name
  .type \name,@function
\name:
  .cfi_startproc
  endbr64
  cmpl $0,lr_taking(%rip)
  je \plain
  sub $200,%rsp
  .cfi_adjust_cfa_offset 200
  movq %xmm0,(%rsp)
  movq %xmm1,8(%rsp)
  movq %xmm2,16(%rsp)
  movq %xmm3,24(%rsp)
  movq %xmm4,32(%rsp)
  movq %xmm5,40(%rsp)
  movq %xmm6,48(%rsp)
  movq %xmm7,56(%rsp)
  mov %rbp,72(%rsp)
  mov %r10,80(%rsp)
  mov %r9,88(%rsp)
  mov %r8,96(%rsp)
  mov %rcx,104(%rsp)
  mov %rdx,112(%rsp)
  mov %rsi,120(%rsp)
  mov %rdi,128(%rsp)
  mov %rax,136(%rsp)
  mov %r11,144(%rsp)
  mov %rbx,152(%rsp)
  mov %r12,160(%rsp)
  mov %r13,168(%rsp)
  mov %r14,176(%rsp)
  mov %r15,184(%rsp)
  mov %rsp,%rdx
  lea 200(%rsp),%rcx
  call \valued
  add $200,%rsp
  .cfi_adjust_cfa_offset -200
  ret
  .cfi_endproc
  .size \name,.-\name
  .endm

  cyg __cyg_profile_func_enter, lr_cyg_enter, lr_cyg_enter_valued
  cyg __cyg_profile_func_exit, lr_cyg_exit, lr_cyg_exit_valued

#endif

#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
