/* jumps.c: calls that end with a jump to another function (tail calls). The other function returns to the caller of the first
 * one, so its result is that of both. A reader needs to know which call that is.
 *
 * gcc calls __return__ right before such a jump. There the jump is decoded, and the thread keeps where it leads. Only what comes
 * next in the thread can be that call: it must be the same function, have its return address in the same place of the stack, and
 * return to the same address, get what the registers had before the jump, and nothing may have been written in between. Each of
 * these alone proves nothing: calls that a loop makes through a pointer share the place and the address, and a signal handler may
 * call the same function. Until then the thread's events take the slow path, so that none goes unseen. Switching recording off
 * and on, a longjmp and any other event make it forget the jump.
 *
 * Hooks call this while the vector registers have arguments, so that it must not change them. */

#include "convention.h"

#if LR_HAVE_JUMPS

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif

#include "jumps.h"
#include "libcalls.h"
#include "values.h"

extern void lr_libcall_enter(void) __attribute__((visibility("hidden")));
extern void lr_libcall_return(void) __attribute__((visibility("hidden")));

enum { ENDBR = 4, NEAR_CALL = 5, LONG_CALL = 6, ADDRESS = 8 };

/* endbr64 is the instruction that indirect jumps lead to. */
LR_OWN static int begins_with_endbr(const uint8_t *code) { return code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa; }

LR_OWN static uintptr_t behind(uintptr_t at, const uint8_t *distance) {
  int32_t n;
  memcpy(&n, distance, sizeof n);
  return at + (uintptr_t)(intptr_t)n;
}

LR_OWN static int is_direct(const uint8_t *jump) { return jump[0] == 0xe9 || jump[0] == 0xeb; }

/* of_register returns the register that a jump goes through, as the hook has kept it; 0 for one that the caller may have left a
 * value in, which no function jumps through at its end. */
LR_OWN static uintptr_t of_register(const struct lr_registers *r, unsigned number) {
  switch (number) {
  case 0: return r->rax;
  case 1: return r->rcx;
  case 2: return r->rdx;
  case 6: return r->rsi;
  case 7: return r->rdi;
  case 8: return r->r8;
  case 9: return r->r9;
  case 10: return r->r10;
  case 11: return r->r11;
  default: return 0;
  }
}

/* libcall_of returns the call that the recorder's code at an address is for (libcalls_linux.c, put_stub), else 0. */
LR_OWN static uintptr_t libcall_of(const uint8_t *code) {
  static const uint8_t load[] = {0x49, 0xbb}, jump[] = {0xff, 0x25, 0, 0, 0, 0};
  uintptr_t call, to;
  if (!begins_with_endbr(code) || memcmp(code + ENDBR, load, sizeof load) != 0) return 0;
  const uint8_t *const p = code + ENDBR + sizeof load;
  memcpy(&call, p, sizeof call);
  if (memcmp(p + ADDRESS, jump, sizeof jump) != 0) return 0;
  memcpy(&to, p + ADDRESS + sizeof jump, sizeof to);
  return to == (uintptr_t)lr_libcall_enter ? call : 0;
}

/* step follows a jump at an address, whose bytes are in code: 0 if it is none, or leads to where nobody knows. */
LR_OWN static uintptr_t step(uintptr_t at, const uint8_t *code, const struct lr_registers *r) {
  const uint8_t *p = code;
  if (begins_with_endbr(p)) p += ENDBR;
  if (*p == 0xf2 || *p == 0x3e) p++; /* bnd, notrack */
  const uintptr_t here = at + (uintptr_t)(p - code);
  if (p[0] == 0xe9) return behind(here + 5, p + 1);
  if (p[0] == 0xeb) return here + 2 + (uintptr_t)(intptr_t)(int8_t)p[1];
  if (p[0] == 0xff && p[1] == 0x25) {
    uintptr_t to;
    return lr_copy((uint8_t *)&to, behind(here + 6, p + 2), sizeof to) == sizeof to ? to : 0;
  }
  const unsigned upper = p[0] == 0x41 ? 8 : 0;
  if (upper) p++;
  return r && p[0] == 0xff && (p[1] & 0xf8) == 0xe0 ? of_register(r, upper | (p[1] & 7)) : 0;
}

/* The code that a function's own jump leads to is there. What lies in a register or in memory may be anything: what it leads to is
 * looked at with care, so that it is the program that crashes. */
LR_OWN uintptr_t lr_jumps_to(uintptr_t address, const struct lr_registers *r) {
  enum { MOST_STEPS = 4, MOST_CODE = 28 };
  const uint8_t *code = (const uint8_t *)address;
  uintptr_t at = step(address, code, r);
  int careful = 0;
  for (int i = 0; at && i < MOST_STEPS; i++) {
    uint8_t copy[MOST_CODE] = {0};
    careful |= !is_direct(code);
    code = (const uint8_t *)at;
    if (careful) {
      if (!lr_copy(copy, at, sizeof copy)) return 0;
      code = copy;
    }
    const uintptr_t call = libcall_of(code), to = call ? 0 : step(at, code, NULL);
    if (call) return call;
    if (!to) return at;
    at = to;
  }
  return 0;
}

/* keep_arguments copies the registers that the jump and what may lie on its way leave as they are. */
LR_OWN static void keep_arguments(uint64_t *to, const struct lr_registers *r) {
  to[0] = r->rdi;
  to[1] = r->rsi;
  to[2] = r->rdx;
  to[3] = r->rcx;
  to[4] = r->r8;
  to[5] = r->r9;
  to[6] = r->rbp;
}

LR_OWN void lr_left_by_jump(struct lr_thread *t, uintptr_t to, uintptr_t frame, const struct lr_registers *r) {
  const struct lr_level *const v = &t->level[0];
  struct lr_jump *const j = &t->jump;
  if (t->mode == LR_LEAVING) return; /* the calls that are open are not known */
  j->to = to;
  j->frame = frame;
  j->site = *(const uintptr_t *)frame;
  keep_arguments(j->arguments, r);
  j->behind = lr_position(v);
  j->sequence = v->sequence;
  j->switched = lr_load(&lr_global.switched);
  j->mode = t->mode;
  t->mode = LR_LEAVING;
}

LR_OWN void lr_forget_jump(struct lr_thread *t) {
  if (!t->jump.to) return;
  t->jump.to = 0;
  if (!t->level[0].jumped) t->mode = t->jump.mode;
}

/* enters tells whether a hook that returns to an address was called by the first instruction of a function that runs. */
LR_OWN static int enters(uintptr_t function, uintptr_t address) {
  if (address - function - NEAR_CALL > ENDBR + LONG_CALL - NEAR_CALL) return 0;
  const uint8_t *const code = (const uint8_t *)function, *const call = begins_with_endbr(code) ? code + ENDBR : code;
  /* call; call through a slot, or what linkers make of that: addr32 call */
  const int size = call[0] == 0xe8                                                                          ? NEAR_CALL
                   : (call[0] == 0xff && call[1] == 0x15) || (call[0] == 0x67 && call[1] == 0xe8) ? LONG_CALL
                                                                                                            : 0;
  return size && address == (uintptr_t)call + (uintptr_t)size;
}

LR_OWN int lr_is_jumped_to(const struct lr_thread *t, uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t site,
                           const struct lr_registers *r) {
  const struct lr_jump *const j = &t->jump;
  if (!j->to || j->frame != frame || (j->site != site && j->site != (uintptr_t)lr_libcall_return) || !r) return 0;
  if (j->switched != lr_load(&lr_global.switched) || lr_relaxed(&lr_mode) == LR_OFF) return 0;
  uint64_t arguments[sizeof j->arguments / sizeof *j->arguments];
  keep_arguments(arguments, r);
  for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
    if (arguments[i] != j->arguments[i]) return 0;
  return kind ? enters(j->to, address) : j->to == address;
}

LR_OWN int lr_comes_by_jump(uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t site, const struct lr_registers *r) {
  struct lr_thread *const t = lr_self_get();
  /* A signal handler that has interrupted a hook does not come by a jump, and the hook has yet to see its own. */
  if (!t->jump.to || !lr_idle(&t->level[0])) return 0;
  const int comes = lr_is_jumped_to(t, address, kind, frame, site, r);
  lr_forget_jump(t);
  return comes;
}

LR_OWN int lr_is_behind_jump(const struct lr_thread *t, const struct lr_level *v) {
  /* A coroutine may have gone on in another thread meanwhile, and come back. */
  const struct lr_stack *const on = v->on;
  return v == &t->level[0] && t->jump.sequence == v->sequence && t->jump.behind == lr_position(v) &&
         (!on || !on->number || lr_load(&on->owner) == t->stream);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int lr_no_jumps;
#endif
