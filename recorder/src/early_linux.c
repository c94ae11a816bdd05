/* early_linux.c: events before the program has been loaded: functions that the loader calls while it relocates (IFUNC
 * resolvers) have hooks like others.
 *
 * Then there is no thread-local storage yet, or nothing in it, and what leads to functions of other modules may lead
 * nowhere. So nothing is touched here but the recorder's own variables, and such events are counted, not recorded. */

#if defined(__x86_64__) && defined(__linux__)
/* hooks_fentry_x86_64.S has saved no vector registers yet. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif
#endif

#include "core.h"

#if defined(__linux__)

uint32_t lr_early = 1;
static uint32_t events;

/* has_thread tells whether the thread has a block of thread-local storage. */
LR_PLAIN static int has_thread(void) {
#if defined(__x86_64__) && defined(__LP64__)
  enum { GET_FS = 0x1003 };
  uintptr_t block = 0;
  return lr_system(SYS_arch_prctl, GET_FS, (long)&block, 0, 0, 0, 0) == 0 && block;
#elif defined(__i386__)
  uint32_t selector;
  __asm__("mov %%gs,%0" : "=r"(selector));
  return (selector & 0xffff) != 0;
#elif defined(__aarch64__)
  return __builtin_thread_pointer() != NULL;
#else
  return 1;
#endif
}

/* The loader fills the block in when all modules are relocated, the recorder's too. */
LR_PLAIN int lr_begun(void) {
  if (!lr_load(&lr_early)) return 1;
  if (!has_thread() || *(struct lr_thread *volatile *)&lr_self != &lr_nobody) return 0;
  lr_store(&lr_early, 0);
  return 1;
}

LR_PLAIN int lr_begun_event(void) {
  if (lr_begun()) return 1;
  lr_store(&events, events + 1);
  return 0;
}

LR_OWN void lr_write_early(void) {
  if (!events) return;
  lr_record.length = 0;
  lr_put32(&lr_record, 0);
  lr_put32(&lr_record, 0);
  lr_put64(&lr_record, events);
  lr_put_string(&lr_record, "they came while the program was being loaded");
  lr_write_record(LRF_PROCESS_LOST, lr_global.begin);
  events = 0;
}

#else
typedef int lr_no_early;
#endif

#if defined(__x86_64__) && defined(__linux__) && defined(__clang__)
#pragma clang attribute pop
#endif
