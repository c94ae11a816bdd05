/* hooks_penter.c: what MSVC's /Gh and /GH call, in C.
 *
 * The compiler puts a call of _penter into each function's beginning and one of
 * _pexit before its end, and takes both for calls that change no register.
 * The two are in assembly (hooks_penter_x64.asm for ml64, hooks_penter_gnu.S and hooks_i386_windows.S for
 * gcc and clang, below for x86 with MSVC): they save the registers that may hold arguments or results, and call the
 * functions here. Arguments and results are taken on x86, where the places of both calls leave no doubt about the registers.
 *
 * Where in the function the calls lie differs. For x86 the call of _penter is
 * the first instruction; for x64 it comes behind the prologue, and a function
 * that has no frame of its own calls with a stack that is not aligned. So the return address is recorded as it is,
 * and a reader looks for the function around it. A leave has another return address than its enter: the two are
 * matched by their frame. */

#include "hot.h"
#include "logrec.h"

#if defined(_WIN32) && LR_HAVE_COUNTER

#if defined(__AVX__)
#error "compile hooks_penter.c without AVX: functions may be entered with arguments in ymm registers"
#endif

#include "vectors_windows.h"

/* Called by the assembly. The first two return 1 if nothing is left to do, 0 if the slow function must be called. */
int lr_penter(uintptr_t address, uintptr_t frame);
int lr_pexit(uintptr_t address, uintptr_t frame);
#if defined(_M_IX86) || defined(__i386__)
#define LR_PENTER_X86 1
void lr_penter_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
void lr_pexit_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
#else
#define LR_PENTER_X86 0
void lr_penter_slow(uintptr_t address, uintptr_t frame);
void lr_pexit_slow(uintptr_t address, uintptr_t frame);
#endif

/* Only integer code, except that the compiler may move data through xmm0 to xmm5, which the assembly saves. */
LR_OWN int lr_penter(uintptr_t address, uintptr_t frame) {
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return mode == LR_OFF;
  v->inside = frame;
  lr_barrier();
  const int done = lr_try_enter(v, address, 1, frame, frame, LR_ONE_CALL, LR_ONE_CALL);
  lr_barrier();
  v->inside = mode;
  return done;
}

LR_OWN int lr_pexit(uintptr_t address, uintptr_t frame) {
  (void)address;
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return mode == LR_OFF;
  v->inside = frame;
  lr_barrier();
  const uint64_t key = v->top[-1].function;
  const int done = (key & 1) && lr_try_leave(v, key, frame, 1);
  lr_barrier();
  v->inside = mode;
  return done;
}

/* ---- the slow way ---- */

/* function_of returns where the function begins that address lies in; 0 if there is no unwind data of it. */
#if defined(_M_X64) || defined(__x86_64__)
struct unwind_entry {
  uint32_t begin, end, info;
};
__declspec(dllimport) struct unwind_entry *__stdcall RtlLookupFunctionEntry(uint64_t pc, uint64_t *base, void *history);

LR_OWN static uintptr_t function_of(uintptr_t address) {
  uint64_t base = 0;
  const struct unwind_entry *e = RtlLookupFunctionEntry(address - 1, &base, NULL);
  /* The unwind data of a part of a function leads to that of the function's beginning. */
  for (int i = 0; e && i < 32; i++) {
    const uint8_t *info = (const uint8_t *)(uintptr_t)(base + (e->info & ~3u));
    if (!(e->info & 1) && !(info[0] >> 3 & 4)) return (uintptr_t)base + e->begin;
    const unsigned codes = info[2];
    e = e->info & 1 ? (const struct unwind_entry *)info
                    : (const struct unwind_entry *)(info + 4 + 2 * ((codes + 1) & ~1u));
  }
  return 0;
}
#else
LR_OWN static uintptr_t function_of(uintptr_t address) {
  (void)address;
  return 0;
}
#endif

/* find returns the open call that ends. Mostly the leave has the frame of the enter. It has another one if the
 * function has moved the stack in between (alloca), or if the compiler calls _pexit inside the frame. Then the call
 * is the innermost open one whose frame is not below this one, provided that it is a call of the same function. */
LR_OWN static const struct lr_frame_entry *find(const struct lr_level *v, uintptr_t address, uintptr_t frame) {
  const struct lr_frame_entry *const bottom = v->stack + 2, *f;
  if (!v->stack) return NULL;
  for (f = v->top - 1; f >= bottom && f->frame < frame; f--) {
  }
  if (f < bottom || !(f->function & 1)) return NULL;
  if (f->frame == frame) return f;
  const uintptr_t entered = (uintptr_t)(f->function >> 1);
  const uintptr_t mine = function_of(address);
  if (mine) return function_of(entered) == mine ? f : NULL;
  return address > entered && address - entered < 1u << 20 ? f : NULL;
}

LR_OWN static void entered(uintptr_t address, uintptr_t frame, const struct lr_registers *registers) {
  const struct lr_place at = {frame, 0, LR_ONE_CALL, LR_ONE_CALL, registers, 0};
  lr_enter_slow(address, 1, frame, &at, LR_PENTER);
}

LR_OWN static void left(uintptr_t address, uintptr_t frame, const struct lr_registers *registers) {
  const struct lr_place at = {frame, 0, LR_ONE_CALL, LR_ONE_CALL, registers, 0};
  lr_arrived(&at);
  struct lr_thread *t = lr_self_get();
  const struct lr_frame_entry *f = NULL;
  const struct lr_level *v = lr_alive(t) ? lr_level_of(t, frame) : NULL;
  if (v && (lr_relaxed(&lr_mode) != LR_GENERAL || lr_followed(address, 1))) f = find(v, address, frame);
  /* If none is found, the function was entered while nothing was recorded. */
  if (f) lr_leave_slow((uintptr_t)(f->function >> 1), 1, f->frame, 1, &at, LR_PENTER);
  else lr_leave_slow(address, 1, frame, 1, &at, LR_PENTER);
}

#if LR_PENTER_X86
/* ends reports whether nothing but the end of a function stands at an address, so that its result is where its caller gets
 * it: what takes its frame away and gives registers back that it has kept for its caller, and ret. Elsewhere the result may
 * be brought to its place behind the hook. */
LR_OWN static int ends(uintptr_t address) {
  enum { POP_EBX = 0x5b, POP_EBP = 0x5d, POP_ESI, POP_EDI, LEAVE = 0xc9, RET_POPS = 0xc2, MOST = 12 };
  const uint8_t *c = (const uint8_t *)address;
  for (int i = 0; i < MOST; i++) {
    if (c[0] == LR_RET || c[0] == RET_POPS) return 1;
    if (c[0] == POP_EBX || (c[0] >= POP_EBP && c[0] <= POP_EDI) || c[0] == LEAVE) c++;
    else if (c[0] == 0x8b && c[1] == 0xe5) c += 2; /* mov esp, ebp */
    else if (c[0] == 0x89 && c[1] == 0xec) c += 2; /* the same */
    else if (c[0] == 0x83 && c[1] == 0xc4) c += 3; /* add esp, a byte */
    else if (c[0] == 0x81 && c[1] == 0xc4) c += 6; /* add esp, a word */
    else if (c[0] == 0x8d && c[1] == 0x65) c += 3; /* lea esp, [ebp and a byte] */
    else return 0;
  }
  return 0;
}

LR_COLD void lr_penter_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  (void)site;
  struct lr_vectors vectors;
  registers->st0 = lr_vectors_save(&vectors);
  entered(address, frame, registers);
  lr_vectors_restore(&vectors);
}

LR_COLD void lr_pexit_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  (void)site;
  struct lr_vectors vectors;
  registers->st0 = lr_vectors_save(&vectors);
  left(address, frame, ends(address) ? registers : NULL);
  lr_vectors_restore(&vectors);
}
#else
LR_COLD void lr_penter_slow(uintptr_t address, uintptr_t frame) {
  struct lr_vectors vectors;
  lr_vectors_save(&vectors);
  entered(address, frame, NULL);
  lr_vectors_restore(&vectors);
}

LR_COLD void lr_pexit_slow(uintptr_t address, uintptr_t frame) {
  struct lr_vectors vectors;
  lr_vectors_save(&vectors);
  left(address, frame, NULL);
  lr_vectors_restore(&vectors);
}
#endif

/* ---- the hooks, x86 with MSVC ---- */

#if defined(_MSC_VER) && defined(_M_IX86)

/* hooks_i386_windows.S says what this does. */
#define HOOK(name, fast, slow)                                                                          \
  LR_OWN void __declspec(naked) __cdecl name(void) {                                                    \
    __asm push ebp                                                                                      \
    __asm mov ebp, esp                                                                                  \
    __asm push 0                                                                                        \
    __asm push edx                                                                                      \
    __asm push ecx                                                                                      \
    __asm push eax                                                                                      \
    __asm lahf                                                                                          \
    __asm seto al                                                                                       \
    __asm push eax                                                                                      \
    __asm sub esp, 144                                                                                  \
    __asm and esp, -16                                                                                  \
    __asm movaps [esp + 16], xmm0                                                                       \
    __asm movaps [esp + 32], xmm1                                                                       \
    __asm movaps [esp + 48], xmm2                                                                       \
    __asm movaps [esp + 64], xmm3                                                                       \
    __asm movaps [esp + 80], xmm4                                                                       \
    __asm movaps [esp + 96], xmm5                                                                       \
    __asm movaps [esp + 112], xmm6                                                                      \
    __asm movaps [esp + 128], xmm7                                                                      \
    __asm mov eax, [ebp + 4]                                                                            \
    __asm lea edx, [ebp + 8]                                                                            \
    __asm mov [esp], eax                                                                                \
    __asm mov [esp + 4], edx                                                                            \
    __asm call fast                                                                                     \
    __asm movaps xmm0, [esp + 16]                                                                       \
    __asm movaps xmm1, [esp + 32]                                                                       \
    __asm movaps xmm2, [esp + 48]                                                                       \
    __asm movaps xmm3, [esp + 64]                                                                       \
    __asm movaps xmm4, [esp + 80]                                                                       \
    __asm movaps xmm5, [esp + 96]                                                                       \
    __asm movaps xmm6, [esp + 112]                                                                      \
    __asm movaps xmm7, [esp + 128]                                                                      \
    __asm test eax, eax                                                                                 \
    __asm jnz done                                                                                      \
    __asm mov eax, [ebp + 4]                                                                            \
    __asm lea edx, [ebp + 8]                                                                            \
    __asm mov [esp], eax                                                                                \
    __asm mov [esp + 4], edx                                                                            \
    __asm lea eax, [ebp - 16]                                                                           \
    __asm mov [esp + 12], eax                                                                           \
    __asm call slow                                                                                     \
    __asm done:                                                                                         \
    __asm mov eax, [ebp - 20]                                                                           \
    __asm add al, 127                                                                                   \
    __asm sahf                                                                                          \
    __asm mov eax, [ebp - 16]                                                                           \
    __asm mov ecx, [ebp - 12]                                                                           \
    __asm mov edx, [ebp - 8]                                                                            \
    __asm mov esp, ebp                                                                                  \
    __asm pop ebp                                                                                       \
    __asm ret                                                                                           \
  }
HOOK(_penter, lr_penter, lr_penter_slow)
HOOK(_pexit, lr_pexit, lr_pexit_slow)

#endif

#if defined(_MSC_VER) && defined(LOGREC_BUILD_SHARED)
#if defined(_M_IX86)
#pragma comment(linker, "/EXPORT:_penter=__penter /EXPORT:_pexit=__pexit")
#else
#pragma comment(linker, "/EXPORT:_penter /EXPORT:_pexit")
#endif
#endif

#endif
