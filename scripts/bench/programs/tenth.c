/* tenth.c: calls of which every tenth is of a function with values (recorder/bench/tiny_values.plan).
 *
 * tenth CALLS */
#include <stdlib.h>

__attribute__((noinline)) int tiny(int a, int b) {
  __asm__ volatile("");
  return a + b;
}
__attribute__((noinline)) void other(void) { __asm__ volatile(""); }

__attribute__((no_instrument_function)) int main(int argc, char **argv) {
  volatile int sink = 0;
  for (long i = 0, n = argc > 1 ? atol(argv[1]) : 1000; i < n; i++) {
    if (i % 10) other();
    else sink = tiny((int)(i / 10), 2);
  }
  (void)sink;
}
