/* calls.c makes calls of a usual shape for the comparison of readers: tiny
 * functions, three to twenty deep, one thread.
 *
 * calls MILLIONS: about so many million events, an enter or a leave each. */

#include <stdio.h>
#include <stdlib.h>

#define FUNCTION __attribute__((noinline))

static volatile unsigned long sink;

FUNCTION static void leaf(unsigned long n) { sink += n; }
FUNCTION static void hash(unsigned long n) { sink ^= n * 0x9e3779b97f4a7c15ul; }
FUNCTION static unsigned long fib(unsigned n) {
  if (n < 2) return n;
  return fib(n - 1) + fib(n - 2);
}
FUNCTION static void parse(unsigned long n) {
  for (unsigned i = 0; i < 8; i++) leaf(n + i);
  hash(n);
}
FUNCTION static void walk(unsigned depth, unsigned long n) {
  leaf(n);
  if (depth > 0) walk(depth - 1, n);
}
FUNCTION static void request(unsigned long n) {
  parse(n);
  walk(12, n);
  sink += fib(8);
}

int main(int argc, char **argv) {
  const double millions = argc > 1 ? atof(argv[1]) : 1;
  /* A request is 1 + 10 + 26 + 67 calls. */
  const unsigned long requests = (unsigned long)(millions * 1e6 / 2 / 104);
  for (unsigned long i = 0; i < requests; i++) request(i);
  printf("%lu\n", sink);
  return 0;
}
