/* logrec.c: the interface of logrec.h.
 *
 * A signal handler may call all of these functions but logrec_patch. What they take of locks is said where
 * they lead to: event.c, process.c, thread.c, snapshot.c. */

#include "hot.h"
#include "logrec.h"
#include "patch.h"

LR_COLD static void enter_slow(uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t pointer, uintptr_t site) {
  const struct lr_place at = {pointer, site, LR_BY_HAND, address | 1, NULL, 0};
  lr_enter_slow(address, kind, frame, &at, LR_API);
}

LR_COLD static void leave_slow(uintptr_t address, unsigned kind, uintptr_t frame, uintptr_t pointer, int exact) {
  const struct lr_place at = {pointer, 0, LR_BY_HAND, address | 1, NULL, 0};
  lr_leave_slow(address, kind, frame, exact, &at, LR_API);
}

LR_INLINE void enter(const void *address, unsigned kind, uintptr_t frame, uintptr_t site) {
  const uintptr_t a = (uintptr_t)address;
  if (lr_is_early()) return;
  const int first = !lr_has_come_by(LR_API) && lr_relaxed(&lr_mode) != LR_OFF;
  if (LR_UNLIKELY(first || !lr_fast_enter(a, kind, frame, lr_frame(), LR_BY_HAND, (uint32_t)a | 1)))
    enter_slow(a, kind, frame, lr_frame(), site);
}

LR_INLINE void leave(const void *address, unsigned kind, uintptr_t frame, int exact) {
  if (lr_is_early()) return;
  if (LR_UNLIKELY(!lr_fast_leave((uintptr_t)address, kind, frame, exact))) leave_slow((uintptr_t)address, kind, frame, lr_frame(), exact);
}

LR_OWN void logrec_enter(const void *function) { enter(function, 0, lr_frame(), lr_return_address()); }
LR_OWN void logrec_leave(const void *function) { leave(function, 0, lr_frame(), 0); }
LR_OWN void logrec_enter_return(const void *address, const void *frame) { enter(address, 1, (uintptr_t)frame, 0); }
LR_OWN void logrec_leave_return(const void *address, const void *frame) { leave(address, 1, (uintptr_t)frame, 1); }

LR_OWN void logrec_mark(const char *text, size_t n) { lr_mark(text, n); }
LR_OWN void logrec_counter_i64(const char *name, int64_t value) { lr_counter(name, 0, &value); }
LR_OWN void logrec_counter_u64(const char *name, uint64_t value) { lr_counter(name, 1, &value); }
LR_OWN void logrec_counter_f64(const char *name, double value) { lr_counter(name, 2, &value); }

LR_OWN void logrec_thread_name(const char *name) { lr_thread_name(name); }

LR_OWN int logrec_switch(int on) {
  lr_read_settings();
  const int was = !lr_relaxed(&lr_settings.off);
  if (was == !!on) return was;
  if (!on) lr_switch(0, "logrec_switch");
  lr_store(&lr_settings.off, !on);
  if (on) lr_store(&lr_global.switched, lr_global.switched + LR_SWITCHED);
  lr_choose_mode();
  if (on) lr_switch(1, "logrec_switch");
  return was;
}

LR_OWN int logrec_patch(int on) {
  struct plat_saved saved;
  if (!on) logrec_switch(0);
  plat_slow_begin(&saved);
  lr_patch_look();
  const int done = lr_patch_all(on ? LR_SLED_ON : LR_SLED_OFF, 0);
  plat_slow_end(&saved);
  if (on) logrec_switch(1);
  return done;
}

LR_OWN int logrec_snapshot(const char *path) { return lr_snapshot_to(path); }
LR_OWN const char *logrec_path(void) { return lr_global.state == LR_RUNNING ? lr_global.path : ""; }
