/* guard_linux.c: decides when memory that may be missing is copied without a system call (a quick copy).
 *
 * A fault in a quick copy (guard_x86_64.S) raises SIGSEGV or SIGBUS, and the crash handler continues behind the
 * copy. But if the signal is blocked, the kernel kills the program whatever handler there is; and if the program
 * has a handler of its own, that handler would get the fault. So a thread makes quick copies only while all of
 * this is known:
 *
 *   - The kernel has the recorder's handler for both signals. signals_linux.c tells of each change, and the kernel
 *     is asked from time to time.
 *   - No handler of the program blocks either signal while it runs. If one does, there are no quick copies from
 *     then on.
 *   - The thread's mask lets both signals through. The mask is read once, and again when the program has called
 *     a function that changes masks (masks_linux.c) or has left calls; if the program has handlers, also after
 *     every 64 copies. There are no quick copies while such a function runs. Nor are there any in a thread that
 *     has unblocked one of the two signals if the program has handlers: it may have happened in a handler,
 *     and the kernel blocks the signal again when the handler returns.
 *   - The thread is not on a signal stack, which may have no room for another frame.
 *
 * Two things go unnoticed until the mask is read again: a handler that blocks one of the two signals in the mask
 * that it returns to, and system calls that the program makes with an instruction of its own.
 *
 * In all other cases memory is copied by process_vm_readv. */

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)

/* The vector registers are left alone, for the reason that values.c gives. */
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

/* For functions that sanitizers call before their own start, when instrumented code must not run. */
#define EARLY __attribute__((no_sanitize("address", "thread", "undefined"))) LR_OWN

/* lr_guard_round gets a new number at each change of handlers; CLOSED means that there are no quick copies. */
enum { CLOSED = 1, USES = 4096, USES_WITH_HANDLERS = 64 };
uint32_t lr_guard_round = CLOSED;
/* 1: closed for good. */
static uint32_t for_good;
/* How many threads are changing handlers at this moment; how often a thread has begun to. */
static uint32_t pending, changes;
/* 1: the program has, or has had, handlers besides the recorder's. */
static uint32_t handlers;
/* Of this thread: how many calls that change its mask are running; 1: its mask may change unseen. */
static __thread uint32_t changing __attribute__((tls_model("initial-exec")));
static __thread uint32_t doubt __attribute__((tls_model("initial-exec")));

/* The kernel's. */
struct kernel_action {
  uintptr_t handler;
  unsigned long flags;
  uintptr_t restorer;
  uint64_t mask;
};
enum { BOTH = 1 << (SIGSEGV - 1) | 1 << (SIGBUS - 1), LAST_SIGNAL = 64, FIRST_OWN = 32, LAST_OWN = 33, AUTO_DISARM = (int)(1u << 31) };

EARLY static long ask(long number, long a, void *b, void *c, long d) {
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

/* any_blocks tells whether a handler other than the recorder's blocks one of the signals, and sets the variable
 * handlers. The C library's own two handlers do not count: they run no code of the program. */
LR_OWN static int any_blocks(void) {
  for (int i = 1; i <= LAST_SIGNAL; i++) {
    struct kernel_action a;
    if (!action_of(i, &a) || a.handler <= 1 || a.handler == (uintptr_t)lr_crash_handler) continue;
    if (i != FIRST_OWN && i != LAST_OWN) lr_store(&handlers, 1);
    if (a.mask & BOTH) return 1;
  }
  return 0;
}

/* A thread that closes first stores the reason and then closes; a thread that opens looks for the reason after
 * opening. So whatever the order, the result is closed. */
EARLY static void close_with(uint32_t *why) {
  __atomic_fetch_add(why, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&lr_guard_round, CLOSED, __ATOMIC_SEQ_CST);
}
EARLY void lr_guard_pause(void) {
  __atomic_fetch_add(&pending, 1, __ATOMIC_SEQ_CST);
  close_with(&changes);
}
EARLY void lr_guard_close(void) {
  if (!lr_load(&for_good)) close_with(&for_good);
}
EARLY void lr_guard_forked(void) { lr_store(&pending, 0); }

/* is_elsewhere tells whether this is a child of vfork, which has its parent's memory, but handlers and a mask of
 * its own. */
EARLY static int is_elsewhere(void) { return lr_global.pid && (uint32_t)ask(SYS_getpid, 0, NULL, NULL, 0) != lr_global.pid; }

/* In such a child a thread that is not allowed quick copies does not check again. */
EARLY void lr_guard_close_here(void) {
  if (is_elsewhere())
    lr_guard_unknown();
  else
    lr_guard_close();
}

LR_OWN void lr_guard_choose(void) {
  static uint32_t round = CLOSED, looked;
  close_with(&changes);
  const uint32_t before = __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pending, __ATOMIC_SEQ_CST) || lr_load(&for_good) || !plat_crash_caught() || lr_load(&lr_barred) || lr_sandboxed || lr_may_have_sanitizer() || !has_both()) return;
  /* Handlers that the program sets from now on are noticed. */
  if (!looked && any_blocks()) {
    lr_guard_close();
    return;
  }
  looked = 1;
  /* Each opening has another number, so that every thread checks the handlers itself afterwards. */
  uint32_t next = __atomic_add_fetch(&round, 1, __ATOMIC_RELAXED);
  if (next <= CLOSED) next = __atomic_add_fetch(&round, CLOSED + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&lr_guard_round, next, __ATOMIC_SEQ_CST);
  /* Handlers have changed during the check. The thread that changed them will open again, if that is safe. */
  if (__atomic_load_n(&for_good, __ATOMIC_SEQ_CST) || __atomic_load_n(&changes, __ATOMIC_SEQ_CST) != before)
    __atomic_compare_exchange_n(&lr_guard_round, &next, CLOSED, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

LR_OWN void lr_guard_resume(void) {
  __atomic_fetch_sub(&pending, 1, __ATOMIC_SEQ_CST);
  lr_guard_choose();
}

/* may_begin checks all conditions but the mask. */
LR_OWN static int may_begin(struct lr_thread *t, uint32_t round) {
  stack_t s;
  if (is_elsewhere()) return 0;
  if (ask(SYS_sigaltstack, 0, &s, NULL, 0) != 0 || (s.ss_flags & (SS_ONSTACK | AUTO_DISARM))) return 0;
  if (!has_both()) {
    /* A handler was set without the C library. */
    if (lr_load(&lr_guard_round) == round) lr_guard_close();
    return 0;
  }
  t->guard_stack = (uintptr_t)s.ss_sp;
  t->guard_stack_size = s.ss_flags & SS_DISABLE ? 0 : s.ss_size;
  return 1;
}

LR_OWN int lr_guard_look(struct lr_thread *t, uintptr_t frame) {
  const uint32_t round = lr_load(&lr_guard_round);
  if (round == CLOSED || t == &lr_nobody || lr_load(&lr_barred) || changing || doubt) return 0;
  if (t->guard != round || !t->guard_uses) {
    const int again = t->guard == round && t->guard_renewals;
    const int has_handlers = lr_load(&handlers) != 0;
    uint64_t mask;
    t->guard = 0;
    if (ask(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask) != 0 || (mask & BOTH)) return 0;
    if (!again && !may_begin(t, round)) return 0;
    t->guard_renewals = again ? t->guard_renewals - 1 : has_handlers ? USES / USES_WITH_HANDLERS - 1 : 0;
    t->guard_uses = has_handlers ? USES_WITH_HANDLERS : USES;
    lr_barrier();
    t->guard = round;
    lr_barrier();
    if (lr_load(&lr_guard_round) != round) return 0;
  }
  return frame - t->guard_stack >= t->guard_stack_size;
}

EARLY void lr_guard_unknown(void) {
  struct lr_thread *const t = lr_self_get();
  if (t != &lr_nobody) t->guard = 0;
}

EARLY void lr_guard_changing(void) {
  changing++;
  lr_barrier();
  lr_guard_unknown();
}
EARLY void lr_guard_changed(void) {
  lr_guard_unknown();
  lr_barrier();
  changing--;
}
EARLY void lr_guard_doubt(void) {
  if (!lr_load(&handlers)) return;
  doubt = 1;
  lr_barrier();
  lr_guard_unknown();
}

EARLY void lr_guard_plain_handler(void (*h)(int)) {
  if (h != SIG_DFL && h != SIG_IGN && h != SIG_ERR) lr_store(&handlers, 1);
}
EARLY void lr_guard_handler(const struct sigaction *a) {
  const int is_handler = (a->sa_flags & SA_SIGINFO) || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
  if (!is_handler) return;
  lr_store(&handlers, 1);
  if (sigismember(&a->sa_mask, SIGSEGV) == 1 || sigismember(&a->sa_mask, SIGBUS) == 1) lr_guard_close_here();
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
