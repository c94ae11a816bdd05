/* hooks_penter_gnu.S: _penter and _pexit for gcc and clang, x64; hooks_i386_windows.S has those of x86. No compiler
 * but MSVC calls them; this is for programs of both. hooks_penter.c and
 * hooks_penter_x64.asm say the rest. */

#if defined(_WIN32) && defined(__x86_64__)

.intel_syntax noprefix
.text

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
        sub     rsp, 192
        and     rsp, -16
        mov     [rsp+32], rax
        mov     [rsp+40], rcx
        mov     [rsp+48], rdx
        mov     [rsp+56], r8
        mov     [rsp+64], r9
        mov     [rsp+72], r10
        mov     [rsp+80], r11
        movaps  [rsp+96], xmm0
        movaps  [rsp+112], xmm1
        movaps  [rsp+128], xmm2
        movaps  [rsp+144], xmm3
        movaps  [rsp+160], xmm4
        movaps  [rsp+176], xmm5
        mov     rcx, [rbp+8]
        lea     rdx, [rbp+16]
        call    \fast
        movaps  xmm0, [rsp+96]
        movaps  xmm1, [rsp+112]
        movaps  xmm2, [rsp+128]
        movaps  xmm3, [rsp+144]
        movaps  xmm4, [rsp+160]
        movaps  xmm5, [rsp+176]
        test    eax, eax
        jnz     1f
        mov     rcx, [rbp+8]
        lea     rdx, [rbp+16]
        call    \slow
1:
        mov     rax, [rsp+32]
        mov     rcx, [rsp+40]
        mov     rdx, [rsp+48]
        mov     r8, [rsp+56]
        mov     r9, [rsp+64]
        mov     r10, [rsp+72]
        mov     r11, [rsp+80]
        lea     rsp, [rbp]
        pop     rbp
        ret
        .seh_endproc
.endm

HOOK _penter, lr_penter, lr_penter_slow
HOOK _pexit, lr_pexit, lr_pexit_slow

#if defined(LOGREC_BUILD_SHARED)
.section .drectve, "yn"
        .ascii  " -export:_penter -export:_pexit"
#endif

#endif

#if defined(__ELF__)
.section .note.GNU-stack,"",%progbits
#endif
