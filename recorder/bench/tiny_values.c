/* tiny_values.c: tiny.c with two arguments and a result, taken by tiny_values.plan. */

__attribute__((noinline)) int tiny(int a, int b) {
  __asm__ volatile("");
  return a + b;
}

void many(long calls);
__attribute__((no_instrument_function)) void many(long calls) {
  volatile int sink = 0;
  for (long i = 0; i < calls; i++) sink = tiny((int)i, 2);
  (void)sink;
}
