/* frames_test.c: logrec_backtrace_frames with frames that are none: it ends there, and never faults. With an argument, how
 * many nanoseconds it and logrec_backtrace take for 30 calls. Built with frame pointers. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "logrec.h"

static int passed, failed;

static void check(int ok, const char *what) {
  if (ok) {
    passed++;
  } else {
    failed++;
    printf("%s\n", what);
  }
}

/* Calls it with another value where the frame of this function's caller lies. */
__attribute__((noinline)) static int with_caller(uintptr_t value, void **calls, int n) {
  volatile uintptr_t *const frame = __builtin_frame_address(0);
  const uintptr_t saved = frame[0];
  frame[0] = value;
  const int found = logrec_backtrace_frames(calls, n);
  frame[0] = saved;
  return found;
}

__attribute__((noinline)) static int deep(int calls, void **to, int n, int frames) {
  volatile int kept = calls;
  const int found = kept ? deep(calls - 1, to, n, frames) : frames ? logrec_backtrace_frames(to, n) : logrec_backtrace(to, n);
  return found + (kept < 0);
}

static double took(int frames) {
  enum { TIMES = 100000 };
  void *calls[30];
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (int i = 0; i < TIMES; i++) deep(40, calls, 30, frames);
  clock_gettime(CLOCK_MONOTONIC, &to);
  return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / TIMES;
}

int main(int argc, char **argv) {
  void *calls[64], *other[64];
  (void)argv;
  if (argc > 1) {
    printf("frames %.0f ns, unwinder %.0f ns\n", took(1), took(0));
    return 0;
  }
  char *const pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE)) return 1;
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  check(with_caller(0, calls, 64) == 2, "a chain that ends");
  check(with_caller(1, calls, 64) == 2, "a small number");
  check(with_caller(here + 1, calls, 64) == 2, "not aligned");
  check(with_caller(here - 65536, calls, 64) == 2, "below");
  check(with_caller(here + (1 << 20) * 15, calls, 64) <= 64, "far above");
  check(with_caller((uintptr_t)pages + 4096, calls, 64) == 2, "a page that may not be read");
  check(with_caller(~(uintptr_t)0 - 7, calls, 64) == 2, "the end of memory");
  check(with_caller(here, calls, 1) == 1, "as many as there is room for");
  check(with_caller(here, calls, 0) == 0 && with_caller(here, calls, -1) == 0, "room for none");
  const int n = deep(20, calls, 21, 1), k = deep(20, other, 21, 0);
  check(n == 21 && k == 21 && memcmp(calls + 1, other + 1, 20 * sizeof *calls) == 0, "both ways give the same calls");
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
