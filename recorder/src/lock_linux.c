/* lock_linux.c: the recorder's two locks, and what a slow path changes of its thread and
 * puts back.
 *
 * plat_lock and plat_modules_lock wait; a signal handler may, because their holders
 * have signals blocked. */

#include "system_linux.h"

#if !defined(_WIN32)

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__thread int lr_busy __attribute__((tls_model("initial-exec")));

/* ---- no system calls any more ---- */

uint32_t lr_barred, lr_patch_refused;
/* How many threads are in slow paths. */
static uint32_t slow_paths;

LR_OWN void plat_bar(void) {
  enum { MOST = 100 };
  lr_store(&lr_barred, 1);
  /* Those that are on their way out still make some. */
  for (int i = 0; i < MOST && __atomic_load_n(&slow_paths, __ATOMIC_SEQ_CST); i++) {
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
}
LR_OWN void plat_unbar(void) { lr_store(&lr_barred, 0); }

/* ---- locks ---- */

/* A futex: 0 free, else the owner's thread id, with the top bit where somebody
 * waits. */
static uint32_t lock_word, modules_word;
enum { WAITED_FOR = (int)0x80000000 };

LR_OWN static int take(uint32_t *word, int wait) {
  const uint32_t me = (uint32_t)plat_thread_id();
  uint32_t mine = me;
  for (;;) {
    uint32_t now = 0;
    if (__atomic_compare_exchange_n(word, &now, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
    if ((now & ~(uint32_t)WAITED_FOR) == me || !wait) return 0;
    if (!(now & (uint32_t)WAITED_FOR) &&
        !__atomic_compare_exchange_n(word, &now, now | (uint32_t)WAITED_FOR, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      continue;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, now | (uint32_t)WAITED_FOR, NULL, NULL, 0);
    mine = me | (uint32_t)WAITED_FOR;
  }
}
LR_OWN static void give(uint32_t *word) {
  if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) & (uint32_t)WAITED_FOR)
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

LR_OWN int plat_lock(void) { return !lr_load(&lr_barred) && take(&lock_word, 1); }
LR_OWN int plat_trylock(void) { return !lr_load(&lr_barred) && take(&lock_word, 0); }
LR_OWN void plat_unlock(void) { give(&lock_word); }
LR_OWN int plat_modules_trylock(void) { return !lr_load(&lr_barred) && take(&modules_word, 0); }

/* How often the modules' lock was given back, and that count when somebody
 * waited for it in vain: nobody else waits until it was given back again. */
static uint32_t modules_given, modules_in_vain = UINT32_MAX;

LR_OWN int plat_modules_lock(void) {
  enum { PAUSE = 50000, MOST = 2000000000 }; /* ns */
  uint64_t since = 0;
  uint32_t before = 0;
  if (lr_load(&lr_barred)) return 0;
  while (!take(&modules_word, 0)) {
    const uint32_t owner = lr_load(&modules_word), given = lr_load(&modules_given);
    if (owner == (uint32_t)plat_thread_id() || given == lr_load(&modules_in_vain)) return 0;
    const uint64_t now = plat_counter();
    if (!since || given != before) {
      since = now;
      before = given;
    } else if (now - since > MOST) {
      lr_store(&modules_in_vain, given);
      return 0;
    }
    const struct timespec pause = {0, PAUSE};
    /* It ends at once where the owner is another one by now. */
    if (owner) syscall(SYS_futex, &modules_word, FUTEX_WAIT_PRIVATE, owner, &pause, NULL, 0);
  }
  return 1;
}
LR_OWN void plat_modules_unlock(void) {
  lr_store(&modules_given, modules_given + 1);
  give(&modules_word);
}
LR_OWN void plat_locks_reset(void) {
  lock_word = modules_word = 0;
  /* Only this thread is left. */
  slow_paths = 1;
}

/* ---- slow paths ---- */

/* Of the words the first and the last are for something else. */
typedef char check_saved[sizeof(sigset_t) + 2 * sizeof(uint64_t) <= sizeof(struct plat_saved) ? 1 : -1];
enum { LEVEL_TAKEN = 17, WAS_BARRED = 2 };

/* The C library cancels a thread, and changes ids in all threads, by signals that it blocks nowhere itself. A thread that was
 * cancelled asynchronously would end here, with a lock. */
LR_OWN void lr_block_signals(sigset_t *saved) {
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV);
  sigdelset(&all, SIGBUS);
  sigdelset(&all, SIGILL);
  sigdelset(&all, SIGFPE);
  sigdelset(&all, SIGTRAP);
  lr_own_mask(SIG_SETMASK, &all, saved);
}

LR_OWN void plat_slow_begin(struct plat_saved *s) {
  __atomic_fetch_add(&slow_paths, 1, __ATOMIC_SEQ_CST);
  if (LR_UNLIKELY(lr_load(&lr_barred))) {
    __atomic_fetch_sub(&slow_paths, 1, __ATOMIC_SEQ_CST);
    s->words[LEVEL_TAKEN] = WAS_BARRED;
    return;
  }
  /* Nothing that is called here is a place where threads end that are cancelled: system calls are the recorder's own. */
  s->words[0] = (uint64_t)(uint32_t)program_errno;
  lr_block_signals((sigset_t *)&s->words[1]);
  /* Whatever is called from here on of the program is not recorded. */
  lr_busy++;
  uint32_t *const here = lr_load(&lr_not_forked);
  if (LR_UNLIKELY(here && !lr_load(here)) && !__atomic_exchange_n(here, 1, __ATOMIC_ACQ_REL)) lr_fork_child();
  /* Hooks find this thread in a hook. */
  struct lr_thread *t = lr_self_get();
  s->words[LEVEL_TAKEN] = lr_alive(t) && lr_idle(&t->level[0]);
  if (s->words[LEVEL_TAKEN]) t->level[0].inside = (uintptr_t)s;
}
LR_OWN void plat_slow_end(const struct plat_saved *s) {
  if (s->words[LEVEL_TAKEN] == WAS_BARRED) return;
  struct lr_thread *t = lr_self_get();
  lr_busy--;
  if (s->words[LEVEL_TAKEN] && t->level[0].inside == (uintptr_t)s) t->level[0].inside = t->mode;
  program_errno = (int)(uint32_t)s->words[0];
  __atomic_fetch_sub(&slow_paths, 1, __ATOMIC_SEQ_CST);
  /* A thread that was cancelled meanwhile ends in this call. */
  lr_own_mask(SIG_SETMASK, (const sigset_t *)&s->words[1], NULL);
}
LR_OWN int plat_in_handler(const struct plat_saved *s) {
  return s->words[LEVEL_TAKEN] == WAS_BARRED || !sigisemptyset((const sigset_t *)&s->words[1]) || plat_on_signal_stack();
}

#endif
