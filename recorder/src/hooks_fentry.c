/* hooks_fentry.c: the C side of hooks_fentry_x86_64.S.
 *
 * gcc's -minstrument-return=call calls __return__ before every return of a
 * function. It names no function: the call that ends is found by its frame.
 * clang has no such hook, and gcc's is not there without the option: then the
 * end of a call is seen by the next enter whose frame is not below it, and the
 * leave is recorded there. */

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif

#include "core.h"

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)

#include <cpuid.h>

#define LR_CALLED __attribute__((visibility("hidden"), used)) LR_OWN

int lr_fentry_fast(uintptr_t address, uintptr_t frame, uintptr_t site);
void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site);
int lr_freturn_fast(uintptr_t address, uintptr_t frame, uintptr_t site);
void lr_freturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site);

/* Room for xsave of x87, SSE, AVX and AVX-512 state; 0: there is no xsave. */
uint32_t lr_xsave_size __attribute__((visibility("hidden")));

__attribute__((constructor(101))) LR_OWN static void find_size(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return;
  if (!__get_cpuid_count(0xd, 0, &a, &b, &c, &d)) return;
  uint32_t size = 576;
  for (unsigned i = 2; i < 8; i++) {
    if (!(0xe6u >> i & 1) || !__get_cpuid_count(0xd, i, &a, &b, &c, &d) || !a) continue;
    if (a + b > size) size = a + b;
  }
  lr_store(&lr_xsave_size, size);
}

LR_CALLED int lr_fentry_fast(uintptr_t address, uintptr_t frame, uintptr_t site) {
  (void)site;
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return mode != LR_OFF;
  v->inside = frame;
  lr_barrier();
  const int done = lr_try_enter(v, address, 1, frame, frame, LR_ONE_CALL, LR_ONE_CALL);
  lr_barrier();
  v->inside = mode;
  return !done;
}

LR_CALLED void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site) {
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL};
  lr_ended(&at);
  lr_enter_slow(address, 1, frame, &at, LR_FENTRY);
}

LR_CALLED int lr_freturn_fast(uintptr_t address, uintptr_t frame, uintptr_t site) {
  (void)address;
  (void)site;
  struct lr_level *const v = &lr_self_get()->level[0];
  const uintptr_t mode = lr_relaxed(&lr_mode);
  if (LR_UNLIKELY(v->inside != mode)) return mode != LR_OFF;
  v->inside = frame;
  lr_barrier();
  const struct lr_frame_entry *top = v->top - 1;
  const int done = LR_LIKELY(top->frame == frame && (top->function & 1)) && lr_try_leave(v, top->function, frame, 1);
  lr_barrier();
  v->inside = mode;
  return !done;
}

LR_CALLED void lr_freturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site) {
  (void)address;
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL};
  lr_returned(&at);
}

#else
typedef int lr_no_fentry;
#endif

#if defined(__clang__)
#pragma clang attribute pop
#endif
