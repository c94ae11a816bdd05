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
EARLY static int change(int how, const sigset_t *set, sigset_t *old, int is_own) {
  enum { FIRST_OWN = 32, LAST_OWN = 33, BYTES = 8 };
  const unsigned long faults = 1ul << (SIGSEGV - 1) | 1ul << (SIGBUS - 1);
  /* A caller may have no more than the kernel's part of a set. */
  unsigned long wanted = 0, was = 0, *const before = old ? old->__val : &was;
  if (set) {
    wanted = set->__val[0];
    if (how != SIG_UNBLOCK)
      for (int i = FIRST_OWN; i <= LAST_OWN; i++) wanted &= ~(1ul << (i - 1));
  }
  lr_guard_changing();
  long result;
  register unsigned long bytes __asm__("r10") = BYTES;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"((long)SYS_rt_sigprocmask), "D"((long)how), "S"(set ? &wanted : NULL), "d"(before), "r"(bytes)
                   : "rcx", "r11", "memory");
  const unsigned long opened = how == SIG_UNBLOCK ? wanted : ~wanted;
  if (!is_own && result == 0 && set && how != SIG_BLOCK && (*before & opened & faults)) lr_guard_doubt();
  lr_guard_changed();
  return (int)-result;
}

EARLY int lr_own_mask(int how, const sigset_t *set, sigset_t *old) { return change(how, set, old, 1); }

LOGREC_API int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
EARLY int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) { return change(how, set, old, 0); }

LOGREC_API int sigprocmask(int how, const sigset_t *set, sigset_t *old);
EARLY int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  const int error = change(how, set, old, 0);
  if (!error) return 0;
  errno = error;
  return -1;
}

/* ---- the others ---- */

/* A handler may call those that unblock: lr_guard_doubt. An older C library has not all of them. */
#define CHANGES(i, name, parameters, arguments)        \
  LOGREC_API int name parameters;                      \
  LR_OWN int name parameters {                         \
    typedef int(*name##_function) parameters;          \
    ORIGINAL(name##_function, i, name);                \
    if (i == SIGSETMASK || i == SIGRELSE) lr_guard_doubt(); \
    if (!real_##name) return errno = ENOSYS, -1;       \
    lr_guard_changing();                               \
    const int result = real_##name arguments;          \
    lr_guard_changed();                                \
    return result;                                     \
  }
CHANGES(SIGBLOCK, sigblock, (int mask), (mask))
CHANGES(SIGSETMASK, sigsetmask, (int mask), (mask))
CHANGES(SIGHOLD, sighold, (int number), (number))
CHANGES(SIGRELSE, sigrelse, (int number), (number))
/* The C library has two functions of this name, which take different arguments. */
int bsd_sigpause(int mask) __asm__("sigpause");
CHANGES(SIGPAUSE, bsd_sigpause, (int mask), (mask))
CHANGES(SIGPAUSE_XPG, sigpause, (int number), (number))
CHANGES(SIGSUSPEND, sigsuspend, (const sigset_t *mask), (mask))
CHANGES(PSELECT, pselect, (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *mask), (n, r, w, e, t, mask))
CHANGES(PPOLL, ppoll, (struct pollfd *list, nfds_t n, const struct timespec *t, const sigset_t *mask), (list, n, t, mask))
CHANGES(EPOLL_PWAIT, epoll_pwait, (int fd, struct epoll_event *list, int n, int ms, const sigset_t *mask), (fd, list, n, ms, mask))

/* What ppoll is to a program that was built with _FORTIFY_SOURCE. */
#define LIST struct pollfd *list, nfds_t n, const struct timespec *t, const sigset_t *mask, size_t size
CHANGES(PPOLL_CHECKED, __ppoll_chk, (LIST), (list, n, t, mask, size))
#define EVENTS int fd, struct epoll_event *list, int n, const struct timespec *t, const sigset_t *mask
CHANGES(EPOLL_PWAIT2, epoll_pwait2, (EVENTS), (fd, list, n, t, mask))

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
