/* hooks_fentry_windows.S: __fentry__ and __return__ on Windows, x64: what gcc's -pg -mfentry and
 * -minstrument-return=call call. hooks_fentry_x86_64.S says the rest; here functions keep xmm6 to xmm15, rdi and
 * rsi for their callers, and want 32 bytes of stack for what they call.
 *
 * What a call hands over is preserved, and rax, xmm0 for the result. The hot path changes no upper halves of vector
 * registers, as long as the processor's counter is the clock; the slow one saves all of them (hooks_fentry.c). */

#if defined(_WIN32) && defined(__x86_64__)

.intel_syntax noprefix
.text

/* The registers lie at 32 as struct lr_registers (values.h) has them, the vector registers at 224. */
.macro ARGUMENTS
        mov     rcx, [rbp+8]
        lea     rdx, [rbp+16]
        mov     r8, [rbp+16]
        /* The static chain of a function within another one lies there while the hook is called. */
        cmp     r8, r10
        jne     9f
        cmp     word ptr [rcx], 0x5a41 /* pop r10 */
        jne     9f
        lea     rdx, [rbp+24]
        mov     r8, [rbp+24]
9:
        lea     r9, [rsp+32]
.endm

.macro HOOK name, fast, slow
        .globl  \name
        .p2align 4
        .def    \name; .scl 2; .type 32; .endef
        .seh_proc \name
\name:
        push    rbp
        .seh_pushreg rbp
        mov     rbp, rsp
        .seh_setframe rbp, 0
        .seh_endprologue
        sub     rsp, 320
        and     rsp, -16
        mov     [rsp+112], r10
        mov     [rsp+120], r9
        mov     [rsp+128], r8
        mov     [rsp+136], rcx
        mov     [rsp+144], rdx
        mov     [rsp+168], rax
        mov     [rsp+176], r11
        movaps  [rsp+224], xmm0
        movaps  [rsp+240], xmm1
        movaps  [rsp+256], xmm2
        movaps  [rsp+272], xmm3
        movaps  [rsp+288], xmm4
        movaps  [rsp+304], xmm5
        movq    [rsp+32], xmm0
        movq    [rsp+40], xmm1
        movq    [rsp+48], xmm2
        movq    [rsp+56], xmm3
        movhps  [rsp+64], xmm0
        ARGUMENTS
        call    \fast
        test    eax, eax
        jz      1f
        mov     r10, [rsp+112]
        ARGUMENTS
        call    \slow
1:
        movaps  xmm0, [rsp+224]
        movaps  xmm1, [rsp+240]
        movaps  xmm2, [rsp+256]
        movaps  xmm3, [rsp+272]
        movaps  xmm4, [rsp+288]
        movaps  xmm5, [rsp+304]
        mov     r10, [rsp+112]
        mov     r9, [rsp+120]
        mov     r8, [rsp+128]
        mov     rcx, [rsp+136]
        mov     rdx, [rsp+144]
        mov     rax, [rsp+168]
        mov     r11, [rsp+176]
        lea     rsp, [rbp]
        pop     rbp
        ret
        .seh_endproc
.endm

HOOK __fentry__, lr_fentry_fast, lr_fentry_slow
HOOK __return__, lr_freturn_fast, lr_freturn_slow

/* MinGW's -pg has main call it, to begin a profile of its own. */
        .globl  _monstartup
        .p2align 4
        .def    _monstartup; .scl 2; .type 32; .endef
_monstartup:
        ret

#if defined(LOGREC_BUILD_SHARED)
.section .drectve, "yn"
        .ascii  " -export:__fentry__ -export:__return__ -export:_monstartup"
#endif

#endif

#if defined(__ELF__)
.section .note.GNU-stack,"",%progbits
#endif
