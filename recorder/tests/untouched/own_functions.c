/* Functions of the C library's that the program defines itself: who calls them but the program is counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
static volatile int called;

/* Each fails, which only the recorder would notice. */
#define STANDS_IN(type, name, parameters, ...) \
  QUIET type name parameters;                     \
  QUIET type name parameters {                    \
    called++;                                     \
    return __VA_ARGS__;                           \
  }
STANDS_IN(int, open, (const char *path, int flags, ...), (void)path, (void)flags, -1)
STANDS_IN(int, fcntl, (int fd, int command, ...), (void)fd, (void)command, -1)
STANDS_IN(int, ftruncate, (int fd, off_t n), (void)fd, (void)n, -1)
STANDS_IN(int, posix_fallocate, (int fd, off_t at, off_t n), (void)fd, (void)at, (void)n, -1)
STANDS_IN(int, madvise, (void *at, size_t n, int what), (void)at, (void)n, (void)what, -1)
STANDS_IN(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (void)how, (void)set, (void)old, 22)
STANDS_IN(int, clock_gettime, (clockid_t id, struct timespec *t), (void)id, (void)t, -1)
STANDS_IN(ssize_t, readlink, (const char *path, char *to, size_t n), (void)path, (void)to, (void)n, -1)
STANDS_IN(char *, getcwd, (char *to, size_t n), (void)to, (void)n, NULL)

static int leaf(int n) { return n + 1; }

int main(void) {
  int n = 0;
  for (int i = 0; i < 100000; i++) n = leaf(n);
  printf("%d %d\n", n, called);
  return 5;
}
