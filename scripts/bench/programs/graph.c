/* graph.c makes calls as a large program makes them, for the comparison of readers: 300
 * functions that call each other at random, up to 12 deep, in several threads at once. Which
 * function is next, and whether an enter or a leave comes, no processor can predict.
 *
 * graph MILLIONS THREADS: about so many million events, an enter or a leave each.
 *
 * With BENCH it is the program that recorder/bench/bench.c measures: many() makes about so many
 * calls, always the same ones; with COUNT, too, it prints how many there were. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS 300
#define DEPTH 12

typedef void function(unsigned long *state, int depth);
static function *const table[FUNCTIONS];

__attribute__((no_instrument_function)) static inline unsigned long next(unsigned long *state) {
  unsigned long x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

#if defined(COUNT)
static long counted;
#define COUNTED counted++
#else
#define COUNTED (void)0
#endif

/* A function calls 0 to 3 others. */
#define FUNCTION(n)                                                     \
  __attribute__((noinline)) static void f##n(unsigned long *s, int d) { \
    COUNTED;                                                            \
    if (d == 0) return;                                                 \
    for (unsigned long calls = next(s) % 4; calls > 0; calls--)         \
      table[next(s) % FUNCTIONS](s, d - 1);                             \
  }
#define TEN(apply, n) \
  apply(n##0) apply(n##1) apply(n##2) apply(n##3) apply(n##4) apply(n##5) apply(n##6) apply(n##7) apply(n##8) apply(n##9)
#define HUNDRED(apply, n)                                                                                              \
  TEN(apply, n##0) TEN(apply, n##1) TEN(apply, n##2) TEN(apply, n##3) TEN(apply, n##4) TEN(apply, n##5) TEN(apply, n##6) \
      TEN(apply, n##7) TEN(apply, n##8) TEN(apply, n##9)
#define ALL(apply) HUNDRED(apply, 1) HUNDRED(apply, 2) HUNDRED(apply, 3)

ALL(FUNCTION)
#define ENTRY(n) f##n,
static function *const table[FUNCTIONS] = {ALL(ENTRY)};

/* Calls of a request, on the average. */
#define REQUEST 387

#if defined(BENCH)

void many(long calls);
__attribute__((no_instrument_function)) void many(long calls) {
  unsigned long state = 0x9e3779b97f4a7c15ul;
  for (long i = 0; i * REQUEST < calls; i++) table[next(&state) % FUNCTIONS](&state, DEPTH);
#if defined(COUNT)
  printf("%ld\n", counted);
  counted = 0;
#endif
}

#else

static unsigned long requests;

static void *work(void *seed) {
  unsigned long state = (unsigned long)seed * 0x9e3779b97f4a7c15ul + 1;
  for (unsigned long i = 0; i < requests; i++) table[next(&state) % FUNCTIONS](&state, DEPTH);
  return NULL;
}

int main(int argc, char **argv) {
  const double millions = argc > 1 ? atof(argv[1]) : 1;
  const int threads = argc > 2 ? atoi(argv[2]) : 2;
  /* A call is two events. */
  requests = (unsigned long)(millions * 1e6 / 2 / REQUEST / threads);
  pthread_t *list = malloc((unsigned long)threads * sizeof *list);
  if (!list) return 1;
  for (long i = 0; i < threads; i++)
    if (pthread_create(&list[i], NULL, work, (void *)(i + 1))) return 1;
  for (int i = 0; i < threads; i++) pthread_join(list[i], NULL);
  free(list);
  return 0;
}

#endif
