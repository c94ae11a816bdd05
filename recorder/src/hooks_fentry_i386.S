/* hooks_fentry_i386.S: what -pg -mfentry calls (gcc, clang -m32), and what gcc's -minstrument-return=call calls
 * besides. hooks_fentry_x86_64.S says the rest.
 *
 * Arguments may be in eax, edx and ecx (regparm, fastcall, thiscall), in the registers of SSE and AVX, a result in
 * those of the x87 too, and a nested function has its static chain in ecx. All of it is preserved: the hot path
 * is compiled to leave all but the integer registers alone, for the slow one they are saved here, in full. */

#if defined(__i386__) && defined(__ELF__) && defined(__linux__)

  .text

/* frame leaves the address of the call's return address in \to, and what is there in \site. As on x86-64, gcc keeps a
 * static chain over the call: push %ecx; call __fentry__; pop %ecx. */
  .macro frame to, site
  lea 8(%ebp),\to
  mov 8(%ebp),\site
  cmp -12(%ebp),\site
  jne 9f
  push \site
  mov 4(%ebp),\site
  cmpb $0x59,(\site) /* pop %ecx */
  pop \site
  jne 9f
  lea 12(%ebp),\to
  mov 12(%ebp),\site
9:
  .endm

/* call_slow SLOW: with room for four arguments, (address inside the function, frame, address of its caller, struct
 * lr_registers (values.h)), and what has been saved above it. */
  .macro call_slow slow
  fninit /* the callee's registers may be full */
  lea 32(%esp),%eax
  mov %eax,-4(%ebp)
  sub $16,%esp
  frame %edx, %ecx
  mov 4(%ebp),%eax
  mov %eax,(%esp)
  mov %edx,4(%esp)
  mov %ecx,8(%esp)
  lea -16(%ebp),%eax
  mov %eax,12(%esp)
  call \slow
  add $16,%esp
  .endm

  .macro hook name, fast, slow
  .globl \name
  .type \name,@function
\name:
  .cfi_startproc
  endbr32
  push %ebp
  .cfi_adjust_cfa_offset 4
  .cfi_rel_offset %ebp, 0
  mov %esp,%ebp
  .cfi_def_cfa_register %ebp
  /* a struct lr_registers */
  push $0
  push %edx
  push %ecx
  push %eax
  and $-16,%esp
  sub $16,%esp
  frame %edx, %ecx
  mov 4(%ebp),%eax
  mov %eax,(%esp)
  mov %edx,4(%esp)
  call \fast
  test %eax,%eax
  jnz 2f
1:
  lea -16(%ebp),%esp
  pop %eax
  pop %ecx
  pop %edx
  mov %ebp,%esp
  pop %ebp
  .cfi_remember_state
  .cfi_def_cfa %esp, 4
  .cfi_restore %ebp
  ret
  .cfi_restore_state
2:
  call lr_xsave_room
  cmp $1,%eax
  je 3f
  sub %eax,%esp
  and $-64,%esp
  /* The header behind the first 512 bytes must be 0. */
  .irp at, 512, 516, 520, 524, 528, 532, 536, 540, 544, 548, 552, 556, 560, 564, 568, 572
  movl $0,\at(%esp)
  .endr
  mov $0xe7,%eax
  xor %edx,%edx
  xsave (%esp)
  call_slow \slow
  mov $0xe7,%eax
  xor %edx,%edx
  xrstor (%esp)
  jmp 1b
3:
  sub $512,%esp
  fxsave (%esp)
  call_slow \slow
  fxrstor (%esp)
  jmp 1b
  .cfi_endproc
  .size \name,.-\name
  .endm

  hook __fentry__, lr_fentry_fast, lr_fentry_slow
  hook __return__, lr_freturn_fast, lr_freturn_slow

#endif

#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
