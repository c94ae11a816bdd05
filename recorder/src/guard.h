/* guard.h: copying memory that may not be there (guard_linux.c). */

#ifndef LOGREC_GUARD_H
#define LOGREC_GUARD_H

#if defined(__linux__)
#include "system_linux.h"
#endif

#include "core.h"

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__) && defined(__linux__) && defined(__GLIBC__) && !defined(LOGREC_NO_INTERPOSE)
#define LR_HAVE_GUARD 1
#else
#define LR_HAVE_GUARD 0
#endif

#if LR_HAVE_GUARD

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

/* guard_x86_64.S: copy n bytes, or fewer: up to the first that is not there. lr_guarded_text ends with
 * the first that is 0, too. */
extern const uint8_t lr_guarded_begin[], lr_guarded_end[], lr_guarded_failed[];
size_t lr_guarded_copy(void *to, uintptr_t from, size_t n);
size_t lr_guarded_text(void *to, uintptr_t from, size_t n);

/* What lr_thread.guard is while the thread may copy so. */
extern uint32_t lr_guard_round;
int lr_guard_look(struct lr_thread *t, uintptr_t frame);
/* 1 if this thread may copy so, with frame on its stack. */
LR_INLINE int lr_guard_open(uintptr_t frame) {
  struct lr_thread *const t = lr_self_get();
  /* A signal handler's may come in between. */
  const uint32_t uses = *(volatile uint32_t *)&t->guard_uses;
  if (LR_LIKELY(t->guard == lr_load(&lr_guard_round) && uses && frame - t->guard_stack >= t->guard_stack_size)) {
    t->guard_uses = uses - 1;
    return 1;
  }
  return lr_guard_look(t, frame);
}

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif

#endif
