/* hooks_x86_64.h: what the hooks in assembler have in common: macros, for .S files alone. */

/* What a function may use freely, but for the vector registers, and rbp: 80 bytes. */
  .macro push_registers
  push %r11
  .cfi_adjust_cfa_offset 8
  push %rax
  .cfi_adjust_cfa_offset 8
  push %rdi
  .cfi_adjust_cfa_offset 8
  push %rsi
  .cfi_adjust_cfa_offset 8
  push %rdx
  .cfi_adjust_cfa_offset 8
  push %rcx
  .cfi_adjust_cfa_offset 8
  push %r8
  .cfi_adjust_cfa_offset 8
  push %r9
  .cfi_adjust_cfa_offset 8
  push %r10
  .cfi_adjust_cfa_offset 8
  /* The stack may be aligned either way here. */
  push %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  .endm

/* rbp: the stack pointer behind push_registers. */
  .macro pop_registers
  mov %rbp,%rsp
  .cfi_def_cfa_register %rsp
  pop %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  pop %r10
  .cfi_adjust_cfa_offset -8
  pop %r9
  .cfi_adjust_cfa_offset -8
  pop %r8
  .cfi_adjust_cfa_offset -8
  pop %rcx
  .cfi_adjust_cfa_offset -8
  pop %rdx
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rdi
  .cfi_adjust_cfa_offset -8
  pop %rax
  .cfi_adjust_cfa_offset -8
  pop %r11
  .cfi_adjust_cfa_offset -8
  .endm

/* keep_arguments: the eight vector registers that arguments come in, where struct lr_registers has them; it ends 8 bytes
 * below rbp. Of each the lower half. */
  .macro keep_arguments
  movq %xmm0,-72(%rbp)
  movq %xmm1,-64(%rbp)
  movq %xmm2,-56(%rbp)
  movq %xmm3,-48(%rbp)
  movq %xmm4,-40(%rbp)
  movq %xmm5,-32(%rbp)
  movq %xmm6,-24(%rbp)
  movq %xmm7,-16(%rbp)
  .endm

/* call_with_vectors_saved ARGUMENTS, FUNCTION: what loads the arguments, and the function, with all of the vector
 * registers saved below the stack pointer. The stack pointer is not what it was, rbp is. */
  .macro call_with_vectors_saved arguments, function
  mov lr_xsave_size(%rip),%eax
  test %eax,%eax
  jnz 4f
  call lr_find_xsave_size
4:
  cmp $1,%eax
  je 3f
  sub %rax,%rsp
  and $-64,%rsp
  /* The header behind the first 512 bytes must be 0. */
  xor %eax,%eax
  mov %rax,512(%rsp)
  mov %rax,520(%rsp)
  mov %rax,528(%rsp)
  mov %rax,536(%rsp)
  mov %rax,544(%rsp)
  mov %rax,552(%rsp)
  mov %rax,560(%rsp)
  mov %rax,568(%rsp)
  mov $0xe6,%eax
  xor %edx,%edx
  xsave64 (%rsp)
  \arguments
  call \function
  mov $0xe6,%eax
  xor %edx,%edx
  xrstor64 (%rsp)
  jmp 8f
3:
  sub $512,%rsp
  fxsave64 (%rsp)
  \arguments
  call \function
  fxrstor64 (%rsp)
8:
  .endm
