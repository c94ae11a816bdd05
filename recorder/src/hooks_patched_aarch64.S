/* hooks_patched_aarch64.S: what patched text calls on arm64 (patch.h, patch_sleds_aarch64.c).
 *
 * The sled has pushed x29 and x30 as they were when the function was entered, or when it returns. The frame of a call is 8
 * bytes below the stack pointer of that moment: there would be the return address on other machines, behind which are
 * the arguments on the stack. All that a function's arguments or results may be in is preserved, and what a tail call
 * may go by. The hot path is compiled to leave the vector registers alone; for the slow one they are saved here, in full,
 * but of SVE what they have in common with the others. */

#if defined(__aarch64__) && !defined(__AARCH64EB__) && defined(__ELF__) && defined(__linux__) && defined(__LP64__)

  .text

  /* A struct lr_registers (values.h), then the rest: x9 to x18, x30, q8 to q31. */
  .set INTEGERS, 128
  .set REST, 208
  .set RETURN, 288
  .set VECTORS, 304
  .set SIZE, 688

  .macro arguments back, values
  sub x0, x30, #\back
  add x1, sp, #SIZE + 8
  ldr x2, [sp, #SIZE + 8]
  .if \values
  mov x3, sp
  .else
  mov x3, xzr
  .endif
  .endm

  /* hook NAME, FAST, SLOW, BACK, VALUES: the functions are (address, frame, address of its caller, struct lr_registers), where
   * the address is that many bytes before what the hook returns to; where VALUES is 0 the last is NULL. FAST returns 0 when it is done. */
  .macro hook name, fast, slow, back, values
  .globl \name
  .hidden \name
  .type \name,%function
  .p2align 2
\name:
  .cfi_startproc
  /* What the sled has pushed: unwinding goes on in the function's caller. */
  .cfi_def_cfa_offset 16
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  hint #34 /* bti c */
  sub sp, sp, #SIZE
  .cfi_adjust_cfa_offset SIZE
  stp x0, x1, [sp, #INTEGERS]
  stp x2, x3, [sp, #INTEGERS + 16]
  stp x4, x5, [sp, #INTEGERS + 32]
  stp x6, x7, [sp, #INTEGERS + 48]
  str x8, [sp, #INTEGERS + 64]
  stp x9, x10, [sp, #REST]
  stp x11, x12, [sp, #REST + 16]
  stp x13, x14, [sp, #REST + 32]
  stp x15, x16, [sp, #REST + 48]
  stp x17, x18, [sp, #REST + 64]
  str x30, [sp, #RETURN]
  arguments \back, \values
  bl \fast
  cbz w0, 1f
  stp q0, q1, [sp]
  stp q2, q3, [sp, #32]
  stp q4, q5, [sp, #64]
  stp q6, q7, [sp, #96]
  stp q8, q9, [sp, #VECTORS + 0]
  stp q10, q11, [sp, #VECTORS + 32]
  stp q12, q13, [sp, #VECTORS + 64]
  stp q14, q15, [sp, #VECTORS + 96]
  stp q16, q17, [sp, #VECTORS + 128]
  stp q18, q19, [sp, #VECTORS + 160]
  stp q20, q21, [sp, #VECTORS + 192]
  stp q22, q23, [sp, #VECTORS + 224]
  stp q24, q25, [sp, #VECTORS + 256]
  stp q26, q27, [sp, #VECTORS + 288]
  stp q28, q29, [sp, #VECTORS + 320]
  stp q30, q31, [sp, #VECTORS + 352]
  ldr x30, [sp, #RETURN]
  arguments \back, \values
  bl \slow
  ldp q0, q1, [sp]
  ldp q2, q3, [sp, #32]
  ldp q4, q5, [sp, #64]
  ldp q6, q7, [sp, #96]
  ldp q8, q9, [sp, #VECTORS + 0]
  ldp q10, q11, [sp, #VECTORS + 32]
  ldp q12, q13, [sp, #VECTORS + 64]
  ldp q14, q15, [sp, #VECTORS + 96]
  ldp q16, q17, [sp, #VECTORS + 128]
  ldp q18, q19, [sp, #VECTORS + 160]
  ldp q20, q21, [sp, #VECTORS + 192]
  ldp q22, q23, [sp, #VECTORS + 224]
  ldp q24, q25, [sp, #VECTORS + 256]
  ldp q26, q27, [sp, #VECTORS + 288]
  ldp q28, q29, [sp, #VECTORS + 320]
  ldp q30, q31, [sp, #VECTORS + 352]
1:
  ldp x0, x1, [sp, #INTEGERS]
  ldp x2, x3, [sp, #INTEGERS + 16]
  ldp x4, x5, [sp, #INTEGERS + 32]
  ldp x6, x7, [sp, #INTEGERS + 48]
  ldr x8, [sp, #INTEGERS + 64]
  ldp x9, x10, [sp, #REST]
  ldp x11, x12, [sp, #REST + 16]
  ldp x13, x14, [sp, #REST + 32]
  ldp x15, x16, [sp, #REST + 48]
  ldp x17, x18, [sp, #REST + 64]
  ldr x30, [sp, #RETURN]
  add sp, sp, #SIZE
  .cfi_adjust_cfa_offset -SIZE
  ret
  .cfi_endproc
  .size \name,.-\name
  .endm

  hook lr_patched_entry_16, lr_patched_fast, lr_patched_slow, 16, 1
  hook lr_patched_entry_20, lr_patched_fast, lr_patched_slow, 20, 1
  hook lr_patched_return, lr_preturn_fast, lr_preturn_slow, 0, 1
  /* Before the jump of a tail call there is no result. */
  hook lr_patched_tail, lr_preturn_fast, lr_preturn_slow, 0, 0

#endif

#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
