/* hooks_cyg.c: what -finstrument-functions calls (gcc, clang). */

#include "core.h"
#include "logrec.h"

LOGREC_API void __cyg_profile_func_enter(void *function, void *site);
LOGREC_API void __cyg_profile_func_exit(void *function, void *site);

LR_OWN void __cyg_profile_func_enter(void *function, void *site) {
  lr_enter((uintptr_t)function, 0, lr_frame(), (uintptr_t)site, 1);
}

LR_OWN void __cyg_profile_func_exit(void *function, void *site) {
  lr_leave((uintptr_t)function, 0, lr_frame(), 0, (uintptr_t)site, 1);
}
