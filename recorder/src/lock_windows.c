/* lock_windows.c: the recorder's two locks, and what a slow path saves and restores.
 *
 * Whoever has one of them calls nothing that wants the loader's lock (system_windows.h). */

#include "system_windows.h"

#if defined(_WIN32)

/* ---- locks ----
 * A word: 0 free, else the owner's thread id. Waiting is rare and short. */

static volatile LONG lock_word, modules_word;

LR_OWN static int is_gone(DWORD thread) {
  const HANDLE h = OpenThread(SYNCHRONIZE, FALSE, thread);
  if (!h) return GetLastError() == ERROR_INVALID_PARAMETER;
  const int gone = WaitForSingleObject(h, 0) == WAIT_OBJECT_0;
  CloseHandle(h);
  return gone;
}

LR_OWN static int take(volatile LONG *word, int wait) {
  const LONG me = (LONG)GetCurrentThreadId();
  for (unsigned n = 1;; n++) {
    const LONG owner = InterlockedCompareExchange(word, me, 0);
    if (owner == 0) return 1;
    if (owner == me || !wait) return 0;
    /* Threads that are ended by force give nothing back: all but one at the
     * end of the process, and those of TerminateThread. */
    if (lr_alone || (n % 256 == 0 && is_gone((DWORD)owner))) {
      if (InterlockedCompareExchange(word, me, owner) == owner) return 1;
    } else if (n > 64) {
      Sleep(n < 128 ? 0 : 1);
    } else {
      YieldProcessor();
    }
  }
}
LR_OWN static void give(volatile LONG *word) { InterlockedExchange(word, 0); }

LR_OWN int plat_lock(void) { return lr_started == 2 && take(&lock_word, 1); }
LR_OWN int plat_trylock(void) { return lr_started == 2 && take(&lock_word, 0); }
LR_OWN void plat_unlock(void) { give(&lock_word); }
LR_OWN int plat_modules_trylock(void) { return take(&modules_word, 0); }
LR_OWN void plat_modules_unlock(void) { give(&modules_word); }
LR_OWN int plat_modules_lock(void) { return take(&modules_word, 1); }
LR_OWN void plat_locks_reset(void) { lock_word = modules_word = 0; }

LR_OWN void plat_slow_begin(struct plat_saved *s) {
  s->words[0] = GetLastError();
  /* If nothing has told the recorder that the program began. */
  if (LR_UNLIKELY(lr_started == 0)) plat_start();
}
LR_OWN void plat_slow_end(const struct plat_saved *s) { SetLastError((DWORD)s->words[0]); }
LR_OWN int plat_in_handler(const struct plat_saved *s) {
  (void)s;
  return 0;
}

#endif
