; hooks_penter_x64.asm: _penter and _pexit for ml64 and llvm-ml.
;
; hooks_penter.c says what they are for. The caller takes them for calls that
; change no register, and its stack may be aligned or not. They keep all that may
; hold an argument or a result and that the code called may change; flags hold
; neither. The slow way keeps the rest of the vector registers itself. The frame
; by rbp lets exceptions and stack walks pass, whatever the alignment.

EXTERN lr_penter : PROC
EXTERN lr_pexit : PROC
EXTERN lr_penter_slow : PROC
EXTERN lr_pexit_slow : PROC

HOOK MACRO fast, slow
  LOCAL done
        push    rbp
        .pushreg rbp
        mov     rbp, rsp
        .setframe rbp, 0
        .endprolog
        sub     rsp, 192
        and     rsp, -16
        mov     [rsp+32], rax
        mov     [rsp+40], rcx
        mov     [rsp+48], rdx
        mov     [rsp+56], r8
        mov     [rsp+64], r9
        mov     [rsp+72], r10
        mov     [rsp+80], r11
        movaps  xmmword ptr [rsp+96], xmm0
        movaps  xmmword ptr [rsp+112], xmm1
        movaps  xmmword ptr [rsp+128], xmm2
        movaps  xmmword ptr [rsp+144], xmm3
        movaps  xmmword ptr [rsp+160], xmm4
        movaps  xmmword ptr [rsp+176], xmm5
        mov     rcx, [rbp+8]
        lea     rdx, [rbp+16]
        call    fast
        movaps  xmm0, xmmword ptr [rsp+96]
        movaps  xmm1, xmmword ptr [rsp+112]
        movaps  xmm2, xmmword ptr [rsp+128]
        movaps  xmm3, xmmword ptr [rsp+144]
        movaps  xmm4, xmmword ptr [rsp+160]
        movaps  xmm5, xmmword ptr [rsp+176]
        test    eax, eax
        jnz     done
        mov     rcx, [rbp+8]
        lea     rdx, [rbp+16]
        call    slow
done:
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
ENDM

.code

PUBLIC _penter
_penter PROC FRAME
        HOOK    lr_penter, lr_penter_slow
_penter ENDP

PUBLIC _pexit
_pexit PROC FRAME
        HOOK    lr_pexit, lr_pexit_slow
_pexit ENDP

END
