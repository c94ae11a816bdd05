/* hooks_cyg.c: the hooks that -finstrument-functions calls (gcc, clang). On x86-64 the program calls hooks_cyg_x86_64.S,
 * or hooks_cyg_windows.S, which saves the registers if values are taken, and calls what is here. Elsewhere no values are
 * taken. */

#include "hot.h"
#include "logrec.h"
#include "values.h"

#if LR_HAVE_ALL_PLANS
#define KEEPS_REGISTERS 1
#else
#define KEEPS_REGISTERS 0
#endif

#if KEEPS_REGISTERS
#define ENTER lr_cyg_enter
#define EXIT lr_cyg_exit
#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif
void lr_cyg_enter(void *function, void *site);
void lr_cyg_exit(void *function, void *site);
/* slot: where the hook's return address lies. */
void lr_cyg_enter_valued(void *function, void *site, const struct lr_registers *registers, const uintptr_t *slot);
void lr_cyg_exit_valued(void *function, void *site, const struct lr_registers *registers, const uintptr_t *slot);
#if defined(__ELF__)
#pragma GCC visibility pop
#endif
#else
#define ENTER __cyg_profile_func_enter
#define EXIT __cyg_profile_func_exit
LOGREC_API void __cyg_profile_func_enter(void *function, void *site);
LOGREC_API void __cyg_profile_func_exit(void *function, void *site);
#endif

LR_COLD static void enter_slow(void *function, void *site, uintptr_t frame, uintptr_t pc) {
  const struct lr_place at = {frame, (uintptr_t)site, (uint32_t)(uintptr_t)site, pc, NULL, 0};
  lr_enter_slow((uintptr_t)function, 0, frame, &at, LR_CYG);
}

LR_COLD static void leave_slow(void *function, void *site, uintptr_t frame, uintptr_t pc) {
  const struct lr_place at = {frame, (uintptr_t)site, (uint32_t)(uintptr_t)site, pc, NULL, 0};
  lr_leave_slow((uintptr_t)function, 0, frame, 0, &at, LR_CYG);
}

LR_OWN void ENTER(void *function, void *site) {
  if (LR_UNLIKELY(!lr_fast_enter((uintptr_t)function, 0, lr_frame(), lr_frame(), (uint32_t)(uintptr_t)site, 0)))
    enter_slow(function, site, lr_frame(), lr_return_address());
}

LR_OWN void EXIT(void *function, void *site) {
  if (LR_UNLIKELY(!lr_fast_leave((uintptr_t)function, 0, lr_frame(), 0))) leave_slow(function, site, lr_frame(), lr_return_address());
}

#if KEEPS_REGISTERS
LR_INLINE struct lr_place place_of(void *site, const struct lr_registers *registers, const uintptr_t *slot) {
  /* The same frame as lr_frame() returns in ENTER and EXIT. */
  const struct lr_place at = {(uintptr_t)(slot + 1) - LR_BELOW_CALL, (uintptr_t)site, (uint32_t)(uintptr_t)site, *slot, registers, 0};
  return at;
}

LR_OWN void lr_cyg_enter_valued(void *function, void *site, const struct lr_registers *registers, const uintptr_t *slot) {
  const struct lr_place at = place_of(site, registers, slot);
  lr_enter_slow((uintptr_t)function, 0, at.frame, &at, LR_CYG);
}

LR_OWN void lr_cyg_exit_valued(void *function, void *site, const struct lr_registers *registers, const uintptr_t *slot) {
  const struct lr_place at = place_of(site, registers, slot);
  lr_leave_slow((uintptr_t)function, 0, at.frame, 0, &at, LR_CYG);
}
#endif
