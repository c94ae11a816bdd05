/* returns.c: whether code was compiled with a hook for returns, asked before the first such hook has run.
 *
 * gcc's -minstrument-return=call puts a call of __return__ right before each ret; compilers put no other call there, for the
 * stack would not be aligned, or the call would be a jump. If a function that has it ends unseen, it was left by
 * an exception or longjmp, and its end is not known; without it the next enter tells of the end. A function that never
 * returns is followed by others of its file. */

#include "convention.h"
#include "core.h"

#if LR_HAVE_PLANS && (defined(__x86_64__) || defined(__i386__))

enum { CALL = 0xe8, RET = 0xc3, JUMP = 0xff, ENDBR = 4, MOST = 1 << 15, STEP = 512 };

/* A program without the hooks does not get them by this. */
#if defined(__ELF__)
extern void return_hook(void) __asm__("__return__") __attribute__((weak));
#else
extern void return_hook(void) __asm__("__return__");
#endif

LR_OWN static uintptr_t behind(uintptr_t at, const uint8_t *distance) {
  int32_t n;
  memcpy(&n, distance, sizeof n);
  return at + (uintptr_t)(intptr_t)n;
}

/* holds_hook tells whether a pointer in memory leads to the hook, or, in a PLT that is bound when it is used, close to a place. */
LR_OWN static int holds_hook(uintptr_t slot, uintptr_t place) {
  enum { CLOSE = 1 << 24 };
  uintptr_t to = 0;
  if (plat_copy_memory(&to, slot, sizeof to) != sizeof to) return 0;
  return to == (uintptr_t)return_hook || (place && place - to + CLOSE < 2 * CLOSE);
}

/* is_hook tells whether a call to an address is one of the hook, through a PLT or not. */
LR_OWN static int is_hook(uintptr_t address) {
  uint8_t code[ENDBR + 8] = {0};
  const uint8_t *p = code;
  if (address == (uintptr_t)return_hook) return 1;
  if (plat_copy_memory(code, address, sizeof code) != sizeof code) return 0;
  if (p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x1e) p += ENDBR;
  if (*p == 0xf2) p++; /* bnd */
  if (p[0] != JUMP) return 0;
#if defined(__x86_64__)
  return p[1] == 0x25 && holds_hook(behind(address + (uintptr_t)(p - code) + 6, p + 2), address);
#else
  /* In code that may lie anywhere the slot is found by a register. */
  return p[1] == 0xa3 || (p[1] == 0x25 && holds_hook(behind(0, p + 2), address));
#endif
}

LR_OWN int lr_code_has_returns(uintptr_t code) {
  if (!(uintptr_t)return_hook) return 0;
  uint8_t copy[8 + STEP] = {0};
  for (uintptr_t at = code; at < code + MOST; at += STEP) {
    const size_t n = plat_copy_memory(copy + 8, at, STEP);
    for (size_t i = 0; i < n; i++) {
      const uint8_t *const ret = copy + 8 + i, *const call = ret - 5;
      const uintptr_t address = at + i;
      if (*ret != RET || address < code + 6) continue;
      if (*call == CALL && is_hook(behind(address, call + 1))) return 1;
#if defined(__x86_64__)
      if (call[-1] == JUMP && *call == 0x15 && holds_hook(behind(address, call + 1), 0)) return 1;
#endif
    }
    if (n < STEP) break;
    memcpy(copy, copy + STEP, 8);
  }
  return 0;
}

#else

LR_OWN int lr_code_has_returns(uintptr_t code) {
  (void)code;
  return 0;
}

#endif
