/* hooks_cyg.c: what -finstrument-functions calls (gcc, clang). */

#include "hot.h"
#include "logrec.h"

LOGREC_API void __cyg_profile_func_enter(void *function, void *site);
LOGREC_API void __cyg_profile_func_exit(void *function, void *site);

LR_COLD static void enter_slow(void *function, void *site, uintptr_t frame, uintptr_t pc) {
  const struct lr_place at = {frame, (uintptr_t)site, (uint32_t)(uintptr_t)site, pc, NULL};
  lr_enter_slow((uintptr_t)function, 0, frame, &at, LR_CYG);
}

LR_COLD static void leave_slow(void *function, void *site, uintptr_t frame, uintptr_t pc) {
  const struct lr_place at = {frame, (uintptr_t)site, (uint32_t)(uintptr_t)site, pc, NULL};
  lr_leave_slow((uintptr_t)function, 0, frame, 0, &at, LR_CYG);
}

LR_OWN void __cyg_profile_func_enter(void *function, void *site) {
  if (LR_UNLIKELY(!lr_fast_enter((uintptr_t)function, 0, lr_frame(), lr_frame(), (uint32_t)(uintptr_t)site, 0)))
    enter_slow(function, site, lr_frame(), lr_return_address());
}

LR_OWN void __cyg_profile_func_exit(void *function, void *site) {
  if (LR_UNLIKELY(!lr_fast_leave((uintptr_t)function, 0, lr_frame(), 0))) leave_slow(function, site, lr_frame(), lr_return_address());
}
