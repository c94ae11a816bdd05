/* guard_linux.c: when memory that may not be there is copied without a system call.
 *
 * A fault in such a copy (guard_x86_64.S) is a SIGSEGV or SIGBUS. The crash handler goes on behind it. But where
 * the signal is blocked the kernel kills the program whatever handler there is, and where the program has a
 * handler of its own the fault would be that one's. So a thread copies in this way only while it is known
 * that neither is so:
 *
 *   - Both signals have the recorder's handler in the kernel: signals_linux.c tells of each change, and the kernel
 *     is asked again and again.
 *   - No handler blocks either of them while it runs: else the way is closed for good.
 *   - The thread's mask lets both through: it is asked for once, and again when the program has called what
 *     changes masks (masks_linux.c) or has left calls.
 *   - The thread is not on a signal stack, which may have no room for another frame.
 *
 * All others copy by process_vm_readv. */

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)

/* As in values.c. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif

#include "system_linux.h"

#include "guard.h"

#if LR_HAVE_GUARD

#include <sys/syscall.h>
#include <ucontext.h>

/* For what sanitizers call before anything else may be called. */
#define EARLY __attribute__((no_sanitize("address", "thread", "undefined"))) LR_OWN

/* Each change of handlers begins another round. */
enum { CLOSED = 1, USES = 4096 };
uint32_t lr_guard_round = CLOSED;
/* 1: closed for good. */
static uint32_t for_good;

/* The kernel's. */
struct kernel_action {
  uintptr_t handler;
  unsigned long flags;
  uintptr_t restorer;
  uint64_t mask;
};
enum { BOTH = 1 << (SIGSEGV - 1) | 1 << (SIGBUS - 1), LAST_SIGNAL = 64, AUTO_DISARM = (int)(1u << 31) };

LR_OWN static long ask(long number, long a, void *b, void *c, long d) {
  long result;
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
}

LR_OWN static int action_of(int number, struct kernel_action *a) { return ask(SYS_rt_sigaction, number, NULL, a, sizeof a->mask) == 0; }

LR_OWN static int has_both(void) {
  struct kernel_action a, b;
  return action_of(SIGSEGV, &a) && action_of(SIGBUS, &b) && a.handler == (uintptr_t)lr_crash_handler && b.handler == (uintptr_t)lr_crash_handler;
}

/* any_blocks tells whether a handler, but the recorder's own, blocks one of the signals. */
LR_OWN static int any_blocks(void) {
  for (int i = 1; i <= LAST_SIGNAL; i++) {
    struct kernel_action a;
    if (action_of(i, &a) && a.handler > 1 && a.handler != (uintptr_t)lr_crash_handler && (a.mask & BOTH)) return 1;
  }
  return 0;
}

EARLY void lr_guard_pause(void) { lr_store(&lr_guard_round, CLOSED); }
EARLY void lr_guard_close(void) {
  lr_store(&for_good, 1);
  lr_store(&lr_guard_round, CLOSED);
}

LR_OWN void lr_guard_choose(void) {
  static uint32_t round = CLOSED, looked;
  lr_guard_pause();
  if (lr_load(&for_good) || !plat_crash_caught() || lr_load(&lr_barred) || lr_sandboxed || lr_may_have_sanitizer() || !has_both()) return;
  /* What the program sets from now on is seen. */
  if (!looked && any_blocks()) {
    lr_guard_close();
    return;
  }
  looked = 1;
  /* No two threads begin the same: after it, each thread looks at the handlers itself. */
  const uint32_t next = __atomic_add_fetch(&round, 1, __ATOMIC_RELAXED);
  lr_store(&lr_guard_round, next > CLOSED ? next : __atomic_add_fetch(&round, CLOSED + 1, __ATOMIC_RELAXED));
}

LR_OWN int lr_guard_look(struct lr_thread *t, uintptr_t frame) {
  const uint32_t round = lr_load(&lr_guard_round);
  if (round == CLOSED || t == &lr_nobody || lr_load(&lr_barred)) return 0;
  if (t->guard != round || !t->guard_uses) {
    uint64_t mask;
    stack_t s;
    t->guard = 0;
    if (ask(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask) != 0 || (mask & BOTH)) return 0;
    if (ask(SYS_sigaltstack, 0, &s, NULL, 0) != 0 || (s.ss_flags & (SS_ONSTACK | AUTO_DISARM))) return 0;
    if (!has_both()) {
      /* Somebody has set a handler without the C library. */
      if (lr_load(&lr_guard_round) == round) lr_guard_close();
      return 0;
    }
    t->guard_stack = (uintptr_t)s.ss_sp;
    t->guard_stack_size = s.ss_flags & SS_DISABLE ? 0 : s.ss_size;
    t->guard_uses = USES;
    lr_barrier();
    t->guard = round;
  }
  return frame - t->guard_stack >= t->guard_stack_size;
}

EARLY void lr_guard_unknown(void) {
  struct lr_thread *const t = lr_self_get();
  if (t != &lr_nobody) t->guard = 0;
}

EARLY void lr_guard_handler(const struct sigaction *a) {
  const int is_handler = (a->sa_flags & SA_SIGINFO) || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
  if (is_handler && (sigismember(&a->sa_mask, SIGSEGV) == 1 || sigismember(&a->sa_mask, SIGBUS) == 1)) lr_guard_close();
}

LR_OWN int lr_guard_fault(int number, const siginfo_t *info, void *context) {
  ucontext_t *const u = context;
  const uintptr_t ip = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
  if ((number != SIGSEGV && number != SIGBUS) || info->si_code <= 0) return 0;
  if (ip < (uintptr_t)lr_guarded_begin || ip >= (uintptr_t)lr_guarded_end) return 0;
  u->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)lr_guarded_failed;
  return 1;
}

#endif

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
typedef int lr_guard_is_not_empty;
