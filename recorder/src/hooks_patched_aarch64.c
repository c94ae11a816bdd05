/* hooks_patched_aarch64.c: the C side of hooks_patched_aarch64.S. Where values are taken all calls go the longer way. */

#if defined(__aarch64__) && !defined(__AARCH64EB__) && defined(__ELF__) && defined(__linux__) && defined(__LP64__)

/* The hot path leaves the vector registers alone. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("+nofp"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif

#include "system_linux.h"

#include "hot.h"
#include "patch.h"
#include "values.h"

#define LR_CALLED __attribute__((visibility("hidden"), used)) LR_OWN

int lr_patched_fast(uintptr_t function, uintptr_t frame);
int lr_preturn_fast(uintptr_t address, uintptr_t frame);
void lr_patched_slow(uintptr_t function, uintptr_t frame, uintptr_t site, const struct lr_registers *registers);
void lr_preturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers);

/* The two are 0 where all is done. */
LR_CALLED int lr_patched_fast(uintptr_t function, uintptr_t frame) { return lr_fast_call(function, 0, frame); }
LR_CALLED int lr_preturn_fast(uintptr_t address, uintptr_t frame) { return (void)address, lr_fast_return(frame); }

/* A log names one of the two ways in, XRay or patched entries, when it begins: lr_patch_ways has it. */
LR_CALLED void lr_patched_slow(uintptr_t function, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL, registers, 0};
  lr_ended(&at, 0);
  lr_enter_slow(function, 0, frame, &at, lr_patch_ways() >> LR_XRAY & 1 ? LR_XRAY : LR_PATCHED);
}

LR_CALLED void lr_preturn_slow(uintptr_t address, uintptr_t frame, uintptr_t site, const struct lr_registers *registers) {
  const struct lr_place at = {frame, site, LR_ONE_CALL, LR_ONE_CALL, registers, 0};
  (void)address;
  lr_returned(&at, LR_RETURN);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int lr_no_patched_of_aarch64;
#endif
