/* hooks_cyg_windows.S: __cyg_profile_func_enter and __cyg_profile_func_exit on Windows, x64. hooks_cyg_x86_64.S says the
 * rest; here functions keep xmm6 to xmm15, rdi and rsi for their callers, so that compilers have values there while they
 * call a hook. */

#if defined(_WIN32) && defined(__x86_64__)

.intel_syntax noprefix
.text

/* What is kept lies at 32 as a struct lr_registers (values.h), of 352 bytes. */
.macro CYG name, plain, keeping, valued
        .globl  \name
        .p2align 4
        .def    \name; .scl 2; .type 32; .endef
\name:
        cmp     dword ptr [rip+lr_taking], 0
        je      \plain
        .def    \keeping; .scl 3; .type 32; .endef
        .seh_proc \keeping
\keeping:
        sub     rsp, 392
        .seh_stackalloc 392
        .seh_endprologue
        movq    [rsp+32], xmm0
        movq    [rsp+40], xmm1
        movq    [rsp+48], xmm2
        movq    [rsp+56], xmm3
        mov     [rsp+104], rbp
        mov     [rsp+112], r10
        mov     [rsp+120], r9
        mov     [rsp+128], r8
        mov     [rsp+136], rcx
        mov     [rsp+144], rdx
        mov     [rsp+152], rsi
        mov     [rsp+160], rdi
        mov     [rsp+168], rax
        mov     [rsp+176], r11
        mov     [rsp+184], rbx
        mov     [rsp+192], r12
        mov     [rsp+200], r13
        mov     [rsp+208], r14
        mov     [rsp+216], r15
        movups  [rsp+224], xmm6
        movups  [rsp+240], xmm7
        movups  [rsp+256], xmm8
        movups  [rsp+272], xmm9
        movups  [rsp+288], xmm10
        movups  [rsp+304], xmm11
        movups  [rsp+320], xmm12
        movups  [rsp+336], xmm13
        movups  [rsp+352], xmm14
        movups  [rsp+368], xmm15
        lea     r8, [rsp+32]
        lea     r9, [rsp+392]
        call    \valued
        add     rsp, 392
        ret
        .seh_endproc
.endm

CYG __cyg_profile_func_enter, lr_cyg_enter, lr_cyg_enter_keeping, lr_cyg_enter_valued
CYG __cyg_profile_func_exit, lr_cyg_exit, lr_cyg_exit_keeping, lr_cyg_exit_valued

#if defined(LOGREC_BUILD_SHARED)
.section .drectve, "yn"
        .ascii  " -export:__cyg_profile_func_enter -export:__cyg_profile_func_exit"
#endif

#endif

#if defined(__ELF__)
.section .note.GNU-stack,"",%progbits
#endif
