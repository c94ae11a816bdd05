/* hooks_i386_windows.S: the hooks of x86 on Windows, for gcc and clang: __fentry__ and __return__, which -pg -mfentry and
 * -minstrument-return=call call (gcc, clang, clang-cl), _penter and _pexit of MSVC's /Gh and /GH. hooks_i386.c and
 * hooks_penter.c are their C side; the latter has _penter and _pexit for MSVC itself.
 *
 * Compilers take all of them for calls that change nothing. So all registers are preserved that C code may change, and the
 * flags: the fast function changes no vector registers above their lower halves and none of the x87, the slow one saves the
 * rest itself. */

#if defined(_WIN32) && defined(__i386__) && !defined(_MSC_VER)

.intel_syntax noprefix
.text

/* TELL function: calls it with the address that the hook returns to, the frame, which is where the return address of the function that
 * called the hook lies, that address, and a struct lr_registers (values.h). gcc keeps the static chain of a function within
 * another one over the call of a hook: push ecx; call __fentry__; pop ecx. */
.macro TELL function
        mov     eax, [ebp+4]
        lea     edx, [ebp+8]
        mov     ecx, [edx]
        cmp     ecx, [ebp-12]
        jne     8f
        cmp     byte ptr [eax], 0x59 /* pop ecx */
        jne     8f
        lea     edx, [ebp+12]
        mov     ecx, [edx]
8:
        mov     [esp], eax
        mov     [esp+4], edx
        mov     [esp+8], ecx
        lea     eax, [ebp-16]
        mov     [esp+12], eax
        call    \function
.endm

/* done: what the fast function returns if nothing is left to do. */
.macro HOOK name, fast, slow, done
        .globl  \name
        .p2align 4
        .def    \name; .scl 2; .type 32; .endef
\name:
        push    ebp
        mov     ebp, esp
        push    0
        push    edx
        push    ecx
        push    eax
        /* pushf and popf take longer. */
        lahf
        seto    al
        push    eax
        sub     esp, 144
        and     esp, -16
        movaps  [esp+16], xmm0
        movaps  [esp+32], xmm1
        movaps  [esp+48], xmm2
        movaps  [esp+64], xmm3
        movaps  [esp+80], xmm4
        movaps  [esp+96], xmm5
        movaps  [esp+112], xmm6
        movaps  [esp+128], xmm7
        TELL    \fast
        movaps  xmm0, [esp+16]
        movaps  xmm1, [esp+32]
        movaps  xmm2, [esp+48]
        movaps  xmm3, [esp+64]
        movaps  xmm4, [esp+80]
        movaps  xmm5, [esp+96]
        movaps  xmm6, [esp+112]
        movaps  xmm7, [esp+128]
        cmp     eax, \done
        je      9f
        TELL    \slow
9:
        mov     eax, [ebp-20]
        add     al, 127 /* overflows where al is 1 */
        sahf
        mov     eax, [ebp-16]
        mov     ecx, [ebp-12]
        mov     edx, [ebp-8]
        mov     esp, ebp
        pop     ebp
        ret
.endm

HOOK __fentry__, _lr_fentry_fast, _lr_fentry_slow, 0
HOOK __return__, _lr_freturn_fast, _lr_freturn_slow, 0
HOOK __penter, _lr_penter, _lr_penter_slow, 1
HOOK __pexit, _lr_pexit, _lr_pexit_slow, 1

/* MinGW's -pg has main call it, to begin a profile of its own. */
        .globl  __monstartup
        .p2align 4
        .def    __monstartup; .scl 2; .type 32; .endef
__monstartup:
        ret

#if defined(LOGREC_BUILD_SHARED)
.section .drectve, "yn"
        .ascii  " -export:_fentry__ -export:_return__ -export:_monstartup -export:_penter -export:_pexit"
#endif

#endif

#if defined(__ELF__)
.section .note.GNU-stack,"",%progbits
#endif
