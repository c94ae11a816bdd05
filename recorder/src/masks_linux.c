/* masks_linux.c: functions of the C library that change which signals a thread lets through, for as long as
 * they wait or for longer. The recorder only notes that it does not know any more (guard_linux.c). Each does
 * what the original does, and may be called where that may, in signal handlers, too. */

#include "interpose_linux.h"

#include "guard.h"

#if LR_HAVE_GUARD

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- masks ---- */

/* change is the system call, without the two signals that the C library keeps for itself, which nobody can
 * block. It returns the error's number. Sanitizers call it before anything else may be called. */
#define EARLY __attribute__((no_sanitize("address", "thread", "undefined"))) LR_OWN
EARLY static int change(int how, const sigset_t *set, sigset_t *old) {
  enum { FIRST_OWN = 32, LAST_OWN = 33, BYTES = 8 };
  const int before = errno;
  /* A caller may have no more than the kernel's part of a set. */
  unsigned long wanted = 0;
  if (set) {
    wanted = set->__val[0];
    if (how != SIG_UNBLOCK)
      for (int i = FIRST_OWN; i <= LAST_OWN; i++) wanted &= ~(1ul << (i - 1));
  }
  lr_guard_unknown();
  const int result = syscall(SYS_rt_sigprocmask, how, set ? &wanted : NULL, old, BYTES) == 0 ? 0 : errno;
  errno = before;
  return result;
}

LOGREC_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
EARLY int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) { return change(how, set, old); }

LOGREC_API int sigprocmask(int how, const sigset_t *set, sigset_t *old);
EARLY int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  const int error = change(how, set, old);
  if (!error) return 0;
  errno = error;
  return -1;
}

/* ---- the others ---- */

#define CHANGES(i, name, parameters, arguments)        \
  LOGREC_API int name parameters;                      \
  LR_OWN int name parameters {                         \
    typedef int(*name##_function) parameters;          \
    ORIGINAL(name##_function, i, name);                \
    lr_guard_unknown();                                \
    const int result = real_##name arguments;          \
    lr_guard_unknown();                                \
    return result;                                     \
  }
CHANGES(SIGBLOCK, sigblock, (int mask), (mask))
CHANGES(SIGSETMASK, sigsetmask, (int mask), (mask))
CHANGES(SIGHOLD, sighold, (int number), (number))
CHANGES(SIGRELSE, sigrelse, (int number), (number))
/* By this name the C library has two. */
int bsd_sigpause(int mask) __asm__("sigpause");
CHANGES(SIGPAUSE, bsd_sigpause, (int mask), (mask))
CHANGES(SIGPAUSE_XPG, sigpause, (int number), (number))
CHANGES(SIGSUSPEND, sigsuspend, (const sigset_t *mask), (mask))
CHANGES(PSELECT, pselect, (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *mask), (n, r, w, e, t, mask))
CHANGES(PPOLL, ppoll, (struct pollfd *list, nfds_t n, const struct timespec *t, const sigset_t *mask), (list, n, t, mask))
CHANGES(EPOLL_PWAIT, epoll_pwait, (int fd, struct epoll_event *list, int n, int ms, const sigset_t *mask), (fd, list, n, ms, mask))

/* A context has a mask, and where it ends the C library goes on to another by itself. */
#define CONTEXT(i, name, parameters, arguments)        \
  LOGREC_API int name parameters;                      \
  LR_OWN int name parameters {                         \
    typedef int(*name##_function) parameters;          \
    ORIGINAL(name##_function, i, name);                \
    lr_guard_close();                                  \
    return real_##name arguments;                      \
  }
CONTEXT(SETCONTEXT, setcontext, (const ucontext_t *to), (to))
CONTEXT(SWAPCONTEXT, swapcontext, (ucontext_t *from, const ucontext_t *to), (from, to))

#else
typedef int lr_no_masks;
#endif
