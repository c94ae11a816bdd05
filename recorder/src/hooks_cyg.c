/* hooks_cyg.c: the hooks that -finstrument-functions calls (gcc, clang). On x86-64 the program calls hooks_cyg_x86_64.S,
 * or hooks_cyg_windows.S, which saves the registers if values are taken, and calls what is here. On x86 of Linux it calls what is here,
 * which ends with a jump to hooks_cyg_i386.S where the fast path does not do: that saves the registers that are as they were at the
 * call. Elsewhere no values are taken. */

#include "hot.h"
#include "logrec.h"
#include "values.h"

#if LR_HAVE_ALL_PLANS
#define KEEPS_REGISTERS 1
#else
#define KEEPS_REGISTERS 0
#endif
/* 1 where the slow path keeps the registers. */
#define KEEPS_LATE (LR_HAVE_HOOK_PLANS && !KEEPS_REGISTERS)

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif
#if KEEPS_REGISTERS
#define ENTER lr_cyg_enter
#define EXIT lr_cyg_exit
void lr_cyg_enter(void *function, void *site);
void lr_cyg_exit(void *function, void *site);
#endif
#if KEEPS_LATE
/* hooks_cyg_i386.S; they are to be jumped to, with the arguments of the hook. */
void lr_cyg_enter_late(void *function, void *site);
void lr_cyg_exit_late(void *function, void *site);
#endif
#if LR_HAVE_HOOK_PLANS
/* slot: where the hook's return address lies. */
void lr_cyg_enter_valued(void *function, void *site, const struct lr_registers *registers, const uintptr_t *slot);
void lr_cyg_exit_valued(void *function, void *site, const struct lr_registers *registers, const uintptr_t *slot);
#endif
#if defined(__ELF__)
#pragma GCC visibility pop
#endif
#if !KEEPS_REGISTERS
#define ENTER __cyg_profile_func_enter
#define EXIT __cyg_profile_func_exit
LOGREC_API void __cyg_profile_func_enter(void *function, void *site);
LOGREC_API void __cyg_profile_func_exit(void *function, void *site);
#endif

#if KEEPS_LATE
/* A compiler that does not make a jump of it has the hook found nowhere in the plan, by where it returns to. */
#define enter_slow(function, site, frame, pc) lr_cyg_enter_late(function, site)
#define leave_slow(function, site, frame, pc) lr_cyg_exit_late(function, site)
#else
LR_COLD static void enter_slow(void *function, void *site, uintptr_t frame, uintptr_t pc) {
  const struct lr_place at = {frame, (uintptr_t)site, (uint32_t)(uintptr_t)site, pc, NULL, 0};
  lr_enter_slow((uintptr_t)function, 0, frame, &at, LR_CYG);
}

LR_COLD static void leave_slow(void *function, void *site, uintptr_t frame, uintptr_t pc) {
  const struct lr_place at = {frame, (uintptr_t)site, (uint32_t)(uintptr_t)site, pc, NULL, 0};
  lr_leave_slow((uintptr_t)function, 0, frame, 0, &at, LR_CYG);
}
#endif

#if KEEPS_REGISTERS && defined(__linux__)
#define IS_EARLY 0 /* the functions below have asked */
#else
#define IS_EARLY lr_is_early()
#endif

LR_OWN void ENTER(void *function, void *site) {
  if (IS_EARLY) return;
  if (LR_UNLIKELY(!lr_fast_enter((uintptr_t)function, 0, lr_frame(), lr_frame(), (uint32_t)(uintptr_t)site, 0)))
    enter_slow(function, site, lr_frame(), lr_return_address());
}

LR_OWN void EXIT(void *function, void *site) {
  if (IS_EARLY) return;
  if (LR_UNLIKELY(!lr_fast_leave((uintptr_t)function, 0, lr_frame(), 0))) leave_slow(function, site, lr_frame(), lr_return_address());
}

#if LR_HAVE_HOOK_PLANS
LR_INLINE struct lr_place place_of(void *site, const struct lr_registers *registers, const uintptr_t *slot) {
  /* The same frame as lr_frame() returns in ENTER and EXIT. */
  const struct lr_place at = {(uintptr_t)(slot + 1) - LR_BELOW_CALL, (uintptr_t)site, (uint32_t)(uintptr_t)site, *slot, !KEEPS_LATE || lr_load(&lr_taking) ? registers : NULL, 0};
  return at;
}

LR_OWN void lr_cyg_enter_valued(void *function, void *site, const struct lr_registers *registers, const uintptr_t *slot) {
  if (lr_is_early()) return;
  const struct lr_place at = place_of(site, registers, slot);
  lr_enter_slow((uintptr_t)function, 0, at.frame, &at, LR_CYG);
}

LR_OWN void lr_cyg_exit_valued(void *function, void *site, const struct lr_registers *registers, const uintptr_t *slot) {
  if (lr_is_early()) return;
  const struct lr_place at = place_of(site, registers, slot);
  lr_leave_slow((uintptr_t)function, 0, at.frame, 0, &at, LR_CYG);
}
#endif
