/* signals_linux.c: the dispositions of the signals of a crash. The kernel has the recorder's handler
 * (crash_linux.c). What the program sets is kept here, and when the program asks it sees only that.
 *
 * With LOGREC_CRASH=last, the default, the recorder has a signal while the program's disposition is the
 * default one: a handler of the program's own is in the kernel as it was set. With first the recorder has
 * it until there was a crash, unless the program ignores it. SIGBUS comes to the recorder before the program's handler
 * always, with off, too: where somebody truncates the log a hook gets it.
 *
 * sigaction and its kin may be called in signal handlers: the table's lock is held with signals blocked,
 * and for one system call. The crash handler does not take it. A vfork child has the table in its
 * parent's memory, but dispositions of its own: it changes these alone. */

#include "interpose_linux.h"

#if !defined(_WIN32)

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
enum { SIGNALS = 32 };
static uint32_t crash_mask = 1u << SIGSEGV | 1u << SIGBUS | 1u << SIGILL | 1u << SIGFPE | 1u << SIGABRT | 1u << SIGTRAP | 1u << SIGSYS;

/* What the program has set. */
static struct sigaction program[SIGNALS];
static uint32_t caught; /* 1: the table is in effect */
static uint32_t table_pid;
/* Signals for which the kernel has the program's disposition for good: 1 << number. */
static uint32_t given_back;

LR_PLAIN int plat_crash_caught(void) { return lr_load(&caught) && lr_settings.crash != LR_CRASH_OFF; }

LR_PLAIN static int is_crash(int number) { return number > 0 && number < SIGNALS && crash_mask >> number & 1; }

typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);

LR_PLAIN static int kernel(int number, const struct sigaction *now, struct sigaction *old) {
#if defined(LOGREC_NO_INTERPOSE)
  return sigaction(number, now, old);
#else
  ORIGINAL(sigaction_function, SIGACTION, sigaction);
  return real_sigaction(number, now, old);
#endif
}

LR_OWN void lr_set_action(int number, const struct sigaction *a) { kernel(number, a, NULL); }

LR_OWN static int is_default(const struct sigaction *a) { return !(a->sa_flags & SA_SIGINFO) && a->sa_handler == SIG_DFL; }
LR_OWN static int is_ignored(const struct sigaction *a) { return !(a->sa_flags & SA_SIGINFO) && a->sa_handler == SIG_IGN; }

LR_OWN int lr_disposition_is_handler(int number) {
  return is_crash(number) && !is_default(&program[number]) && !is_ignored(&program[number]);
}

/* once runs a handler that was set with SA_RESETHAND, after the recorder has taken the signal again. */
LR_OWN static void once(int number, siginfo_t *info, void *context);

/* bus has SIGBUS in the place of the program's handler, which it calls unless the fault is one in the log. */
LR_OWN static void bus(int number, siginfo_t *info, void *context) {
  if (lr_file_fault(number, info)) return;
  const struct sigaction was = program[number];
  if (is_default(&was) || is_ignored(&was)) lr_disposition_give_back(number); /* another thread has just set that */
  else was.sa_sigaction(number, info, context);
}

/* action_for returns the disposition that the kernel gets for the one that the program wants. */
LR_OWN static void action_for(int number, const struct sigaction *wanted, struct sigaction *a) {
  *a = *wanted;
  if (lr_load(&given_back) >> number & 1) return;
  if (is_ignored(wanted) || (lr_settings.crash != LR_CRASH_FIRST && !is_default(wanted))) {
    if ((wanted->sa_flags & (int)SA_RESETHAND) && !is_ignored(wanted)) {
      a->sa_sigaction = once;
      a->sa_flags = (wanted->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
    } else if (number == SIGBUS && !is_ignored(wanted)) {
      a->sa_sigaction = bus;
      a->sa_flags = wanted->sa_flags | SA_SIGINFO;
    }
    return;
  }
  memset(a, 0, sizeof *a);
  a->sa_sigaction = lr_crash_handler;
  a->sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&a->sa_mask);
}

static void once(int number, siginfo_t *info, void *context) {
  if (lr_file_fault(number, info)) return;
  const struct sigaction was = program[number];
  struct sigaction none, a;
  memset(&none, 0, sizeof none);
  action_for(number, &none, &a);
  if (plat_pid() == table_pid) program[number] = none;
  kernel(number, &a, NULL);
  was.sa_sigaction(number, info, context);
}

LR_OWN void lr_disposition_give_back(int number) {
  const struct sigaction own = program[number];
  __atomic_fetch_or(&given_back, 1u << number, __ATOMIC_ACQ_REL);
  kernel(number, &own, NULL);
}

/* ---- the table ---- */

static uint32_t table_lock;

/* Who has it has signals blocked, so that it is free soon; a child that another thread's lock was copied
 * into does not wait for ever. */
LR_OWN static void lock_table(sigset_t *saved) {
  enum { MOST = 100000 };
  sigset_t all;
  sigfillset(&all);
  lr_own_mask(SIG_SETMASK, &all, saved);
  for (int i = 0; __atomic_exchange_n(&table_lock, 1, __ATOMIC_ACQUIRE) && i < MOST; i++) sched_yield();
}
LR_OWN static void unlock_table(const sigset_t *saved) {
  lr_store(&table_lock, 0);
  lr_own_mask(SIG_SETMASK, saved, NULL);
}

LR_OWN void lr_dispositions_forked(void) {
  lr_store(&table_lock, 0);
  /* A signal that was given back stays so: the child has its dispositions from the parent. */
  table_pid = plat_pid();
}

#if !defined(LOGREC_NO_INTERPOSE)
LR_OWN static int set_disposition(int number, const struct sigaction *now, struct sigaction *old) {
  struct sigaction wanted, a, was;
  sigset_t saved;
  if (now) wanted = *now;
  lock_table(&saved);
  const int own = plat_pid() == table_pid && !(lr_load(&given_back) >> number & 1);
  int result = 0;
  if (own) {
    was = program[number];
    if (now) {
      action_for(number, &wanted, &a);
      result = kernel(number, &a, NULL);
      if (result == 0) program[number] = wanted;
    }
  } else {
    result = kernel(number, now, &was);
    if (was.sa_sigaction == lr_crash_handler || was.sa_sigaction == once || was.sa_sigaction == bus) was = program[number];
  }
  unlock_table(&saved);
  if (result == 0 && old) *old = was;
  return result;
}
#endif

/* ---- catching ---- */

LR_OWN void plat_crash_catch(int always) {
  int mode = lr_settings.crash;
  if (mode == LR_CRASH_UNSET) {
#if defined(LOGREC_NO_INTERPOSE)
    /* Without these functions the program would see a handler that it has not set. */
    always = 0;
    const int reported_elsewhere = 0;
#else
    /* A sanitizer reports crashes itself. */
    const int reported_elsewhere = lr_may_have_sanitizer();
#endif
    if ((!always && !lr_settings.report[0]) || reported_elsewhere) return;
    mode = lr_settings.crash = LR_CRASH_LAST;
  }
#if defined(LOGREC_NO_INTERPOSE)
  if (mode == LR_CRASH_OFF) return;
#else
  if (mode == LR_CRASH_OFF && (!always || lr_may_have_sanitizer())) return;
#endif
  if (lr_load(&caught) || lr_load(&lr_barred)) return;
  sigset_t saved;
  lock_table(&saved);
  if (!caught) {
    table_pid = plat_pid();
    lr_crash_process_is(table_pid);
    if (mode == LR_CRASH_OFF) crash_mask = 1u << SIGBUS;
    for (size_t i = 0; i < sizeof crash_signals / sizeof *crash_signals; i++) {
      const int n = crash_signals[i];
      struct sigaction a;
      if (!is_crash(n) || kernel(n, NULL, &program[n]) != 0) continue;
      action_for(n, &program[n], &a);
      if (a.sa_sigaction == lr_crash_handler || a.sa_sigaction == bus) kernel(n, &a, NULL);
    }
    lr_store(&caught, 1);
  }
  unlock_table(&saved);
  if (mode != LR_CRASH_OFF) plat_report_prepare();
}

LR_OWN void lr_crash_release(void) {
  if (!lr_load(&caught)) return;
  sigset_t saved;
  lock_table(&saved);
  for (size_t i = 0; i < sizeof crash_signals / sizeof *crash_signals; i++)
    if (is_crash(crash_signals[i])) kernel(crash_signals[i], &program[crash_signals[i]], NULL);
  if (plat_pid() == table_pid) lr_store(&caught, 0);
  unlock_table(&saved);
}

/* ---- what the program calls ---- */

#if !defined(LOGREC_NO_INTERPOSE)

#define OURS(number) (is_crash(number) && lr_load(&caught))

LOGREC_API int sigaction(int number, const struct sigaction *now, struct sigaction *old);
LR_PLAIN int sigaction(int number, const struct sigaction *now, struct sigaction *old) {
  return OURS(number) ? set_disposition(number, now, old) : kernel(number, now, old);
}

typedef void (*handler)(int);
typedef handler (*signal_function)(int, handler);

/* set_handler does what signal and its kin do. */
LR_OWN static handler set_handler(int number, handler h, int flags, int blocks_itself) {
  struct sigaction a, old;
  if (h == SIG_ERR) {
    program_errno = EINVAL;
    return SIG_ERR;
  }
  memset(&a, 0, sizeof a);
  a.sa_handler = h;
  a.sa_flags = flags;
  if (blocks_itself) sigaddset(&a.sa_mask, number);
  return set_disposition(number, &a, &old) == 0 ? old.sa_handler : SIG_ERR;
}

#define SIGNAL(name, i, flags, blocks_itself)                                  \
  LOGREC_API handler name(int number, handler h);                              \
  LR_OWN handler name(int number, handler h) {                                 \
    ORIGINAL(signal_function, i, signal);                                      \
    return OURS(number) ? set_handler(number, h, flags, blocks_itself) : real_signal(number, h); \
  }
SIGNAL(signal, SIGNAL_SET, SA_RESTART, 1)
#if defined(__GLIBC__)
SIGNAL(ssignal, SIGNAL_SET, SA_RESTART, 1)
SIGNAL(bsd_signal, SIGNAL_SET, SA_RESTART, 1)
SIGNAL(sysv_signal, SIGNAL_SYSV, (int)SA_RESETHAND | SA_NODEFER, 0)
SIGNAL(__sysv_signal, SIGNAL_SYSV, (int)SA_RESETHAND | SA_NODEFER, 0)

/* sigset and sigignore hold a signal back, or ignore it. */
LOGREC_API handler sigset(int number, handler h);
LR_OWN handler sigset(int number, handler h) {
  ORIGINAL(signal_function, SIGSET, sigset);
  if (!OURS(number)) return real_sigset(number, h);
  sigset_t only, was;
  sigemptyset(&only);
  sigaddset(&only, number);
  if (h == SIG_HOLD) {
    lr_own_mask(SIG_BLOCK, &only, &was);
    struct sigaction now;
    return sigismember(&was, number) ? SIG_HOLD : set_disposition(number, NULL, &now) == 0 ? now.sa_handler : SIG_ERR;
  }
  const handler old = set_handler(number, h, 0, 0);
  if (old == SIG_ERR) return old;
  lr_own_mask(SIG_UNBLOCK, &only, &was);
  return sigismember(&was, number) ? SIG_HOLD : old;
}

LOGREC_API int sigignore(int number);
LR_OWN int sigignore(int number) {
  typedef int (*sigignore_function)(int);
  ORIGINAL(sigignore_function, SIGIGNORE, sigignore);
  if (!OURS(number)) return real_sigignore(number);
  return set_handler(number, SIG_IGN, 0, 0) == SIG_ERR ? -1 : 0;
}
#endif

/* The C library's is the system call, too. Sanitizers call it before anything else may be called. */
LOGREC_API int sigaltstack(const stack_t *now, stack_t *old);
LR_PLAIN int sigaltstack(const stack_t *now, stack_t *old) {
  stack_t was;
  const long result = lr_system(SYS_sigaltstack, (long)now, (long)&was, 0, 0, 0, 0);
  if (result != 0) {
    program_errno = (int)-result;
    return -1;
  }
  /* The recorder's stack is hidden from the program, which has not set it. */
  if (lr_crash_stack_is_ours(was.ss_sp)) {
    memset(&was, 0, sizeof was);
    was.ss_flags = SS_DISABLE;
  }
  if (old) *old = was;
  if (now && (now->ss_flags & SS_DISABLE)) lr_crash_stack_again();
  struct lr_thread *t = lr_self_get();
  if (now && t != &lr_nobody) t->signal_known = 0;
  return 0;
}

#endif

#endif
