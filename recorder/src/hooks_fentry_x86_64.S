/* hooks_fentry_x86_64.S: what -pg -mfentry calls (gcc, clang), and what gcc's
 * -minstrument-return=call calls besides, and what patched text calls (patch.h).
 *
 * __fentry__ is called as a function's first act: arguments are still in their
 * registers, and so is what a call hands over besides (rax: number of vector
 * arguments, r10: static chain). All of it is preserved. The hot path is
 * compiled to leave the vector registers alone; the slow one saves them here,
 * in full (upper halves too).
 *
 * The frame of a call is where its return address lies: the same for both
 * hooks, and for no two open calls. */

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)

  .text

#include "hooks_x86_64.h"

/* arguments loads those of the functions in C. A function that is nested in another one
 * has its static chain in r10. Without optimization gcc keeps it on the stack over the
 * call: push %r10; call __fentry__; pop %r10. The return address lies above it there. */
  .macro arguments back
  mov 80(%rbp),%rdi
  lea 88(%rbp),%rsi
  mov 88(%rbp),%rdx
  cmp 8(%rbp),%rdx
  jne 9f
  cmpw $0x5a41,(%rdi) /* pop %r10 */
  jne 9f
  lea 96(%rbp),%rsi
  mov 96(%rbp),%rdx
9:
  .if \back
  sub $\back,%rdi
  .endif
  .endm

  /* The fast functions have no use for the caller's address; r10 is still what it was. */
  .macro fast_arguments back
  mov 80(%rbp),%rdi
  lea 88(%rbp),%rsi
  cmp %r10,88(%rbp)
  jne 9f
  cmpw $0x5a41,(%rdi) /* pop %r10 */
  jne 9f
  lea 96(%rbp),%rsi
9:
  .if \back
  sub $\back,%rdi
  .endif
  .endm

  .macro slow_arguments back
  arguments \back
  mov -8(%rbp),%rcx
  .endm

/* hook NAME, FAST, SLOW, VALUES, BACK: the functions are (address inside the function,
 * frame, address of its caller, struct lr_registers (values.h)); where VALUES is 0 the latter is NULL. FAST
 * gets it without vector registers, and returns 0 when it is done. r11 is preserved, too: a caller in
 * the same file may know that a function that only has room for a call leaves it alone. BACK is how far behind the function's first byte the hook returns to, where that is known.
 * EARLY: it may be called before the program has been loaded. */
  .macro hook name, fast, slow, values=1, back=0, early=0
  .globl \name
  .type \name,@function
\name:
  .cfi_startproc
  endbr64
  push_registers
  mov %rsp,%rbp
  .cfi_def_cfa_register %rbp
  and $-16,%rsp
  /* Between stack and what was pushed there is room for the rest of the registers. */
  sub $80,%rsp
  .if \early
  cmpl $0,lr_early(%rip)
  jne 6f
7:
  .endif
  fast_arguments \back
  .if \values
  lea -72(%rbp),%rcx
  .else
  xor %ecx,%ecx
  .endif
  call \fast
  test %eax,%eax
  jnz 2f
1:
  pop_registers
  ret
2:
  .cfi_def_cfa %rbp, 88
  /* -8(%rbp) is what SLOW gets. */
  movq $0,-8(%rbp)
  .if \values
  cmpl $0,lr_taking(%rip)
  je 5f
  lea -72(%rbp),%rcx
  mov %rcx,-8(%rbp)
  keep_arguments
5:
  .endif
  call_with_vectors_saved "slow_arguments \back", \slow
  jmp 1b
  .if \early
6:
  /* early_linux.c: whether the program has been loaded. */
  call lr_begun_event
  mov 8(%rbp),%r10
  test %eax,%eax
  jnz 7b
  jmp 1b
  .endif
  .cfi_endproc
  .size \name,.-\name
  .endm

  hook __fentry__, lr_fentry_fast, lr_fentry_slow, early=1
  hook __return__, lr_freturn_fast, lr_freturn_slow, early=1

  /* What patched text calls (patch.h): behind nops of 5 to 9 bytes or XRay's 11, and the endbr64 that may
   * stand before them. */
  .hidden lr_patched_entries, lr_patched_return, lr_patched_tail, lr_patched_exit
  .irp back, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15
  .hidden lr_patched_entry_\back
  hook lr_patched_entry_\back, lr_patched_fast, lr_patched_slow, 1, \back
  .endr
  hook lr_patched_return, lr_freturn_fast, lr_freturn_slow

  /* Behind a call into a library (hooks_libcalls_x86_64.S). */
  .hidden lr_libcall_left
  hook lr_libcall_left, lr_freturn_fast, lr_libcall_left_slow

  /* Before the jump of a tail call: what is jumped to may lie in r11. */
  hook lr_patched_tail, lr_fjump_fast, lr_freturn_slow, 0

  /* In the place of a ret: what is here is the function's end. */
  .globl lr_patched_exit
  .type lr_patched_exit,@function
lr_patched_exit:
  .cfi_startproc
  endbr64
  call lr_patched_return
  ret
  .cfi_endproc
  .size lr_patched_exit,.-lr_patched_exit

  /* The entries by how far behind the first byte they return to, from 5 on; 0: there is none. */
  .section .data.rel.ro,"aw",%progbits
  .balign 8
  .globl lr_patched_entries
  .type lr_patched_entries,@object
lr_patched_entries:
  .irp back, 5, 6, 7, 8, 9, 10, 11, 12, 13
  .quad lr_patched_entry_\back
  .endr
  .quad 0
  .quad lr_patched_entry_15
  .size lr_patched_entries,.-lr_patched_entries

#endif

#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
