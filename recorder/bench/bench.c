/* bench.c: calls tiny() a number of times on a number of threads and prints
 * the processor time (user and system) that a call took, in ns.
 *
 * bench CALLS THREADS: CALLS on each thread. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

void many(long calls);

static long calls;

static void *run(void *p) {
  many(calls);
  return p;
}

static double seconds(const struct timeval *t) { return (double)t->tv_sec + 1e-6 * (double)t->tv_usec; }

int main(int argc, char **argv) {
  const int threads = argc > 2 ? atoi(argv[2]) : 1;
  calls = argc > 1 ? atol(argv[1]) : 10000000;
  pthread_t t[64];
  struct rusage a, b;
  /* The first call starts a recorder up. */
  many(1);
  getrusage(RUSAGE_SELF, &a);
  for (int i = 1; i < threads && i < 64; i++) pthread_create(&t[i], NULL, run, NULL);
  run(NULL);
  for (int i = 1; i < threads && i < 64; i++) pthread_join(t[i], NULL);
  getrusage(RUSAGE_SELF, &b);
  const double user = seconds(&b.ru_utime) - seconds(&a.ru_utime), sys = seconds(&b.ru_stime) - seconds(&a.ru_stime);
  const double n = (double)calls * threads;
  printf("%.3f %.3f\n", (user + sys) / n * 1e9, sys / n * 1e9);
  return 0;
}
