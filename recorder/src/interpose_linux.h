/* interpose_linux.h: what the files with the recorder's own definitions of the C library's
 * functions share. */

#ifndef LOGREC_INTERPOSE_LINUX_H
#define LOGREC_INTERPOSE_LINUX_H

#include "lookup_linux.h"

#include "logrec.h"

#if defined(__ELF__)
#pragma GCC visibility push(hidden)
#endif

enum original {
  DLOPEN,
  DLCLOSE,
  FORK,
  EXECVE,
  EXECVP,
  EXECVPE,
  FEXECVE,
  EXIT_NOW,
  QUICK_EXIT,
  POSIX_SPAWN,
  POSIX_SPAWNP,
  LONGJMP,
  LONGJMP_PLAIN,
  SIGLONGJMP,
  SIGACTION,
  SIGNAL_SET,
  WRITE,
  WRITEV,
#if defined(__GLIBC__)
  DLMOPEN,
  EXECVEAT,
  LONGJMP_CHECKED,
  SIGNAL_SYSV,
  SIGSET,
  SIGIGNORE,
#endif
  ORIGINALS
};

/* The next definition of a function, or NULL. */
void *lr_original(enum original i);

#define ORIGINAL(type, i, name)     \
  union {                           \
    void *object;                   \
    type function;                  \
  } next_##name = {lr_original(i)}; \
  type real_##name = next_##name.function

/* Keeps what programs that this one starts are given of its environment. */
void lr_keep_environment(void);

#if defined(__ELF__)
#pragma GCC visibility pop
#endif

#endif
