/* guard_x86_64.S: copies of memory that may not be there.
 *
 * A fault between lr_guarded_begin and lr_guarded_end is taken by the crash handler (guard_linux.c), which goes on
 * at lr_guarded_failed. There what has been copied up to then is returned. Neither touches the stack, nor any
 * register that a function called from C need keep, nor vector registers. */

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__) && defined(__linux__)

  .text
  .hidden lr_guarded_begin, lr_guarded_end, lr_guarded_failed, lr_guarded_copy, lr_guarded_text
  .globl lr_guarded_begin, lr_guarded_end, lr_guarded_failed, lr_guarded_copy, lr_guarded_text
  .type lr_guarded_copy,@function
  .type lr_guarded_text,@function

/* size_t lr_guarded_copy(void *to, uintptr_t from, size_t n) */
lr_guarded_copy:
  .cfi_startproc
  endbr64
  mov %rdi,%r8
lr_guarded_begin:
1:
  cmp $8,%rdx
  jb 2f
  mov (%rsi),%rax
  mov %rax,(%rdi)
  add $8,%rsi
  add $8,%rdi
  sub $8,%rdx
  jmp 1b
2:
  test %rdx,%rdx
  jz lr_guarded_failed
  movzbl (%rsi),%eax
  mov %al,(%rdi)
  inc %rsi
  inc %rdi
  dec %rdx
  jmp 2b
  .cfi_endproc
  .size lr_guarded_copy,.-lr_guarded_copy

/* size_t lr_guarded_text(void *to, uintptr_t from, size_t n): the same, but it ends behind the first byte that is 0.
 * Eight bytes are read at once only where they lie on one page: behind a text there may be nothing. */
lr_guarded_text:
  .cfi_startproc
  endbr64
  mov %rdi,%r8
  movabs $0x0101010101010101,%r10
  movabs $0x8080808080808080,%r11
1:
  cmp $8,%rdx
  jb 2f
  mov %esi,%ecx
  and $4095,%ecx
  cmp $4088,%ecx
  ja 2f
  mov (%rsi),%rax
  mov %rax,(%rdi)
  mov %rax,%rcx
  sub %r10,%rcx
  not %rax
  and %rax,%rcx
  add $8,%rsi
  add $8,%rdi
  sub $8,%rdx
  and %r11,%rcx
  jz 1b
  bsf %rcx,%rcx
  shr $3,%ecx
  lea -7(%rdi,%rcx),%rdi
  jmp lr_guarded_failed
2:
  test %rdx,%rdx
  jz lr_guarded_failed
  movzbl (%rsi),%eax
  mov %al,(%rdi)
  inc %rsi
  inc %rdi
  dec %rdx
  test %eax,%eax
  jnz 1b
lr_guarded_end:
lr_guarded_failed:
  mov %rdi,%rax
  sub %r8,%rax
  ret
  .cfi_endproc
  .size lr_guarded_text,.-lr_guarded_text

#endif

#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
