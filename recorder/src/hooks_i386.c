/* hooks_i386.c: the C side of hooks_fentry_i386.S, and of __fentry__ and __return__ in hooks_i386_windows.S.
 * hooks_fentry.c explains how calls are matched. Where values are taken, the slow functions are called for every event. */

#include "convention.h"

#if defined(__i386__) && LR_HAVE_PLANS

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif

#if defined(_WIN32)
#include "hot.h"
#include "values.h"
#include "vectors_windows.h"

#define LR_CALLED __attribute__((used)) LR_OWN
#else
#include "system_linux.h"

#include "hot.h"
#include "values.h"
#include "xsave.h"

#define LR_CALLED __attribute__((visibility("hidden"), used)) LR_OWN

uint32_t lr_xsave_room(void);
#endif
int lr_fentry_fast(uintptr_t address, uintptr_t frame);
int lr_freturn_fast(uintptr_t address, uintptr_t frame);
void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);
void lr_freturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers);

/* The two return 0 if nothing is left to do, 1 if the slow function must be called. */
LR_CALLED int lr_fentry_fast(uintptr_t address, uintptr_t frame) { return !lr_is_early() && lr_fast_call(address, 1, frame); }
LR_CALLED int lr_freturn_fast(uintptr_t address, uintptr_t frame) { return (void)address, !lr_is_early() && lr_fast_return(frame); }

LR_INLINE void entered(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL, registers, 0};
  lr_ended(&at, 0);
  lr_enter_slow(address, 1, frame, &at, LR_FENTRY);
}

LR_INLINE void returned(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL, lr_returns(address) ? registers : NULL, 0};
  lr_returned(&at, LR_RETURN);
}

#if defined(_WIN32)
LR_CALLED void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  struct lr_vectors vectors;
  registers->st0 = lr_vectors_save(&vectors);
  entered(address, frame, site, registers);
  lr_vectors_restore(&vectors);
}

LR_CALLED void lr_freturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  struct lr_vectors vectors;
  registers->st0 = lr_vectors_save(&vectors);
  returned(address, frame, site, registers);
  lr_vectors_restore(&vectors);
}
#else
/* lr_xsave_room returns how many bytes it takes to save all registers but the integer ones; LR_NO_XSAVE if the
 * processor has fxsave only. */
LR_CALLED uint32_t lr_xsave_room(void) {
  static uint32_t room;
  const uint32_t known = lr_load(&room);
  if (LR_LIKELY(known)) return known;
  const uint32_t found = lr_xsave_size_of();
  lr_store(&room, found);
  return found;
}

LR_CALLED void lr_fentry_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  entered(address, frame, site, registers);
}

LR_CALLED void lr_freturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site, struct lr_registers *registers) {
  returned(address, frame, site, registers);
}
#endif

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int lr_no_fentry_of_i386;
#endif
