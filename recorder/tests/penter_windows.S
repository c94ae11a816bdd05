/* penter_windows.S: functions as MSVC makes them with /Gh /GH, for
 * trace_windows_penter.cpp. x64: the hooks lie inside the frame, or, without a
 * frame, where the stack is as the caller left it. x86: they come first and
 * last. */

.intel_syntax noprefix
.text

#if defined(__x86_64__)

.macro BEGIN name
        .globl  \name
        .p2align 4
        .def    \name; .scl 2; .type 32; .endef
\name:
.endm
.macro FRAME name
        BEGIN   \name
        .seh_proc \name
        sub     rsp, 40
        .seh_stackalloc 40
        .seh_endprologue
        call    _penter
.endm
.macro END
        call    _pexit
        add     rsp, 40
        ret
        .seh_endproc
.endm

/* long long framed(long long, long long, long long, long long, long long) */
FRAME framed
        lea     rax, [rcx+rdx*2]
        lea     r8, [r8+r8*2]
        add     rax, r8
        lea     rax, [rax+r9*4]
        mov     rcx, [rsp+80]
        lea     rcx, [rcx+rcx*4]
        add     rax, rcx
END

/* double doubles(double, double, double, double) */
FRAME doubles
        addsd   xmm0, xmm1
        mulsd   xmm0, xmm2
        subsd   xmm0, xmm3
END

/* int frameless(int): no frame, no unwind information, an odd stack. */
BEGIN frameless
        call    _penter
        lea     eax, [rcx+1]
        call    _pexit
        ret

/* int moves(int): the stack lies deeper at the end than in the beginning. */
BEGIN moves
        .seh_proc moves
        push    rbp
        .seh_pushreg rbp
        mov     rbp, rsp
        .seh_setframe rbp, 0
        sub     rsp, 32
        .seh_stackalloc 32
        .seh_endprologue
        call    _penter
        sub     rsp, 272
        call    frameless
        call    _pexit
        lea     rsp, [rbp]
        pop     rbp
        ret
        .seh_endproc

/* void calls(void (*)(void)), and another one */
FRAME calls
        call    rcx
END
FRAME outer
        call    rcx
END

/* void registers(const void *in, void *out, void (*hook)(void), int avx): loads
 * the registers that a function may have been called with, calls the hook and
 * stores them. 7 of 8 bytes, then 6 of 32. */
BEGIN registers
        .seh_proc registers
        push    rbx
        .seh_pushreg rbx
        push    rsi
        .seh_pushreg rsi
        push    rdi
        .seh_pushreg rdi
        sub     rsp, 48
        .seh_stackalloc 48
        .seh_endprologue
        mov     rsi, rdx
        mov     rbx, r8
        mov     rdi, r9
        test    edi, edi
        jz      1f
        vmovups ymm0, [rcx+56]
        vmovups ymm1, [rcx+88]
        vmovups ymm2, [rcx+120]
        vmovups ymm3, [rcx+152]
        vmovups ymm4, [rcx+184]
        vmovups ymm5, [rcx+216]
        jmp     2f
1:      movups  xmm0, [rcx+56]
        movups  xmm1, [rcx+88]
        movups  xmm2, [rcx+120]
        movups  xmm3, [rcx+152]
        movups  xmm4, [rcx+184]
        movups  xmm5, [rcx+216]
2:      mov     rax, [rcx]
        mov     rdx, [rcx+16]
        mov     r8, [rcx+24]
        mov     r9, [rcx+32]
        mov     r10, [rcx+40]
        mov     r11, [rcx+48]
        mov     rcx, [rcx+8]
        call    rbx
        mov     [rsi], rax
        mov     [rsi+8], rcx
        mov     [rsi+16], rdx
        mov     [rsi+24], r8
        mov     [rsi+32], r9
        mov     [rsi+40], r10
        mov     [rsi+48], r11
        movups  [rsi+56], xmm0
        movups  [rsi+88], xmm1
        movups  [rsi+120], xmm2
        movups  [rsi+152], xmm3
        movups  [rsi+184], xmm4
        movups  [rsi+216], xmm5
        test    edi, edi
        jz      3f
        vmovups [rsi+56], ymm0
        vmovups [rsi+88], ymm1
        vmovups [rsi+120], ymm2
        vmovups [rsi+152], ymm3
        vmovups [rsi+184], ymm4
        vmovups [rsi+216], ymm5
        vzeroupper
3:      add     rsp, 48
        pop     rdi
        pop     rsi
        pop     rbx
        ret
        .seh_endproc

#else

.macro BEGIN name
        .globl  _\name
        .p2align 4
        .def    _\name; .scl 2; .type 32; .endef
_\name:
        call    __penter
.endm
.macro END
        call    __pexit
        ret
.endm

/* long long framed(long long, ...): low halves, all fit. */
BEGIN framed
        mov     eax, [esp+4]
        mov     ecx, [esp+12]
        lea     eax, [eax+ecx*2]
        mov     ecx, [esp+20]
        lea     ecx, [ecx+ecx*2]
        add     eax, ecx
        mov     ecx, [esp+28]
        lea     eax, [eax+ecx*4]
        mov     ecx, [esp+36]
        lea     ecx, [ecx+ecx*4]
        add     eax, ecx
        cdq
END

BEGIN doubles
        fld     qword ptr [esp+4]
        fadd    qword ptr [esp+12]
        fmul    qword ptr [esp+20]
        fsub    qword ptr [esp+28]
END

BEGIN frameless
        mov     eax, [esp+4]
        inc     eax
END

/* _pexit inside the frame, and deeper. */
BEGIN moves
        push    ebp
        mov     ebp, esp
        sub     esp, 272
        push    [ebp+8]
        call    _frameless
        call    __pexit
        mov     esp, ebp
        pop     ebp
        ret

BEGIN calls
        push    ebp
        .cfi_startproc
        .cfi_def_cfa_offset 8
        .cfi_offset 5, -8
        mov     ebp, esp
        .cfi_def_cfa_register 5
        call    [ebp+8]
        pop     ebp
        .cfi_def_cfa 4, 4
        .cfi_endproc
END
BEGIN outer
        push    ebp
        .cfi_startproc
        .cfi_def_cfa_offset 8
        .cfi_offset 5, -8
        mov     ebp, esp
        .cfi_def_cfa_register 5
        call    [ebp+8]
        pop     ebp
        .cfi_def_cfa 4, 4
        .cfi_endproc
END

/* void registers(const void *in, void *out, void (*hook)(void), int avx) with
 * eax, ecx, edx in the first places, st(0) as a double in the fourth, the flags in the fifth, and eight vector registers. */
        .globl  _registers
        .p2align 4
        .def    _registers; .scl 2; .type 32; .endef
_registers:
        push    ebp
        mov     ebp, esp
        push    ebx
        push    esi
        mov     ecx, [ebp+8]
        mov     esi, [ebp+12]
        mov     ebx, [ebp+16]
        movups  xmm0, [ecx+56]
        movups  xmm1, [ecx+88]
        movups  xmm2, [ecx+120]
        movups  xmm3, [ecx+152]
        movups  xmm4, [ecx+184]
        movups  xmm5, [ecx+216]
        movups  xmm6, [ecx+248]
        movups  xmm7, [ecx+280]
        fld     qword ptr [ecx+24]
        push    [ecx+32]
        popf
        mov     eax, [ecx]
        mov     edx, [ecx+16]
        mov     ecx, [ecx+8]
        call    ebx
        mov     [esi], eax
        mov     [esi+8], ecx
        mov     [esi+16], edx
        pushf
        pop     [esi+32]
        fstp    qword ptr [esi+24]
        movups  [esi+248], xmm6
        movups  [esi+280], xmm7
        movups  [esi+56], xmm0
        movups  [esi+88], xmm1
        movups  [esi+120], xmm2
        movups  [esi+152], xmm3
        movups  [esi+184], xmm4
        movups  [esi+216], xmm5
        pop     esi
        pop     ebx
        pop     ebp
        ret

#endif
